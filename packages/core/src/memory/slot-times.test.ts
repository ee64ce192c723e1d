/**
 * Slots and world time: a value to come waits, a value of the past displaces nobody, and every read that
 * takes a time gives the same answer. Judged by a list of values that looks at all of them each time.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VERBS } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { openTestStore, refusalOf } from "../testing/index.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_122);
const DAY = 86_400_000;
const slot = "home city";

/** Everything that answers for the slot, by every read there is; `validAt` where another time is meant. */
async function answers(memory: Cortex, validAt?: number): Promise<readonly (readonly string[])[]> {
  const at = validAt === undefined ? {} : { validAt };
  const texts = (list: readonly { readonly text: string }[]) => list.map(({ text }) => text).sort();
  const listed = await memory.list({ slot, ...at });
  const byType = await memory.list({ type: "fact", ...at });
  const found = await memory.find({ slot, limit: 50, ...at });
  const recalled = await memory.recall("in which home city does Ada live?", { limit: 50, ...at });
  // A search goes by the present.
  const searched = validAt === undefined ? await memory.search("Ada lives", { limit: 50 }) : found;
  const batch = validAt === undefined ? await memory.searchBatch(["Ada lives"]) : found;
  const everything = await memory.list({ slot, lifecycles: ["active", "archived"], limit: 50 });
  const got =
    validAt === undefined
      ? listed.memories
      : await Promise.all(everything.memories.map(({ id }) => memory.get(id, { validAt })));
  return [
    texts(listed.memories),
    texts(byType.memories),
    texts(found.hits),
    texts(recalled.hits),
    texts(searched.hits),
    texts(batch.hits),
    texts(got.flatMap((one) => one ?? [])),
  ];
}

/** A value as the list of values keeps it. */
interface Value {
  readonly text: string;
  readonly from: number;
  to: number;
}

describe("the value of a slot at a time", () => {
  const step = fc.record({
    city: fc.constantFrom("Porto", "Lyon", "Rome"),
    begins: fc.constantFrom(undefined, undefined, 1, 2, 3),
    days: fc.constantFrom(0, 1, 2),
  });

  test("is the last one that began, in every read, now and at any other time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        await using store = await openTestStore({ stepMs: 0 });
        const { memory, clock } = store;
        const values: Value[] = [];
        const start = clock.read();
        const turnAt = (time: number): Value | undefined =>
          values
            .filter(({ from, to }) => from <= time && time < to)
            .sort((a, b) => b.from - a.from)[0];
        for (const { city, begins, days } of steps) {
          clock.advance(1 + days * DAY);
          const now = clock.read();
          const from = begins === undefined ? now : start + (begins + 3) * DAY;
          const text = `Ada lives in the city of ${city}`;
          const isPlan = from > now;
          await memory.write({ type: "fact", slot, text, ...(isPlan ? { validFrom: from } : {}) });
          const before = turnAt(isPlan ? from : now);
          if (before?.text === text) continue;
          for (const value of values) {
            const isOver = isPlan ? value.from === from : value.from <= now || value.text === text;
            if (isOver && value.to > now) value.to = Math.max(now, value.from);
          }
          values.push({ text, from: isPlan ? from : now, to: Number.POSITIVE_INFINITY });
        }
        for (const days of [undefined, 1, 3.5, 4, 5, 9]) {
          const time = days === undefined ? clock.read() : start + days * DAY + 5;
          const expected = turnAt(time)?.text;
          for (const read of await answers(memory, days === undefined ? undefined : time)) {
            expect(read).toEqual(expected === undefined ? [] : [expected]);
          }
        }
        // By itself: nothing is written, only the clock goes on.
        for (const days of [4, 6]) {
          const later = start + days * DAY + 5;
          if (later <= clock.read()) continue;
          clock.advance(later - clock.read());
          const expected = turnAt(later)?.text;
          for (const read of await answers(memory)) {
            expect(read).toEqual(expected === undefined ? [] : [expected]);
          }
          const { values: told } = await memory.slotHistory(slot, { limit: 50 });
          expect(told.filter(({ current }) => current).map(({ text }) => text)).toEqual(
            expected === undefined ? [] : [expected],
          );
        }
        await memory.rebuild({ verifyOnly: true });
      }),
      { seed: SEED, numRuns: 8 },
    );
  });
});

/** How each reading verb is asked what there is; of the others, why they speak of more than the present. */
const READS: { readonly [verb: string]: ((memory: Cortex) => Promise<unknown>) | string } = {
  list: async (memory) => [await memory.list({ slot }), await memory.list({ type: "fact" })],
  find: async (memory) => [
    await memory.find({ slot, limit: 9 }),
    await memory.find({ where: { eq: ["head.type", "fact"] }, limit: 9 }),
    await memory.find({ text: "lives", limit: 9 }),
  ],
  search: (memory) => memory.search("where Ada lives"),
  searchBatch: (memory) => memory.searchBatch(["where Ada lives", "Porto Lyon"]),
  recall: (memory) => memory.recall("where does Ada live, in Porto or in Lyon?"),
  context: (memory) => memory.context({ budgetTokens: 400 }),
  describeSchema: (memory) => memory.describeSchema(),
  listTags: (memory) => memory.listTags(),
  review: (memory) => memory.review(),
  session: (memory) => memory.session("chat"),
  sessions: (memory) => memory.sessions(),
  goalStates: (memory) => memory.goalStates(),
  ...Object.fromEntries(
    ["get", "resolve", "history", "inspect", "slotHistory", "goalState"].map((verb) => [
      verb,
      "shows what is asked for by name, and says that it waits",
    ]),
  ),
  ...Object.fromEntries(
    ["linksFrom", "backlinksTo", "edgesIn", "edgesOut", "getEdge", "traverse"].map((verb) => [
      verb,
      "goes by edges, which have times of their own",
    ]),
  ),
  ...Object.fromEntries(
    [
      "changes",
      "log",
      "journalPage",
      "subscribe",
      "erasures",
      "exportJournal",
      "backup",
      "scrub",
    ].map((verb) => [verb, "tells what was written, and when"]),
  ),
  ...Object.fromEntries(
    ["prove", "share", "root", "checkpoint", "snapshots", "showScope", "check", "stats"].map(
      (verb) => [verb, "is about the store as it is stored"],
    ),
  ),
  config: "holds no memory",
  weights: "holds no memory",
  contextRecord: "keeps addresses alone",
};

