/**
 * Damage of every kind: the check finds it, names the place, and repairs nothing.
 *
 * A closed store is damaged by writing rows straight through the storage layer; then it is opened like
 * any other. Named damages run on LMDB, random ones (a flipped bit or a lost row anywhere) in memory.
 * What only the journal's fold produces, a rebuild restores; what the journal itself has lost, nobody
 * makes up. A store of a newer release is left alone to the byte, and a full disk harms nothing.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ulidText } from "../src/codec/ulid.js";
import type { CheckReport } from "../src/contract/entry.js";
import { decodeHeadRow, encodeHeadRow, type HeadRow } from "../src/history/head-row.js";
import { type Cortex, CortexError, isCortexError, open } from "../src/index.js";
import { decodeEntry, encodeEntry, splitEntry } from "../src/journal/entry.js";
import { journalKey, KEYSPACE, type PrefixName } from "../src/kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { type SeededRandom, seededRandom } from "../src/testing/index.js";
import { lacksSmallDisk, mountSmallDisk } from "../src/testing/lacking.js";
import { atCleanUp, cleanUp, temporaryFolder } from "./other-process.js";

const NO_DISK = lacksSmallDisk();

afterEach(cleanUp);

/** Something of everything, so that every prefix has rows. */
async function fill(memory: Cortex): Promise<void> {
  await memory.write({ type: "fact", externalId: "a", text: "Ada lives in Lyon", slot: "home" });
  await memory.write({ type: "fact", externalId: "b", text: "Ada lives in Porto", slot: "home" });
  await memory.write({ type: "note", externalId: "c", text: "c", tags: ["red"], kind: "memo" });
  await memory.write({ type: "fact", text: "Ada lives in Porto", slot: "home" });
  await memory.update("c", { text: "c again" });
  await memory.updateHead("c", { tags: ["green"] });
  await memory.link("b", "supports", "c", { reason: "because" });
  await memory.link("c", "a kind of its own", "b");
  await memory.removeEdge("b", "supports", "c");
  await memory.write({ type: "goal", externalId: "g", text: "Learn to row", idempotencyKey: "k" });
  await memory.setGoalState("g", { failureStreak: 1, intentsTodayCount: 0, spentToday: "0" });
  await memory.configure({ conflictPolicy: "manual" });
  const turns = ["hello", "good day", "bye"].map((content) => ({ role: "user" as const, content }));
  await memory.remember(turns, { session: "s" });
  await memory.tombstone("a", "old");
  await memory.write({ type: "note", externalId: "f", text: "to be forgotten" });
  await memory.forget("f", "asked to");
  for (let n = 0; n < 20; n += 1) await memory.write({ type: "note", text: `note ${n}` });
}

/** Every row but those of caches, which anybody may drop and build again. */
async function allRows(kv: Kv): Promise<KvRow[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: new Uint8Array(0), lt: FIRST_CACHE, limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows;
}

/** Caches have the prefixes from here on. */
const FIRST_CACHE = Uint8Array.of(KEYSPACE.cursor.byte);

const hex = (bytes: Bytes): string => Buffer.from(bytes).toString("hex");

function shown(rows: readonly KvRow[]): string[] {
  return rows.map(({ key, value }) => `${hex(key)} ${hex(value)}`);
}

/** What is done to a store. */
interface Damage {
  readonly puts?: readonly KvRow[];
  readonly deletes?: readonly Bytes[];
  readonly head?: Bytes;
}

async function apply(kv: Kv, { puts = [], deletes = [], head }: Damage): Promise<void> {
  const snapshot = await kv.snapshot();
  const [expectHead] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  const next = head ?? expectHead ?? new Uint8Array(1);
  expect(await kv.commit({ expectHead, head: next, puts, deletes })).toEqual({ ok: true });
}

/** The rows of a good store, made once. */
const goodRows: Promise<readonly KvRow[]> = (async () => {
  const kv = openMemoryKv();
  let now = Date.UTC(2030, 0, 1);
  const clock = (): number => ++now;
  const random = seededRandom(5).bytes;
  const memory = await open("memory:", { actor: "ada", kv, clock, random });
  await fill(memory);
  expect(await memory.check()).toMatchObject({ ok: true });
  return allRows(kv);
})();

