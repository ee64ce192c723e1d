/**
 * The part of the storage suite that every backend must pass: order, sizes, batches, ranges,
 * snapshots, compare-and-commit and closing. Also the few helpers that the other groups share.
 */
import assert from "node:assert/strict";
import {
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvRange,
  type KvRow,
  type KvSnapshot,
} from "../kv/kv.js";
import type { KvCase } from "./kv-suite.js";
import { seededRandom } from "./seeded-random.js";

/** The cases without any condition. */
export function basicCases(): KvCase[] {
  return [
    ...rowCases,
    ...rangeCases(),
    ...snapshotCases,
    ...commitCases,
    ...cacheCases,
    ...closeCases,
  ];
}

/** Bytes from numbers. */
export function bytes(...values: number[]): Bytes {
  return Uint8Array.from(values);
}

/** A row of a one-byte-per-character text. */
export function row(key: Bytes, text: string): KvRow {
  return { key, value: new TextEncoder().encode(text) };
}

/** Bytes as a printable text, so that failures can be read; long ones as length and ends. */
export function hex(value: Bytes | undefined): string {
  if (value === undefined) return "absent";
  assert.ok(value instanceof Uint8Array, "a value must be a Uint8Array");
  const digits = (part: Bytes): string => Buffer.from(part).toString("hex");
  if (value.length <= 600) return `<${digits(value)}>`;
  return `<${value.length}: ${digits(value.subarray(0, 64))}…${digits(value.subarray(-64))}>`;
}

/** Rows as printable texts. */
export function shown(rows: readonly KvRow[]): string[] {
  return rows.map(({ key, value }) => `${hex(key)} = ${hex(value)}`);
}

/** A snapshot whose state is settled: something was read from it. */
export async function settledSnapshot(kv: Kv): Promise<KvSnapshot> {
  const snapshot = await kv.snapshot();
  await snapshot.getMany([HEAD_KEY]);
  return snapshot;
}

/** What is looked at where it stands is good for one call. */
function copyOf(value: Bytes): Bytes {
  return Uint8Array.from(value);
}

/** Reads values from a snapshot of its own; one by one, or at once, they are the same, where a backend gives them so. */
export async function read(kv: Kv, ...keys: Bytes[]): Promise<string[]> {
  const snapshot = await kv.snapshot();
  try {
    const values = (await snapshot.getMany(keys)).map(hex);
    const { getNow, lookNow } = snapshot;
    const atHand = keys.map((key) => hex(getNow?.call(snapshot, key)));
    if (getNow !== undefined) assert.deepEqual(atHand, values);
    const seen = keys.map((key) => hex(lookNow?.call(snapshot, key, copyOf) as Bytes | undefined));
    if (lookNow !== undefined) assert.deepEqual(seen, values);
    const atOnce = kv.readNow?.((rows) => keys.map((key) => hex(rows.getNow(key))));
    if (atOnce !== undefined) assert.deepEqual(atOnce, values);
    return values;
  } finally {
    snapshot.close();
  }
}

/** Reads one range from a snapshot of its own; at once it is the same. */
export async function readRange(kv: Kv, range: KvRange): Promise<KvRow[]> {
  const snapshot = await kv.snapshot();
  try {
    const [rows] = await snapshot.ranges([range]);
    assert.ok(rows, "one range gives one list");
    assert.deepEqual(snapshot.rangeNow?.(range) ?? rows, rows);
    return rows;
  } finally {
    snapshot.close();
  }
}

/** Every row but the head's. */
export async function everything(kv: Kv): Promise<string[]> {
  const beyond = new Uint8Array(513).fill(0xff);
  return shown(await readRange(kv, { gte: bytes(0, 0), lt: beyond, limit: 1_000_000 }));
}

