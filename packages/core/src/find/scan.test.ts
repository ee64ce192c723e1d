/** Pages out of streams: order whatever the marks say, cursors that lose nothing, bounded work. */
import { describe, expect, test } from "vitest";
import { isCortexError } from "../errors.js";
import type { FoundMemory, Read } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import type { MemoryRecord } from "../records/memory-record.js";
import { allMatches, type Matcher, newestPage, type PageWish } from "./scan.js";
import { type Candidate, markOf, type Stream } from "./sources.js";

/** A memory of these tests: when it arrived, and under which seq its path shows it. */
interface Item {
  readonly arrived: number;
  readonly shownAt: number;
  readonly hit: boolean;
}

/** Items as a path gives them, the highest mark first, and as a matcher finds them. */
interface World {
  readonly candidates: readonly Candidate[];
  readonly match: Matcher;
  /** How often the arrival of a hit was looked at: what comparing hits costs. */
  looks(): number;
}

function idOf({ arrived }: Item): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(0, arrived);
  return id;
}

function worldOf(items: readonly Item[]): World {
  const made = items.map((item) => {
    const id = idOf(item);
    return { item, id, mark: markOf(item.shownAt, id) };
  });
  made.sort((a, b) => (a.mark < b.mark ? 1 : -1));
  const byId = new Map(made.map((one) => [keyString(one.id), one]));
  let looks = 0;
  const match: Matcher = async (candidates) =>
    candidates.map(({ id }) => {
      const one = byId.get(keyString(id));
      if (one?.item.hit !== true) return undefined;
      const arrival = markOf(one.item.arrived, id);
      return {
        // Nothing of a memory is looked at here but its id and its arrival.
        found: { id } as unknown as FoundMemory,
        body: {} as unknown as Read<MemoryRecord>,
        get arrival() {
          looks += 1;
          return arrival;
        },
      };
    });
  return { candidates: made, match, looks: () => looks };
}

/** A stream that says how it was read. */
interface WatchedStream extends Stream {
  /** Candidates that were given. */
  read(): number;
  /** Pages that were asked for. */
  pages(): number;
}

function streamOf({ candidates: all }: World, before?: string): WatchedStream {
  const start = before === undefined ? 0 : all.findIndex(({ mark }) => mark < before);
  const first = start < 0 ? all.length : start;
  let from = first;
  let pages = 0;
  return {
    read: () => Math.min(from, all.length) - first,
    pages: () => pages,
    async next(limit) {
      const candidates = all.slice(from, from + limit);
      from += limit;
      pages += 1;
      const frontier = from < all.length ? candidates.at(-1)?.mark : undefined;
      return { candidates, frontier, rows: candidates.length };
    },
  };
}

async function allPages(world: World, limit: number): Promise<readonly number[]> {
  const arrived: number[] = [];
  let resumed: { readonly emitted?: string; readonly before?: string } | undefined;
  for (let pages = 0; pages < 10_000; pages += 1) {
    const wish: PageWish = {
      ...FIRST,
      limit,
      resumed: resumed !== undefined,
      ...(resumed?.emitted === undefined ? {} : { emitted: resumed.emitted }),
    };
    const stream = streamOf(world, resumed?.before ?? resumed?.emitted);
    const page = await newestPage(stream, world.match, wish);
    arrived.push(...page.matches.map(({ found }) => new DataView(found.id.buffer).getUint32(0)));
    if (page.next === undefined) return arrived;
    resumed = page.next;
  }
  throw new Error("the pages never end");
}

const FIRST = { offset: 0, countTotal: false, resumed: false };

/** So many items, each made from its number. */
function items(count: number, itemAt: (at: number) => Partial<Item>): readonly Item[] {
  return Array.from({ length: count }, (_, at) => ({
    arrived: at,
    shownAt: at,
    hit: true,
    ...itemAt(at),
  }));
}

/** Items of which some are shown much later than they arrived. */
function moved(count: number): readonly Item[] {
  return items(count, (at) => ({
    shownAt: at % 7 === 0 ? count + ((at * 31) % count) : at,
    hit: at % 3 !== 0,
  }));
}

describe("newest first", () => {
  test.each([1, 2, 5, 64, 1000])("hits come by arrival in pages of %i", async (limit) => {
    const all = moved(400);
    const expected = all.filter(({ hit }) => hit).map(({ arrived }) => arrived);
    expect(await allPages(worldOf(all), limit)).toEqual(expected.reverse());
  });

  test("a count does not change which hits the page has, nor where the next begins", async () => {
    const world = worldOf(moved(400));
    const wish = { ...FIRST, offset: 7, limit: 11 };
    const page = await newestPage(streamOf(world), world.match, wish);
    const counted = await newestPage(streamOf(world), world.match, { ...wish, countTotal: true });
    const idsOf = ({ matches }: typeof page) => matches.map(({ found }) => keyString(found.id));
    expect(idsOf(counted)).toEqual(idsOf(page));
    expect(counted.total).toBe(moved(400).filter(({ hit }) => hit).length);
    expect(counted.next?.emitted).toBe(page.next?.emitted);
  });

  test("where nothing moved, a page reads about what it shows, and so does the next", async () => {
    const world = worldOf(items(5000, () => ({})));
    const wish = { ...FIRST, limit: 20 };
    const first = streamOf(world);
    const page = await newestPage(first, world.match, wish);
    expect(first.read()).toBeLessThanOrEqual(40);
    expect(Object.keys(page.next ?? {})).toEqual(["emitted"]);
    const second = streamOf(world, page.next?.emitted);
    await newestPage(second, world.match, { ...wish, ...page.next, resumed: true });
    expect(second.read()).toBeLessThanOrEqual(40);
  });
});

