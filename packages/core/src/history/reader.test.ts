/**
 * Reading at one position: which position a seq or a time names, everything as it was then, erased
 * content gone from every position, reads in batches, and a snapshot that is given back whatever happens.
 */
import { describe, expect, test } from "vitest";
import { parseUlid, ulidText } from "../codec/ulid.js";
import { isCortexError } from "../errors.js";
import { idKey, journalKey, KEYSPACE, keyString, TIME_STRIDE } from "../kv/keyspace.js";
import type { Bytes, Kv, KvSnapshotOptions } from "../kv/kv.js";
import { HEAD_KEY, stateGone } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { type CountedStore, openCountedStore, TEST_EPOCH_MS } from "../testing/fixtures.js";
import { type AsOf, bodyOf, lastSeqAt, Reader, scan } from "./reader.js";

/** The position that something names. */
function positionOf({ calls }: CountedStore, asOf?: AsOf): Promise<number> {
  return Reader.with(calls, asOf, async ({ seq }) => seq);
}

function bytesOf(id: string): Bytes {
  const bytes = parseUlid(id);
  if (bytes === undefined) throw new Error(`${id} is no id`);
  return bytes;
}

describe("a position", () => {
  test("is the end unless something else is asked for, and each seq is its own", async () => {
    await using store = await openCountedStore();
    for (const text of ["a", "b", "c"]) await store.memory.write({ type: "note", text });
    expect(await positionOf(store)).toBe(3);
    for (const seq of [0, 1, 2, 3]) expect(await positionOf(store, seq)).toBe(seq);
    const live = await Reader.with(store.calls, 3, async (reader) => reader.live);
    const past = await Reader.with(store.calls, 2, async (reader) => reader.live);
    expect([live, past]).toEqual([true, false]);
  });

  test("by time is the last entry at or before it, whatever form the time has", async () => {
    await using store = await openCountedStore({ stepMs: 1000 });
    for (let round = 0; round < 3 * TIME_STRIDE; round += 1) {
      await store.memory.write({ type: "note", text: `${round}` });
    }
    const { entries } = await store.memory.log({ limit: 100 });
    for (const { seq, at } of entries) {
      const ends = entries.filter((one) => one.at <= at).at(-1)?.seq ?? -1;
      expect(await positionOf(store, new Date(at))).toBe(ends);
      expect(await positionOf(store, new Date(at + 1).toISOString())).toBe(ends);
      if (seq === 0) continue;
      const earlier = entries.filter((one) => one.at < at).at(-1)?.seq ?? -1;
      expect(await positionOf(store, new Date(at - 1))).toBe(earlier);
    }
    expect(await positionOf(store, new Date(8.64e15))).toBe(entries.length - 1);
  });

  test("never lies inside a batch: not by seq, not by time", async () => {
    await using store = await openCountedStore({ stepMs: 1000 });
    await store.memory.write({ type: "note", text: "before" });
    const items = ["a", "b", "c"].map((text) => ({ write: { type: "note" as const, text } }));
    await store.memory.batch(items);
    await store.memory.write({ type: "note", text: "after" });
    const seqs = [0, 1, 2, 3, 4, 5];
    const found = await Promise.all(seqs.map((seq) => positionOf(store, seq)));
    expect(found).toEqual([0, 1, 1, 1, 4, 5]);
    const { entries } = await store.memory.log({ limit: 10 });
    const at = entries[2]?.at ?? 0;
    expect(await positionOf(store, new Date(at))).toBe(4);
    expect(await positionOf(store, new Date(at - 1))).toBe(1);
  });

  test.each<[string, AsOf]>([
    ["a seq that is not there yet", 99],
    ["a seq below 0", -1],
    ["a fraction", 1.5],
    ["not a number", Number.NaN],
    ["a time before the first entry", new Date(TEST_EPOCH_MS - 1)],
    ["a time before all times", new Date(-1)],
    ["a date that is none", new Date(Number.NaN)],
    ["a word", "yesterday"],
    ["a year alone", "2030"],
    ["a time without a day", "12:00"],
    ["a day that its month does not have", "2030-02-30"],
  ])("is refused for %s, and nothing stays open", async (_, asOf) => {
    await using store = await openCountedStore();
    const failure = await positionOf(store, asOf).catch((error: unknown) => error);
    expect(isCortexError(failure, "ERR_AS_OF")).toBe(true);
    expect(store.calls.counts().openSnapshots).toBe(0);
  });

  test("a store without entries has no time at all", async () => {
    const snapshot = await openMemoryKv().snapshot();
    expect(await lastSeqAt(snapshot, Date.now())).toBeUndefined();
    snapshot.close();
  });
});