/** Commits on top of whatever the head is, and gives the new head. */
export async function write(
  kv: Kv,
  puts: readonly KvRow[],
  deletes: readonly Bytes[] = [],
): Promise<Bytes> {
  const snapshot = await kv.snapshot();
  const [expectHead] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  const head = bytes(1, ((expectHead?.[1] ?? 0) + 1) % 256, puts.length % 256);
  const result = await kv.commit({ expectHead, head, puts, deletes });
  assert.deepEqual(result, { ok: true });
  return head;
}

const rowCases: readonly KvCase[] = [
  {
    name: "keys order by unsigned bytes, a prefix first",
    async run({ kv }) {
      const keys = [
        bytes(2),
        bytes(2, 0),
        bytes(2, 0, 0),
        bytes(2, 0x7f),
        bytes(2, 0x80),
        bytes(2, 0x80, 0xff),
        bytes(2, 0xff),
        bytes(0x7f),
        bytes(0x80),
        bytes(0xff),
        bytes(0xff, 0xff),
      ];
      await write(
        kv,
        seededRandom(7)
          .shuffled(keys)
          .map((key) => row(key, "x")),
      );
      const rows = await readRange(kv, {
        gte: bytes(2),
        lt: bytes(0xff, 0xff, 0xff),
        limit: 100,
      });
      assert.deepEqual(
        rows.map((r) => hex(r.key)),
        keys.map(hex),
      );
    },
  },
  {
    name: "keys of 1 and 512 bytes; values of 0 bytes and 1 MB",
    async run({ kv }) {
      const random = seededRandom(11);
      const longKey = new Uint8Array(512).fill(0xee);
      const sameButLast = Uint8Array.from(longKey);
      sameButLast[511] = 0xef;
      const big = random.bytes(1_000_000);
      await write(kv, [
        { key: bytes(9), value: new Uint8Array(0) },
        { key: longKey, value: big },
        { key: sameButLast, value: bytes(1) },
        { key: bytes(1, 9), value: big.subarray(3, 70_003) },
      ]);
      const found = await read(kv, bytes(9), longKey, sameButLast, bytes(1, 9));
      assert.deepEqual(found, [bytes(), big, bytes(1), big.subarray(3, 70_003)].map(hex));
      const snapshot = await kv.snapshot();
      const [whole] = await snapshot.getMany([longKey]);
      const [[ranged] = []] = await snapshot.ranges([{ gte: longKey, lt: sameButLast, limit: 5 }]);
      snapshot.close();
      assert.ok(Buffer.from(whole ?? []).equals(big), "every byte of a large value, by key");
      assert.ok(Buffer.from(ranged?.value ?? []).equals(big), "and by range");
    },
  },
  {
    name: "keys of 0 or 513 bytes and the head as a row are refused",
    async run({ kv }) {
      for (const key of [bytes(), new Uint8Array(513), HEAD_KEY]) {
        const change = { expectHead: undefined, head: bytes(1) };
        const puts = [{ key, value: bytes(1) }];
        await assert.rejects(kv.commit({ ...change, puts, deletes: [] }), RangeError);
        await assert.rejects(kv.commit({ ...change, puts: [], deletes: [key] }), RangeError);
      }
      const moved = { expectHead: undefined, head: bytes(0xff), puts: [], deletes: [] };
      await assert.rejects(kv.commit(moved), RangeError);
      assert.deepEqual(await read(kv, HEAD_KEY), ["absent"]);
    },
  },
  {
    name: "getMany keeps the order asked for, absences and repetitions included",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "five"), row(bytes(1, 2), "entry"), row(bytes(7), "seven")]);
      const keys = [bytes(7), bytes(6), bytes(1, 2), bytes(5), bytes(1, 3), bytes(7), bytes(5, 0)];
      const expected = ["seven", undefined, "entry", "five", undefined, "seven", undefined];
      assert.deepEqual(
        await read(kv, ...keys),
        expected.map((text) => hex(text === undefined ? text : new TextEncoder().encode(text))),
      );
      assert.deepEqual(await read(kv), []);
    },
  },
  {
    name: "what a read gave stays as it was after later reads and commits",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "first"), row(bytes(1, 5), "entry")]);
      const snapshot = await kv.snapshot();
      const [kept] = await snapshot.getMany([bytes(5)]);
      const [rows = []] = await snapshot.ranges([{ gte: bytes(1), lt: bytes(6), limit: 9 }]);
      snapshot.close();
      const before = [hex(kept), ...shown(rows)];
      await write(kv, [row(bytes(5), "other"), row(bytes(1, 6), "later")]);
      await read(kv, bytes(5), bytes(1, 6));
      await everything(kv);
      assert.deepEqual([hex(kept), ...shown(rows)], before);
    },
  },
];

