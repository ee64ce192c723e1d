/** `compactContext` and `contextRecord`: what stays in full, what is refused, what is read back. */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { countTokens } from "../records/forms.js";
import { GUEST } from "../scope/access.js";
import { openTestStore, refusalOf } from "../testing/fixtures.js";

const step = { intentId: "trip", stepId: "3" };
const LONG = `${"a long story ".repeat(40)}end`;

async function fill(memory: Cortex) {
  return {
    rule: await memory.write({ type: "constraint", text: "No red-eye flights" }),
    soft: await memory.write({ type: "constraint", text: "By train", data: { strength: "soft" } }),
    long: await memory.write({ type: "note", text: LONG }),
    bearing: await memory.write({ type: "note", text: `bearing ${LONG}`, externalId: "bearing" }),
  };
}

describe("compacting", () => {
  test("keeps what is pinned or carries the task, and cuts the rest short", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, soft, long, bearing } = await fill(memory);
    const result = await memory.compactContext({
      ...step,
      inContext: [rule.uri, soft.id, long.uri, "bearing", bearing.uri],
      loadBearing: [bearing.id],
    });
    expect(result.kept.map(({ uri }) => uri)).toEqual([rule.uri, bearing.uri]);
    expect(result.compacted.map(({ uri }) => uri)).toEqual([soft.uri, long.uri]);
    const forms = async (id: string) => (await memory.get(id))?.versionRecord.forms;
    expect(result.kept[1]?.text).toBe((await forms(bearing.id))?.medium);
    expect(result.compacted[1]?.text).toBe((await forms(long.id))?.short);
    expect(result.kept[0]?.salience).toBe(0.7);
    expect(result.compacted[0]?.salience).toBeLessThan(0.7);
    const texts = [...result.kept, ...result.compacted].map(({ text }) => text);
    expect(result.tokens).toBe(texts.reduce((sum, text) => sum + countTokens(text), 0));
    expect(result.skipped).toEqual([]);
    expect(result.recordUri).toMatch(/^cortex:\/\/ada\/context\/[0-9a-f]{32}$/);
    expect(result.seq).toBe((await memory.stats()).seq);
  });

  test("one entry, which holds URIs and no word of anybody", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, long } = await fill(memory);
    const before = (await memory.stats()).entries;
    const state = await memory.root();
    const { seq } = await memory.compactContext({ ...step, inContext: [rule.id, long.id] });
    const { entries } = await memory.log({ from: before });
    expect(entries).toMatchObject([{ seq, kind: "context", parts: [{ subject: "store" }] }]);
    expect((await memory.root()).root).not.toBe(state.root);
    expect((await memory.inspect(long.id))?.counters).toMatchObject({ accessed: 0, lastUsedAt: 0 });
  });

  test("what is not there is skipped; when nothing is left it is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, long } = await fill(memory);
    await memory.tombstone(long.id, "why");
    const result = await memory.compactContext({
      ...step,
      inContext: [rule.id, long.id, "nobody", "cortex://ada/Fact/x#latest"],
      loadBearing: [long.id],
    });
    expect(result.kept).toHaveLength(1);
    expect(result.skipped).toEqual([long.id, "nobody", "cortex://ada/Fact/x#latest"]);
    const inContext = ["nobody", long.id];
    const refusal = await refusalOf(memory, () => memory.compactContext({ ...step, inContext }));
    expect(refusal).toMatchObject({ code: "ERR_INVALID", details: { field: "inContext" } });
  });

  test("a budget that cannot hold it is refused with the numbers, and nothing is written", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, long } = await fill(memory);
    const inContext = [rule.id, long.id];
    const { tokens } = await memory.compactContext({ ...step, inContext });
    const tight = { ...step, inContext, budgetTokens: tokens - 1 };
    const refusal = await refusalOf(memory, () => memory.compactContext(tight));
    expect(refusal).toMatchObject({
      code: "ERR_BUDGET",
      details: { expected: `at least ${tokens}`, got: String(tokens - 1) },
    });
    expect((await memory.contextRecord("trip", "3"))?.budgetTokens).toBe(4000);
    expect((await memory.compactContext({ ...tight, budgetTokens: tokens })).tokens).toBe(tokens);
  });

  test.each([
    [{ ...step, inContext: [] }, "ERR_INVALID", "inContext"],
    [{ ...step, inContext: ["x"], intentId: "" }, "ERR_INVALID", "intentId"],
    [{ ...step, inContext: ["x"], stepId: "" }, "ERR_INVALID", "stepId"],
    [{ ...step, inContext: ["x"], stepId: "s".repeat(256) }, "ERR_TOO_LARGE", "stepId"],
    [{ ...step, inContext: Array(1001).fill("x") }, "ERR_TOO_LARGE", "inContext"],
    [{ ...step, inContext: [7] }, "ERR_BAD_ID", "inContext[0]"],
    [{ ...step, inContext: ["x"], loadBearing: "x" }, "ERR_INVALID", "loadBearing"],
    [{ ...step, inContext: ["x"], budgetTokens: 0 }, "ERR_INVALID", "budgetTokens"],
    [{ ...step, inContext: ["x"], folder: "x" }, "ERR_UNKNOWN_FIELD", "folder"],
    // The order of the checks: the first that fails is named.
    [{ inContext: [], intentId: "", stepId: "" }, "ERR_INVALID", "inContext"],
    [{ inContext: ["x"], intentId: "", stepId: "" }, "ERR_INVALID", "intentId"],
  ])("%j is refused with %s for %s", async (input, code, field) => {
    await using store = await openTestStore();
    const call = () => store.memory.compactContext(input as never);
    expect(await refusalOf(store.memory, call)).toMatchObject({ code, details: { field } });
  });

  test("what carries the task must be in the context", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, long } = await fill(memory);
    const input = { ...step, inContext: [rule.id], loadBearing: [long.id] };
    const refusal = await refusalOf(memory, () => memory.compactContext(input));
    expect(refusal).toMatchObject({ code: "ERR_INVALID", details: { field: "loadBearing" } });
  });

  test("guests neither compact nor read records", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const input = { ...step, inContext: ["x"] };
    for (const call of [
      () => memory.compactContext(input, { access: GUEST }),
      () => memory.contextRecord("trip", "3", { access: GUEST }),
    ]) {
      expect((await refusalOf(memory, call)).code).toBe("ERR_DENIED");
    }
  });
});