function rowsUnder(rows: readonly KvRow[], name: PrefixName): KvRow[] {
  return rows.filter(({ key }) => key[0] === KEYSPACE[name].byte);
}

function headIn(rows: readonly KvRow[]): HeadRow {
  return decodeHeadRow(rowsUnder(rows, "head")[0]?.value);
}

/** The same bytes with one bit turned. */
function flipped(bytes: Bytes, at: number, bit = 0): Bytes {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

/** Fills a storage with rows. */
async function restoreRows(kv: Kv, rows: readonly KvRow[]): Promise<void> {
  const isHead = ({ key }: KvRow): boolean => key.length === 1 && key[0] === 0;
  const head = rows.find(isHead)?.value ?? new Uint8Array(1);
  const puts = rows.filter((row) => !isHead(row));
  expect(await kv.commit({ expectHead: undefined, head, puts, deletes: [] })).toEqual({ ok: true });
}

/** A closed LMDB store with the good rows, damaged; returns its folder. */
async function damagedStore(damage: Damage): Promise<string> {
  const folder = temporaryFolder();
  const kv = await openLmdbKv(join(folder, "ada"));
  await restoreRows(kv, await goodRows);
  await apply(kv, damage);
  await kv.close();
  return folder;
}

async function storedRows(folder: string): Promise<string[]> {
  const kv = await openLmdbKv(join(folder, "ada"));
  try {
    return shown(await allRows(kv));
  } finally {
    await kv.close();
  }
}

/** Opens the store, checks it, and sees that neither changed a row. */
async function checkDamaged(folder: string): Promise<CheckReport> {
  const before = await storedRows(folder);
  const memory = await open(folder, { actor: "ada" });
  const report = await memory.check();
  const verified = await memory.rebuild({ verifyOnly: true }).catch((error: unknown) => {
    if (!(error instanceof CortexError)) throw error;
    return { ok: false };
  });
  expect(verified.ok).toBe(false);
  await memory.close();
  expect(await storedRows(folder)).toEqual(before);
  return report;
}

const SEQ = 7;

describe("the journal", () => {
  async function entryRow(seq: number): Promise<KvRow> {
    const rows = await goodRows;
    const found = rows.find(({ key }) => hex(key) === hex(journalKey(seq)));
    return found as KvRow;
  }

  test("a missing entry is named", async () => {
    const folder = await damagedStore({ deletes: [journalKey(SEQ)] });
    const { ok, problems } = await checkDamaged(folder);
    expect(ok).toBe(false);
    expect(problems[0]).toMatchObject({ code: "ERR_JOURNAL_GAP", seq: SEQ });
  });

  test("the last entry missing is named", async () => {
    const last = headIn(await goodRows).size - 1;
    const folder = await damagedStore({ deletes: [journalKey(last)] });
    expect((await checkDamaged(folder)).problems[0]).toMatchObject({ seq: last });
  });

  test("a row under a prefix that nothing uses is found", async () => {
    const folder = await damagedStore({
      puts: [{ key: Buffer.from([0x7e, 1]), value: Buffer.from("x") }],
    });
    const { ok, problems } = await checkDamaged(folder);
    expect(ok).toBe(false);
    expect(problems[0]?.message).toMatch(/row 7e01 stands under a prefix that nothing uses/);
  });

  test("two entries that changed places are named by the first", async () => {
    const [first, second] = [await entryRow(SEQ), await entryRow(SEQ + 1)];
    const puts = [
      { key: first.key, value: second.value },
      { key: second.key, value: first.value },
    ];
    const folder = await damagedStore({ puts });
    expect((await checkDamaged(folder)).problems[0]).toMatchObject({ seq: SEQ });
  });

  test("a changed part is named by its entry", async () => {
    const { key, value } = await entryRow(SEQ);
    const entry = decodeEntry(value);
    const parts = entry.parts.map((part) => (part === undefined ? part : flipped(part, 20)));
    const folder = await damagedStore({ puts: [{ key, value: encodeEntry({ ...entry, parts }) }] });
    const [problem] = (await checkDamaged(folder)).problems;
    expect(problem).toMatchObject({ code: "ERR_CORRUPT", seq: SEQ });
    expect(problem?.message).toContain("hash");
  });

  test("a part taken out without a forget is found", async () => {
    const { key, value } = await entryRow(SEQ);
    const entry = decodeEntry(value);
    const parts = entry.parts.map(() => undefined);
    const folder = await damagedStore({ puts: [{ key, value: encodeEntry({ ...entry, parts }) }] });
    expect((await checkDamaged(folder)).ok).toBe(false);
  });

  test("a changed header is found: the name of whoever wrote it", async () => {
    const { key, value } = await entryRow(SEQ);
    const { headerBytes, parts } = splitEntry(value);
    const at = Buffer.from(headerBytes).indexOf("ada");
    expect(at).toBeGreaterThan(0);
    const changed = encodeEntry({ headerBytes: flipped(headerBytes, at), parts });
    const folder = await damagedStore({ puts: [{ key, value: changed }] });
    const { ok, problems } = await checkDamaged(folder);
    expect(ok).toBe(false);
    expect(problems.map(({ message }) => message).join()).toMatch(/log tile row 02|entry 7/);
  });

  test("a read of an entry whose header lost a bit is right, or refused with the seq", async () => {
    const entries = rowsUnder(await goodRows, "journal").slice(1);
    const isWrite = ({ value }: KvRow): boolean => decodeEntry(value).header.kind === "write";
    const { key, value } = entries.find(isWrite) ?? (await entryRow(SEQ));
    const { headerBytes, parts } = splitEntry(value);
    const { seq, parts: lines } = decodeEntry(value).header;
    const id = ulidText((lines[0]?.subject ?? new Uint8Array(17)).subarray(1));
    const read = async (bytes: Bytes): Promise<string | undefined> => {
      const kv = openMemoryKv();
      await restoreRows(kv, await goodRows);
      await apply(kv, { puts: [{ key, value: encodeEntry({ headerBytes: bytes, parts }) }] });
      await using memory = await open("memory:", { actor: "ada", kv });
      return memory.get(id, { asOf: seq }).then(
        (found) => found?.text,
        (error) => `${error.code} ${error.details?.seq}`,
      );
    };
    const right = await read(headerBytes);
    const outcomes = new Set<string | undefined>();
    for (let at = 0; at < headerBytes.length; at += 2) {
      outcomes.add(await read(flipped(headerBytes, at, at % 8)));
    }
    expect([...outcomes].sort()).toEqual([`ERR_CORRUPT ${seq}`, right].sort());
  });

  test("a rebuild makes nothing up: it fails and leaves the store as it is", async () => {
    const folder = await damagedStore({ deletes: [journalKey(SEQ)] });
    const before = await storedRows(folder);
    const memory = await open(folder, { actor: "ada" });
    await expect(memory.rebuild()).rejects.toMatchObject({ code: "ERR_JOURNAL_GAP" });
    await memory.close();
    expect(await storedRows(folder)).toEqual(before);
    expect(readdirSync(join(folder, "ada")).filter((name) => name.includes("building"))).toEqual(
      [],
    );
  });
});

describe("derived rows", () => {
  const cases: { readonly name: string; readonly damage: (rows: readonly KvRow[]) => Damage }[] = [
    ...(["index", "memory", "memoryPage", "edgePage", "logTile", "edge"] as const).map(
      (prefix) => ({
        name: `a flipped bit in a ${KEYSPACE[prefix].name} row`,
        damage: (rows: readonly KvRow[]) => flippedIn(rowsUnder(rows, prefix)),
      }),
    ),
    {
      name: "an edge without its reverse row",
      damage: (rows) => ({ deletes: [rowsUnder(rows, "edgeIn")[0]?.key as Bytes] }),
    },
    {
      name: "a row that nobody wrote",
      damage: () => ({
        puts: [
          {
            key: Uint8Array.of(KEYSPACE.goalState.byte, ...Array(16).fill(9)),
            value: Uint8Array.of(1),
          },
        ],
      }),
    },
    {
      name: "a lost history row",
      damage: (rows) => ({ deletes: [rowsUnder(rows, "history")[0]?.key as Bytes] }),
    },
  ];

  /** The value of the first row that has one is changed; else its key is. */
  function flippedIn(rows: readonly KvRow[]): Damage {
    const row = rows.find(({ value }) => value.length > 0) ?? (rows[0] as KvRow);
    if (row.value.length > 0) {
      return { puts: [{ key: row.key, value: flipped(row.value, row.value.length - 1) }] };
    }
    const key = flipped(row.key, row.key.length - 1);
    return { deletes: [row.key], puts: [{ key, value: row.value }] };
  }

  test.each(cases)(
    "$name: found, named, not repaired; a rebuild restores it",
    async ({ damage }) => {
      const rows = await goodRows;
      const done = damage(rows);
      const folder = await damagedStore(done);
      const { ok, problems } = await checkDamaged(folder);
      expect(ok).toBe(false);
      const touched = [...(done.deletes ?? []), ...(done.puts ?? []).map(({ key }) => key)];
      const said = problems.map(({ message }) => message).join("\n");
      for (const key of touched) expect(said).toContain(hex(key));
      const memory = await open(folder, { actor: "ada" });
      const rebuilt = await memory.rebuild();
      expect(rebuilt.ok).toBe(true);
      expect(rebuilt.differences.length).toBeGreaterThan(0);
      expect(await memory.check()).toMatchObject({ ok: true });
      await memory.close();
      expect(await storedRows(folder)).toEqual(shown(rows));
    },
  );

  test.each([
    {
      name: "counts",
      change: (head: HeadRow) => ({ ...head, counts: { ...head.counts, active: 99 } }),
    },
    { name: "a time", change: (head: HeadRow) => ({ ...head, at: head.at + 1 }) },
  ])("$name in the head row: found and named", async ({ change }) => {
    const head = encodeHeadRow(change(headIn(await goodRows)));
    const folder = await damagedStore({ head });
    const { ok, problems } = await checkDamaged(folder);
    expect(ok).toBe(false);
    expect(problems.map(({ message }) => message).join()).toContain("head");
  });

  test.each([-1, 1])("a journal length that is off by %i is found", async (offset) => {
    const head = headIn(await goodRows);
    const folder = await damagedStore({
      head: encodeHeadRow({ ...head, size: head.size + offset }),
    });
    expect((await checkDamaged(folder)).ok).toBe(false);
  });
});

describe("anywhere", () => {
  const SEED = Number(process.env.CORTEX_SEED ?? 11);
  const ROUNDS = 150;

  function anyDamage(random: SeededRandom, rows: readonly KvRow[]): Damage {
    // The prefix first: there are far more rows of some than of others.
    const prefixes = [...new Set(rows.map(({ key }) => key[0] ?? 0))].filter((byte) => byte !== 0);
    const byte = random.pick(prefixes);
    const row = random.pick(rows.filter(({ key }) => key[0] === byte));
    if (random.chance(25) || row.value.length === 0) return { deletes: [row.key] };
    const at = random.below(row.value.length);
    return { puts: [{ key: row.key, value: flipped(row.value, at, random.below(8)) }] };
  }

  test(`${ROUNDS} flipped bits and lost rows, each found and none repaired`, async () => {
    console.log(`corruption: seed ${SEED}`);
    const random = seededRandom(SEED);
    const rows = await goodRows;
    const missed: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const damage = anyDamage(random, rows);
      const kv = openMemoryKv();
      await restoreRows(kv, rows);
      await apply(kv, damage);
      const before = shown(await allRows(kv));
      const what = JSON.stringify({
        round,
        deletes: damage.deletes?.map(hex),
        puts: damage.puts?.map(({ key }) => hex(key)),
      });
      const found = await findsTrouble(kv, what);
      if (!found) missed.push(what);
      expect(shown(await allRows(kv)), what).toEqual(before);
    }
    expect(missed).toEqual([]);
  });

  /** Whether opening or checking the store says what is wrong, and where. */
  async function findsTrouble(kv: Kv, what: string): Promise<boolean> {
    const memory = await open("memory:", { actor: "ada", kv }).catch((error: unknown) => {
      if (!isCortexError(error)) throw new Error(what, { cause: error });
      return undefined;
    });
    if (memory === undefined) return true;
    const { ok, problems } = await memory.check();
    if (ok) return false;
    for (const { seq, message } of problems) {
      expect(seq !== undefined || /row [0-9a-f]+|head/.test(message), `${what}: ${message}`).toBe(
        true,
      );
    }
    return true;
  }
});