/** Rows of the range cases: some below the journal byte, some in it, some above. */
const RANGE_KEYS: readonly Bytes[] = [
  bytes(0, 5),
  bytes(1, 0),
  bytes(1, 0, 1),
  bytes(1, 7),
  bytes(1, 255),
  bytes(2),
  bytes(2, 1),
  bytes(2, 1, 0),
  bytes(2, 2),
  bytes(0x80, 3),
  bytes(0xff),
  bytes(0xff, 0xff),
];

const RANGES: readonly (KvRange & { readonly name: string })[] = [
  { name: "everything", gte: bytes(0, 0), lt: new Uint8Array(513).fill(0xff), limit: 100 },
  { name: "an empty lower bound", gte: bytes(), lt: bytes(2), limit: 100 },
  { name: "below the journal", gte: bytes(0, 1), lt: bytes(1), limit: 100 },
  { name: "the journal alone", gte: bytes(1), lt: bytes(2), limit: 100 },
  { name: "a part of the journal", gte: bytes(1, 0, 0), lt: bytes(1, 7, 0), limit: 100 },
  { name: "from the journal on", gte: bytes(1, 7), lt: bytes(2, 2), limit: 100 },
  { name: "into the journal", gte: bytes(0, 0), lt: bytes(1, 7), limit: 100 },
  { name: "across the journal", gte: bytes(0, 0), lt: bytes(0x81), limit: 100 },
  { name: "bounds that are keys", gte: bytes(2, 1), lt: bytes(2, 2), limit: 100 },
  { name: "bounds between keys", gte: bytes(2, 0, 9), lt: bytes(2, 1, 1), limit: 100 },
  { name: "one key", gte: bytes(2, 1), lt: bytes(2, 1, 0), limit: 100 },
  { name: "nothing between", gte: bytes(3), lt: bytes(4), limit: 100 },
  { name: "equal bounds", gte: bytes(2, 1), lt: bytes(2, 1), limit: 100 },
  { name: "bounds crossed", gte: bytes(2, 2), lt: bytes(2), limit: 100 },
  { name: "below everything", gte: bytes(), lt: bytes(0), limit: 100 },
  { name: "above everything", gte: bytes(0xff, 0xff, 0), lt: bytes(0xff, 0xff, 9), limit: 100 },
  { name: "an upper bound of nothing", gte: bytes(), lt: bytes(), limit: 100 },
];

