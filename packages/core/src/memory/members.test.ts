/** Members of index terms: one order out of many ranges, now and then, and every row read once. */
import { expect, test } from "vitest";
import { Reader } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import { LIFECYCLES } from "../records/types.js";
import { type CountedStore, openCountedStore } from "../testing/fixtures.js";
import { type MembersQuery, openMembers, type Term } from "./members.js";

const TAGS = Array.from({ length: 40 }, (_, at) => `tag-${at}`);

function tagTerm(tag: string): Term {
  return {
    index: INDEX.tag,
    lifecycle: LIFECYCLES.active.code,
    term: Buffer.from(tag, "utf8"),
  };
}

const TERMS = TAGS.map(tagTerm);

/** Some memories, each under two or three tags of very different popularity. */
async function filled(count: number): Promise<CountedStore> {
  const store = await openCountedStore();
  await store.memory.batch(
    Array.from({ length: count }, (_, at) => ({
      write: {
        type: "note" as const,
        kind: "thing",
        text: `thing ${at}`,
        tags: [...new Set([TAGS[0] ?? "", `tag-${at % 40}`, `tag-${(at * at) % 7}`])],
      },
    })),
  );
  return store;
}

interface Walk {
  readonly names: readonly string[];
  /** Rows that the pages say they read, and rows that the store gave. */
  readonly rows: number;
  readonly given: number;
  readonly pages: number;
}

/** Reads to the end in pages, in one go or opened anew for every page. */
async function walk(
  { calls }: CountedStore,
  query: Omit<MembersQuery, "cursor">,
  how: { readonly limit: number; readonly asOf?: number; readonly anew?: boolean },
): Promise<Walk> {
  return Reader.with(calls, how.asOf, async (reader) => {
    calls.reset();
    let source = await openMembers(reader, { ...query, cursor: undefined });
    const names: string[] = [];
    let rows = 0;
    for (let pages = 1; ; pages += 1) {
      const page = await source.next(how.limit);
      names.push(...page.members.map(keyString));
      rows += page.rows;
      if (!page.more) return { names, rows, given: calls.counts().rows, pages };
      if (how.anew === true) source = await openMembers(reader, { ...query, cursor: page.end });
    }
  });
}

test.each([true, false])(
  "many terms give one order, each member once (reverse: %s)",
  async (reverse) => {
    await using store = await filled(400);
    const query = { terms: TERMS, pageItems: 10, reverse };
    const whole = await walk(store, query, { limit: 100_000 });
    const sorted = [...new Set(whole.names)].sort();
    expect(whole.names).toEqual(reverse ? sorted.reverse() : sorted);
    expect(whole.names).toHaveLength(400);
    for (const limit of [1, 3, 10, 64]) {
      expect((await walk(store, query, { limit })).names).toEqual(whole.names);
      expect((await walk(store, query, { limit, anew: true })).names).toEqual(whole.names);
    }
  },
);

test("reading on reads every row once, however many terms there are", async () => {
  await using store = await filled(400);
  const query = { terms: TERMS, pageItems: 10, reverse: true };
  const { rows: all } = await walk(store, query, { limit: 100_000 });
  for (const limit of [1, 10, 64]) {
    const { rows, given } = await walk(store, query, { limit });
    expect(given).toBe(all);
    expect(rows).toBe(all);
  }
  // The first page of a union of many asks less of each.
  await Reader.with(store.calls, undefined, async (reader) => {
    store.calls.reset();
    await (await openMembers(reader, { ...query, cursor: undefined })).next(300);
    expect(store.calls.counts().rows).toBeLessThan(all);
  });
});

test("the past is merged from what stands and what has left, and nothing is read twice", async () => {
  await using store = await filled(300);
  const { seq: then } = await store.memory.stats();
  const before = await walk(store, { terms: TERMS, pageItems: 10, reverse: true }, { limit: 50 });
  const { memories } = await store.memory.list({ limit: 300 });
  const gone = memories.filter((_, at) => at % 3 === 0);
  for (const { id } of gone) await store.memory.tombstone(id, "out of the way");
  await store.memory.write({ type: "note", kind: "thing", text: "later", tags: [TAGS[0] ?? ""] });
  for (const reverse of [true, false]) {
    const expected = reverse ? before.names : [...before.names].reverse();
    // Few have left a term that is asked for in large pages; of small pages many have, and those page.
    for (const pageItems of [1, 5, 1000]) {
      const query = { terms: TERMS, pageItems, reverse };
      const whole = await walk(store, query, { limit: 100_000, asOf: then });
      expect(whole.names).toEqual(expected);
      const { names, given, rows } = await walk(store, query, { limit: 7, asOf: then });
      expect(names).toEqual(expected);
      expect(given).toBe(whole.given);
      expect(rows).toBe(given);
      const anew = await walk(store, query, { limit: 7, asOf: then, anew: true });
      expect(anew.names).toEqual(expected);
    }
  }
  const now = await walk(store, { terms: TERMS, pageItems: 10, reverse: true }, { limit: 50 });
  expect(now.names).toHaveLength(300 - gone.length + 1);
});

test("bounds leave out what came before and after", async () => {
  await using store = await filled(100);
  const { seq } = await store.memory.stats();
  const query = { terms: TERMS, pageItems: 10, reverse: false };
  const all = await walk(store, query, { limit: 10 });
  const bounds = { fromSeq: seq - 60, toSeq: seq - 20 };
  const some = await walk(store, { ...query, bounds }, { limit: 10 });
  expect(some.names).toEqual(all.names.slice(-61, -20));
});

test("no terms have no members", async () => {
  await using store = await openCountedStore();
  const found = await walk(store, { terms: [], pageItems: 1, reverse: true }, { limit: 5 });
  expect(found).toEqual({ names: [], rows: 0, given: 0, pages: 1 });
});
