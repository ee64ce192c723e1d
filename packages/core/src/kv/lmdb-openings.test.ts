/**
 * Opening and removing the files of a store keep out of each other's way: by marks, among processes, and at the limit of
 * open files. Other processes run the built output, which `npm test` makes first.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { isLacking, rounds } from "../testing/lacking.js";
import { openLmdbKv } from "./lmdb-backend.js";
import { removeBelow } from "./lmdb-folder.js";
import { PROCESS_TOKEN, whileOpening, whileRemoving } from "./lmdb-openings.js";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cortex-openings-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The built backend, which other processes can import. */
const BUILT = new URL("../../dist/kv/lmdb-backend.js", import.meta.url);

const UNBUILT = isLacking(
  existsSync(fileURLToPath(BUILT)),
  "core is not built, so no other process can run it",
);

/** What a script prints in another process, and how that ends. */
async function run(
  script: string,
  limit?: number,
): Promise<{ said: string; end: number | string }> {
  const args = ["--input-type=module", "-e", script];
  const limited = ["-c", `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, ...args];
  const [command, given] = limit === undefined ? [process.execPath, args] : ["sh", limited];
  const child = spawn(command, given, { stdio: ["ignore", "pipe", "inherit"] });
  cleanups.push(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.on("data", (text: Buffer) => {
    said += text.toString();
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { said: said.trim(), end: code ?? signal ?? "" };
}

/** A pid that no process has: of one that has ended. */
async function deadPid(): Promise<number> {
  const { said } = await run("console.log(process.pid)");
  return Number(said);
}

describe("marks", () => {
  test("who opens and who removes leave a mark as long as they do, and none behind", () => {
    const folder = temporaryFolder();
    const opens = `.opens-${process.pid}-${PROCESS_TOKEN}`;
    expect(whileOpening(folder, () => readdirSync(folder))).toEqual([opens]);
    let seen: string[] = [];
    const removed = whileRemoving(folder, () => {
      seen = readdirSync(folder);
      return undefined;
    });
    expect([removed, seen]).toEqual([true, [`.removes-${process.pid}-${PROCESS_TOKEN}`]]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a mark moves along with its folder, and is taken away there", () => {
    const root = temporaryFolder();
    const [store, taken] = [join(root, "a"), join(root, "b")];
    renameSync(mkdtempSync(join(root, "new-")), store);
    const isRemoved = whileRemoving(store, () => {
      renameSync(store, taken);
      return taken;
    });
    expect(isRemoved).toBe(true);
    expect([readdirSync(root), readdirSync(taken)]).toEqual([["b"], []]);
  });

  test("a failure leaves no mark behind, and comes out", () => {
    const folder = temporaryFolder();
    const fail = (): never => {
      throw new Error("this one");
    };
    expect(() => whileOpening(folder, fail)).toThrow("this one");
    expect(() => whileRemoving(folder, fail)).toThrow("this one");
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ["opens", whileRemoving],
    ["removes", whileOpening],
  ] as const)("a mark of a process that %s and is there is waited for", async (kind, wait) => {
    const folder = temporaryFolder();
    const mark = join(folder, `.${kind}-${process.ppid}-00000000`);
    writeFileSync(mark, "");
    const ended = run(`
      import { rmSync } from "node:fs";
      setTimeout(() => rmSync(${JSON.stringify(mark)}), 100);
    `);
    let isThere = true;
    wait(folder, () => {
      isThere = existsSync(mark);
      return undefined;
    });
    expect(isThere).toBe(false);
    expect((await ended).end).toBe(0);
  });

  test.each([
    ["opens", whileRemoving],
    ["removes", whileOpening],
  ] as const)("a mark of a process that %s and is gone means nothing", async (kind, wait) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, `.${kind}-${await deadPid()}-00000000`), "");
    let ran = false;
    wait(folder, () => {
      ran = true;
      return undefined;
    });
    expect([ran, readdirSync(folder)]).toEqual([true, []]);
  });

  test("a mark that has stood for minutes means nothing, whoever has its number now", () => {
    const folder = temporaryFolder();
    const mark = join(folder, `.opens-${process.ppid}-00000000`);
    writeFileSync(mark, "");
    const longAgo = new Date(Date.now() - 120_000);
    utimesSync(mark, longAgo, longAgo);
    expect(whileRemoving(folder, () => undefined)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a folder that is not there is left to who works in it", () => {
    const folder = join(temporaryFolder(), "none");
    expect(whileOpening(folder, () => 7)).toBe(7);
    expect(whileRemoving(folder, () => undefined)).toBe(true);
    expect(existsSync(folder)).toBe(false);
  });
});

test("what is newer than a store is never removed, also where the store itself has gone meanwhile", () => {
  const folder = temporaryFolder();
  for (const name of ["g000002.mdb", "g000004.mdb", "g000005.mdb"]) {
    writeFileSync(join(folder, name), "");
  }
  removeBelow(folder, 3);
  expect(readdirSync(folder)).toEqual(["g000004.mdb", "g000005.mdb"]);
});

describe("among processes", () => {
  test.skipIf(UNBUILT)(
    "stores that are opened again and again while they move end nobody, and lose nothing",
    async () => {
      const folder = temporaryFolder();
      const kv = await openLmdbKv(folder);
      const head = Uint8Array.of(1);
      await kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
      const count = rounds(120, 400);
      const opener = (writer: number): string => `
        import { openLmdbKv } from ${JSON.stringify(BUILT.href)};
        for (let nth = 0; nth < ${count}; nth++) {
          const kv = await openLmdbKv(${JSON.stringify(folder)}, { create: false });
          const key = Uint8Array.of(1, ${writer}, nth >> 8, nth & 255);
          for (let done = false; !done; ) {
            const snapshot = await kv.snapshot();
            const [expectHead] = await snapshot.getMany([Uint8Array.of(0)]);
            snapshot.close();
            const head = Uint8Array.of(1, ${writer}, nth >> 8, nth & 255);
            done = (await kv.commit({ expectHead, head, puts: [{ key, value: key }], deletes: [] })).ok;
          }
          await kv.close();
        }
      `;
      let isOver = false;
      const ends = Promise.all([2, 3].map((writer) => run(opener(writer)))).finally(() => {
        isOver = true;
      });
      const all = { gte: Uint8Array.of(1), lt: Uint8Array.of(2), limit: 10_000 };
      let moves = 0;
      while (!isOver) {
        const snapshot = await kv.snapshot();
        const [expectHead] = await snapshot.getMany([Uint8Array.of(0)]);
        const [puts = []] = await snapshot.ranges([all]);
        snapshot.close();
        const next = await kv.nextGeneration();
        const copied = { expectHead: undefined, head: expectHead ?? head, puts, deletes: [] };
        await next.kv.commit(copied);
        if ((await next.promote(expectHead, Uint8Array.of(0xff, 9))).ok) moves += 1;
        await next.abandon();
      }
      expect(await ends).toEqual([
        { said: "", end: 0 },
        { said: "", end: 0 },
      ]);
      expect(moves).toBeGreaterThan(0);
      const snapshot = await kv.snapshot();
      const [rows = []] = await snapshot.ranges([all]);
      snapshot.close();
      expect(rows.length).toBe(2 * count);
      await kv.close();
      expect(readdirSync(folder).filter((name) => !name.endsWith("-lock")).length).toBe(1);
    },
  );

  test.skipIf(UNBUILT || process.platform === "win32")(
    "a process that may open no more files is told so, whichever of them is the last",
    async () => {
      const folder = temporaryFolder();
      await (await openLmdbKv(join(folder, "a"))).close();
      const script = `
        import { closeSync, openSync } from "node:fs";
        import { openLmdbKv } from ${JSON.stringify(BUILT.href)};
        const held = [];
        try {
          for (;;) held.push(openSync("/dev/null", "r"));
        } catch {}
        // More than opening takes, and one fewer each time.
        const free = 14;
        for (const descriptor of held.splice(-free)) closeSync(descriptor);
        const ends = [];
        for (let left = free; left > 0; left -= 1) {
          try {
            await (await openLmdbKv(${JSON.stringify(join(folder, "a"))})).close();
            ends.push("opened");
          } catch (error) {
            ends.push(error.code);
          }
          held.push(openSync("/dev/null", "r"));
        }
        for (const descriptor of held) closeSync(descriptor);
        console.log([...new Set(ends)].join(" "));
      `;
      expect(await run(script, 80)).toEqual({ said: "opened ERR_STORAGE", end: 0 });
    },
  );
});