test("pages without a candidate are read past", async () => {
  const world = worldOf(items(50, () => ({})));
  const inner = streamOf(world);
  const asked: number[] = [];
  const stream: Stream = {
    next: async (limit) => {
      asked.push(limit);
      const frontier = markOf(1000, new Uint8Array(16));
      return asked.length < 4 ? { candidates: [], frontier, rows: 1 } : inner.next(limit);
    },
  };
  const page = await newestPage(stream, world.match, { ...FIRST, limit: 3 });
  expect(page.matches).toHaveLength(3);
  expect(asked.every((limit) => Number.isInteger(limit) && limit > 0)).toBe(true);
});

describe("the work goes with what is read", () => {
  /** What a page costs over hits all of which wait until the last one was read. */
  async function costOf(count: number, wish: Pick<PageWish, "offset" | "limit">) {
    // Shown in the order opposite to their arrival: the oldest first.
    const world = worldOf(items(count, (at) => ({ shownAt: 2 * count - at })));
    const stream = streamOf(world);
    const page = await newestPage(stream, world.match, { ...FIRST, ...wish });
    expect(page.matches).toHaveLength(wish.limit);
    expect(stream.read()).toBe(count);
    return { looks: world.looks(), pages: stream.pages() };
  }

  test.each([
    [0, 2],
    [0, 100],
    [500, 20],
  ])("of hits that wait, at offset %i and limit %i", async (offset, limit) => {
    const few = await costOf(4000, { offset, limit });
    const many = await costOf(32_000, { offset, limit });
    // Eight times the hits: eight times the comparisons, and a little for the first pages.
    expect(many.looks).toBeLessThan(8 * 1.5 * few.looks);
    expect(many.looks).toBeLessThan(40 * 32_000);
    // Reads grow while nothing comes of them.
    expect(many.pages).toBeLessThan(32_000 / 1024 + 10);
  });

  test("of candidates of which few are hits, wherever those stand", async () => {
    const world = worldOf(items(32_000, (at) => ({ hit: at % 4000 === 0 })));
    const stream = streamOf(world);
    const page = await newestPage(stream, world.match, { ...FIRST, limit: 8 });
    expect(page.matches).toHaveLength(8);
    expect(stream.pages()).toBeLessThan(32_000 / 1024 + 10);
    expect(world.looks()).toBeLessThan(200);
  });
});

describe("bounded work", () => {
  const many = LIMITS.findCandidates + 5000;

  test("a page that finds nothing for long ends short, and the next goes on", async () => {
    const world = worldOf(items(many, (at) => ({ hit: at < 3 })));
    const stream = streamOf(world);
    const page = await newestPage(stream, world.match, { ...FIRST, limit: 2 });
    expect(page.matches).toEqual([]);
    expect(page.total).toBeUndefined();
    expect(stream.read()).toBeLessThan(many);
    // The cursor names a seq and no memory: the caller may not be allowed to see the one it ended at.
    expect(page.next?.emitted).toBeUndefined();
    expect(page.next?.before?.slice(8)).toBe("\0".repeat(16));
    expect(await allPages(world, 2)).toEqual([2, 1, 0]);
  });

  test.each([
    ["a count", true, () => ({ hit: false })],
    ["hits that wait", false, (at: number) => ({ shownAt: many + at })],
  ])("%s over too many is refused", async (_, countTotal, itemAt) => {
    const world = worldOf(items(many, itemAt));
    const stream = streamOf(world);
    const wish = { ...FIRST, limit: 2, countTotal };
    const failure = await newestPage(stream, world.match, wish).catch((error: unknown) => error);
    expect(isCortexError(failure, "ERR_TOO_BROAD")).toBe(true);
    expect(stream.read()).toBeLessThan(LIMITS.findCandidates + 2048);
    expect(world.looks()).toBeLessThan(40 * many);
  });

  /** A path that has rows without end and no candidate. */
  function barren(): Stream & { rows(): number } {
    let given = 0;
    return {
      rows: () => given,
      next: async (limit) => {
        given += 50 * limit;
        const frontier = markOf(1_000_000_000 - given, new Uint8Array(16));
        return { candidates: [], frontier, rows: 50 * limit };
      },
    };
  }

  test("rows that give no candidate count as well: the page ends short", async () => {
    const stream = barren();
    const nobody: Matcher = async (candidates) => candidates.map(() => undefined);
    const page = await newestPage(stream, nobody, { ...FIRST, limit: 2 });
    expect(page.matches).toEqual([]);
    expect(page.next?.before).toBeDefined();
    expect(stream.rows()).toBeLessThan(LIMITS.findRows + 50 * 2048);
  });

  test("where a short page is no answer, too many rows are refused", async () => {
    const nobody: Matcher = async (candidates) => candidates.map(() => undefined);
    const wish = { ...FIRST, limit: 2, countTotal: true };
    const nothing = async (): Promise<void> => {};
    for (const ask of [
      () => newestPage(barren(), nobody, wish),
      () => allMatches(barren(), nobody, nothing),
    ]) {
      const failure = await ask().catch((error: unknown) => error);
      expect(isCortexError(failure, "ERR_TOO_BROAD")).toBe(true);
      expect(String(failure)).toContain(`${LIMITS.findRows} rows`);
    }
  });
});
