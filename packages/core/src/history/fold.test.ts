/**
 * The fold: live and in replay one function, so the same rows byte for byte; the law of erasure on every
 * small history; an erased part touches its leaf and nothing else; a journal that nobody could have
 * written is refused with its seq.
 */
import { describe, expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import type { Cortex } from "../cortex.js";
import { isCortexError } from "../errors.js";
import {
  decodeEntry,
  type Entry,
  encodeEntry,
  encodeHeader,
  partContext,
  partHash,
  partRecord,
  SUBJECT,
} from "../journal/entry.js";
import { journalKey, KEYSPACE, TIME_STRIDE } from "../kv/keyspace.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { decodeMemoryRecord, encodeMemoryRecord } from "../records/memory-record.js";
import { type BareStore, exactRows, openBareStore } from "../testing/bare-journal.js";
import { foldEntry } from "./fold.js";
import { beginFold, type FoldPart } from "./fold-state.js";
import { UNBORN } from "./head-row.js";
import { type ReplayOptions, replay } from "./replay.js";
import { Unread, WriteView } from "./write-view.js";

/** The rows of a journal, in order. */
async function journalOf(kv: Kv): Promise<readonly Bytes[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: journalKey(0), lt: journalKey(1_000_000), limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows.map(({ value }) => value);
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** The rows that a journal folds to, from nothing. */
async function folded(
  journal: readonly Bytes[],
  how: Partial<ReplayOptions> = {},
): Promise<readonly string[]> {
  const target = openMemoryKv();
  await replay(target, each(journal), { sha256: sha256Node, ...how });
  return exactRows(target);
}

/** What may happen to two memories, one step at a time. */
const STEPS: { readonly [name: string]: (memory: Cortex) => Promise<unknown> } = {
  update: (memory) => memory.update("a", { text: "A says something else" }),
  undo: async (memory) => {
    const { seq } = await memory.update("a", { text: "A said too much" });
    return memory.revert(seq);
  },
  head: (memory) => memory.updateHead("a", { tags: ["other"], importance: 9 }),
  hide: (memory) => memory.tombstone("a", "out of the way"),
  bring: async (memory) => {
    await memory.tombstone("a", "for a moment");
    return memory.restore("a");
  },
  link: (memory) => memory.link("a", "depends on", "b", { reason: "as A knows" }),
  unlink: async (memory) => {
    await memory.link("b", "supports", "a", { reason: "as B knows" });
    return memory.removeEdge("b", "supports", "a", { reason: "no more" });
  },
  state: (memory) =>
    memory.setGoalState("a", { failureStreak: 1, intentsTodayCount: 2, spentToday: "3.5" }),
  cite: (memory) =>
    memory.attest({ intentId: "task", outcome: "success", cited: ["a", "b"], reason: "both" }),
  again: (memory) => memory.write({ type: "goal", text: "Another aim", slot: "aim" }),
  other: (memory) => memory.update("b", { text: "B says more" }),
};

/** A store with the two memories. */
async function openPair(): Promise<BareStore> {
  const store = await openBareStore();
  await store.memory.batch([
    {
      write: {
        type: "goal",
        text: "A speaks of a thing",
        externalId: "a",
        slot: "aim",
        tags: ["one", "two"],
        frames: [{ verb: "schedule", object: "plan", ref: "trip" }],
        idempotencyKey: "first",
      },
    },
    { write: { type: "note", kind: "memo", text: "B listens", externalId: "b" } },
  ]);
  return store;
}

/** Every step alone, and every pair of steps. */
const SHORT = Object.keys(STEPS).flatMap((first) => [
  [first],
  ...Object.keys(STEPS).map((second) => [first, second]),
]);

/** Takes steps; one that the state does not allow is refused, and that is part of the history. */
async function take(memory: Cortex, steps: readonly string[]): Promise<void> {
  for (const name of steps) {
    await STEPS[name]?.(memory).catch((error: unknown) => {
      if (!isCortexError(error)) throw error;
    });
  }
}

describe("one fold", () => {
  test("however many entries a commit takes", async () => {
    await using store = await openPair();
    await take(store.memory, Object.keys(STEPS));
    const journal = await journalOf(store.handle());
    const live = await exactRows(store.handle());
    expect(journal.length).toBeGreaterThan(12);
    const everywhere = journal.map((_, at) => at + 1);
    for (const stops of [[], [1], [2, 7], everywhere]) {
      expect(await folded(journal, { stops })).toEqual(live);
    }
  });

  test("every sixteenth entry leaves a row of its time, and a request one of its key", async () => {
    await using store = await openPair();
    for (let round = 0; round < 2 * TIME_STRIDE; round += 1) {
      await store.memory.write({ type: "note", text: `${round}` });
    }
    const rows = await exactRows(store.handle());
    const { entries } = await store.memory.stats();
    const named = (name: string) => rows.filter((row) => row.startsWith(`${name} `));
    expect(named(KEYSPACE.time.name)).toHaveLength(Math.ceil(entries / TIME_STRIDE));
    expect(named(KEYSPACE.idempotency.name)).toHaveLength(1);
  });
});

describe("the law of erasure", () => {
  // Live equals replay before the forget, and after it: then folding everything and a forget equals
  // folding the journal that the forget left behind.
  test.each(Object.keys(STEPS))("holds for everything short from %s", async (first) => {
    for (const steps of SHORT.filter(([step]) => step === first)) {
      await using store = await openPair();
      const kv = store.handle();
      await take(store.memory, steps);
      const before = await journalOf(kv);
      expect(await folded(before), steps.join(", ")).toEqual(await exactRows(kv));
      await store.memory.forget("a", "asked for");
      const journal = await journalOf(kv);
      expect(await folded(journal), steps.join(", ")).toEqual(await exactRows(kv));
      // Headers are what they were: only parts are gone, and not one word of the memory is left.
      const headers = (rows: readonly Bytes[]) => rows.map((row) => decodeEntry(row).headerBytes);
      expect(headers(journal).slice(0, before.length)).toEqual(headers(before));
      const left = Buffer.concat(journal).toString("latin1");
      const words = ["A speaks", "A says", "A said", "as A knows", "as B knows", "B listens"];
      expect(words.filter((word) => left.includes(word))).toEqual(["B listens"]);
    }
  });

  test("both may be forgotten, in either order, and one by itself twice is once", async () => {
    for (const order of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      await using store = await openPair();
      await take(store.memory, ["link", "unlink", "cite"]);
      for (const name of order) await store.memory.forget(name, "asked for");
      const again = await store.memory.forget(order[0], "again").catch((error: unknown) => error);
      expect(isCortexError(again)).toBe(true);
      const journal = await journalOf(store.handle());
      expect(await folded(journal)).toEqual(await exactRows(store.handle()));
      const { memories, edges } = await store.memory.stats();
      expect({ ...memories }).toMatchObject({ active: 0, erased: 2 });
      expect(edges).toMatchObject({ live: 0 });
    }
  });
});

/** Folds one entry over an empty store; gives the keys it changed and the leaves it set. */
function foldAlone(parts: readonly FoldPart[]) {
  const view = new WriteView();
  const fold = beginFold(sha256Node, view, UNBORN.counts);
  for (;;) {
    const mark = view.mark();
    try {
      foldEntry(fold, { seq: 5, kind: "write", at: 1000, by: "ada", parts });
      const { puts, deletes } = view.changes();
      return { changed: puts.length + deletes.length, leaves: fold.leaves, counts: fold.counts };
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      view.rollback(mark);
      view.load(error.keys, []);
      view.loadRanges(error.ranges, []);
    }
  }
}

describe("an erased part", () => {
  const hash = new Uint8Array(32).fill(7);
  const of = (tag: number, bytes: number): FoldPart => ({
    subject: Uint8Array.from([tag, ...new Uint8Array(bytes).fill(1)]),
    hash,
    bytes: undefined,
  });

  test("of a memory or an edge sets its leaf and changes nothing else", () => {
    for (const [part, tree] of [
      [of(SUBJECT.memory, 16), "memories"],
      [of(SUBJECT.edge, 32), "edges"],
    ] as const) {
      const { changed, leaves, counts } = foldAlone([part]);
      expect(changed).toBe(0);
      expect(leaves.of(tree).map(({ value }) => value)).toEqual([hash]);
      expect(leaves.of(tree === "memories" ? "edges" : "memories")).toEqual([]);
      expect(counts).toEqual(UNBORN.counts);
    }
  });

  test("of anything else changes nothing at all", () => {
    for (const tag of [SUBJECT.store, SUBJECT.attachment, SUBJECT.edgeKind, SUBJECT.goalState]) {
      const { changed, leaves } = foldAlone([of(tag, 16)]);
      expect(changed).toBe(0);
      expect([...leaves.of("memories"), ...leaves.of("edges")]).toEqual([]);
    }
  });

  test("a hash of null takes the leaf away", () => {
    const { leaves } = foldAlone([{ ...of(SUBJECT.memory, 16), hash: null }]);
    expect(leaves.of("memories").map(({ value }) => value)).toEqual([undefined]);
  });
});

describe("what nobody could have written", () => {
  /** The row of an entry with its first part changed, under another seq. */
  function crafted(row: Bytes, seq: number, change: (part: Bytes, entry: Entry) => Bytes): Bytes {
    const entry = decodeEntry(row);
    const [ref] = entry.header.parts;
    const [part] = entry.parts;
    if (ref === undefined || part === undefined) throw new Error("the entry has no part");
    const changed = change(part, entry);
    const { batch: _, ...header } = entry.header;
    const parts = [{ ...ref, hash: partHash(sha256Node, changed) }];
    const headerBytes = encodeHeader({ ...header, seq, parts }, undefined);
    return encodeEntry({ headerBytes, parts: [changed] });
  }

  /** The part with another version number, as its current one. */
  const withNumber =
    (number: number) =>
    (part: Bytes, { header }: Entry) => {
      const context = partContext(header, 0);
      const { head, version } = decodeMemoryRecord(partRecord(part), context);
      if (version === undefined) throw new Error("the part has no version");
      const record = { head: { ...head, version: number }, version: { ...version, number } };
      return Buffer.concat([part.subarray(0, 16), encodeMemoryRecord(record, context)]);
    };

  /** A journal of one memory with two versions: entries 1 and 2. */
  async function twoVersions(): Promise<readonly Bytes[]> {
    await using store = await openBareStore();
    await store.memory.write({ type: "note", text: "first", externalId: "a" });
    await store.memory.update("a", { text: "second" });
    return await journalOf(store.handle());
  }

  async function refusal(journal: readonly Bytes[]): Promise<unknown> {
    const target = openMemoryKv();
    const done = replay(target, each(journal), { sha256: sha256Node, stops: [journal.length - 1] });
    const error = await done.catch((failure: unknown) => failure);
    // What was sound is there; of the entry that is not, nothing is.
    expect(await exactRows(target)).toEqual(await folded(journal.slice(0, -1)));
    return error;
  }

  test("another part under the number of a version", async () => {
    const journal = await twoVersions();
    const other = crafted(journal[2] as Bytes, 3, (part) =>
      Buffer.concat([part.subarray(0, 15), Uint8Array.of(1), part.subarray(16)]),
    );
    expect(await refusal([...journal, other])).toMatchObject({
      code: "ERR_CORRUPT",
      message: expect.stringContaining("written a second time"),
      details: { seq: 3 },
    });
  });

  test("a memory that goes back to a version it never had", async () => {
    const journal = await twoVersions();
    const ahead = crafted(journal[2] as Bytes, 3, withNumber(9));
    const back = crafted(journal[2] as Bytes, 4, withNumber(5));
    expect(await refusal([...journal, ahead, back])).toMatchObject({
      code: "ERR_CORRUPT",
      message: expect.stringContaining("version 5, which it never had"),
      details: { seq: 4 },
    });
  });

  test("a subject of a kind that does not exist", () => {
    const part = { subject: Uint8Array.of(0x7f, 1), hash: null, bytes: undefined };
    expect(() => foldAlone([part])).toThrow(
      expect.objectContaining({ code: "ERR_CORRUPT", details: { seq: 5 } }),
    );
  });
});