describe("everything as it was", () => {
  test("rows, heads and bodies of every position, from any later one", async () => {
    await using store = await openCountedStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "one", tags: ["first"] });
    const steps = [
      () => memory.update(id, { text: "two" }),
      () => memory.updateHead(id, { tags: ["second", "third"], importance: 9 }),
      () => memory.tombstone(id, "away"),
      () => memory.restore(id),
      () => memory.update(id, { text: "three" }),
    ];
    const look = (asOf?: number) =>
      Reader.with(store.calls, asOf, async (reader) => {
        const key = bytesOf(id);
        const [row] = await reader.memoryRows([key]);
        const [found] = await reader.memories([key], [row]);
        const alone = row === undefined ? undefined : await reader.memory(key, row);
        expect(alone).toEqual(found);
        if (found === undefined) return row?.lifecycle;
        const { tags, importance } = found.head.record.head;
        const { lifecycle, version } = found.row;
        return { lifecycle, version, tags, importance, forms: bodyOf(found.body).forms };
      });
    const seen = [await look()];
    for (const step of steps) {
      await step();
      seen.push(await look());
    }
    const { seq } = await memory.stats();
    for (const [at, then] of seen.entries()) {
      expect(await look(seq - steps.length + at)).toEqual(then);
    }
    // Before it was made it was not there.
    expect(await look(0)).toBeUndefined();
  });

  test("an earlier position of the same snapshot is the same as one asked for", async () => {
    await using store = await openCountedStore();
    const { id } = await store.memory.write({ type: "note", text: "one" });
    await store.memory.update(id, { text: "two" });
    await Reader.with(store.calls, undefined, async (reader) => {
      const before = reader.before(1);
      expect([before.seq, before.live, before.snapshot]).toEqual([1, false, reader.snapshot]);
      const [row] = await before.memoryRows([bytesOf(id)]);
      expect(row?.version).toBe(1);
      const [now] = await reader.memoryRows([bytesOf(id)]);
      expect(now?.version).toBe(2);
    });
  });

  test("what was forgotten is erased at every position, and its records are nowhere", async () => {
    await using store = await openCountedStore();
    const { id } = await store.memory.write({ type: "note", text: "a secret" });
    await store.memory.update(id, { text: "another secret" });
    const { id: other } = await store.memory.write({ type: "note", text: "stays" });
    await store.memory.link(id, "supports", other);
    await store.memory.forget(id, "asked for");
    const { seq } = await store.memory.stats();
    for (let asOf = 1; asOf <= seq; asOf += 1) {
      await Reader.with(store.calls, asOf, async (reader) => {
        const [row] = await reader.memoryRows([bytesOf(id)]);
        expect(row?.lifecycle).toBe("erased");
        expect(await reader.memories([bytesOf(id)], [row])).toEqual([undefined]);
        expect(row === undefined ? row : await reader.memory(bytesOf(id), row)).toBeUndefined();
        // The entries are still there; their parts are not.
        expect(await reader.edges([{ seq: 4, part: 0 }])).toEqual([undefined]);
      });
    }
  });

  test("readers keep what they began with while others write", async () => {
    await using store = await openCountedStore();
    const { id } = await store.memory.write({ type: "note", text: "one", externalId: "x" });
    await Reader.with(store.calls, undefined, async (reader) => {
      await store.memory.update(id, { text: "two" });
      await store.memory.write({ type: "note", text: "later", externalId: "y" });
      const [row] = await reader.memoryRows([bytesOf(id)]);
      expect([reader.seq, reader.live, row?.version]).toEqual([1, true, 1]);
      expect(await reader.externalId("x")).toEqual(bytesOf(id));
      expect(await reader.externalId("y")).toBeUndefined();
    });
  });
});

describe("the cost", () => {
  test("many memories of any position are a few batches, each journal row read once", async () => {
    await using store = await openCountedStore();
    const { memory, calls } = store;
    const items = Array.from({ length: 50 }, (_, at) => ({
      write: { type: "note" as const, text: `${at}` },
    }));
    const { results, seq } = await memory.batch(items);
    const ids = results.flatMap((one) => ("id" in one ? [bytesOf(one.id)] : []));
    for (const id of ids) await memory.updateHead(ulidText(id), { importance: 1 });
    for (const asOf of [undefined, seq]) {
      await Reader.with(calls, asOf, async (reader) => {
        calls.reset();
        const found = await reader.memories(ids, await reader.memoryRows(ids));
        expect(found.every((one) => one !== undefined)).toBe(true);
        expect(calls.counts().batches).toBeLessThanOrEqual(3);
        // A row and one or two entries of each, and in the past what the row was then.
        expect(calls.counts().keys + calls.counts().rows).toBeLessThanOrEqual(3 * ids.length);
      });
    }
  });

  test("keys that the caller names come with the head, in one read", async () => {
    await using store = await openCountedStore();
    const { id } = await store.memory.write({ type: "note", text: "one" });
    const keys = [idKey("memory", bytesOf(id)), idKey("memory", new Uint8Array(16))];
    store.calls.reset();
    const use = async (reader: Reader) => {
      const [row, nothing, head] = reader.first;
      expect([row === undefined, nothing === undefined]).toEqual([false, true]);
      expect(head).toBeDefined();
      const [known] = await reader.memoryRows([bytesOf(id)], [row]);
      expect(known?.version).toBe(1);
    };
    await Reader.with(store.calls, undefined, use, keys);
    expect(store.calls.counts()).toMatchObject({ snapshots: 1, batches: 1 });
  });

  test("nothing asked for is nothing read", async () => {
    await using store = await openCountedStore();
    await Reader.with(store.calls, undefined, async (reader) => {
      store.calls.reset();
      expect([await reader.getMany([]), await reader.ranges([])]).toEqual([[], []]);
      expect(await reader.memories([], [])).toEqual([]);
      expect(store.calls.counts().batches).toBe(0);
    });
  });

  test("a scan gives every row of a prefix once, whatever its pages", async () => {
    await using store = await openCountedStore();
    for (let at = 0; at < 10; at += 1) await store.memory.write({ type: "note", text: `${at}` });
    await Reader.with(store.calls, undefined, async ({ snapshot }) => {
      const prefix = Uint8Array.of(KEYSPACE.journal.byte);
      for (const pageRows of [1, 3, 11, 100]) {
        const keys: string[] = [];
        for await (const { key } of scan(snapshot, prefix, pageRows)) keys.push(keyString(key));
        expect(keys).toEqual(Array.from({ length: 11 }, (_, seq) => keyString(journalKey(seq))));
      }
    });
  });
});

