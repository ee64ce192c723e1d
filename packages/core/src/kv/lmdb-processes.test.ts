/**
 * The LMDB backend among processes: several writers, a promotion under way, and kill -9 at any
 * moment. Other processes run the built output, which `npm test` makes first.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, everything, hex, read, row, write } from "../testing/kv-suite-basics.js";
import { isLacking, rounds } from "../testing/lacking.js";
import { seededRandom } from "../testing/seeded-random.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow } from "./kv.js";
import { type LmdbKvOptions, openLmdbKv } from "./lmdb-backend.js";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cortex-lmdb-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function opened(folder: string, options: LmdbKvOptions = {}): Promise<Kv> {
  const kv = await openLmdbKv(folder, options);
  cleanups.push(() => kv.close());
  return kv;
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.endsWith("-lock"))
    .sort();
}

/** The built backend, which other processes can import. */
const BUILT = new URL("../../dist/kv/lmdb-backend.js", import.meta.url);

const UNBUILT = isLacking(
  existsSync(fileURLToPath(BUILT)),
  "core is not built, so no other process can run it",
);

interface Child {
  /** The next line it printed; undefined when it has ended. */
  line(): Promise<string | undefined>;
  kill(): Promise<void>;
  readonly lines: string[];
}

/** What every script has at hand: `kv`, `say`, and ways to append a row and to vacuum. */
function preludeFor(folder: string): string {
  return `
    import { openLmdbKv } from ${JSON.stringify(BUILT.href)};
    import { writeSync } from "node:fs";
    const kv = await openLmdbKv(${JSON.stringify(folder)});
    const HEAD = Uint8Array.of(0);
    const MOVED = Uint8Array.of(0xff, 9);
    const say = (text) => writeSync(1, text + "\\n");
    const u32 = (...parts) => Buffer.from(Uint32Array.from(parts).buffer);
    const readAll = async () => {
      const snapshot = await kv.snapshot();
      const [expectHead] = await snapshot.getMany([HEAD]);
      const range = { gte: Uint8Array.of(0, 0), lt: Uint8Array.of(0xff, 0xff), limit: 1e6 };
      const [rows] = await snapshot.ranges([range]);
      snapshot.close();
      return { expectHead, rows };
    };
    /** Adds a row of its own, however often others win; true when it was acknowledged. */
    const append = async (key, text) => {
      for (;;) {
        const snapshot = await kv.snapshot();
        const [expectHead] = await snapshot.getMany([HEAD]);
        snapshot.close();
        const head = Uint8Array.from([1, ...u32(process.pid, append.count = (append.count ?? 0) + 1)]);
        const puts = [{ key, value: Buffer.from(text) }];
        if ((await kv.commit({ expectHead, head, puts, deletes: [] })).ok) return;
      }
    };
    const vacuum = async () => {
      const { expectHead, rows } = await readAll();
      const next = await kv.nextGeneration();
      const change = { expectHead: undefined, head: expectHead, puts: rows, deletes: [] };
      await next.kv.commit(change);
      const { ok } = await next.promote(expectHead, MOVED);
      await next.abandon();
      return ok;
    };
  `;
}

/** Runs a script in another process. */
function child(folder: string, script: string): Child {
  const args = ["--input-type=module", "-e", preludeFor(folder) + script];
  const spawned = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const reader = createInterface({ input: spawned.stdout });
  const iterator = reader[Symbol.asyncIterator]();
  const lines: string[] = [];
  const ended = once(spawned, "close");
  const line = async (): Promise<string | undefined> => {
    const next = await iterator.next();
    if (next.done !== true) lines.push(next.value);
    return next.done === true ? undefined : next.value;
  };
  const kill = async (): Promise<void> => {
    spawned.kill("SIGKILL");
    while ((await line()) !== undefined);
    const [code] = await ended;
    // One that was killed has none; one that ended before that ended well.
    expect(code ?? 0, "what a process ended with by itself").toBe(0);
  };
  cleanups.push(kill);
  return { line, kill, lines };
}

