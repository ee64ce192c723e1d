/**
 * What the types of the library promise a caller: the compiler checks this file with the other tests,
 * and a line after `@ts-expect-error` that compiles fails it. What the compiler takes is tried as well.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { Cortex } from "../cortex.js";
import { open } from "../open.js";
import type { GoalData } from "../records/data.js";
import { openTestStore } from "../testing/index.js";
import { noteOf } from "./fields.js";
import { type Answer, type Asked, type Options, VERBS } from "./index.js";
import type { WriteInput } from "./memory.js";
import type { Memory, WriteResult } from "./shapes.js";
import type { Verb } from "./verb.js";

/** The same point in time in every form that is taken. */
const MS = Date.parse("2026-03-01T12:00:00Z");
const TIMES = [MS, new Date(MS), "2026-03-01T12:00:00Z"] as const;

describe("a memory", () => {
  test("has the data of its type once the type is known", async () => {
    await using store = await openTestStore();
    const { id } = await store.memory.write({ type: "goal", text: "Learn Portuguese" });
    const found = await store.memory.get(id);
    expectTypeOf(found).toEqualTypeOf<Memory | undefined>();
    if (found?.type !== "goal") throw new Error("it is a goal");
    expectTypeOf(found.data).toEqualTypeOf<GoalData>();
    expectTypeOf(found.data.horizonEnd).toEqualTypeOf<number | undefined>();
    expect(found.data.status).toBe("active");
    // @ts-expect-error: a goal has no stance
    expect(found.data.stance).toBeUndefined();
  });

  test("is not to be changed", () => {
    expectTypeOf<Memory["head"]["tags"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Answer<"list">["memories"]>().toEqualTypeOf<readonly Memory[]>();
  });
});

describe("a write", () => {
  test("takes the fields of its type beside the others, or in data", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    expectTypeOf(memory.write).returns.resolves.toEqualTypeOf<WriteResult>();
    const beside = await memory.write({ type: "belief", text: "It will rain", stance: "suspect" });
    const inside = { type: "belief", text: "It will snow", data: { stance: "doubt" } } as const;
    const other = await memory.write(inside);
    expect((await memory.get(beside.id))?.data).toMatchObject({ stance: "suspect" });
    expect((await memory.get(other.id))?.data).toMatchObject({ stance: "doubt" });
  });

  test("with a misspelt field, or one of another type, does not compile and is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const calls = [
      // @ts-expect-error: slto is not a field
      () => memory.write({ type: "fact", text: "t", slto: "x" }),
      // @ts-expect-error: a fact has no stance
      () => memory.write({ type: "fact", text: "t", stance: "doubt" }),
      // @ts-expect-error: slto is not a field of any type
      () => memory.update("x", { text: "t", slto: "x" }),
      // @ts-expect-error: vision is not an option
      () => memory.get("x", { vision: 1 }),
      // @ts-expect-error: slto is not a field, in a batch neither
      () => memory.batch([{ write: { type: "fact", text: "t", slto: "x" } }]),
    ];
    await memory.write({ type: "note", text: "n", externalId: "x" });
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: "ERR_UNKNOWN_FIELD" });
    }
    // @ts-expect-error: dream is not a type
    await expect(memory.write({ type: "dream", text: "t" })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_TYPE",
    });
  });

  test("may be told what not to say: undefined is as good as absent", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const settings: { readonly slot?: string; readonly limit?: number } = {};
    const { slot, limit } = settings;
    const { id } = await memory.write({ type: "fact", text: "t", slot, tags: undefined });
    expect((await memory.get(id, { version: undefined }))?.head.slot).toBeUndefined();
    expect((await memory.list({ slot, limit, cursor: undefined })).memories).toHaveLength(1);
  });

  test("lists may be read-only", () => {
    const tags: readonly string[] = ["a"];
    const roles: readonly string[] = ["captain"];
    expectTypeOf({ type: "identity", text: "t", tags, roles } as const).toExtend<WriteInput>();
  });
});

describe("a time", () => {
  test("is milliseconds, a Date or an ISO text, wherever one is given", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "n" });
    for (const at of TIMES) {
      const written = await memory.write({
        type: "goal",
        text: `from ${String(at)}`,
        horizonEnd: at,
        validFrom: at,
        expiresAt: at,
        freshnessAt: at,
      });
      const goal = await memory.get(written.id, { validAt: at });
      expect(goal).toMatchObject({ data: { horizonEnd: MS }, head: { freshnessAt: MS } });
      expect(goal?.versionRecord).toMatchObject({ validFrom: MS, expiresAt: MS });
      const edge = await memory.link(written.id, "related_to", id, { validFrom: at, validTo: at });
      expect(edge.edge).toMatchObject({ validFrom: MS, validTo: MS });
      await memory.update(written.id, { validTo: at });
      expect((await memory.get(written.id))?.versionRecord.validTo).toBe(MS);
      await memory.updateHead(written.id, { freshnessAt: at });
      await memory.setGoalState(written.id, { nextEvalAt: at, lastEvalAt: at, lastResetAt: at });
      expect(await memory.goalState(written.id)).toMatchObject({ nextEvalAt: MS, lastEvalAt: MS });
    }
    const turns = TIMES.map((at) => ({ role: "user", content: "c", at }) as const);
    await memory.remember(turns, { session: "s" });
    expect((await memory.session("s")).turns.map(({ at }) => at)).toEqual([MS, MS, MS]);
  });

  test("is one in every field of every verb that is noted as a time", () => {
    const fields = Object.values(VERBS).flatMap((verb: Verb) =>
      Object.entries(verb.input.shape).map(
        ([name, schema]) => [`${verb.name} ${name}`, schema] as const,
      ),
    );
    const times = fields.filter(([, schema]) => noteOf(schema).time === true);
    expect(times.map(([name]) => name)).toContain("list validAt");
    for (const [name, schema] of times) {
      const read = TIMES.map((at) => z.parse(schema, at));
      expect(read, name).toEqual([MS, MS, MS]);
    }
  });

  test("of another kind does not compile and is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    // @ts-expect-error: no boolean is a time
    const wrong = memory.write({ type: "fact", text: "t", validFrom: true });
    await expect(wrong).rejects.toMatchObject({ code: "ERR_INVALID" });
  });
});

test("the function of a verb gets what was asked, completed", () => {
  expectTypeOf<Asked<"get">["id"]>().toEqualTypeOf<string>();
  expectTypeOf<Asked<"write">["validFrom"]>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Options<"list">>().toHaveProperty("access");
});

test("open refuses an option that nobody reads", async () => {
  // @ts-expect-error: acotr is not an option
  await expect(open("memory:", { acotr: "ada" })).rejects.toMatchObject({
    code: "ERR_UNKNOWN_FIELD",
    details: { field: "acotr" },
  });
  await using memory = await open("memory:", { actor: "ada" });
  expectTypeOf(memory).toEqualTypeOf<Cortex>();
});
