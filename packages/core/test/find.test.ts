/**
 * `find` against a plain scan: random stores and random queries, at the present and in the past, for
 * the owner and for a guest. Same memories, same order, page after page.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OrderClause } from "../src/contract/find.js";
import { type Cortex, GUEST, type MemoryId, OWNER, type Predicate } from "../src/index.js";
import { openTestStore, seededRandom } from "../src/testing/index.js";
import { rounds } from "../src/testing/lacking.js";
import { expectedIds, type FindQuery, makeHistory, WORDS } from "./find-reference.js";

const SEEDS = [11, 22, 33, 44, 55];
/** One store lies in a file. */
const LMDB_SEED = 55;
const STEPS = 260;
const RUNS = rounds(40, 100);

const EPOCH = Date.UTC(2030, 0, 1);
const times = fc.integer({ min: EPOCH, max: EPOCH + 1200 });
const someTimes = fc.oneof(
  times,
  times.map((ms) => new Date(ms).toISOString()),
);

const comparison = fc.constantFrom("eq", "ne", "gt", "gte", "lt", "lte");

/** Fields with values that the histories hold. */
const comparisons: fc.Arbitrary<Predicate> = fc
  .oneof(
    fc.tuple(
      comparison,
      fc.constantFrom("head.createdAt", "head.updatedAt", "version.validFrom", "data.asOf"),
      someTimes,
    ),
    fc.tuple(
      comparison,
      fc.constantFrom("head.importance", "head.version", "version.number", "data.metadata.rank"),
      fc.integer({ min: 0, max: 10 }),
    ),
    fc.tuple(comparison, fc.constant("version.confidence"), fc.constantFrom(0.2, 0.5, 1)),
    fc.tuple(comparison, fc.constant("data.strength"), fc.constantFrom(0.3, 0.7, "hard", "soft")),
    fc.tuple(comparison, fc.constant("data.cost.amount"), fc.constantFrom("9.0", "10.5", "99")),
    fc.tuple(
      comparison,
      fc.constantFrom("data.subject", "data.topic", "data.metadata.who.name", "text"),
      fc.constantFrom(...WORDS.subjects, "c", "\uffee"),
    ),
    fc.tuple(
      fc.constantFrom("eq", "ne"),
      fc.constantFrom("data.persistent", "data.metadata.open", "head.tombstoned"),
      fc.boolean(),
    ),
    fc.tuple(
      fc.constantFrom("eq", "ne"),
      fc.constantFrom("head.kind", "head.slot", "head.externalId"),
      fc.constantFrom("memo", "plan", "turn", "job", "x7", "x40"),
    ),
    fc.tuple(
      fc.constantFrom("eq", "ne"),
      fc.constant("head.type"),
      fc.constantFrom(...WORDS.types),
    ),
  )
  .map(([operator, field, value]) => ({ [operator]: [field, value] }) as unknown as Predicate);

const leaves: fc.Arbitrary<Predicate> = fc.oneof(
  { weight: 6, arbitrary: comparisons },
  fc.constantFrom(...WORDS.tags).map((tag) => ({ hasTag: tag })),
  fc.subarray([...WORDS.types]).map((types) => ({ in: ["head.type", types] }) as const),
  fc
    .constantFrom("said \\d*1\\b", "^(a|b)", "é", "anew", "(a+)+$")
    .map((pattern) => ({ matches: ["text", pattern] }) as const),
);

const predicates: fc.Arbitrary<Predicate> = fc.letrec<{ node: Predicate }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    fc.array(tie("node"), { maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie("node"), { maxLength: 3 }).map((or) => ({ or })),
    tie("node").map((not) => ({ not })),
  ),
})).node;

const orders: fc.Arbitrary<readonly OrderClause[]> = fc.array(
  fc.record(
    {
      field: fc.constantFrom(
        "arrival",
        "head.importance",
        "head.updatedAt",
        "head.createdAt",
        "version.createdAt",
        "data.strength",
      ),
      direction: fc.constantFrom("asc" as const, "desc" as const),
    },
    { requiredKeys: ["field"] },
  ),
  { minLength: 1, maxLength: 2 },
);