/** The files of a folder with their bytes, lock files aside: the engine notes its readers there. */
function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith("-lock"))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(names.sort().map((name) => [name, readFileSync(name).toString("base64")]));
}

describe("a store of a newer release", () => {
  test.each([
    { name: "format", change: (head: HeadRow) => ({ ...head, format: head.format + 1 }) },
    { name: "fold", change: (head: HeadRow) => ({ ...head, foldVersion: head.foldVersion + 1 }) },
  ])("a newer $name is refused, and not a byte changes", async ({ change }) => {
    const head = encodeHeadRow(change(headIn(await goodRows)));
    const folder = await damagedStore({ head });
    const before = filesIn(folder);
    for (const create of [true, false]) {
      const opened = open(folder, { actor: "ada", create });
      await expect(opened).rejects.toMatchObject({ code: "ERR_FORMAT_NEWER" });
    }
    expect(filesIn(folder)).toEqual(before);
  });

  test("a writer that finds its store moved on to a newer release stops", async () => {
    const folder = await damagedStore({});
    const memory = await open(folder, { actor: "ada" });
    const kv = await openLmdbKv(join(folder, "ada"));
    await apply(kv, { head: encodeHeadRow({ ...headIn(await goodRows), foldVersion: 99 }) });
    const rows = shown(await allRows(kv));
    const refused = { code: "ERR_FORMAT_NEWER" };
    await expect(memory.write({ type: "note", text: "late" })).rejects.toMatchObject(refused);
    await expect(memory.get("b")).rejects.toMatchObject(refused);
    expect(shown(await allRows(kv))).toEqual(rows);
    await Promise.all([memory.close(), kv.close()]);
  });
});

