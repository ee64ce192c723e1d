/**
 * What is special to the LMDB backend: files and their modes, snapshots that are forgotten, full
 * disks, and every state of the folder that a killed promotion can leave behind. Other processes
 * are in `lmdb-processes.test.ts`; the contract itself is tested by the conformance suite.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, everything, hex, read, row, shown, write } from "../testing/kv-suite-basics.js";
import { lacksSmallDisk, mountSmallDisk } from "../testing/lacking.js";
import { seededRandom } from "../testing/seeded-random.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow } from "./kv.js";
import { type LmdbKvOptions, openLmdbKv } from "./lmdb-backend.js";
import { LmdbFile } from "./lmdb-file.js";

const MOVED = bytes(0xff, 9);
const DURABLE = { relaxed: false, readOnly: false };
const NO_DISK = lacksSmallDisk();

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

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.endsWith("-lock"))
    .sort();
}

function seq(value: number): Bytes {
  const key = bytes(1, 0, 0, 0, 0);
  new DataView(key.buffer).setUint32(1, value);
  return key;
}

describe("reads at once", () => {
  test("see each commit, also beside a snapshot that stays where it is", async () => {
    const kv = await opened(temporaryFolder());
    const value = (): string | undefined => kv.readNow?.((rows) => hex(rows.getNow(bytes(5))));
    await write(kv, [row(bytes(5), "one")]);
    expect(value()).toBe(hex(row(bytes(5), "one").value));
    const snapshot = await kv.snapshot();
    await write(kv, [row(bytes(5), "two")]);
    expect(value()).toBe(hex(row(bytes(5), "two").value));
    expect(hex((await snapshot.getMany([bytes(5)]))[0])).toBe(hex(row(bytes(5), "one").value));
    snapshot.close();
    await write(kv, [row(bytes(5), "three")]);
    expect(value()).toBe(hex(row(bytes(5), "three").value));
  });

  test("show rows where they stand, whatever their length, and keep no key", async () => {
    const kv = await opened(temporaryFolder());
    const rows = [0, 1, 2048, 2049, 100_000].map((length) => row(bytes(6, 1), "x".repeat(length)));
    for (const [at, { value }] of rows.entries()) {
      await write(kv, [
        { key: bytes(6, at), value },
        { key: bytes(1, at), value },
      ]);
    }
    const key = bytes(0, 0);
    for (const [at, { value }] of rows.entries()) {
      for (const first of [1, 6]) {
        key.set([first, at]);
        expect(kv.readNow?.((all) => all.lookNow(key, hex))).toBe(hex(value));
      }
    }
    expect(kv.readNow?.((all) => all.lookNow(bytes(6, 9), hex))).toBe(undefined);
    // Of the journal alone, of the other rows alone, and of both.
    for (const [from, to] of [
      [1, 2],
      [6, 7],
      [0, 9],
    ] as const) {
      const range = { gte: bytes(from), lt: bytes(to), limit: 9 };
      const snapshot = await kv.snapshot();
      expect(kv.readNow?.((all) => all.rangeNow(range))).toEqual(
        (await snapshot.ranges([range]))[0],
      );
      snapshot.close();
    }
    const onEntry = (): never => {
      throw new Error("refused");
    };
    expect(() => kv.readNow?.((all) => all.lookNow(bytes(1, 1), hex), { onEntry })).toThrow();
    const journal = { gte: bytes(1), lt: bytes(2), limit: 9 };
    expect(() => kv.readNow?.((all) => all.rangeNow(journal), { onEntry })).toThrow();
    expect(kv.readNow?.((all) => all.lookNow(bytes(6, 1), hex), { onEntry })).toBeDefined();
  });

  test("end some time, until a snapshot has let the process do something else", async () => {
    const kv = await opened(temporaryFolder());
    await write(kv, [row(bytes(5), "x")]);
    const looks = Array.from({ length: 500 }, () => kv.readNow?.(() => true));
    expect(looks[0]).toBe(true);
    expect(looks.at(-1)).toBe(undefined);
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    (await kv.snapshot()).close();
    expect(turned).toBe(true);
    expect(kv.readNow?.(() => true)).toBe(true);
  });
});

describe("files", () => {
  test("folders are 0700 and every file 0600, whatever the umask", async () => {
    const before = process.umask(0);
    cleanups.push(() => process.umask(before));
    const folder = join(temporaryFolder(), "deep", "er");
    const kv = await opened(folder);
    const head = await write(kv, [row(bytes(5), "x")]);
    const next = await kv.nextGeneration();
    expect(readdirSync(folder).length).toBe(4);
    for (const name of readdirSync(folder)) expect(modeOf(join(folder, name)), name).toBe("600");
    expect(modeOf(folder)).toBe("700");
    expect(modeOf(join(folder, ".."))).toBe("700");
    await next.kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
    await next.promote(head, MOVED);
    expect(filesIn(folder)).toEqual(["g000002.mdb"]);
    for (const name of readdirSync(folder)) expect(modeOf(join(folder, name)), name).toBe("600");
  });

  test("without create, and read-only, nothing is created", async () => {
    const folder = join(temporaryFolder(), "none");
    await assert.rejects(openLmdbKv(folder, { create: false }), { code: "ERR_FORMAT_UNKNOWN" });
    await assert.rejects(openLmdbKv(folder, { readOnly: true }), { code: "ERR_FORMAT_UNKNOWN" });
    expect(existsSync(folder)).toBe(false);
    mkdirSync(folder);
    await assert.rejects(openLmdbKv(folder, { create: false }), { code: "ERR_FORMAT_UNKNOWN" });
    await assert.rejects(openLmdbKv(folder, { readOnly: true }), { code: "ERR_FORMAT_UNKNOWN" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a read-only handle reads and refuses to write", async () => {
    const folder = temporaryFolder();
    const writer = await openLmdbKv(folder);
    const head = await write(writer, [row(bytes(5), "x"), row(bytes(1, 1), "y")]);
    await writer.close();
    const kv = await opened(folder, { readOnly: true });
    expect(await everything(kv)).toEqual(shown([row(bytes(1, 1), "y"), row(bytes(5), "x")]));
    const change = { expectHead: head, head, puts: [], deletes: [] };
    await assert.rejects(kv.commit(change), { code: "ERR_UNSUPPORTED" });
    await assert.rejects(kv.nextGeneration(), { code: "ERR_UNSUPPORTED" });
    // The engine would give the second handle the flags of the first without a word.
    await assert.rejects(openLmdbKv(folder), { code: "ERR_STORAGE" });
    await kv.close();
    const relaxed = await opened(folder, { relaxed: true });
    expect(relaxed.manifest.durable).toBe(false);
    await assert.rejects(openLmdbKv(folder), { code: "ERR_STORAGE" });
  });

  test("a foreign file is refused and left alone", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "g000001.mdb");
    for (const content of ["x", "SQLite format 3\0".repeat(600)]) {
      writeFileSync(path, content);
      await assert.rejects(openLmdbKv(folder), { code: "ERR_FORMAT_UNKNOWN" });
      expect(readFileSync(path, "utf8")).toBe(content);
      expect(readdirSync(folder)).toEqual(["g000001.mdb"]);
    }
    rmSync(path);
    const other = open(path, { noSubdir: true, overlappingSync: false });
    other.putSync("theirs", 1);
    await other.close();
    const before = readFileSync(path);
    await assert.rejects(openLmdbKv(folder), { code: "ERR_FORMAT_UNKNOWN" });
    // It is not left open either: a file that is could not be opened in another mode.
    await assert.rejects(openLmdbKv(folder, { relaxed: true }), { code: "ERR_FORMAT_UNKNOWN" });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a value beyond the engine's own buffer comes back whole, before and after reopening", async () => {
    const folder = temporaryFolder();
    const random = seededRandom(1);
    const chunk = random.bytes(100_003);
    const value = new Uint8Array(20 * 1024 * 1024);
    for (let at = 0; at < value.length; at += chunk.length) {
      value.set(chunk.subarray(0, Math.min(chunk.length, value.length - at)), at);
    }
    let kv = await openLmdbKv(folder, { relaxed: true });
    await write(kv, [{ key: bytes(5), value }, row(bytes(6), "small")]);
    for (let round = 0; round < 3; round++) {
      const snapshot = await kv.snapshot();
      const [byKey] = await snapshot.getMany([bytes(5)]);
      const [rows = []] = await snapshot.ranges([{ gte: bytes(5), lt: bytes(7), limit: 2 }]);
      snapshot.close();
      await write(kv, [row(bytes(6), `small ${round}`)]);
      await kv.close();
      for (const found of [byKey, rows[0]?.value]) {
        expect(Buffer.compare(found ?? bytes(), value)).toBe(0);
      }
      kv = await openLmdbKv(folder, { relaxed: true });
    }
    await kv.close();
  });
});

describe("snapshots", () => {
  test("a forgotten snapshot is closed, a fresh one is not", async () => {
    // Long enough for a busy machine to read what was just taken.
    const kv = await opened(temporaryFolder(), { snapshotMaxAgeMs: 1000 });
    await write(kv, [row(bytes(5), "x")]);
    const forgotten = await kv.snapshot();
    expect((await forgotten.getMany([bytes(5)])).length).toBe(1);
    let expired: unknown;
    while (expired === undefined) {
      await new Promise((done) => setTimeout(done, 50));
      await forgotten.getMany([bytes(5)]).catch((error: unknown) => {
        expired = error;
      });
    }
    expect(expired).toMatchObject({ code: "ERR_CLOSED" });
    expect(await read(kv, bytes(5))).toEqual([hex(row(bytes(), "x").value)]);
  });

  test("a call that reads a whole store lets the process do something else on its way", async () => {
    const kv = await opened(temporaryFolder(), { relaxed: true });
    await write(
      kv,
      Array.from({ length: 5000 }, (_, at) => row(bytes(5, at >> 8, at & 255), "x")),
    );
    const snapshot = await kv.snapshot();
    let immediates = 0;
    const next = (): void => {
      immediates += 1;
      pending = setImmediate(next);
    };
    let pending = setImmediate(next);
    for (let pass = 0; pass < 4; pass += 1) {
      await snapshot.ranges([{ gte: bytes(5), lt: bytes(6), limit: 5000 }]);
    }
    clearImmediate(pending);
    snapshot.close();
    expect(immediates).toBeGreaterThanOrEqual(2);
  });

  test("closed snapshots let pages be reused: 2,000 overwrites do not grow the file", async () => {
    const kv = await opened(temporaryFolder(), { relaxed: true });
    for (let i = 0; i < 2000; i++) {
      const snapshot = await kv.snapshot();
      await write(kv, [{ key: bytes(5), value: new Uint8Array(3000).fill(i) }]);
      snapshot.close();
    }
    expect(await kv.sizeBytes()).toBeLessThan(500_000);
  });

  test("snapshots beyond the room in the lock file are refused, and served again once others end", async () => {
    const kv = await opened(temporaryFolder(), { relaxed: true });
    const held: { close(): void }[] = [];
    let refusal: unknown;
    for (let i = 0; i < 300 && refusal === undefined; i++) {
      await write(kv, [row(bytes(5), String(i))]).catch((error: unknown) => {
        refusal = error;
      });
      await kv.snapshot().then(
        (snapshot) => held.push(snapshot),
        (error: unknown) => {
          refusal = error;
        },
      );
    }
    expect(held.length).toBeGreaterThan(200);
    expect(refusal).toMatchObject({ code: "ERR_STORAGE" });
    for (const snapshot of held) snapshot.close();
    await write(kv, [row(bytes(5), "again")]);
    expect(await read(kv, bytes(5))).toEqual([hex(row(bytes(), "again").value)]);
  });
});

/** Commits until the disk is full; gives the rows that were acknowledged. */
async function fill(kv: Kv): Promise<string[]> {
  const random = seededRandom(2);
  for (let i = 0; i < 10_000; i++) {
    const puts = [
      { key: bytes(5, i >> 8, i & 255), value: random.bytes(20_000) },
      { key: seq(i), value: random.bytes(500) },
    ];
    const before = await everything(kv);
    try {
      await write(kv, puts);
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_DISK_FULL" });
      expect(await everything(kv)).toEqual(before);
      return before;
    }
  }
  throw new Error("the disk never filled up");
}