function rangeCases(): KvCase[] {
  const variants = RANGES.flatMap((range) =>
    [1, 2, 3, 100].flatMap((limit) => [
      { ...range, limit, name: `${range.name}, limit ${limit}` },
      { ...range, limit, keysOnly: true, name: `${range.name}, limit ${limit}, keys only` },
    ]),
  );
  // Every case has a twin that runs backwards.
  const all = variants.flatMap((range) => [
    range,
    { ...range, reverse: true, name: `${range.name}, reversed` },
  ]);
  return [
    {
      name: `ranges: ${all.length} of them, forwards and backwards, one by one and in one batch`,
      async run({ kv }) {
        await write(
          kv,
          RANGE_KEYS.map((key) => row(key, `of ${hex(key)}`)),
        );
        const snapshot = await kv.snapshot();
        const [head] = await snapshot.getMany([HEAD_KEY]);
        assert.ok(head);
        const batch = await snapshot.ranges(all);
        for (const [i, range] of all.entries()) {
          const expected = shown(naiveRange(head, range));
          assert.deepEqual(shown(batch[i] ?? []), expected, range.name);
          const [alone = []] = await snapshot.ranges([range]);
          assert.deepEqual(shown(alone), expected, range.name);
        }
        assert.deepEqual(await snapshot.ranges([]), []);
        snapshot.close();
      },
    },
    {
      name: "ranges of an empty store, and a limit below 1",
      async run({ kv }) {
        const range = { gte: bytes(), lt: bytes(0xff), limit: 1 };
        assert.deepEqual(await readRange(kv, range), []);
        assert.deepEqual(await readRange(kv, { ...range, reverse: true }), []);
        await assert.rejects(readRange(kv, { ...range, limit: 0 }), RangeError);
        await assert.rejects(readRange(kv, { ...range, limit: 1.5 }), RangeError);
        const tooLong = { ...range, gte: new Uint8Array(514) };
        await assert.rejects(readRange(kv, tooLong), RangeError);
      },
    },
  ];
}

/** The definition of a range, by looking at every row. */
function naiveRange(head: Bytes, range: KvRange): KvRow[] {
  const rows = [{ key: HEAD_KEY, value: head }, ...RANGE_KEYS.map((k) => row(k, `of ${hex(k)}`))];
  const inside = rows.filter(
    ({ key }) => Buffer.compare(key, range.gte) >= 0 && Buffer.compare(key, range.lt) < 0,
  );
  if (range.reverse === true) inside.reverse();
  return inside
    .slice(0, range.limit)
    .map((found) => (range.keysOnly === true ? { ...found, value: bytes() } : found));
}

