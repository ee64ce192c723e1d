/** `batch`: all or nothing, or as much as will go; refs between items; every shape of failure. */
import { describe, expect, test } from "vitest";
import type { BatchItem, BatchItemResult } from "../contract/batch.js";
import { LIMITS } from "../limits.js";
import { openTestStore, refusalOf } from "../testing/index.js";

function idOf(result: BatchItemResult | undefined): string {
  return result?.ok === true ? result.id : "";
}

/** What became of each item: its id, or the code of its failure. */
function outcomes(results: readonly BatchItemResult[]): readonly string[] {
  return results.map((result) => (result.ok ? "ok" : result.error.code));
}

describe("atomic", () => {
  test("writes, updates and links with refs, in one batch of entries", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const old = await memory.write({ type: "note", text: "old", externalId: "old" });
    const { results, seq } = await memory.batch([
      { write: { type: "goal", text: "Sail home" }, ref: "goal" },
      { write: { type: "fact", text: "The boat is blue" }, ref: "boat" },
      { update: { id: old.id, text: "new" }, ref: "note" },
      { link: { from: { ref: "goal" }, kind: "uses", to: { ref: "boat" }, reason: "to sail" } },
      { link: { from: { ref: "note" }, kind: "about", to: { ref: "goal" } } },
      { link: { from: "old", kind: "references", to: { ref: "boat" } } },
      { link: { from: { ref: "boat" }, kind: "causes", to: old.id } },
    ]);
    expect(outcomes(results)).toEqual(results.map(() => "ok"));
    expect(seq).toBe((await memory.stats()).seq);
    const [goal, boat, note] = results.map(idOf);
    expect(note).toBe(old.id);
    expect(await memory.getEdge(goal ?? "", "uses", boat ?? "")).toMatchObject({
      reason: "to sail",
    });
    expect(await memory.getEdge(old.id, "about", goal ?? "")).toMatchObject({ kind: "about" });
    expect(await memory.getEdge(old.id, "caused_by", boat ?? "")).toBeDefined();
    const { entries } = await memory.log({ from: 2 });
    expect(entries.map(({ kind }) => kind)).toEqual([
      "write",
      "write",
      "update",
      "add_edge",
      "register_edge_kind",
      "add_edge",
      "add_edge",
      "add_edge",
    ]);
    expect(new Set(entries.map(({ batch }) => `${batch?.first} ${batch?.length}`))).toEqual(
      new Set(["2 8"]),
    );
    expect(new Set(entries.map(({ at }) => at)).size).toBe(1);
  });

  test("later items see what earlier ones did", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { results } = await memory.batch([
      { write: { type: "fact", slot: "city", text: "Lyon" }, ref: "a" },
      { write: { type: "fact", slot: "city", text: "Porto" } },
      { write: { type: "fact", text: "said" }, ref: "b" },
      { write: { type: "fact", text: "Said." }, ref: "c" },
      { link: { from: { ref: "a" }, kind: "uses", to: { ref: "b" } } },
      { link: { from: { ref: "a" }, kind: "uses", to: { ref: "c" } } },
    ]);
    expect(results).toMatchObject([
      { ok: true, replaced: [] },
      { ok: true, replaced: [{ id: idOf(results[0]) }] },
      { ok: true, reinforced: false },
      { ok: true, reinforced: true, id: idOf(results[2]) },
      { ok: true, changed: true },
      { ok: true, changed: false },
    ]);
    expect((await memory.list({ slot: "city" })).memories.map(({ text }) => text)).toEqual([
      "Porto",
    ]);
  });

  test("one failing item fails the batch and is named", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "x", externalId: "x" });
    const cases: readonly (readonly [BatchItem, string, string])[] = [
      [{ write: { type: "fact" } }, "ERR_INVALID", "items[1].text"],
      [
        { write: { type: "note", text: "y", externalId: "x" } },
        "ERR_EXISTS",
        "items[1].externalId",
      ],
      [{ update: { id: "nobody", text: "y" } }, "ERR_NOT_FOUND", "items[1].id"],
      [{ link: { from: "x", kind: "uses", to: "nobody" } }, "ERR_UNKNOWN_ENDPOINT", "items[1].to"],
      [{ link: { from: "x", kind: "uses", to: { ref: "later" } } }, "ERR_REF", "items[1].to"],
      [{ link: { from: "x", kind: "uses", to: "x" } }, "ERR_SELF_EDGE", "items[1].to"],
      [{ write: { type: "note", text: "y" }, ref: "first" }, "ERR_REF", "items[1].ref"],
      [{ write: { type: "note", text: "y" }, ref: "" }, "ERR_REF", "items[1].ref"],
    ];
    for (const [item, code, field] of cases) {
      const items = [{ write: { type: "note", text: "good" }, ref: "first" } as const, item];
      const error = await refusalOf(memory, () =>
        memory.batch([...items, { write: { type: "note", text: "z" }, ref: "later" }]),
      );
      expect(error).toMatchObject({ code, details: { field } });
      expect(error.message).toMatch(/^items\[1\]: /);
    }
    expect((await memory.stats()).memories.active).toBe(1);
  });
});