describe("a full disk", () => {
  test("a limit refuses the commit that would pass it, and no other", async () => {
    const kv = await opened(temporaryFolder(), { mapSizeBytes: 400_000 });
    const rows = await fill(kv);
    expect(rows.length).toBeGreaterThan(10);
    expect(await kv.sizeBytes()).toBeLessThan(500_000);
    const head = await write(kv, [], [seq(0)]);
    expect((await everything(kv)).length).toBe(rows.length - 1);
    const next = await kv.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
    await next.promote(head, MOVED);
    await write(kv, [{ key: bytes(6), value: new Uint8Array(20_000) }]);
  });

  test.skipIf(NO_DISK)(
    "ENOSPC leaves nothing, reads go on, and writing resumes without reopening",
    async () => {
      const folder = temporaryFolder();
      const disk = mountSmallDisk(folder, "4m");
      cleanups.push(() => disk?.unmount());
      const ballast = join(folder, "ballast");
      writeFileSync(ballast, new Uint8Array(1_000_000));
      const kv = await openLmdbKv(join(folder, "store"));
      cleanups.push(() => kv.close());
      const rows = await fill(kv);
      expect(rows.length).toBeGreaterThan(50);
      const change = { key: bytes(7), value: new Uint8Array(200_000).fill(7) };
      await assert.rejects(write(kv, [change]), { code: "ERR_DISK_FULL" });
      await assert.rejects(write(kv, [change]), { code: "ERR_DISK_FULL" });
      expect(await everything(kv)).toEqual(rows);
      rmSync(ballast);
      await write(kv, [change]);
      expect((await everything(kv)).length).toBe(rows.length + 1);
      await kv.close();
      const again = await openLmdbKv(join(folder, "store"));
      expect((await everything(again)).length).toBe(rows.length + 1);
      await again.close();
    },
  );
});