const snapshotCases: readonly KvCase[] = [
  {
    name: "rows of the journal are shown before they are given out, and can be refused",
    async run({ kv }) {
      const rows = [row(bytes(1, 1), "one"), row(bytes(1, 2), "two"), row(bytes(5), "other")];
      await write(kv, rows);
      const seen: string[] = [];
      const snapshot = await kv.snapshot({
        onEntry: (key, value) => {
          seen.push(...shown([{ key, value }]));
          if (key[1] === 2) throw new Error("refused");
        },
      });
      await snapshot.getMany([bytes(1, 1), bytes(5), bytes(1, 9)]);
      await snapshot.ranges([{ gte: bytes(1), lt: bytes(1, 2), limit: 9 }]);
      await snapshot.ranges([{ gte: bytes(0), lt: bytes(9), limit: 9, keysOnly: true }]);
      assert.deepEqual(seen, [...shown(rows.slice(0, 1)), ...shown(rows.slice(0, 1))]);
      await assert.rejects(snapshot.getMany([bytes(1, 2)]));
      if (snapshot.getNow !== undefined) assert.throws(() => snapshot.getNow?.(bytes(1, 2)));
      if (snapshot.lookNow !== undefined)
        assert.throws(() => snapshot.lookNow?.(bytes(1, 2), copyOf));
      await assert.rejects(snapshot.ranges([{ gte: bytes(0), lt: bytes(9), limit: 9 }]));
      snapshot.close();
      const onEntry = (): never => {
        throw new Error("refused");
      };
      if (kv.readNow === undefined) return;
      assert.throws(() => kv.readNow?.((at) => at.getNow(bytes(1, 1)), { onEntry }));
    },
  },
  {
    name: "a snapshot sees one state, however many commits follow",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "old"), row(bytes(6), "going"), row(bytes(1, 1), "one")]);
      const held = await kv.snapshot();
      const range = { gte: bytes(0, 0), lt: bytes(0xff), limit: 100 };
      const first = shown((await held.ranges([range]))[0] ?? []);
      for (let i = 2; i < 20; i++) {
        const deletes = i === 2 ? [bytes(6)] : [];
        await write(kv, [row(bytes(5), `new ${i}`), row(bytes(1, i), "more")], deletes);
        assert.deepEqual(shown((await held.ranges([range]))[0] ?? []), first);
        assert.deepEqual((await held.getMany([bytes(1, i)])).map(hex), ["absent"]);
      }
      // A turn of the event loop must not refresh it either.
      await new Promise((done) => setTimeout(done, 5));
      assert.deepEqual(shown((await held.ranges([range]))[0] ?? []), first);
      held.close();
    },
  },
  {
    name: "snapshots of different ages stand side by side, and each new one is fresh",
    async run({ kv }) {
      const snapshots = [await settledSnapshot(kv)];
      for (let i = 1; i <= 8; i++) {
        await write(kv, [row(bytes(5), `state ${i}`)]);
        snapshots.push(await settledSnapshot(kv), await settledSnapshot(kv));
        if (i === 4) await new Promise((done) => setTimeout(done, 2));
      }
      const order = seededRandom(3).shuffled([...snapshots.entries()]);
      for (const [i, snapshot] of order) {
        const state = Math.ceil(i / 2);
        const expected = state === 0 ? undefined : new TextEncoder().encode(`state ${state}`);
        assert.deepEqual((await snapshot.getMany([bytes(5)])).map(hex), [hex(expected)]);
        snapshot.close();
      }
    },
  },
  {
    name: "closing a snapshot is idempotent and ends its reads alone",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "x")]);
      const one = await kv.snapshot();
      const two = await kv.snapshot();
      one.close();
      one.close();
      await assert.rejects(one.getMany([bytes(5)]), { code: "ERR_CLOSED" });
      const range = { gte: bytes(5), lt: bytes(6), limit: 1 };
      await assert.rejects(one.ranges([range]), { code: "ERR_CLOSED" });
      assert.equal((await two.ranges([range]))[0]?.length, 1);
      two.close();
    },
  },
];

