/**
 * The bundle: the same bytes for the same position and time, a budget for the whole text of which one
 * memory always stays, and rivals below what they dispute, whatever the budget takes.
 */
import { describe, expect, test } from "vitest";
import { TIERS } from "../contract/recall.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { FENCE_CLOSE, FENCE_OPEN } from "../records/fence.js";
import { countTokens } from "../records/forms.js";
import { exactRows } from "../testing/bare-journal.js";
import { type CountedStore, openCountedStore, TEST_EPOCH_MS } from "../testing/fixtures.js";
import { type Bundle, buildBundle, type ContextPlan, type Placed } from "./context.js";

const trip = { verb: "schedule", object: "plan", ref: "trip" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Who disputes whom, by what they say. */
type Disputes = Readonly<Record<string, readonly string[]>>;

function nameOf({ body }: FoundMemory): string {
  return bodyOf(body).forms.short;
}

const names = (list: readonly Placed[]): string[] => list.map(({ memory }) => nameOf(memory));

function bundleOf(
  { calls }: CountedStore,
  plan: Partial<ContextPlan> = {},
  { disputes = {}, asOf }: { readonly disputes?: Disputes; readonly asOf?: number } = {},
): Promise<Bundle> {
  const whole: ContextPlan = {
    tiers: TIERS,
    frames: [trip],
    outcomeLimit: 3,
    form: "short",
    budgetTokens: 10_000,
    nowMs: TEST_EPOCH_MS + DAY_MS,
    ...plan,
  };
  return Reader.with(calls, asOf, (reader) =>
    buildBundle(reader, whole, {
      show: async (found) => found,
      disputes: async (memories) => {
        const byName = new Map(memories.map((memory) => [nameOf(memory), memory]));
        return new Map(
          memories.flatMap((memory) => {
            const others = disputes[nameOf(memory)]?.flatMap((name) => byName.get(name) ?? []);
            return others === undefined ? [] : [[keyString(memory.id), others] as const];
          }),
        );
      },
    }),
  );
}

/** Notes under the frame, each more important than the one before, as far as that goes. */
async function filled(texts: readonly string[]): Promise<CountedStore> {
  const store = await openCountedStore();
  for (const [at, text] of texts.entries()) {
    await store.memory.write({ type: "note", text, frames: [trip], importance: Math.min(at, 10) });
  }
  return store;
}

describe("the same bytes", () => {
  test("for the same store, position and time; a pure read", async () => {
    await using store = await filled(["one", "two", "three"]);
    const { memory } = store;
    await memory.write({ type: "identity", text: "Ada flies" });
    const { seq } = await memory.stats();
    const rows = await exactRows(store.calls);
    const first = await bundleOf(store);
    expect(await bundleOf(store)).toEqual(first);
    expect(await exactRows(store.calls)).toEqual(rows);
    await memory.write({ type: "note", text: "later", frames: [trip] });
    await memory.write({ type: "identity", text: "Ada sails" });
    const then = await bundleOf(store, {}, { asOf: seq });
    expect(then.text).toBe(first.text);
    expect((await bundleOf(store)).text).not.toBe(first.text);
  });

  test("time enters by recency alone: later, everything scores less and says the same", async () => {
    await using store = await filled(["one", "two"]);
    const soon = await bundleOf(store);
    const late = await bundleOf(store, { nowMs: TEST_EPOCH_MS + 400 * DAY_MS });
    expect(names(late.placed)).toEqual(names(soon.placed));
    expect(late.text).toBe(soon.text);
    for (const [at, one] of late.placed.entries()) {
      expect(one.score).toBeLessThan(soon.placed[at]?.score ?? 0);
    }
  });

  test("nothing to show is no text, and a full one is fenced under its titles", async () => {
    await using empty = await openCountedStore();
    expect(await bundleOf(empty)).toMatchObject({ placed: [], dropped: [], text: "", tokens: 0 });
    await using store = await filled(["one"]);
    await store.memory.write({ type: "identity", text: "Ada flies" });
    await store.memory.write({ type: "event", text: "It went well", frames: [trip] });
    const { text, tokens } = await bundleOf(store);
    expect(text.startsWith(FENCE_OPEN) && text.trimEnd().endsWith(FENCE_CLOSE)).toBe(true);
    const titles = ["Always:", "Came of this before:", "About this:"].map((one) =>
      text.indexOf(one),
    );
    expect(titles).toEqual([...titles].sort((a, b) => a - b));
    expect(Math.min(...titles)).toBeGreaterThan(0);
    expect(tokens).toBe(countTokens(text));
  });
});

describe("a budget", () => {
  test("holds for the whole text; the lowest score goes first, and one always stays", async () => {
    await using store = await filled(["a thing", "a better thing", "a third thing", "the best"]);
    const whole = await bundleOf(store);
    const order = [...whole.placed].sort((a, b) => b.score - a.score);
    for (let budgetTokens = whole.tokens + 5; budgetTokens >= 1; budgetTokens -= 1) {
      const { placed, dropped, tokens } = await bundleOf(store, { budgetTokens });
      expect(tokens <= budgetTokens || placed.length === 1).toBe(true);
      expect(names(placed)).toEqual(names(order.slice(0, placed.length)));
      expect(names(dropped)).toEqual(names(order.slice(placed.length)));
    }
    // Lines are counted one by one, each rounded up.
    const enough = whole.tokens + whole.placed.length + 1;
    expect(names((await bundleOf(store, { budgetTokens: enough })).dropped)).toEqual([]);
  });
});

describe("rivals", () => {
  const TEXTS = ["low", "middle", "high"];

  test("stand below what they dispute, with no higher a score", async () => {
    await using store = await filled(TEXTS);
    expect(names((await bundleOf(store)).placed)).toEqual(["high", "middle", "low"]);
    const { placed } = await bundleOf(store, {}, { disputes: { high: ["low"] } });
    expect(names(placed)).toEqual(["middle", "low", "high"]);
    const score = (name: string) => placed[names(placed).indexOf(name)]?.score;
    expect(score("high")).toBe(score("low"));
  });

  test("of rivals stand lower still, through any number of them", async () => {
    await using store = await filled(["1", "2", "3", "4", "5"]);
    const disputes = { 5: ["4"], 4: ["3"], 3: ["2"], 2: ["1"] };
    const { placed } = await bundleOf(store, {}, { disputes });
    expect(names(placed)).toEqual(["1", "2", "3", "4", "5"]);
    expect(placed.map(({ depth }) => depth)).toEqual([0, 1, 2, 3, 4]);
    // Whoever disputes several stands below the last of them.
    const both = await bundleOf(store, {}, { disputes: { 5: ["1", "4"], 4: ["2"] } });
    expect(names(both.placed)).toEqual(["3", "2", "1", "4", "5"]);
  });

  test("go with the later tier of the two", async () => {
    await using store = await filled(["remark"]);
    await store.memory.write({ type: "identity", text: "Ada flies" });
    const { placed } = await bundleOf(store, {}, { disputes: { "Ada flies": ["remark"] } });
    expect(names(placed)).toEqual(["remark", "Ada flies"]);
    expect(placed.map(({ tier }) => tier)).toEqual(["frame_relevant", "frame_relevant"]);
  });

  test("are taken by a budget before what they dispute, whatever it is", async () => {
    await using store = await filled(TEXTS);
    const disputes = { high: ["low"], middle: ["low"] };
    const { tokens } = await bundleOf(store, {}, { disputes });
    for (let budgetTokens = tokens; budgetTokens >= 1; budgetTokens -= 1) {
      const { placed } = await bundleOf(store, { budgetTokens }, { disputes });
      if (names(placed).some((name) => name in disputes)) {
        expect(names(placed)).toContain("low");
      }
      expect(placed.length).toBeGreaterThanOrEqual(1);
    }
  });

  test("that dispute each other in a ring stand equally low, and below what all of them dispute", async () => {
    await using store = await filled(["base", "a", "b", "c"]);
    const disputes = { a: ["b", "base"], b: ["c"], c: ["a"] };
    const { placed } = await bundleOf(store, {}, { disputes });
    expect(names(placed)[0]).toBe("base");
    const ring = placed.slice(1);
    expect(new Set(ring.map(({ score }) => score)).size).toBe(1);
    expect(new Set(ring.map(({ depth }) => depth)).size).toBe(1);
  });

  test("in layers that all dispute each other cost no more than their disputes", async () => {
    const layers = Array.from({ length: 8 }, (_, layer) =>
      Array.from({ length: 8 }, (_, at) => `${layer}-${at}`),
    );
    await using store = await filled(layers.flat());
    const disputes = Object.fromEntries(
      layers.flatMap((layer, at) => layer.map((name) => [name, layers[at - 1] ?? []])),
    );
    // Along every path it would be eight to the eighth.
    const { placed } = await bundleOf(store, {}, { disputes });
    expect(placed.map(({ depth }) => depth)).toEqual(
      layers.flatMap((layer, at) => layer.map(() => at)),
    );
  });
});
