/**
 * Bad references, bad edges and bad options of reads: each is a `CortexError` with the documented
 * code whose message names the field, what was expected and what came.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { ERROR_CODES, type ErrorCode } from "../errors.js";
import { LIMITS } from "../limits.js";
import { openTestStore, refusalOf } from "../testing/index.js";

type Case = readonly [name: string, input: unknown, code: ErrorCode, field: string];

const LONE = "a\ud800";
const NAN = Number.NaN;
const UP = Number.POSITIVE_INFINITY;
const DOWN = Number.NEGATIVE_INFINITY;

/** What was expected and what came, or the one sentence that says both. */
const SAYS_WHAT_CAME = /expected .*got |; got |holds a lone surrogate|lies before/s;

async function expectRefusal(
  memory: Cortex,
  call: () => Promise<unknown>,
  [name, , code, field]: Case,
): Promise<void> {
  const error = await refusalOf(memory, call);
  expect(`${name}: ${error.code}`).toBe(`${name}: ${code}`);
  expect(error.details.field, name).toBe(field);
  expect(error.message, name).toContain(field);
  expect(error.message, name).toMatch(SAYS_WHAT_CAME);
  expect(Object.keys(ERROR_CODES)).toContain(error.code);
}

async function seeded(memory: Cortex): Promise<void> {
  await memory.write({
    type: "fact",
    text: "there",
    id: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    externalId: "taken",
  });
  await memory.write({ type: "note", text: "other", externalId: "other" });
}

/** References that can be nobody's, for every verb that takes one. */
const REFS: readonly Case[] = [
  ["empty", "", "ERR_BAD_ID", "id"],
  ["number", 5, "ERR_BAD_ID", "id"],
  ["null", null, "ERR_BAD_ID", "id"],
  ["object", {}, "ERR_BAD_ID", "id"],
  ["list", ["taken"], "ERR_BAD_ID", "id"],
  ["zero id", "0".repeat(26), "ERR_BAD_ID", "id"],
  ["too long", "x".repeat(257), "ERR_BAD_ID", "id"],
  ["lone surrogate", LONE, "ERR_ILL_FORMED", "id"],
  ["#latest", "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#latest", "ERR_BAD_URI", "id"],
  ["trailing junk", "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1x", "ERR_BAD_URI", "id"],
  ["trailing blank", "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1 ", "ERR_BAD_URI", "id"],
  ["no version", "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV", "ERR_BAD_URI", "id"],
  ["version 0", "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#0", "ERR_BAD_URI", "id"],
  ["lower-case id", "cortex://ada/Fact/01arz3ndektsv4rrffq69g5fav#1", "ERR_BAD_URI", "id"],
  ["unknown type", "cortex://ada/fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1", "ERR_BAD_URI", "id"],
  ["actor ..", "cortex://../Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1", "ERR_BAD_URI", "id"],
  ["another actor", "cortex://bob/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1", "ERR_ACTOR_MISMATCH", "id"],
];