describe("best effort", () => {
  test("what is no item at all is refused, and nothing is written", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const good = { type: "note", text: "good" };
    const odd: readonly (readonly [unknown, string])[] = [
      [null, "items[1].item"],
      [7, "items[1].item"],
      [[], "items[1].item"],
      [{}, "items[1].item"],
      [{ write: good, link: {} }, "items[1].item"],
      [{ write: good, more: 1 }, "items[1].item"],
      [{ write: good, upsert: {} }, "items[1].item"],
      [{ write: 7 }, "items[1].write"],
      [{ update: null }, "items[1].update"],
      [{ link: [] }, "items[1].link"],
      [{ link: {}, ref: "" }, "items[1].ref"],
      [{ write: good, ref: 7 }, "items[1].ref"],
    ];
    for (const [item, field] of odd) {
      for (const atomic of [true, false]) {
        const items = [{ write: good }, item] as never;
        const error = await refusalOf(memory, () => memory.batch(items, { atomic }));
        expect([item, atomic, error.details.field]).toEqual([item, atomic, field]);
      }
    }
    expect((await memory.stats()).memories.active).toBe(0);
  });

  test("good items stand, bad ones say why", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "x", externalId: "x" });
    const { results } = await memory.batch(
      [
        { write: { type: "note", text: "one" }, ref: "one" },
        { write: { type: "dream" as never, text: "?" } },
        { write: { type: "note", text: "two", externalId: "x" }, ref: "two" },
        { link: { from: { ref: "one" }, kind: "uses", to: { ref: "two" } } },
        { link: { from: { ref: "one" }, kind: "uses", to: "x" } },
        { update: { id: "x", text: "stale", basedOnVersion: 7 } },
        { update: { id: "x", text: "y", unheardOf: 1 } as never },
        { write: { type: "note", text: "last" } },
      ],
      { atomic: false },
    );
    expect(outcomes(results)).toEqual([
      "ok",
      "ERR_UNKNOWN_TYPE",
      "ERR_EXISTS",
      "ERR_REF",
      "ok",
      "ERR_CONFLICT",
      "ERR_UNKNOWN_FIELD",
      "ok",
    ]);
    expect(results[2]).toMatchObject({ error: { details: { field: "items[2].externalId" } } });
    expect((await memory.list({ type: "note" })).memories).toHaveLength(3);
    expect((await memory.log({ from: 2 })).entries).toHaveLength(3);
  });

  test("a slot change that fails leaves the slot as it was", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", slot: "s", text: "a" });
    const { results } = await memory.batch(
      [{ write: { type: "fact", slot: "s", text: "b", corrects: "nobody" } }],
      { atomic: false },
    );
    expect(outcomes(results)).toEqual(["ERR_NOT_FOUND"]);
    expect((await memory.list({ slot: "s" })).memories.map(({ text }) => text)).toEqual(["a"]);
    expect((await memory.stats()).memories).toMatchObject({ active: 1, archived: 0 });
  });
});

