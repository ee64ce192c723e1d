/**
 * The programs in `reliability/`, in small: power cuts and failing system calls of a recorded run. The
 * commands go through all of them; here a few, with the seed printed (CORTEX_SEED repeats it). And their
 * judge of growth, before processes that leak on purpose.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { lacksTools, rounds } from "../packages/core/src/testing/lacking.js";

/** What the soak measures and judges by. */
const {
  growthOf,
  usageOf,
}: {
  usageOf(pid: number): object;
  growthOf(samples: readonly object[], storesMost: number): readonly string[];
} = await import(fileURLToPath(new URL("reliability/served.mjs", import.meta.url)));

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_101);
const CUTS = rounds(10, 25);
const HOSTILE = rounds(15, 40);

/** Runs a program to its end; what it found stands in its output. */
function run(name: string, ...args: readonly string[]): string {
  const path = fileURLToPath(new URL(`reliability/${name}.mjs`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...args], {
    encoding: "utf8",
  });
  expect(status, `${name} ${args.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

describe.skipIf(lacksTools("strace"))("what reaches the disk", () => {
  test("a power cut loses nothing acknowledged", () => {
    console.log(`power loss: npm run power-loss -- --seed ${SEED} --cuts ${CUTS}`);
    expect(run("power-loss", "--seed", `${SEED}`, "--cuts", `${CUTS}`)).toMatch(
      new RegExp(`\\d{3} calls, ${CUTS} disks opened, 0 not sound`),
    );
  });

  test("a sync that fails after a store has moved does not take the store", () => {
    const said = run("call-faults", "--call", "fsync", "--numbers", "15,16,19,20");
    expect(said).toMatch(/4 runs with a failed call, 0 not sound/);
  });

  test.each(["fdatasync", "rename"])("%s that fails costs nothing acknowledged", (call) => {
    expect(run("call-faults", "--call", call, "--numbers", "2")).toMatch(
      /[12] runs .* 0 not sound/,
    );
  });
});

test("hostile input is refused, by everything that reads what others wrote", () => {
  console.log(`fuzzing: npm run fuzz -- --seed ${SEED} --count ${HOSTILE}`);
  expect(run("fuzz", "--seed", `${SEED}`, "--count", `${HOSTILE}`)).toMatch(
    new RegExp(`"raw":${HOSTILE}.* 0 failures`),
  );
});

test("processes together lose no update, and see every batch whole", () => {
  expect(run("together", "--seconds", "1", "--processes", "4")).toMatch(/entries, 0 problems/);
});

/** A process that opens files and keeps memory as it is told, a line at a time, and never lets go. */
const LEAKER = `
  const { openSync } = require("node:fs");
  const kept = [];
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { files, mib } = JSON.parse(line);
    for (const path of files) kept.push(openSync(path, "r"));
    if (mib > 0) kept.push(Buffer.alloc(mib << 20, 1));
    console.log("done");
  });
`;

describe.skipIf(process.platform !== "linux")("what the soak calls growth", () => {
  /** What a process opens and keeps before each of nine looks at it. */
  type Step = {
    readonly files?: readonly string[];
    readonly mib?: number;
    readonly writes?: number;
  };

  async function judged(step: (at: number, store: (name: string) => string[]) => Step) {
    const folder = mkdtempSync(join(tmpdir(), "cortex-growth-"));
    const store = (name: string): string[] => {
      const path = join(folder, `${name}.mdb`);
      writeFileSync(path, "");
      writeFileSync(`${path}-lock`, "");
      return [path, path, `${path}-lock`];
    };
    const child = spawn(process.execPath, ["-e", LEAKER], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "close");
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const samples: object[] = [];
      let writes = 0;
      for (let at = 0; at < 9; at += 1) {
        const told = step(at, store);
        child.stdin.write(`${JSON.stringify({ files: [], mib: 0, ...told })}\n`);
        expect((await lines.next()).value).toBe("done");
        writes += told.writes ?? 0;
        samples.push({ ...usageOf(child.pid ?? 0), writes });
      }
      return growthOf(samples, 12);
    } finally {
      child.stdin.end();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test("stores that come and stay within their bound are none", async () => {
    const late = await judged((at, store) => ({ files: at < 7 ? store(`s${at}`) : [], mib: 3 }));
    expect(late).toEqual([]);
  });

  test("memory that goes with what is written is none", async () => {
    expect(await judged(() => ({ mib: 30, writes: 10_000 }))).toEqual([]);
  });

  test.each<[string, Parameters<typeof judged>[0], RegExp]>([
    [
      "more stores than the server keeps open",
      (at, store) => ({ files: [...store(`a${at}`), ...store(`b${at}`)] }),
      /^18 stores were open, expected 12 at most$/,
    ],
    [
      "files of one store that are opened again and never closed",
      (_, store) => ({ files: [...store("s"), ...store("s")] }),
      /^\d\d descriptors on the files of 1 stores$/,
    ],
    [
      "other descriptors",
      () => ({ files: Array.from({ length: 10 }, () => "/dev/null") }),
      /^other descriptors grew from \d+ to \d+$/,
    ],
    [
      "memory",
      () => ({ mib: 30 }),
      /^memory grew from \d+ to \d+ MiB, with 0 more stores open and 0 writes$/,
    ],
    [
      "more memory than is written",
      () => ({ mib: 30, writes: 1000 }),
      /^memory grew from \d+ to \d+ MiB, with 0 more stores open and 5000 writes$/,
    ],
  ])("%s", async (_, step, expected) => {
    const told = await judged(step);
    expect(told).toEqual([expect.stringMatching(expected)]);
  });
});

test("a flag that is none is refused, and help is given", () => {
  const path = fileURLToPath(new URL("reliability/simulate.mjs", import.meta.url));
  const of = (...args: string[]) =>
    spawnSync(process.execPath, [path, ...args], { encoding: "utf8" });
  expect(of("--sed", "1")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("--sed: expected one of --seeds"),
  });
  expect(of("--seeds", "many")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("got many"),
  });
  expect(of("--help")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("--every-call"),
  });
});