describe("references", () => {
  test("every verb refuses what can be no reference", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    for (const one of REFS) {
      const ref = one[1] as string;
      const calls = [
        () => memory.get(ref),
        () => memory.history(ref),
        () => memory.inspect(ref),
        () => memory.update(ref, { text: "t" }),
        () => memory.updateHead(ref, { tags: [] }),
        () => memory.tombstone(ref, "r"),
        () => memory.restore(ref),
        () => memory.edgesOut(ref),
        () => memory.edgesIn(ref),
        () => memory.traverse(ref),
        () => memory.linksFrom(ref),
        () => memory.backlinksTo(ref),
        () => memory.goalState(ref),
        () => memory.setGoalState(ref, {} as never),
        () => memory.deleteGoalState(ref),
      ];
      for (const call of calls) await expectRefusal(memory, call, one);
      const [name, , code] = one;
      await expectRefusal(memory, () => memory.addEdge(ref, "uses", "taken"), [
        name,
        "",
        code,
        "from",
      ]);
      await expectRefusal(memory, () => memory.addEdge("taken", "uses", ref), [
        name,
        "",
        code,
        "to",
      ]);
      await expectRefusal(memory, () => memory.removeEdge(ref, "uses", "taken"), [
        name,
        "",
        code,
        "from",
      ]);
      await expectRefusal(memory, () => memory.getEdge("taken", "uses", ref), [
        name,
        "",
        code,
        "to",
      ]);
    }
  });

  test("changing what is not there is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const ref of ["nobody", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]) {
      const calls = [
        () => memory.update(ref, { text: "t" }),
        () => memory.updateHead(ref, { tags: [] }),
        () => memory.tombstone(ref, "r"),
        () => memory.restore(ref),
        () => memory.setGoalState(ref, {} as never),
        () => memory.deleteGoalState(ref),
      ];
      for (const call of calls) {
        const error = await refusalOf(memory, call);
        expect(error).toMatchObject({ code: "ERR_NOT_FOUND", details: { subject: ref } });
      }
    }
  });
});

const EDGES: readonly Case[] = [
  ...[null, [], 5, "x"].map(
    (input): Case => [`input ${String(input)}`, input, "ERR_INVALID", "options"],
  ),
  ["unknown field", { colour: 1 }, "ERR_UNKNOWN_FIELD", "colour"],
  ...[NAN, UP, DOWN, 1e300, "1", null].map(
    (weight): Case => [`weight ${String(weight)}`, { weight }, "ERR_INVALID", "weight"],
  ),
  ...[0, 6, 1.5, NAN, "3"].map(
    (strength): Case => [`strength ${String(strength)}`, { strength }, "ERR_INVALID", "strength"],
  ),
  ...[1.5, NAN, UP, 2 ** 53, "1"].map(
    (ordinal): Case => [`ordinal ${String(ordinal)}`, { ordinal }, "ERR_INVALID", "ordinal"],
  ),
  ["blank reason", { reason: " " }, "ERR_INVALID", "reason"],
  ["long reason", { reason: "r".repeat(LIMITS.reasonBytes + 1) }, "ERR_TOO_LARGE", "reason"],
  ["lone surrogate in the reason", { reason: LONE }, "ERR_ILL_FORMED", "reason"],
  ["metadata list", { metadata: [] }, "ERR_INVALID", "metadata"],
  ["NaN in metadata", { metadata: { a: NAN } }, "ERR_INVALID", "metadata.a"],
  ["lone surrogate in metadata", { metadata: { a: LONE } }, "ERR_ILL_FORMED", "metadata.a"],
  ["unknown source", { source: "me" }, "ERR_INVALID", "source"],
  ["time", { validFrom: NAN }, "ERR_INVALID", "validFrom"],
  ["an end before its start", { validFrom: 2, validTo: 1 }, "ERR_INVALID", "validTo"],
  ["principal", { by: "" }, "ERR_INVALID", "by"],
];

describe("options", () => {
  test("what is no object is refused, not ignored", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    for (const options of [null, [], 5, "x"] as never[]) {
      const calls = [
        () => memory.get("taken", options),
        () => memory.history("taken", options),
        () => memory.inspect("taken", options),
        () => memory.list(options),
        () => memory.session("s", options),
        () => memory.edgesOut("taken", options),
        () => memory.traverse("taken", options),
        () => memory.getEdge("taken", "uses", "other", options),
        () => memory.log(options),
        () => memory.tombstone("taken", "r", options),
        () => memory.restore("taken", options),
        () => memory.removeEdge("taken", "uses", "other", options),
        () => memory.batch([{ write: { type: "note", text: "n" } }], options),
        () => memory.remember([{ role: "user", content: "c" }], options),
        () => memory.configure({ conflictPolicy: "manual" }, options),
      ];
      for (const call of calls) {
        expect(await refusalOf(memory, call)).toMatchObject({
          code: "ERR_INVALID",
          details: { field: "options" },
        });
      }
    }
  });
});