const commitCases: readonly KvCase[] = [
  {
    name: "a commit wins on the expected head and loses on any other, leaving nothing",
    async run({ kv }) {
      const birth = { expectHead: undefined, head: bytes(1, 1), deletes: [] };
      assert.deepEqual(await kv.commit({ ...birth, puts: [row(bytes(5), "a")] }), { ok: true });
      const before = await everything(kv);
      for (const expectHead of [undefined, bytes(1), bytes(1, 1, 0), bytes(1, 2), bytes()]) {
        const result = await kv.commit({
          expectHead,
          head: bytes(1, 9),
          puts: [row(bytes(5), "b"), row(bytes(1, 1), "c")],
          deletes: [bytes(6)],
        });
        assert.equal(result.ok, false);
        assert.equal(result.ok ? "" : hex(result.head), hex(bytes(1, 1)));
      }
      assert.deepEqual(await everything(kv), before);
      assert.deepEqual(await read(kv, HEAD_KEY), [hex(bytes(1, 1))]);
    },
  },
  {
    name: "a lost race on an unborn store reports that there is no head",
    async run({ kv }) {
      const change = { expectHead: bytes(1), head: bytes(2), puts: [], deletes: [] };
      assert.deepEqual(await kv.commit(change), { ok: false, head: undefined });
      assert.deepEqual(await read(kv, HEAD_KEY), ["absent"]);
    },
  },
  {
    name: "of many commits on one head exactly one wins",
    async run({ kv }) {
      const head = await write(kv, []);
      const rivals = Array.from({ length: 8 }, (_, i) =>
        kv.commit({
          expectHead: head,
          head: bytes(2, i),
          puts: [row(bytes(5), `by ${i}`), row(bytes(6, i), "mine")],
          deletes: [],
        }),
      );
      const winners = (await Promise.all(rivals)).flatMap((result, i) => (result.ok ? [i] : []));
      assert.equal(winners.length, 1);
      assert.deepEqual(await read(kv, HEAD_KEY), [hex(bytes(2, winners[0] ?? -1))]);
      assert.equal((await everything(kv)).length, 2);
    },
  },
  {
    name: "a change of caches leaves the head as it is, and may follow itself",
    async run({ kv }) {
      const head = await write(kv, [row(bytes(5), "x")]);
      for (const text of ["y", "z"]) {
        const puts = [row(bytes(0x90), text)];
        assert.deepEqual(await kv.commit({ expectHead: head, head, puts, deletes: [] }), {
          ok: true,
        });
      }
      const z = hex(new TextEncoder().encode("z"));
      assert.deepEqual(await read(kv, HEAD_KEY, bytes(0x90)), [hex(head), z]);
    },
  },
  {
    name: "puts, overwrites and deletes of one commit appear together; absent deletes are harmless",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "a"), row(bytes(6), "b"), row(bytes(1, 1), "c")]);
      await write(
        kv,
        [row(bytes(5), "a longer one"), row(bytes(7), "d"), row(bytes(1, 0), "before")],
        [bytes(6), bytes(1, 1), bytes(8), bytes(1, 77)],
      );
      assert.deepEqual(
        await everything(kv),
        shown([row(bytes(1, 0), "before"), row(bytes(5), "a longer one"), row(bytes(7), "d")]),
      );
      await write(kv, [], [bytes(1, 0), bytes(5), bytes(7)]);
      assert.deepEqual(await everything(kv), []);
      await write(kv, [row(bytes(1, 1), "again")]);
      assert.deepEqual(await everything(kv), shown([row(bytes(1, 1), "again")]));
    },
  },
  {
    name: "a commit of 5,000 rows in any order is whole",
    async run({ kv }) {
      const random = seededRandom(13);
      const rows = Array.from({ length: 5000 }, (_, i) =>
        row(bytes(i % 2 === 0 ? 1 : 0x21, i >> 8, i & 255), `row ${i}`),
      );
      await write(kv, random.shuffled(rows));
      const sorted = [...rows].sort((a, b) => Buffer.compare(a.key, b.key));
      assert.deepEqual(await everything(kv), shown(sorted));
      assert.ok((await kv.sizeBytes()) > 5000 * 8);
    },
  },
  {
    name: "a hint that rows are new may be wrong, of all of them or of some",
    async run({ kv }) {
      const rowsOf = (from: number, value: string): KvRow[] =>
        Array.from({ length: 200 }, (_, i) => row(bytes(1, 0, from + i), value));
      let expectHead = await write(kv, rowsOf(0, "old"));
      for (const [at, isNew] of [() => true, () => false, odd].entries()) {
        const head = bytes(1, 100 + at);
        const puts = rowsOf(50 + at, `new ${at}`);
        const change = { expectHead, head, puts, deletes: [], isNew };
        assert.deepEqual(await kv.commit(change), { ok: true });
        expectHead = head;
        const wanted = [...rowsOf(0, "old").slice(0, 50 + at), ...puts];
        const found = (await everything(kv)).slice(-puts.length);
        assert.deepEqual(found, shown(wanted.slice(-puts.length)));
      }
      const late = { expectHead: bytes(9), head: bytes(1, 200), puts: rowsOf(0, "late") };
      const lost = await kv.commit({ ...late, deletes: [], isNew: () => true });
      assert.deepEqual(lost, { ok: false, head: expectHead }, "a lost race is told as always");
    },
  },
  {
    name: "a commit that takes rows for absent is made only where none of them is there",
    async run({ kv }) {
      const first = await write(kv, [row(bytes(5, 1), "there"), row(bytes(5, 2), "there too")]);
      const before = await everything(kv);
      const puts = [row(bytes(5, 3), "new"), row(bytes(5, 1), "changed")];
      const change = { expectHead: first, head: bytes(1, 77), puts, deletes: [bytes(5, 2)] };
      for (const absent of [[bytes(5, 2)], [bytes(5, 9), bytes(5, 1)]]) {
        const { ok } = await kv.commit({ ...change, absent });
        assert.equal(ok, false);
      }
      const late = { ...change, expectHead: bytes(9), absent: [bytes(5, 3)] };
      assert.equal((await kv.commit(late)).ok, false);
      assert.deepEqual(await everything(kv), before);
      const absent = [bytes(5, 3), bytes(5, 9), bytes(5)];
      assert.deepEqual(await kv.commit({ ...change, absent }), { ok: true });
      const after = [row(bytes(5, 1), "changed"), row(bytes(5, 3), "new")];
      assert.deepEqual(await everything(kv), shown(after));
    },
  },
];