async function drained(process: Child): Promise<string[]> {
  while ((await process.line()) !== undefined);
  return process.lines;
}

/** The key 0x01, writer, count that the children use. */
function entryKey(writer: number, count: number): Bytes {
  return bytes(1, writer, count >> 8, count & 255);
}

const entryScript = (writer: number, count: number): string => `
  for (let i = 0; i < ${count}; i++) {
    await append(Uint8Array.of(1, ${writer}, i >> 8, i & 255), "entry");
    say(String(i));
  }
`;

describe("other processes", () => {
  test.skipIf(UNBUILT)("three processes append at once, and nothing is lost", async () => {
    const folder = temporaryFolder();
    const kv = await opened(folder);
    const writers = [2, 3].map((writer) => child(folder, entryScript(writer, 100)));
    await writers[0]?.line();
    for (let i = 0; i < 30; i++) {
      for (let done = false; !done; ) {
        const snapshot = await kv.snapshot();
        const [expectHead] = await snapshot.getMany([HEAD_KEY]);
        snapshot.close();
        const head = bytes(2, i);
        const puts = [row(entryKey(1, i), "entry")];
        done = (await kv.commit({ expectHead, head, puts, deletes: [] })).ok;
      }
    }
    for (const writer of writers) expect((await drained(writer)).length).toBe(100);
    expect((await everything(kv)).length).toBe(230);
  });

  test.skipIf(UNBUILT)(
    "a process that opens and closes the store again and again sets no commit back",
    async () => {
      const folder = temporaryFolder();
      // Commits that wait for no disk come so fast that many of them fall into the moment of an opening.
      const kv = await opened(folder, { relaxed: true });
      let head: Bytes | undefined;
      const commit = async (count: number): Promise<void> => {
        for (let nth = 0; nth < count; nth += 1) {
          const next = bytes(1, nth >> 8, nth & 255, head?.[3] === undefined ? 0 : 1);
          const puts = [row(bytes(5, nth & 255), `${nth}`)];
          const change = { expectHead: head, head: next, puts, deletes: [] };
          expect(await kv.commit(change), `commit ${nth}`).toEqual({ ok: true });
          expect(await read(kv, bytes(5, nth & 255))).toEqual([hex(row(bytes(), `${nth}`).value)]);
          head = next;
        }
      };
      await commit(1);
      const script = (options: object): string => `
        await kv.close();
        const [folder, options] = ${JSON.stringify([folder, options])};
        for (let i = 0; i < 150; i++) await (await openLmdbKv(folder, options)).close();
        say("opened");
      `;
      const openers = [false, true].map((readOnly) =>
        child(folder, script({ relaxed: true, readOnly })),
      );
      let isOver = false;
      const ends = Promise.all(openers.map(drained)).finally(() => {
        isOver = true;
      });
      while (!isOver) await commit(200);
      expect(await ends).toEqual([["opened"], ["opened"]]);
    },
  );

  test.skipIf(UNBUILT)(
    "a process that is killed while it opens the store keeps no writer from writing",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      const put = (nth: number): KvRow => row(bytes(5, nth), `${nth}`);
      let head: Bytes | undefined;
      for (const nth of [1, 2, 3]) head = await write(kv, [put(nth)]);
      const lock = join(folder, `${filesIn(folder)[0]}-lock`);
      // What opening leaves behind where another process commits in the middle of it: the number of the commit before.
      // In another process, because closing a lock file drops the locks that the engine holds on it.
      const setBack = `
        import { openSync, readSync, writeSync as put } from "node:fs";
        const file = openSync(${JSON.stringify(lock)}, "r+");
        const number = new BigUint64Array(1);
        const bytes = new Uint8Array(number.buffer);
        readSync(file, bytes, 0, 8, 8);
        number[0] -= 1n;
        put(file, bytes, 0, 8, 8);
        say("set back");
      `;
      for (const nth of [4, 5]) {
        expect(await drained(child(folder, setBack))).toEqual(["set back"]);
        expect(await read(kv, put(nth - 1).key), "a set-back number hides it").toEqual(["absent"]);
        const next = bytes(9, nth);
        const change = { expectHead: head, head: next, puts: [put(nth)], deletes: [] };
        expect(await kv.commit(change)).toEqual({ ok: true });
        head = next;
        const all = Array.from({ length: nth }, (_, at) => put(at + 1));
        expect(await read(kv, ...all.map(({ key }) => key))).toEqual(
          all.map((one) => hex(one.value)),
        );
      }
    },
  );

  /** For scripts: hides the newest commit of the file whose lock file it has open, as opening can (`openAtNewest`). */
  const HIDING = `
    import { openSync, readSync, readdirSync, writeSync as put } from "node:fs";
    const number = new BigUint64Array(1);
    const bytes = new Uint8Array(number.buffer);
    const noted = (lock) => (readSync(lock, bytes, 0, 8, 8), number[0]);
    const hide = (lock) => {
      noted(lock);
      number[0] -= 1n;
      put(lock, bytes, 0, 8, 8);
    };
  `;

  test.skipIf(UNBUILT)(
    "who was not shown the commit by which the store moved goes on in the file that it moved to",
    async () => {
      const folder = temporaryFolder();
      const writing = await opened(folder);
      const head = await write(writing, [row(bytes(5), "x")]);
      const script = `
        ${HIDING}
        const lock = openSync(${JSON.stringify(join(folder, "g000001.mdb-lock"))}, "r+");
        await vacuum();
        hide(lock);
        say("moved");
        await append(Uint8Array.of(1, 2, 0, 0), "entry");
        say("written");
        setInterval(() => {}, 1000);
      `;
      const mover = child(folder, script);
      expect(await mover.line()).toBe("moved");
      expect(await mover.line()).toBe("written");
      expect(filesIn(folder)).toEqual(["g000002.mdb"]);
      const stale = { expectHead: head, head: bytes(9), puts: [row(bytes(6), "y")], deletes: [] };
      expect(await writing.commit(stale), "its head is not the newest").toMatchObject({
        ok: false,
      });
      expect(await read(writing, entryKey(2, 0))).toEqual([hex(row(bytes(), "entry").value)]);
      expect((await everything(writing)).length).toBe(2);
      await mover.kill();
    },
  );

  test.skipIf(UNBUILT)(
    "who only reads, and was not shown that the store moved, is shown it soon",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      await write(kv, [row(bytes(5), "x")]);
      const script = `
        ${HIDING}
        const lock = openSync(${JSON.stringify(join(folder, "g000001.mdb-lock"))}, "r+");
        await vacuum();
        hide(lock);
        await append(Uint8Array.of(1, 2, 0, 0), "entry");
        say("written");
      `;
      expect(await drained(child(folder, script))).toEqual(["written"]);
      const entry = hex(row(bytes(), "entry").value);
      // Without the look at its place this never ends.
      while ((await read(kv, entryKey(2, 0)))[0] !== entry);
      expect((await everything(kv)).length).toBe(2);
    },
  );

  test.skipIf(UNBUILT)(
    "who has just committed reads that, also while another process hides it by opening the store",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder, { positionOf: (head) => head[1] ?? 0 });
      const lock = join(folder, `${filesIn(folder)[0]}-lock`);
      const change = { expectHead: undefined, head: bytes(1, 1), puts: [], deletes: [] };
      expect(await kv.commit(change)).toEqual({ ok: true });
      const next = { expectHead: bytes(1, 1), head: bytes(1, 2), puts: [row(bytes(5), "x")] };
      expect(await kv.commit({ ...next, deletes: [] })).toEqual({ ok: true });
      const script = `
        ${HIDING}
        const lock = openSync(${JSON.stringify(lock)}, "r+");
        hide(lock);
        say("hidden");
        setTimeout(() => {
          number[0] += 1n;
          put(lock, bytes, 0, 8, 8);
          say("shown");
        }, 200);
      `;
      const hider = child(folder, script);
      expect(await hider.line()).toBe("hidden");
      expect(await read(kv, bytes(5))).toEqual([hex(row(bytes(), "x").value)]);
      expect(await drained(hider)).toEqual(["hidden", "shown"]);
    },
  );

  test.skipIf(UNBUILT)(
    "a store that was removed while its newest commit was hidden is no other store of its name",
    async () => {
      const root = temporaryFolder();
      const folder = join(root, "ada");
      const kv = await opened(folder);
      const head = await write(kv, [row(bytes(5), "x")]);
      const removal = new URL("../../dist/kv/lmdb-removal.js", import.meta.url).href;
      const script = `
        ${HIDING}
        import { destroy, endRemoval, takeAway } from ${JSON.stringify(removal)};
        const lock = openSync(${JSON.stringify(join(folder, "g000001.mdb-lock"))}, "r+");
        await kv.close();
        const removal = takeAway(${JSON.stringify(root)}, "ada");
        await destroy(${JSON.stringify(root)}, removal);
        endRemoval(${JSON.stringify(root)}, removal);
        hide(lock);
        await (await openLmdbKv(${JSON.stringify(folder)})).close();
        say("made anew");
      `;
      expect(await drained(child(folder, script))).toEqual(["made anew"]);
      const change = { expectHead: head, head: bytes(9), puts: [], deletes: [] };
      await expect(kv.commit(change)).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    },
  );

  test.skipIf(UNBUILT)(
    "commits that are hidden again and again, moves among them, are lost by nobody",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      await write(kv, [row(bytes(5), "x")]);
      const hider = child(
        folder,
        `${HIDING}
        const locks = new Map();
        say("hiding");
        for (;;) {
          for (const name of readdirSync(${JSON.stringify(folder)})) {
            if (!/^g\\d+\\.mdb-lock$/.test(name) || locks.has(name)) continue;
            try {
              const lock = openSync(${JSON.stringify(folder)} + "/" + name, "r+");
              locks.set(name, { lock, hidden: new Set() });
            } catch {}
          }
          for (const { lock, hidden } of locks.values()) {
            const newest = noted(lock);
            // Each commit once, as each opening does: who mends it goes on then.
            if (newest > 2n && !hidden.has(newest)) hide(lock);
            hidden.add(newest).add(newest - 1n);
          }
          await new Promise((resolve) => setTimeout(resolve, 3));
        }`,
      );
      expect(await hider.line()).toBe("hiding");
      const writer = child(folder, entryScript(2, 60));
      const mover = child(
        folder,
        `for (let i = 0; i < 6; ) { if (await vacuum()) say("moved " + i++); }`,
      );
      const ends = await Promise.all([writer, mover].map(drained));
      await hider.kill();
      expect(ends.map((lines) => lines.length)).toEqual([60, 6]);
      expect((await everything(kv)).length).toBe(61);
    },
  );

  // Where the locks lie in the lock file, and what destroys one, is that of Linux on common processors.
  const HAS_OTHER_LOCKS = process.platform !== "linux" || !["x64", "arm64"].includes(process.arch);
  test.skipIf(UNBUILT || HAS_OTHER_LOCKS)(
    "a store that was opened while another process closed it, and destroyed the locks, is opened again",
    async () => {
      const folder = temporaryFolder();
      const first = await openLmdbKv(folder);
      const head = await write(first, [row(bytes(5), "x")]);
      await first.close();
      const lock = join(folder, `${filesIn(folder)[0]}-lock`);
      const destroy = `
        import { openSync, writeSync as put } from "node:fs";
        const file = openSync(${JSON.stringify(lock)}, "r+");
        for (const lockAt of [24, 64, 104]) put(file, new Uint8Array(4).fill(255), 0, 4, lockAt + 16);
        say("destroyed");
        setTimeout(() => process.kill(process.pid, "SIGKILL"), 300);
      `;
      const other = child(folder, destroy);
      expect(await other.line()).toBe("destroyed");
      const kv = await opened(folder);
      expect(await read(kv, bytes(5))).toEqual([hex(row(bytes(), "x").value)]);
      const change = { expectHead: head, head: bytes(9), puts: [], deletes: [] };
      expect(await kv.commit(change)).toEqual({ ok: true });
    },
  );

  test.skipIf(UNBUILT)(
    "a commit of another process is seen by the next snapshot of this turn",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      await write(kv, [row(bytes(5), "x")]);
      const writer = child(folder, entryScript(2, 20));
      for (let i = 0; i < 20; i++) {
        expect(await writer.line()).toBe(String(i));
        expect(await read(kv, entryKey(2, i))).toEqual([hex(row(bytes(), "entry").value)]);
      }
      await drained(writer);
    },
  );

  test.skipIf(UNBUILT)(
    "two processes write while a third promotes again and again: nothing is lost",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      await write(kv, [row(bytes(5), "x")]);
      const writers = [2, 3].map((writer) => child(folder, entryScript(writer, 120)));
      const promoter = child(
        folder,
        `for (let i = 0; i < 12; ) { if (await vacuum()) say("moved " + i++); }`,
      );
      const ends = await Promise.all([...writers, promoter].map(drained));
      expect(ends.map((lines) => lines.length)).toEqual([120, 120, 12]);
      expect((await everything(kv)).length).toBe(241);
      await kv.close();
      expect(filesIn(folder)).toEqual(["g000013.mdb"]);
      const again = await opened(folder, { create: false });
      expect((await everything(again)).length).toBe(241);
    },
  );

  test.skipIf(UNBUILT)(
    "kill -9 while committing and promoting loses no acknowledged write",
    async () => {
      const folder = temporaryFolder();
      const random = seededRandom(4);
      const script = (writer: number): string => `
      for (let i = 0; ; i++) {
        await append(Uint8Array.of(1, ${writer}, i >> 8, i & 255), "entry");
        say(String(i));
        if (i % 3 === 2) await vacuum();
      }
    `;
      let acknowledged = 0;
      const kills = rounds(6, 12);
      for (let round = 2; round < 2 + kills; round++) {
        const process = child(folder, script(round));
        const witness = round % 2 === 0 ? undefined : child(folder, script(round + 100));
        const lines = random.between(1, 25);
        for (let i = 0; i < lines; i++) await process.line();
        await Promise.all([process.kill(), witness?.kill()]);
        acknowledged += process.lines.length + (witness?.lines.length ?? 0);
        const kv = await openLmdbKv(folder, { create: false });
        for (const [writer, said] of [
          [round, process.lines],
          [round + 100, witness?.lines ?? []],
        ] as const) {
          const keys = said.map((line) => entryKey(writer, Number(line)));
          const entry = hex(row(bytes(), "entry").value);
          expect(await read(kv, ...keys)).toEqual(keys.map(() => entry));
        }
        expect((await everything(kv)).length).toBeGreaterThanOrEqual(acknowledged);
        await kv.close();
      }
      expect(acknowledged).toBeGreaterThan(4 * kills);
    },
  );

  test.skipIf(UNBUILT)(
    "the snapshot of a killed process does not keep old pages alive",
    async () => {
      const folder = temporaryFolder();
      const kv = await opened(folder, { relaxed: true });
      await write(kv, [row(bytes(5), "x")]);
      const reader = child(
        folder,
        `await kv.snapshot(); say("held"); setInterval(() => {}, 1000);`,
      );
      expect(await reader.line()).toBe("held");
      await reader.kill();
      for (let i = 0; i < 3000; i++) {
        await write(kv, [{ key: bytes(5), value: new Uint8Array(3000).fill(i) }]);
      }
      expect(await kv.sizeBytes()).toBeLessThan(6_000_000);
    },
  );
});