describe("the record", () => {
  test("is read back with the texts of the versions it names", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, long } = await fill(memory);
    const given = await memory.compactContext({
      ...step,
      inContext: [rule.id, long.id],
      by: "bob",
    });
    await memory.update(long.id, { text: "another story" });
    const found = await memory.contextRecord("trip", "3");
    expect(found).toMatchObject({
      recordUri: given.recordUri,
      budgetTokens: 4000,
      by: "bob",
      recordSeq: given.seq,
      kept: [{ uri: rule.uri, text: "No red-eye flights", lifecycle: "active" }],
      compacted: given.compacted.map((item) => ({ ...item, lifecycle: "active" })),
    });
    expect(await memory.contextRecord("trip", "4")).toBeUndefined();
    expect(await memory.contextRecord("other", "3")).toBeUndefined();
  });

  test("marks what was hidden or forgotten since, and tells nothing of the latter", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { rule, soft, long } = await fill(memory);
    await memory.compactContext({ ...step, inContext: [rule.id, soft.id, long.id] });
    await memory.tombstone(soft.id, "why");
    await memory.forget(long.id, "why");
    const { kept, compacted } = (await memory.contextRecord("trip", "3")) ?? {};
    expect(kept).toMatchObject([{ lifecycle: "active" }]);
    expect(compacted).toMatchObject([
      { uri: soft.uri, lifecycle: "tombstoned", text: "By train" },
      { uri: long.uri, lifecycle: "erased" },
    ]);
    expect(compacted?.[1]).not.toHaveProperty("text");
  });

  test("of the same task and step is replaced, and survives a rebuild", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    const { memory } = store;
    const { rule, soft } = await fill(memory);
    await memory.compactContext({ ...step, inContext: [rule.id] });
    await memory.compactContext({ ...step, stepId: "4", inContext: [rule.id] });
    const last = await memory.compactContext({ ...step, inContext: [soft.id] });
    const found = await memory.contextRecord("trip", "3");
    expect(found).toMatchObject({ recordSeq: last.seq, kept: [], compacted: [{ uri: soft.uri }] });
    expect((await memory.rebuild()).ok).toBe(true);
    expect(await memory.contextRecord("trip", "3")).toEqual(found);
  });
});