function odd(key: Bytes): boolean {
  return (key.at(-1) ?? 0) % 2 === 1;
}

const cacheCases: readonly KvCase[] = [
  {
    name: "caches: applied only while the rows named are as they were, whatever the head does",
    async run({ kv }) {
      const cache = { expect: [], puts: [row(bytes(0x80), "early")], deletes: [] };
      assert.equal(await kv.commitCaches(cache), false, "a store not yet born has no caches");
      const head = await write(kv, [row(bytes(5), "a")]);
      const absent = { key: bytes(0x80, 1), value: undefined };
      const first = { expect: [absent], puts: [row(bytes(0x80, 1), "one")], deletes: [] };
      assert.equal(await kv.commitCaches(first), true);
      assert.equal(await kv.commitCaches(first), false, "the row is there by now");
      await write(kv, [row(bytes(5), "b")]);
      const held = row(bytes(0x80, 1), "one");
      const next = {
        expect: [held, { key: bytes(0x80, 2), value: undefined }],
        puts: [row(bytes(0x80, 2), "two")],
        deletes: [bytes(0x80, 1)],
      };
      assert.equal(await kv.commitCaches(next), true, "the head moved on, which does not matter");
      const wrong = { expect: [row(bytes(0x80, 2), "tw")], puts: [held], deletes: [] };
      assert.equal(await kv.commitCaches(wrong), false);
      assert.deepEqual(
        await everything(kv),
        shown([row(bytes(5), "b"), row(bytes(0x80, 2), "two")]),
      );
      assert.notDeepEqual(await read(kv, HEAD_KEY), [hex(head)]);
      await assert.rejects(kv.commitCaches({ ...first, puts: [row(HEAD_KEY, "x")] }), RangeError);
    },
  },
  {
    name: "caches: of many that expect the same row, one wins",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "a")]);
      const absent = { key: bytes(0x80), value: undefined };
      const claims = [...Array(8).keys()].map((at) =>
        kv.commitCaches({ expect: [absent], puts: [row(bytes(0x80), `${at}`)], deletes: [] }),
      );
      assert.equal((await Promise.all(claims)).filter(Boolean).length, 1);
    },
  },
];

const closeCases: readonly KvCase[] = [
  {
    name: "after close everything is ERR_CLOSED, snapshots included; closing again is harmless",
    async run({ kv }) {
      const head = await write(kv, [row(bytes(5), "x")]);
      const snapshot = await kv.snapshot();
      await kv.close();
      await kv.close();
      const closed = { code: "ERR_CLOSED" };
      await assert.rejects(snapshot.getMany([bytes(5)]), closed);
      snapshot.close();
      await assert.rejects(kv.snapshot(), closed);
      const change = { expectHead: head, head, puts: [], deletes: [] };
      await assert.rejects(kv.commit(change), closed);
      await assert.rejects(kv.sizeBytes(), closed);
      if (kv.manifest.generations) await assert.rejects(kv.nextGeneration(), closed);
    },
  },
];