describe("a store that is not as it should be", () => {
  /** A store of a few notes, whose rows a test may take away. */
  async function damaged(): Promise<{ readonly kv: Kv; readonly ids: readonly Bytes[] }> {
    const data = new MemoryStore();
    await using memory = await open("memory:", { actor: "ada", kv: openMemoryKv(data) });
    const ids: Bytes[] = [];
    for (const text of ["a", "b"])
      ids.push(bytesOf((await memory.write({ type: "note", text })).id));
    const kv = openMemoryKv(data);
    const snapshot = await kv.snapshot();
    const [head] = await snapshot.getMany([HEAD_KEY]);
    snapshot.close();
    if (head === undefined) throw new Error("the store has no head");
    await kv.commit({ expectHead: head, head, puts: [], deletes: [journalKey(1)] });
    return { kv, ids };
  }

  test("a journal row that is missing is named by its seq, and hurts no other", async () => {
    const { kv, ids } = await damaged();
    await Reader.with(kv, undefined, async (reader) => {
      const rows = await reader.memoryRows(ids);
      const gap = await reader.memories(ids, rows).catch((error: unknown) => error);
      expect(gap).toMatchObject({ code: "ERR_JOURNAL_GAP", details: { seq: 1 } });
      const [, second] = await reader.memories(ids, [undefined, rows[1]]);
      expect(bodyOf((second as NonNullable<typeof second>).body).number).toBe(1);
    });
    const past = await Reader.with(kv, 1, async ({ seq }) => seq).catch((error: unknown) => error);
    expect(past).toMatchObject({ code: "ERR_JOURNAL_GAP", details: { seq: 1 } });
  });

  test("a brief read whose state has gone is done once more, and no other failure is", async () => {
    await using store = await openCountedStore();
    const { id } = await store.memory.write({ type: "note", text: "a" });
    const key = idKey("memory", bytesOf(id));
    const options: (KvSnapshotOptions | undefined)[] = [];
    let failure: Error = stateGone("the state has gone");
    const kv: Pick<Kv, "snapshot"> = {
      async snapshot(given) {
        options.push(given);
        const inner = await store.calls.snapshot(given);
        if (given?.brief !== true) return inner;
        const getMany = async (keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> => {
          if (keys.some((one) => one[0] === KEYSPACE.journal.byte)) throw failure;
          return inner.getMany(keys);
        };
        return { getMany, ranges: (ranges) => inner.ranges(ranges), close: () => inner.close() };
      },
    };
    const entry = async (reader: Reader): Promise<boolean> => {
      expect(reader.first).toHaveLength(2);
      return (await reader.getMany([journalKey(1)]))[0] !== undefined;
    };
    const nothing = async (reader: Reader): Promise<boolean> => reader.first[0] !== undefined;
    expect(await Reader.brief(kv, undefined, nothing, [key])).toBe(true);
    expect(options).toEqual([{ brief: true }]);
    expect(await Reader.brief(kv, undefined, entry, [key])).toBe(true);
    expect(options).toEqual([{ brief: true }, { brief: true }, undefined]);
    failure = new Error("another failure");
    await expect(Reader.brief(kv, undefined, entry, [key])).rejects.toThrow("another failure");
    expect(store.calls.counts().openSnapshots).toBe(0);
  });

  test("whatever a reader is used for, its snapshot is given back once", async () => {
    await using store = await openCountedStore();
    const fails = Reader.with(store.calls, undefined, async () => {
      expect(store.calls.counts().openSnapshots).toBe(1);
      throw new RangeError("in the middle");
    });
    await expect(fails).rejects.toThrow("in the middle");
    expect(store.calls.counts().openSnapshots).toBe(0);
    const late = await Reader.with(store.calls, undefined, async (reader) => reader);
    const read = await late.getMany([HEAD_KEY]).catch((error: unknown) => error);
    expect(isCortexError(read, "ERR_CLOSED")).toBe(true);
  });
});
