/**
 * The tiers of a cold start: each memory in the first tier that found it, cut after what the caller may
 * see, newest first, as of any position, at a cost that goes with what is found.
 */
import { describe, expect, test } from "vitest";
import { TIERS, type Tier } from "../contract/recall.js";
import type { Cortex } from "../cortex.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import { type CountedStore, openCountedStore } from "../testing/fixtures.js";
import { readTiers, type Show, type TierPlan } from "./context.js";

const trip = { verb: "schedule", object: "plan", ref: "trip" } as const;
const move = { verb: "schedule", object: "asset", ref: "move" } as const;
const everyone: Show = async (found) => found;

/** What a memory is called in these tests: its short form. */
function nameOf({ body }: FoundMemory): string {
  return bodyOf(body).forms.short;
}

/** Reads tiers as names, those of one tier in the order in which they were found. */
async function tiersOf(
  { calls }: CountedStore,
  plan: Partial<TierPlan> = {},
  { show = everyone, asOf }: { readonly show?: Show; readonly asOf?: number } = {},
) {
  const whole = { tiers: TIERS, frames: [trip], outcomeLimit: 2, ...plan };
  return Reader.with(calls, asOf, async (reader) => {
    const { found, capped } = await readTiers(reader, whole, show);
    const names = (tier: Tier): string[] =>
      found.flatMap((one) => (one.tier === tier ? [nameOf(one.memory)] : []));
    return {
      pinned: names("pinned"),
      outcomes: names("outcomes"),
      relevant: names("frame_relevant"),
      capped,
    };
  });
}

async function write(memory: Cortex, text: string, more: object = {}): Promise<string> {
  return (await memory.write({ type: "note", text, ...more })).id;
}

describe("which tier", () => {
  test("the first that found it, however many would have", async () => {
    await using store = await openCountedStore();
    const { memory } = store;
    await memory.write({ type: "identity", text: "Ada flies", frames: [trip] });
    await memory.write({ type: "event", text: "It went well", frames: [trip, move] });
    await write(memory, "a remark", { frames: [trip, move] });
    await write(memory, "something else");
    const both = await tiersOf(store, { frames: [trip, move] });
    expect(both).toEqual({
      pinned: ["Ada flies"],
      outcomes: ["It went well"],
      relevant: ["a remark"],
      capped: [],
    });
    // A tier that is not asked for claims nothing.
    const unpinned = await tiersOf(store, { tiers: ["outcomes", "frame_relevant"] });
    expect(unpinned.relevant.sort()).toEqual(["Ada flies", "a remark"]);
    expect(await tiersOf(store, { tiers: ["pinned"] })).toMatchObject({
      pinned: ["Ada flies"],
      outcomes: [],
      relevant: [],
    });
    expect(await tiersOf(store, { frames: [] })).toMatchObject({ outcomes: [], relevant: [] });
  });

  test("outcomes are the newest events; what is beyond the limit is merely relevant", async () => {
    await using store = await openCountedStore();
    for (const text of ["first", "second", "third", "fourth"]) {
      await store.memory.write({ type: "event", text, frames: [trip] });
    }
    expect(await tiersOf(store)).toMatchObject({
      outcomes: ["fourth", "third"],
      relevant: ["second", "first"],
    });
    expect(await tiersOf(store, { tiers: ["outcomes"], outcomeLimit: 9 })).toMatchObject({
      outcomes: ["fourth", "third", "second", "first"],
      relevant: [],
    });
  });

  test("what is pinned is so by what it says now, or said then", async () => {
    await using store = await openCountedStore();
    const { memory } = store;
    const rule = await memory.write({ type: "constraint", text: "No red-eye flights" });
    const goal = await memory.write({ type: "goal", text: "Reach Porto" });
    const { seq: then } = await memory.stats();
    await memory.update(rule.id, { text: "No red-eye flights", data: { strength: "soft" } });
    await memory.tombstone(goal.id, "done");
    expect((await tiersOf(store)).pinned).toEqual([]);
    const before = await tiersOf(store, {}, { asOf: then });
    expect(before.pinned).toEqual(["Goal (active): Reach Porto", "No red-eye flights"]);
  });
});

describe("what the caller may not see", () => {
  test("takes nobody's place among outcomes, and caps nothing", async () => {
    await using store = await openCountedStore();
    const { memory } = store;
    for (const text of ["seen one", "seen two", "hidden one", "hidden two"]) {
      await memory.write({ type: "event", text, frames: [trip] });
    }
    const show: Show = async (found) =>
      found.map((one) => (one !== undefined && nameOf(one).startsWith("seen") ? one : undefined));
    expect(await tiersOf(store, {}, { show })).toEqual({
      pinned: [],
      outcomes: ["seen two", "seen one"],
      relevant: [],
      capped: [],
    });
  });
});

describe("many", () => {
  test("the newest are looked at and the tier says so; one fewer, and it does not", async () => {
    await using store = await openCountedStore();
    const { memory, calls } = store;
    const items = (count: number, frame: typeof trip | typeof move) =>
      Array.from({ length: count }, (_, at) => ({
        write: { type: "note" as const, text: `${frame.ref} ${at}`, frames: [frame] },
      }));
    await memory.batch(items(LIMITS.contextCandidates, trip));
    const full = await tiersOf(store);
    expect([full.relevant.length, full.capped]).toEqual([LIMITS.contextCandidates, []]);
    await memory.batch(items(1, trip));
    const over = await tiersOf(store);
    expect([over.relevant.length, over.capped]).toEqual([
      LIMITS.contextCandidates,
      ["outcomes", "frame_relevant"],
    ]);
    // The one that came last has pushed the first one out.
    const [first] = over.relevant;
    expect([first, over.relevant.at(-1)]).toEqual(["trip 0", "trip 1"]);
    // A few under another frame cost what they are, whatever else is stored.
    await memory.batch(items(3, move));
    calls.reset();
    const few = await tiersOf(store, { frames: [move] });
    expect(few.relevant).toHaveLength(3);
    const { rows, keys } = calls.counts();
    expect(rows + keys).toBeLessThan(20);
  });
});
