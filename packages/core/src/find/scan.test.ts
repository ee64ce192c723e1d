/** Pages out of streams: order whatever the marks say, cursors that lose nothing, bounded work. */
import { describe, expect, test } from "vitest";
import { isCortexError } from "../errors.js";
import type { FoundMemory, Read } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import type { MemoryRecord } from "../records/memory-record.js";
import { type Matcher, newestPage, type PageWish } from "./scan.js";
import { type Candidate, markOf, type Stream } from "./sources.js";

/** A memory of these tests: when it arrived, and under which seq its path shows it. */
interface Item {
  readonly arrived: number;
  readonly shownAt: number;
  readonly hit: boolean;
}

function idOf({ arrived }: Item): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(0, arrived);
  return id;
}

/** A path over items, the highest mark first, as an index gives them. */
function streamOf(items: readonly Item[], before?: string): Stream & { read(): number } {
  const all: Candidate[] = items
    .map((item) => ({ id: idOf(item), mark: markOf(item.shownAt, idOf(item)) }))
    .filter(({ mark }) => before === undefined || mark < before)
    .sort((a, b) => (a.mark < b.mark ? 1 : -1));
  let from = 0;
  return {
    read: () => Math.min(from, all.length),
    next(limit) {
      const candidates = all.slice(from, from + limit);
      from += limit;
      const frontier = from < all.length ? candidates.at(-1)?.mark : undefined;
      return Promise.resolve({ candidates, frontier });
    },
  };
}

function matcherFor(items: readonly Item[]): Matcher {
  const byId = new Map(items.map((item) => [keyString(idOf(item)), item]));
  return (candidates) =>
    Promise.resolve(
      candidates.map(({ id }) => {
        const item = byId.get(keyString(id));
        if (item?.hit !== true) return undefined;
        // Nothing of a memory is looked at here but its id and its arrival.
        const found = { id } as unknown as FoundMemory;
        const body = {} as unknown as Read<MemoryRecord>;
        return { found, body, arrival: markOf(item.arrived, id) };
      }),
    );
}

async function allPages(items: readonly Item[], limit: number): Promise<readonly number[]> {
  const arrived: number[] = [];
  let resumed: { readonly emitted?: string; readonly before?: string } | undefined;
  for (let pages = 0; pages < 10_000; pages += 1) {
    const wish: PageWish = {
      offset: 0,
      limit,
      countTotal: false,
      resumed: resumed !== undefined,
      ...(resumed?.emitted === undefined ? {} : { emitted: resumed.emitted }),
    };
    const stream = streamOf(items, resumed?.before ?? resumed?.emitted);
    const page = await newestPage(stream, matcherFor(items), wish);
    arrived.push(...page.matches.map(({ found }) => new DataView(found.id.buffer).getUint32(0)));
    if (page.next === undefined) return arrived;
    resumed = page.next;
  }
  throw new Error("the pages never end");
}

/** Items of which some are shown much later than they arrived. */
function moved(count: number): readonly Item[] {
  return Array.from({ length: count }, (_, at) => ({
    arrived: at,
    shownAt: at % 7 === 0 ? count + ((at * 31) % count) : at,
    hit: at % 3 !== 0,
  }));
}

describe("newest first", () => {
  test.each([1, 2, 5, 64, 1000])("hits come by arrival in pages of %i", async (limit) => {
    const items = moved(400);
    const expected = items.filter(({ hit }) => hit).map(({ arrived }) => arrived);
    expect(await allPages(items, limit)).toEqual(expected.reverse());
  });

  test("where nothing moved, a page reads about what it shows, and so does the next", async () => {
    const items = Array.from({ length: 5000 }, (_, at) => ({
      arrived: at,
      shownAt: at,
      hit: true,
    }));
    const wish = { offset: 0, limit: 20, countTotal: false, resumed: false };
    const first = streamOf(items);
    const page = await newestPage(first, matcherFor(items), wish);
    expect(first.read()).toBeLessThanOrEqual(40);
    expect(Object.keys(page.next ?? {})).toEqual(["emitted"]);
    const second = streamOf(items, page.next?.emitted);
    await newestPage(second, matcherFor(items), { ...wish, ...page.next, resumed: true });
    expect(second.read()).toBeLessThanOrEqual(40);
  });
});

test("pages without a candidate are read past", async () => {
  const items = Array.from({ length: 50 }, (_, at) => ({ arrived: at, shownAt: at, hit: true }));
  const inner = streamOf(items);
  const asked: number[] = [];
  const stream: Stream = {
    next: (limit) => {
      asked.push(limit);
      const nothing = { candidates: [], frontier: markOf(1000, new Uint8Array(16)) };
      return asked.length < 4 ? Promise.resolve(nothing) : inner.next(limit);
    },
  };
  const wish = { offset: 0, limit: 3, countTotal: false, resumed: false };
  const page = await newestPage(stream, matcherFor(items), wish);
  expect(page.matches).toHaveLength(3);
  expect(asked.every((limit) => Number.isInteger(limit) && limit > 0)).toBe(true);
});

describe("bounded work", () => {
  const many = LIMITS.findCandidates + 5000;

  test("a page that finds nothing for long ends short, and the next goes on", async () => {
    const items = Array.from({ length: many }, (_, at) => ({
      arrived: at,
      shownAt: at,
      hit: at < 3,
    }));
    const stream = streamOf(items);
    const wish = { offset: 0, limit: 2, countTotal: false, resumed: false };
    const page = await newestPage(stream, matcherFor(items), wish);
    expect(page.matches).toEqual([]);
    expect(page.total).toBeUndefined();
    expect(stream.read()).toBeLessThan(many);
    // The cursor names a seq and no memory: the caller may not be allowed to see the one it ended at.
    expect(page.next?.emitted).toBeUndefined();
    expect(page.next?.before?.slice(8)).toBe("\0".repeat(16));
    expect(await allPages(items, 2)).toEqual([2, 1, 0]);
  });

  test.each([
    ["a count", true, (at: number) => ({ arrived: at, shownAt: at, hit: false })],
    ["hits that wait", false, (at: number) => ({ arrived: at, shownAt: many + at, hit: true })],
  ])("%s over too many is refused", async (_, countTotal, itemAt) => {
    const items = Array.from({ length: many }, (_, at) => itemAt(at));
    const wish = { offset: 0, limit: 2, countTotal, resumed: false };
    const failure = await newestPage(streamOf(items), matcherFor(items), wish).catch(
      (error: unknown) => error,
    );
    expect(isCortexError(failure, "ERR_TOO_BROAD")).toBe(true);
  });
});
