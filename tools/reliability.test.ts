/**
 * The programs in `reliability/`, in small: power cuts and failing system calls of a recorded run. The
 * commands go through all of them; here a few, with the seed printed (CORTEX_SEED repeats it).
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { lacksTools, rounds } from "../packages/core/src/testing/lacking.js";

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