describe("a full disk", () => {
  const text = "x".repeat(20_000);

  /** Writes until there is no room; returns the ids that were acknowledged. */
  async function writeUntilFull(memory: Cortex): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < 2000; n += 1) {
      try {
        ids.push((await memory.write({ type: "note", text: `${n} ${text}` })).id);
      } catch (error) {
        expect(error).toMatchObject({ code: "ERR_DISK_FULL" });
        return ids;
      }
    }
    throw new Error("the disk never got full");
  }

  async function expectReadable(memory: Cortex, ids: readonly string[]): Promise<void> {
    for (const [n, id] of ids.entries()) {
      expect((await memory.get(id))?.text.startsWith(`${n} `)).toBe(true);
    }
    expect((await memory.list({ limit: 5 })).memories).toHaveLength(5);
    expect(await memory.check()).toMatchObject({ ok: true });
  }

  test("a limit of the store: refused with a code, reads go on", async () => {
    const folder = temporaryFolder();
    const kv = await openLmdbKv(join(folder, "ada"), { mapSizeBytes: 1_500_000 });
    const memory = await open("memory:", { actor: "ada", kv });
    atCleanUp(() => memory.close());
    const ids = await writeUntilFull(memory);
    const { entries } = await memory.stats();
    expect(entries).toBe(ids.length + 1);
    const refused = memory.batch([
      { write: { type: "note", text } },
      { write: { type: "note", text } },
    ]);
    await expect(refused).rejects.toMatchObject({ code: "ERR_DISK_FULL" });
    expect((await memory.stats()).entries).toBe(entries);
    await expectReadable(memory, ids);
  });

  test.skipIf(NO_DISK)(
    "a real disk: refused, readable, and written again once there is room",
    async () => {
      const folder = join(temporaryFolder(), "disk");
      mkdirSync(folder);
      const disk = mountSmallDisk(folder, "5m");
      atCleanUp(() => disk?.unmount());
      const filler = join(folder, "filler");
      writeFileSync(filler, new Uint8Array(2_000_000));
      const memory = await open(join(folder, "store"), { actor: "ada" });
      atCleanUp(() => memory.close());
      const ids = await writeUntilFull(memory);
      expect(ids.length).toBeGreaterThan(5);
      const { entries } = await memory.stats();
      expect(entries).toBe(ids.length + 1);
      await expectReadable(memory, ids);
      // How much a write needs depends on the pages it touches: one larger than all before never fits.
      const large = { type: "note", text: "x".repeat(60_000) } as const;
      await expect(memory.write(large)).rejects.toMatchObject({ code: "ERR_DISK_FULL" });
      rmSync(filler);
      const after = await memory.write({ type: "note", text: "room again" });
      expect(after.seq).toBe(entries);
      expect((await memory.get(after.id))?.text).toBe("room again");
      await expectReadable(memory, ids);
    },
  );
});