describe("edges and walks", () => {
  test("every bad attribute is refused by name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    for (const one of EDGES) {
      await expectRefusal(
        memory,
        () => memory.addEdge("taken", "uses", "other", one[1] as never),
        one,
      );
    }
    const removals: readonly Case[] = [
      ["lone surrogate", { reason: LONE }, "ERR_ILL_FORMED", "reason"],
      ["long reason", { reason: "r".repeat(LIMITS.reasonBytes + 1) }, "ERR_TOO_LARGE", "reason"],
      ["reason that is no text", { reason: 5 }, "ERR_INVALID", "reason"],
      ["unknown option", { why: "x" }, "ERR_UNKNOWN_FIELD", "why"],
    ];
    const { id } = await memory.addEdge("taken", "uses", "other");
    for (const one of removals) {
      await expectRefusal(
        memory,
        () => memory.removeEdge("taken", "uses", "other", one[1] as never),
        one,
      );
      await expectRefusal(memory, () => memory.removeEdgeById(id, one[1] as never), one);
    }
  });

  test("every bad option is refused by name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    const common: readonly Case[] = [
      ["unknown option", { tags: [] }, "ERR_UNKNOWN_FIELD", "tags"],
      ["kinds that are no list", { kinds: "uses" }, "ERR_INVALID", "kinds"],
      ["kind that is no text", { kinds: [5] }, "ERR_EDGE_KIND", "kinds[0]"],
      ["lone surrogate in a kind", { kinds: ["uses", LONE] }, "ERR_ILL_FORMED", "kinds[1]"],
      ["asOf below 0", { asOf: -1 }, "ERR_AS_OF", "asOf"],
      ["asOf ahead", { asOf: 99 }, "ERR_AS_OF", "asOf"],
      ["asOf NaN", { asOf: NAN }, "ERR_AS_OF", "asOf"],
      ["asOf in words", { asOf: "yesterday" }, "ERR_AS_OF", "asOf"],
      ["asOf before the first entry", { asOf: new Date(0) }, "ERR_AS_OF", "asOf"],
      ["asOf that is no date", { asOf: new Date(NAN) }, "ERR_AS_OF", "asOf"],
    ];
    const lists: readonly Case[] = [
      ["order", { order: "random" }, "ERR_INVALID", "order"],
      ["limit 0", { limit: 0 }, "ERR_INVALID", "limit"],
      ["limit NaN", { limit: NAN }, "ERR_INVALID", "limit"],
    ];
    const walks: readonly Case[] = [
      ["direction", { direction: "up" }, "ERR_INVALID", "direction"],
      ["no hops", { maxHops: 0 }, "ERR_INVALID", "maxHops"],
      ["half a hop", { minHops: 0.5 }, "ERR_INVALID", "minHops"],
      ["hops NaN", { maxHops: NAN }, "ERR_INVALID", "maxHops"],
      ["more at least than at most", { minHops: 3, maxHops: 2 }, "ERR_INVALID", "minHops"],
      ["no nodes", { maxNodes: 0 }, "ERR_INVALID", "maxNodes"],
    ];
    for (const one of [...common, ...lists]) {
      await expectRefusal(memory, () => memory.edgesOut("taken", one[1] as never), one);
      await expectRefusal(memory, () => memory.edgesIn("taken", one[1] as never), one);
    }
    for (const one of [...common, ...walks]) {
      await expectRefusal(memory, () => memory.traverse("taken", one[1] as never), one);
    }
  });
});