describe("what a killed promotion leaves behind", () => {
  const OLD = [row(bytes(5), "old")];
  const NEW = [row(bytes(5), "new")];

  /** A folder with generation 1 (OLD) and the bytes of a sealed construction (NEW) at `path`. */
  async function prepared(): Promise<{
    folder: string;
    head: Bytes;
    waste: (name: string) => void;
  }> {
    const folder = temporaryFolder();
    const kv = await openLmdbKv(folder);
    const head = await write(kv, OLD);
    const next = await kv.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head, puts: NEW, deletes: [] });
    const building = filesIn(folder).find((name) => name.includes("building")) ?? "";
    const aside = join(temporaryFolder(), "construction");
    copyFileSync(join(folder, building), aside);
    await kv.close();
    expect(filesIn(folder)).toEqual(["g000001.mdb"]);
    return { folder, head, waste: (name) => copyFileSync(aside, join(folder, name)) };
  }

  /** Marks a file as moved, as the transaction of a promotion does. */
  async function mark(folder: string, name: string, successor: string): Promise<void> {
    const file = new LmdbFile(join(folder, name), DURABLE);
    file.write(() => file.putMoved(MOVED, successor));
    await file.close();
  }

  async function confirm(folder: string, name: string): Promise<void> {
    const file = new LmdbFile(join(folder, name), DURABLE);
    file.furnish(true);
    await file.close();
  }

  /** Opens, checks the rows, writes, opens again and checks once more; then a promotion must work. */
  async function expectStore(folder: string, rows: readonly KvRow[]): Promise<void> {
    const kv = await openLmdbKv(folder);
    expect(await everything(kv)).toEqual(shown(rows));
    await write(kv, [row(bytes(6), "later")]);
    await kv.close();
    const again = await openLmdbKv(folder, { create: false });
    const expected = [...rows, row(bytes(6), "later")];
    expect(await everything(again)).toEqual(shown(expected));
    const head = await write(again, []);
    const next = await again.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head, puts: expected, deletes: [] });
    expect(await next.promote(head, MOVED)).toEqual({ ok: true });
    expect(await everything(again)).toEqual(shown(expected));
    await again.close();
    expect(filesIn(folder).length).toBe(1);
  }

  test("killed while building: the old file is the store, the waste goes at the next start", async () => {
    const { folder, waste } = await prepared();
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    waste(`g000002.building-${dead}-01234567-1.mdb`);
    waste(`g000002.building-${process.pid}-01234567-1.mdb`);
    await expectStore(folder, OLD);
  });

  test("another live process's construction is left alone", async () => {
    const { folder, waste } = await prepared();
    waste(`g000002.building-${process.ppid}-01234567-1.mdb`);
    const kv = await opened(folder);
    await (await kv.nextGeneration()).abandon();
    expect(filesIn(folder).length).toBe(2);
  });

  test("killed after the rename, before the move was committed: the old file is the store", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    await expectStore(folder, OLD);
    expect(filesIn(folder)).toEqual(["g000003.mdb"]);
  });

  test("the same twice over, with a gap in the numbers", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    waste("g000007.mdb");
    await expectStore(folder, OLD);
    expect(filesIn(folder)).toEqual(["g000008.mdb"]);
  });

  test("killed after the move was committed: the new file is the store", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    await mark(folder, "g000001.mdb", "g000002.mdb");
    await expectStore(folder, NEW);
  });

  test("the same beside the waste of an earlier kill", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    waste("g000003.mdb");
    await mark(folder, "g000001.mdb", "g000003.mdb");
    const file = new LmdbFile(join(folder, "g000002.mdb"), DURABLE);
    file.write(() => file.change([row(bytes(5), "waste")], []));
    await file.close();
    await expectStore(folder, NEW);
  });

  test("killed after the new file was confirmed: the old one is removed by whoever opens", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    await mark(folder, "g000001.mdb", "g000002.mdb");
    await confirm(folder, "g000002.mdb");
    const kv = await openLmdbKv(folder);
    expect(filesIn(folder)).toEqual(["g000002.mdb"]);
    await kv.close();
    await expectStore(folder, NEW);
  });

  test("a power cut took the mark of the old file back: the newer confirmed file is the store", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    await confirm(folder, "g000002.mdb");
    await expectStore(folder, NEW);
  });

  test("the old file gone and the new one unconfirmed: it is alone, so it is the store", async () => {
    const { folder, waste } = await prepared();
    waste("g000002.mdb");
    rmSync(join(folder, "g000001.mdb"));
    await expectStore(folder, NEW);
  });

  test("an opener that came too late created the old file anew: it is not mistaken for the store", async () => {
    for (const ghost of ["empty file", "empty environment"]) {
      const { folder, waste } = await prepared();
      waste("g000002.mdb");
      await confirm(folder, "g000002.mdb");
      rmSync(join(folder, "g000001.mdb"));
      rmSync(join(folder, "g000001.mdb-lock"));
      if (ghost === "empty file") writeFileSync(join(folder, "g000001.mdb"), "");
      else await new LmdbFile(join(folder, "g000001.mdb"), DURABLE).close();
      await expectStore(folder, NEW);
    }
  });

  test("killed at birth: a construction without a store is waste, and the store is made", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "g000001.building-999999-0badcafe-1.mdb"), "");
    writeFileSync(join(folder, "g000001.building-999999-0badcafe-1.mdb-lock"), "");
    await assert.rejects(openLmdbKv(folder, { create: false }), { code: "ERR_FORMAT_UNKNOWN" });
    await expectStore(folder, []);
    expect(filesIn(folder).filter((name) => name.includes("building"))).toEqual([]);
  });

  test("a store whose file was emptied or removed is refused, never taken for new", async () => {
    for (const what of ["emptied", "removed", "successor"] as const) {
      const folder = temporaryFolder();
      const kv = await opened(folder);
      const head = await write(kv, OLD);
      if (what === "successor") {
        const next = await kv.nextGeneration();
        await next.kv.commit({ expectHead: undefined, head, puts: NEW, deletes: [] });
        await next.promote(head, MOVED);
      }
      await kv.close();
      const path = join(folder, what === "successor" ? "g000002.mdb" : "g000001.mdb");
      if (what === "emptied") writeFileSync(path, "");
      else rmSync(path);
      for (const create of [true, false]) {
        await assert.rejects(openLmdbKv(folder, { create }), { code: "ERR_CORRUPT" }, what);
      }
    }
  });

  test("a construction that somebody removed fails to be promoted, and the store goes on", async () => {
    const folder = temporaryFolder();
    const kv = await opened(folder);
    const head = await write(kv, OLD);
    const next = await kv.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head, puts: NEW, deletes: [] });
    for (const name of filesIn(folder)) if (name !== "g000001.mdb") rmSync(join(folder, name));
    await assert.rejects(next.promote(head, MOVED), { code: "ERR_STORAGE" });
    await assert.rejects(next.promote(head, MOVED), { code: "ERR_CLOSED" });
    await next.abandon();
    expect(await everything(kv)).toEqual(shown(OLD));
    await write(kv, [row(bytes(6), "later")]);
  });
});

test("a handle never reads an earlier position than before: it waits for the later one", async () => {
  const folder = temporaryFolder();
  const positionOf = (head: Bytes): number => head[0] ?? 0;
  const [reader, writer] = [await opened(folder, { positionOf }), await opened(folder)];
  const put = (from: Bytes | undefined, to: Bytes) =>
    writer.commit({ expectHead: from, head: to, puts: [], deletes: [] });
  const headAt = async (): Promise<number | undefined> => {
    const snapshot = await reader.snapshot();
    const [head] = await snapshot.getMany([HEAD_KEY]);
    snapshot.close();
    return head?.[0];
  };
  await put(undefined, bytes(5));
  expect(await headAt()).toBe(5);
  // As the engine may show it for a moment: the commit before.
  await put(bytes(5), bytes(4));
  const late = headAt();
  await put(bytes(4), bytes(6));
  expect(await late).toBe(6);
  expect(await headAt()).toBe(6);
});