test("no reading verb answers with a value before its time, nor with one whose time has passed", async () => {
  const reads = Object.values(VERBS).filter(({ kind }) => kind === "read");
  expect(Object.keys(READS).sort()).toEqual(reads.map(({ name }) => name).sort());
  await using store = await openTestStore({ stepMs: 0 });
  const { memory, clock } = store;
  const validFrom = clock.read() + DAY;
  await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" });
  await memory.write({ type: "fact", slot, text: "Ada lives in Porto", validFrom });
  const told = async (verb: string): Promise<string> => {
    const ask = READS[verb];
    return typeof ask === "function" ? JSON.stringify(await ask(memory)) : "";
  };
  for (const { name } of reads) expect(await told(name), name).not.toContain("in Porto");
  expect(await told("recall")).toContain("in Lyon");
  clock.advance(DAY);
  for (const { name } of reads) expect(await told(name), name).not.toContain("in Lyon");
  expect(await told("recall")).toContain("in Porto");
});

describe("a value to come", () => {
  test("waits beside the value of today, takes its place at its time, and is never lost", async () => {
    await using store = await openTestStore({ stepMs: 0 });
    const { memory, clock } = store;
    const now = clock.read();
    const today = await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" });
    const plan = { type: "fact", slot, text: "Ada lives in Porto", validFrom: now + DAY } as const;
    const written = await memory.write(plan);
    expect(written.replaced).toEqual([]);
    expect((await memory.get(written.id))?.head).toMatchObject({
      lifecycle: "active",
      waits: true,
    });
    expect((await memory.slotHistory(slot)).values).toMatchObject([
      { text: "Ada lives in Lyon", current: true },
      { text: "Ada lives in Porto", current: false, waits: true, from: now + DAY },
    ]);
    expect((await memory.review()).items).toEqual([]);
    expect(await memory.linksFrom(written.id)).toEqual([]);
    const then = { validAt: now + DAY };
    expect(await memory.linksFrom(written.id, then)).toMatchObject([
      { kind: "transition", to: today.id },
    ]);
    // Other words about a plan do not bring it forward.
    await memory.update(written.id, { text: "Ada lives in Porto, by the river" });
    expect((await memory.list({ slot })).memories).toMatchObject([{ id: today.id }]);
    // Hidden, it never happens; back, it does.
    await memory.tombstone(written.id, "not sure");
    expect((await memory.list({ slot, ...then })).memories).toMatchObject([{ id: today.id }]);
    await memory.restore(written.id);
    expect((await memory.list({ slot })).memories).toMatchObject([{ id: today.id }]);
    clock.advance(DAY);
    expect((await memory.list({ slot })).memories).toMatchObject([{ id: written.id }]);
    // The next value closes both, each when its turn was over.
    const rome = await memory.write({ type: "fact", slot, text: "Ada lives in Rome" });
    expect((await memory.slotHistory(slot)).values).toMatchObject([
      { id: rome.id, current: true },
      { id: written.id, from: now + DAY, to: now + DAY },
      { id: today.id, from: now, to: now + DAY },
    ]);
  });

  test("that a lower source plans is a rival, not a plan", async () => {
    await using store = await openTestStore({ stepMs: 0 });
    const { memory, clock } = store;
    const today = await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" });
    const validFrom = clock.read() + DAY;
    const text = "Ada lives in Atlantis";
    const other = await memory.write({ type: "fact", slot, text, validFrom, source: "document" });
    expect(other.conflicts).toMatchObject([{ id: today.id }]);
    clock.advance(2 * DAY);
    expect((await memory.list({ slot })).memories).toMatchObject([{ id: today.id }]);
  });

  test("is not made of the value of today by putting it off", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const { id } = await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" });
    const later = { text: "Ada lives in Porto", validFrom: clock.last() + DAY };
    const error = await refusalOf(memory, () => memory.update(id, later));
    expect(error).toMatchObject({ code: "ERR_INVALID", details: { field: "validFrom" } });
  });
});

test("a value whose time is over joins the history and displaces nobody", async () => {
  await using store = await openTestStore({ stepMs: 0 });
  const { memory, clock } = store;
  const now = clock.read();
  const today = await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" });
  for (const text of ["Ada lives in Rome", "Ada lives in Lyon"]) {
    const past = { validFrom: now - 9 * DAY, validTo: now - 5 * DAY };
    const written = await memory.write({ type: "fact", slot, text, ...past });
    expect(written).toMatchObject({ replaced: [], conflicts: [], reinforced: false });
    expect((await memory.get(written.id))?.head).toMatchObject({ lifecycle: "archived" });
  }
  expect((await memory.list({ slot })).memories).toMatchObject([{ id: today.id }]);
  expect((await memory.find({ slot, limit: 5 })).hits).toMatchObject([{ id: today.id }]);
  const then = await memory.list({ slot, validAt: now - 6 * DAY });
  expect(then.memories).toHaveLength(2);
  expect((await memory.slotHistory(slot)).values).toHaveLength(3);
});
