/** The row of `find`: words for orders and meanings, the answer's shape, and what people read. */
import { type Cortex, type Embedder, isCortexError, open } from "@cortex-memory/core";
import { type Output, VERBS } from "@cortex-memory/core/contract";
import { describe, expect, test } from "vitest";
import { CALL_CONTEXT } from "../../test/call-context.js";
import { makeInk } from "../render/ink.js";
import { showFound } from "../render/memories.js";
import { FIND_OPERATIONS } from "./asking.js";

const plainInk = makeInk(false);

/** Near means a number that differs little. */
const NUMBERS: Embedder = {
  model: "numbers@test",
  dimensions: 2,
  embed: async (texts) =>
    texts.map((text) => {
      const angle = Number(/\d+/.exec(text)?.[0] ?? 0) / 100;
      return Float32Array.of(Math.cos(angle), Math.sin(angle));
    }),
};

async function filled(): Promise<Cortex> {
  const memory = await open("memory:", { embedder: NUMBERS });
  for (const [at, importance] of [3, 9, 6].entries()) {
    await memory.write({ type: "fact", text: `fact ${at * 40}`, importance, tags: ["t"] });
  }
  // A number of its own: two that are equally near come by id, and ids of one millisecond by chance.
  await memory.write({ type: "note", text: "note 90", kind: "memo", externalId: "n" });
  await memory.embedPending();
  return memory;
}

async function run(memory: Cortex, input: unknown): Promise<Output<"find">> {
  const [operation] = FIND_OPERATIONS;
  return VERBS.find.output.parse(await operation?.run(memory, input, CALL_CONTEXT));
}

const texts = (found: Output<"find">): readonly string[] => found.hits.map(({ text }) => text);

describe("find as an operation", () => {
  test("takes orders and meanings as words or as objects", async () => {
    await using memory = await filled();
    const query = { type: ["fact"], limit: 5 };
    expect(texts(await run(memory, query))).toEqual(["fact 80", "fact 40", "fact 0"]);
    for (const orderBy of [
      ["head.importance:asc"],
      [{ field: "head.importance", direction: "asc" }],
    ]) {
      expect(texts(await run(memory, { ...query, orderBy }))).toEqual([
        "fact 0",
        "fact 80",
        "fact 40",
      ]);
    }
    expect(texts(await run(memory, { ...query, orderBy: ["head.importance"] }))).toEqual([
      "fact 40",
      "fact 80",
      "fact 0",
    ]);
    for (const near of ["about 41", { text: "about 41" }, { vector: [1, 0.43] }]) {
      expect(texts(await run(memory, { near, limit: 1 }))).toEqual(["fact 40"]);
    }
    const where = { gte: ["head.importance", 6] };
    expect(texts(await run(memory, { tags: ["t"], where, limit: 5 }))).toEqual([
      "fact 80",
      "fact 40",
    ]);
    expect(texts(await run(memory, { text: "fact 40", limit: 5 }))).toEqual(["fact 40"]);
  });

  test("fails as the library does", async () => {
    await using memory = await filled();
    const codeOf = async (input: unknown) => {
      const failure = await run(memory, input).catch((error: unknown) => error);
      return isCortexError(failure) ? failure.code : failure;
    };
    expect(await codeOf({ type: ["fact"] })).toBe("ERR_UNBOUNDED");
    expect(await codeOf({ limit: 1 })).toBe("ERR_TOO_BROAD");
    expect(await codeOf({ type: ["fact"], where: { eq: ["x", 1] }, limit: 1 })).toBe(
      "ERR_UNKNOWN_FIELD",
    );
    expect(await codeOf({ type: ["fact"], orderBy: ["x:asc"], limit: 1 })).toBe(
      "ERR_UNKNOWN_FIELD",
    );
    expect(await codeOf({ near: {}, limit: 1 })).toBe("ERR_INVALID");
  });

  test("reads well: hits, what is left, and how it was found", async () => {
    await using memory = await filled();
    const page = await run(memory, { type: ["fact"], tags: ["t"], limit: 2, explain: true });
    const lines = showFound(page, plainInk).split("\n");
    expect(lines[0]).toMatch(/^[0-9A-Z]{26} {2}fact {8}0\.\d{3} {2}fact 80$/);
    expect(lines.slice(2, 5)).toEqual(["3 hits in all", `more: --cursor ${page.cursor}`, ""]);
    expect(lines[5]).toMatch(/^read (type fact|tag t), arrival desc \(index\)$/);
    expect(lines[6]).toMatch(/^ {2}\d+ rows read, 3 memories tested, 2 kept$/);
    const trimmed = await run(memory, { tags: ["t"], budgetTokens: 2, lateBinding: true });
    const said = showFound(trimmed, plainInk);
    expect(said).toContain("2 tokens, 1 left out");
    expect(said).toContain(`use journaled as seq ${trimmed.lateSeq}`);
    expect(showFound(await run(memory, { type: ["goal"], limit: 1 }), plainInk)).toContain(
      "nothing found",
    );
    const near = await run(memory, { near: "0", limit: 1 });
    expect(showFound(near, plainInk)).toContain(" at 0.000  fact 0");
  });
});