describe("limits", () => {
  test("a batch of the largest size, over a store that is not in the cache", async () => {
    await using store = await openTestStore({ check: false });
    await store.memory.write({ type: "note", text: "first" });
    const memory = await store.reopen();
    const { results } = await memory.batch(
      Array.from({ length: LIMITS.batchItems }, (_, at) => ({
        write: { type: "note", text: `n${at}` },
      })),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect((await memory.stats()).memories.active).toBe(LIMITS.batchItems + 1);
  });

  test("what is no batch, and what is too much of one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const note = { write: { type: "note", text: "n" } } as const;
    const big = { write: { type: "note", text: "x".repeat(LIMITS.contentBytes) } } as const;
    const cases: readonly (readonly [unknown, string])[] = [
      [[], "ERR_INVALID"],
      [null, "ERR_INVALID"],
      [{ write: {} }, "ERR_INVALID"],
      [Array(LIMITS.batchItems + 1).fill(note), "ERR_TOO_LARGE"],
      [Array(600).fill(big), "ERR_TOO_LARGE"],
      [[{}], "ERR_INVALID"],
      [[5], "ERR_INVALID"],
      [[[]], "ERR_INVALID"],
      [[{ ...note, link: {} }], "ERR_INVALID"],
      [[{ ...note, tag: 1 }], "ERR_INVALID"],
      [[{ write: null }], "ERR_INVALID"],
      [[{ update: null }], "ERR_INVALID"],
      [[{ update: {} }], "ERR_BAD_ID"],
      [[{ link: null }], "ERR_INVALID"],
      [[{ link: { from: null, kind: "uses", to: "x" } }], "ERR_REF"],
      [[{ link: { from: { ref: 5 }, kind: "uses", to: "x" } }], "ERR_REF"],
      [[{ link: { from: "a", kind: "uses", to: "b", color: 1 } }], "ERR_UNKNOWN_FIELD"],
    ];
    for (const [items, code] of cases) {
      const error = await refusalOf(memory, () => memory.batch(items as never));
      expect(error.code).toBe(code);
    }
    expect(
      await refusalOf(memory, () => memory.batch([note], { atomc: true } as never)),
    ).toMatchObject({
      code: "ERR_UNKNOWN_FIELD",
      details: { field: "atomc" },
    });
  });
});

describe("a loose batch", () => {
  const note = (externalId: string, text = externalId) =>
    ({ type: "note", text, externalId }) as const;

  test("goes on from memories that are there, and links loosely", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write(note("a"));
    const { results } = await memory.batch(
      [
        { write: note("a", "again"), upsert: {}, ref: "a" },
        { write: note("new"), upsert: {}, ref: "a" },
        { link: { from: { ref: "a" }, kind: "uses", to: { ref: "a" }, loose: {} } },
        { link: { from: "a", kind: "uses", to: "later", loose: { toGraph: "other" } } },
      ],
      { loose: true },
    );
    expect(results).toMatchObject([
      { ok: true, version: 2 },
      { ok: true, version: 1 },
      // A ref that is given again names the last.
      { ok: true, edge: { from: idOf(results[1]), to: idOf(results[1]) } },
      { ok: true, edge: { toGraph: "other" } },
    ]);
  });

  test("counts a rival as a failure: it fails an atomic one, and stands in another", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    for (const text of ["one", "two"]) await memory.write(note("a", text), { upsert: {} });
    const items: readonly BatchItem[] = [
      { write: note("a", "stale"), upsert: { basedOnVersion: 1 }, ref: "a" },
      { write: note("b"), ref: "b" },
      { link: { from: { ref: "b" }, kind: "uses", to: { ref: "a" } } },
    ];
    const error = await refusalOf(memory, () => memory.batch(items, { loose: true }));
    expect([error.code, error.details.field]).toEqual(["ERR_CONFLICT", "items[0].basedOnVersion"]);
    const { results } = await memory.batch(items, { loose: true, atomic: false });
    expect(outcomes(results)).toEqual(["ERR_CONFLICT", "ok", "ERR_REF"]);
    expect(results[0]).toMatchObject({ written: { version: 3, conflicts: [{ text: "two" }] } });
    expect((await memory.get("a"))?.head.siblings).toEqual([2]);
  });

  test("is none unless it says so", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write(note("a"));
    for (const [item, code] of [
      [{ write: note("b"), upsert: {} }, "ERR_INVALID"],
      [{ link: { from: "a", kind: "uses", to: "x", loose: {} } }, "ERR_UNKNOWN_FIELD"],
    ] as const) {
      expect((await refusalOf(memory, () => memory.batch([item]))).code).toBe(code);
    }
  });
});
