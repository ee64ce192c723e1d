/**
 * Questions that name a time and nothing else, on a store that was written over some weeks.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { openTestStore, type TestStore } from "../testing/fixtures.js";

const DAY_MS = 86_400_000;

const said = (content: string) => [{ role: "user" as const, content }];

/** Told 30, 8 and 1 days ago. */
async function diary(store: TestStore): Promise<Cortex> {
  const { memory, clock } = store;
  await memory.remember(said("Last week I quit smoking."), { session: "a" });
  await memory.write({ type: "fact", text: "Ada plays the cello" });
  clock.advance(22 * DAY_MS);
  await memory.remember(
    [
      { role: "user", content: "Dinner with Paul at the noodle bar." },
      { role: "assistant", content: "Yesterday's noodles are good cold." },
    ],
    { session: "b" },
  );
  await memory.write({ type: "event", text: "Ada sold her bicycle" });
  clock.advance(7 * DAY_MS);
  await memory.remember(said("I swam forty lengths."), { session: "c" });
  clock.advance(DAY_MS);
  return memory;
}

async function texts(memory: Cortex, question: string): Promise<readonly string[]> {
  const { hits } = await memory.recall(question);
  return hits.map(({ text }) => text);
}

describe("a question for a time alone", () => {
  test.each([
    "What did I do last week?",
    "Was habe ich letzte Woche gemacht?",
    "¿Qué hice la semana pasada?",
    "Qu'est-ce que j'ai fait la semaine dernière ?",
    "上周我做了什么？",
  ])("is answered by what was written then: %s", async (question) => {
    await using store = await openTestStore();
    const memory = await diary(store);
    const { hits, weak } = await memory.recall(question);
    expect(hits.map(({ text }) => text)).toEqual([
      "I swam forty lengths.",
      "Dinner with Paul at the noodle bar.",
      "Ada sold her bicycle",
      "Yesterday's noodles are good cold.",
    ]);
    expect(weak).toBe(false);
    expect(hits[0]?.why.lanes).toEqual({ time: 1 });
    // What an assistant said then counts less.
    expect(hits[3]?.why.lanes.time).toBeCloseTo(2 / 3);
  });

  test("is not answered by the words that name it", async () => {
    await using store = await openTestStore();
    const memory = await diary(store);
    expect(await texts(memory, "What happened yesterday?")).toEqual(["I swam forty lengths."]);
    // With another word it is a question like any other.
    const [first] = await texts(memory, "When did I quit smoking last week?");
    expect(first).toBe("Last week I quit smoking.");
    // So it is where nothing was written then.
    expect(await texts(memory, "What did I do last year?")).toEqual(["Last week I quit smoking."]);
  });

  test("a date is looked for in words as well", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    await memory.write({ type: "fact", text: "On 5 January Ada flies to Oslo" });
    clock.advance(4 * DAY_MS);
    await memory.remember(said("The suitcase is packed."), { session: "a" });
    clock.advance(2 * DAY_MS);
    const found = await texts(memory, "What did I do on 5 January?");
    expect(new Set(found)).toEqual(
      new Set(["On 5 January Ada flies to Oslo", "The suitcase is packed."]),
    );
  });

  test("goes by the time that a memory speaks of", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const at = clock.last() - 400 * DAY_MS;
    await memory.remember([{ role: "user", content: "An old letter.", at }], { session: "a" });
    await memory.remember(said("A new letter."), { session: "b" });
    expect(await texts(memory, "What happened today?")).toEqual(["A new letter."]);
  });

  test("finds what was brought in later than it took place", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const ago = (days: number): number => clock.last() - days * DAY_MS;
    const turn = (content: string, days: number) => ({
      role: "user" as const,
      content,
      at: ago(days),
    });
    await memory.remember([turn("We adopted a greyhound.", 40), turn("I sold the bicycle.", 39)], {
      session: "a",
    });
    await memory.remember([turn("I repaired the roof.", 8), turn("Rain again.", 7)], {
      session: "b",
    });
    clock.advance(3 * DAY_MS);
    const { hits, weak } = await memory.recall("What did I do last week?");
    expect(hits.map(({ text }) => text).sort()).toEqual(["I repaired the roof.", "Rain again."]);
    expect(hits[0]?.why.lanes).toEqual({ time: 1 });
    expect(weak).toBe(false);
  });

  test("shows nobody more than they may see, and the past as it was", async () => {
    await using store = await openTestStore();
    const memory = await diary(store);
    const { seq } = await memory.stats();
    await memory.write({ type: "event", text: "Ada bought a kayak" });
    expect(await texts(memory, "What did I do today?")).toEqual(["Ada bought a kayak"]);
    const then = await memory.recall("What did I do last week?", { asOf: seq });
    expect(then.hits).toHaveLength(4);
    const lanes = await memory.recall("What did I do today?", { lanes: ["lexical"] });
    expect(lanes.hits).toEqual([]);
  });
});