describe("reads", () => {
  test("every bad option is refused by name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    const gets: readonly Case[] = [
      ["unknown option", { at: 1 }, "ERR_UNKNOWN_FIELD", "at"],
      ["list", [], "ERR_INVALID", "options"],
      ["version 0", { version: 0 }, "ERR_INVALID", "version"],
      ["version NaN", { version: NAN }, "ERR_INVALID", "version"],
      ["version as text", { version: "1" }, "ERR_INVALID", "version"],
      ["validAt NaN", { validAt: NAN }, "ERR_INVALID", "validAt"],
      ["validAt as text", { validAt: "now" }, "ERR_INVALID", "validAt"],
      ["asOf ahead", { asOf: 99 }, "ERR_AS_OF", "asOf"],
      ["asOf infinite", { asOf: UP }, "ERR_AS_OF", "asOf"],
    ];
    for (const one of gets) {
      await expectRefusal(memory, () => memory.get("taken", one[1] as never), one);
    }
    const lists: readonly Case[] = [
      ["unknown option", { tags: ["a"] }, "ERR_UNKNOWN_FIELD", "tags"],
      ["two indexes", { tag: "a", kind: "b" }, "ERR_INVALID", "tag, kind"],
      ["unknown type", { type: "dream" }, "ERR_UNKNOWN_TYPE", "type"],
      ["type 5", { type: 5 }, "ERR_UNKNOWN_TYPE", "type"],
      ["no types", { type: [] }, "ERR_INVALID", "type"],
      ["empty tag", { tag: "" }, "ERR_INVALID", "tag"],
      ["tag 5", { tag: 5 }, "ERR_INVALID", "tag"],
      ["long tag", { tag: "t".repeat(1000) }, "ERR_TOO_LARGE", "tag"],
      ["lone surrogate in the tag", { tag: LONE }, "ERR_ILL_FORMED", "tag"],
      ["lone surrogate in the kind", { kind: LONE }, "ERR_ILL_FORMED", "kind"],
      ["lone surrogate in the session", { session: LONE }, "ERR_ILL_FORMED", "session"],
      ["slot without a letter", { slot: "!" }, "ERR_INVALID", "slot"],
      ["frame null", { frame: null }, "ERR_INVALID", "frame"],
      [
        "frame with an unknown verb",
        { frame: { verb: "eat", object: "asset", ref: "r" } },
        "ERR_INVALID",
        "frame.verb",
      ],
      ["lifecycles as text", { lifecycles: "active" }, "ERR_INVALID", "lifecycles"],
      ["no lifecycles", { lifecycles: [] }, "ERR_INVALID", "lifecycles"],
      ["unknown lifecycle", { lifecycles: ["gone"] }, "ERR_INVALID", "lifecycles[0]"],
      ["erased", { lifecycles: ["erased"] }, "ERR_INVALID", "lifecycles[0]"],
      ["order", { order: "up" }, "ERR_INVALID", "order"],
      ["limit 0", { limit: 0 }, "ERR_INVALID", "limit"],
      ["limit too large", { limit: LIMITS.listLimit + 1 }, "ERR_INVALID", "limit"],
      ["limit infinite", { limit: UP }, "ERR_INVALID", "limit"],
      ["cursor", { cursor: "abc" }, "ERR_INVALID", "cursor"],
      ["validAt", { validAt: NAN }, "ERR_INVALID", "validAt"],
    ];
    for (const one of lists) {
      await expectRefusal(memory, () => memory.list(one[1] as never), one);
    }
    const sessions: readonly Case[] = [
      ["unknown option", { from: 1 }, "ERR_UNKNOWN_FIELD", "from"],
      ["place below 0", { fromIndex: -1 }, "ERR_INVALID", "fromIndex"],
      ["place NaN", { fromIndex: NAN }, "ERR_INVALID", "fromIndex"],
      ["limit", { limit: 0 }, "ERR_INVALID", "limit"],
    ];
    for (const one of sessions) {
      await expectRefusal(memory, () => memory.session("s", one[1] as never), one);
    }
    for (const [name, code] of [
      ["", "ERR_INVALID"],
      [5, "ERR_INVALID"],
      [LONE, "ERR_ILL_FORMED"],
    ] as const) {
      const error = await refusalOf(memory, () => memory.session(name as string));
      expect(error).toMatchObject({ code, details: { field: "session" } });
    }
  });
});