/** At least one thing that an index serves. */
const indexed: fc.Arbitrary<FindQuery> = fc.oneof(
  fc.subarray([...WORDS.types], { minLength: 1 }).map((type) => ({ type })),
  fc.subarray([...WORDS.tags], { minLength: 1 }).map((tags) => ({ tags })),
  fc.subarray([...WORDS.kinds, "turn"], { minLength: 1 }).map((kinds) => ({ kinds })),
  fc.constantFrom(...WORDS.slots).map((slot) => ({ slot })),
  fc.constantFrom(...WORDS.sessions).map((session) => ({ session })),
  fc.constantFrom(...WORDS.frames).map((frame) => ({ frame })),
  fc
    .tuple(fc.constantFrom("gte", "gt", "eq", "lt", "lte"), someTimes)
    .map(([op, time]) => ({ where: { [op]: ["head.updatedAt", time] } as unknown as Predicate })),
  fc
    .tuple(fc.constantFrom("gte", "gt", "eq"), someTimes)
    .map(([op, time]) => ({ where: { [op]: ["head.createdAt", time] } as unknown as Predicate })),
);

const lifecycles = fc.oneof(
  fc.constant(["active", "archived"] as const),
  fc.subarray(["active", "archived", "tombstoned"] as const, { minLength: 1 }),
);

/** What varies beside the conditions; positions are percents of the journal, starts are places in a list. */
interface Asked {
  readonly query: FindQuery;
  readonly percent: number | undefined;
  readonly start: number | undefined;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  query: fc
    .tuple(
      indexed,
      indexed,
      fc.record(
        {
          where: predicates,
          orderBy: orders,
          lifecycles,
          validAt: times,
          access: fc.constantFrom(OWNER, GUEST),
        },
        { requiredKeys: [] },
      ),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
    )
    .map(([one, other, rest, limit, both]) => {
      const wheres = [one.where, both ? other.where : undefined, rest.where];
      const and = wheres.flatMap((node) => node ?? []);
      return { ...(both ? other : {}), ...one, ...rest, where: { and }, limit };
    }),
  percent: fc.oneof(fc.constant(undefined), fc.integer({ min: 20, max: 100 })),
  start: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.nat({ max: 50 })),
});

/** Every page of a query, one after the other. */
async function pages(memory: Cortex, query: FindQuery): Promise<readonly string[][]> {
  const found: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await memory.find(cursor === undefined ? query : { ...query, cursor });
    found.push(page.hits.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return found;
    if (found.length > 1000) throw new Error("a query never ends");
  }
}

async function checkQuery(
  memory: Cortex,
  ids: readonly MemoryId[],
  { query, percent, start }: Asked,
): Promise<number> {
  const { seq } = await memory.stats();
  // Whoever does not see everything is given no entry numbers, so takes none.
  const isNumbered = percent !== undefined && query.access === undefined;
  const whole: FindQuery = {
    ...query,
    ...(isNumbered ? { asOf: Math.floor((percent * seq) / 100) } : {}),
    ...(start === undefined
      ? {}
      : { from: ids[start] ?? "nobody", follow: { direction: "both", maxHops: 2 } }),
  };
  const expected = await expectedIds(memory, ids, whole);
  const found = await pages(memory, whole);
  expect(found.flat()).toEqual(expected);
  for (const page of found.slice(0, -1)) expect(page).toHaveLength(query.limit ?? 0);
  const counted = await memory.find({ ...whole, countTotal: true, offset: 1 });
  expect(counted.total).toBe(expected.length);
  expect(counted.hits.map(({ id }) => id)).toEqual(expected.slice(1, 1 + (query.limit ?? 0)));
  return expected.length;
}

describe("equals a full scan", () => {
  test.each(SEEDS)("random queries on the random store of seed %i", async (seed) => {
    const backend = seed === LMDB_SEED ? "lmdb" : "memory";
    await using store = await openTestStore({ seed, backend });
    const { memory } = store;
    const ids = await makeHistory(memory, seededRandom(seed), STEPS);
    let withHits = 0;
    const property = fc.asyncProperty(asked, async (one) => {
      if ((await checkQuery(memory, ids, one)) > 0) withHits += 1;
    });
    await fc.assert(property, { seed, numRuns: RUNS });
    // Queries that find nothing agree easily.
    expect(withHits).toBeGreaterThan(RUNS / 8);
  });
});
