/**
 * Bad input, verb by verb: a `CortexError` with the documented code whose message names the field,
 * what was expected and what came, and a journal that did not grow.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { ERROR_CODES, type ErrorCode } from "../errors.js";
import { LIMITS } from "../limits.js";
import { MEMORY_TYPES, namesOf } from "../records/types.js";
import { openTestStore, refusalOf } from "../testing/index.js";

type Case = readonly [name: string, input: unknown, code: ErrorCode, field: string];

const LONE = "a\ud800";
const NAN = Number.NaN;
const UP = Number.POSITIVE_INFINITY;
const DOWN = Number.NEGATIVE_INFINITY;
const fact = (more: object): object => ({ type: "fact", text: "t", ...more });

/** Values that are no object, where an object is expected. */
const NO_OBJECTS: readonly unknown[] = [null, [], 5, "text", true];

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

const WRITES: readonly Case[] = [
  ...NO_OBJECTS.map((input): Case => [`input ${String(input)}`, input, "ERR_INVALID", "input"]),
  ["no type", { text: "t" }, "ERR_UNKNOWN_TYPE", "type"],
  ["unknown type", { type: "dream", text: "t" }, "ERR_UNKNOWN_TYPE", "type"],
  ["type of Object", { type: "constructor", text: "t" }, "ERR_UNKNOWN_TYPE", "type"],
  ["type in capitals", { type: "Fact", text: "t" }, "ERR_UNKNOWN_TYPE", "type"],
  ["unknown field", fact({ colour: "red" }), "ERR_UNKNOWN_FIELD", "colour"],
  ["a field of another type", fact({ topic: "x" }), "ERR_UNKNOWN_FIELD", "topic"],
  ["unknown data field", fact({ data: { colour: 1 } }), "ERR_UNKNOWN_FIELD", "data.colour"],
  [
    "__proto__",
    JSON.parse('{"type":"fact","text":"t","__proto__":{}}'),
    "ERR_UNKNOWN_FIELD",
    "__proto__",
  ],
  ["text and data disagree", fact({ statement: "other" }), "ERR_INVALID", "statement"],
  ["empty text", { type: "fact", text: "" }, "ERR_INVALID", "text"],
  ["blank text", { type: "fact", text: " \n\t" }, "ERR_INVALID", "text"],
  ["text that is no text", { type: "fact", text: 5 }, "ERR_INVALID", "text"],
  ["text null", { type: "fact", text: null }, "ERR_INVALID", "text"],
  [
    "text over its limit",
    { type: "fact", text: "x".repeat(LIMITS.contentBytes + 1) },
    "ERR_TOO_LARGE",
    "text",
  ],
  [
    "two-byte text over its limit",
    { type: "note", text: "é".repeat(LIMITS.contentBytes / 2 + 1) },
    "ERR_TOO_LARGE",
    "text",
  ],
  ["lone surrogate in text", { type: "fact", text: LONE }, "ERR_ILL_FORMED", "text"],
  ...[null, [], 5, "x"].map(
    (data): Case => [`data ${String(data)}`, fact({ data }), "ERR_INVALID", "data"],
  ),
  ["data 5 beside fields", fact({ predicate: "p", data: 5 }), "ERR_INVALID", "data"],
  ["lone surrogate in data", fact({ subject: LONE }), "ERR_ILL_FORMED", "subject"],
  ["lone surrogate deep in data", fact({ object: { a: [LONE] } }), "ERR_ILL_FORMED", "object.a[0]"],
  ["lone surrogate as a key", fact({ object: { [LONE]: 1 } }), "ERR_ILL_FORMED", "object"],
  ["NaN in data", fact({ object: [1, NAN] }), "ERR_INVALID", "object[1]"],
  ["a bigint in data", fact({ object: 5n }), "ERR_INVALID", "object"],
  ["a date in data", fact({ object: new Date(0) }), "ERR_INVALID", "object"],
  ["an integer too large", fact({ object: 2 ** 53 }), "ERR_INVALID", "object"],
  ["unknown word", { type: "belief", text: "t", stance: "hope" }, "ERR_INVALID", "stance"],
  ["blank label", fact({ predicate: " " }), "ERR_INVALID", "predicate"],
  [
    "long label",
    fact({ predicate: "p".repeat(LIMITS.labelBytes + 1) }),
    "ERR_TOO_LARGE",
    "predicate",
  ],
  ["share above 1", { type: "pattern", text: "t", strength: 1.5 }, "ERR_INVALID", "strength"],
  ["share that is NaN", { type: "pattern", text: "t", strength: NAN }, "ERR_INVALID", "strength"],
  ["list that is none", { type: "identity", text: "t", roles: "admin" }, "ERR_INVALID", "roles"],
  [
    "deep metadata",
    { type: "note", text: "t", metadata: nest(20) },
    "ERR_TOO_LARGE",
    `metadata${".a".repeat(16)}`,
  ],
  [
    "large metadata",
    { type: "note", text: "t", metadata: { a: "x".repeat(LIMITS.metadataBytes) } },
    "ERR_TOO_LARGE",
    "metadata.a",
  ],
  [
    "metadata that is no object",
    { type: "note", text: "t", metadata: [1] },
    "ERR_INVALID",
    "metadata",
  ],
  ["tags that are no list", fact({ tags: "a" }), "ERR_INVALID", "tags"],
  ["tags null", fact({ tags: null }), "ERR_INVALID", "tags"],
  ["tag over its limit", fact({ tags: ["ok", "é".repeat(33)] }), "ERR_TOO_LARGE", "tags[1]"],
  ["blank tag", fact({ tags: [""] }), "ERR_INVALID", "tags[0]"],
  ["tag with a line break", fact({ tags: ["a\nb"] }), "ERR_INVALID", "tags[0]"],
  ["lone surrogate in a tag", fact({ tags: [LONE] }), "ERR_ILL_FORMED", "tags[0]"],
  ["tag that is a number", fact({ tags: [5] }), "ERR_INVALID", "tags[0]"],
  [
    "too many tags",
    fact({ tags: Array.from({ length: 17 }, (_, at) => `t${at}`) }),
    "ERR_TOO_LARGE",
    "tags",
  ],
  ["frame that is no object", fact({ frames: ["find"] }), "ERR_INVALID", "frames[0]"],
  [
    "frame with an unknown verb",
    fact({ frames: [{ verb: "eat", object: "asset", ref: "r" }] }),
    "ERR_INVALID",
    "frames[0].verb",
  ],
  [
    "frame with an unknown object",
    fact({ frames: [{ verb: "find", object: "token", ref: "r" }] }),
    "ERR_INVALID",
    "frames[0].object",
  ],
  [
    "frame without a ref",
    fact({ frames: [{ verb: "find", object: "asset", ref: "" }] }),
    "ERR_INVALID",
    "frames[0].ref",
  ],
  [
    "frame with a long ref",
    fact({ frames: [{ verb: "find", object: "asset", ref: "r".repeat(257) }] }),
    "ERR_TOO_LARGE",
    "frames[0].ref",
  ],
  [
    "frame with another field",
    fact({ frames: [{ verb: "find", object: "asset", ref: "r", x: 1 }] }),
    "ERR_UNKNOWN_FIELD",
    "frames[0].x",
  ],
  ["unknown visibility", fact({ visibility: "all" }), "ERR_INVALID", "visibility"],
  ["unknown status", fact({ status: "true" }), "ERR_INVALID", "status"],
  ["unknown source", fact({ source: "me" }), "ERR_INVALID", "source"],
  ...[11, -1, 1.5, NAN, UP, "5", null].map(
    (importance): Case => [
      `importance ${String(importance)}`,
      fact({ importance }),
      "ERR_INVALID",
      "importance",
    ],
  ),
  ...[1.01, -0.01, NAN, UP, DOWN, "1"].map(
    (confidence): Case => [
      `confidence ${String(confidence)}`,
      fact({ confidence }),
      "ERR_INVALID",
      "confidence",
    ],
  ),
  ...["validFrom", "validTo", "expiresAt", "freshnessAt"].flatMap((name) =>
    [NAN, UP, DOWN, 1.5, 9e15, "yesterday", "2026"].map(
      (time): Case => [`${name} ${String(time)}`, fact({ [name]: time }), "ERR_INVALID", name],
    ),
  ),
  ["an end before its start", fact({ validFrom: 10, validTo: 9 }), "ERR_INVALID", "validTo"],
  ["blank kind", fact({ kind: "" }), "ERR_INVALID", "kind"],
  ["long kind", fact({ kind: "k".repeat(65) }), "ERR_TOO_LARGE", "kind"],
  ["lone surrogate in the kind", fact({ kind: LONE }), "ERR_ILL_FORMED", "kind"],
  ["slot without a letter", fact({ slot: "--" }), "ERR_INVALID", "slot"],
  ["long slot", fact({ slot: "s".repeat(129) }), "ERR_TOO_LARGE", "slot"],
  ["slot that is no text", fact({ slot: ["a"] }), "ERR_INVALID", "slot"],
  ["lone surrogate in the slot", fact({ slot: LONE }), "ERR_ILL_FORMED", "slot"],
  ["zero id", fact({ id: "0".repeat(26) }), "ERR_BAD_ID", "id"],
  ["id too short", fact({ id: "01ARZ3" }), "ERR_BAD_ID", "id"],
  ["id that is no text", fact({ id: 5 }), "ERR_BAD_ID", "id"],
  ["existing id", fact({ id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" }), "ERR_EXISTS", "id"],
  ["existing externalId", fact({ externalId: "taken" }), "ERR_EXISTS", "externalId"],
  ["blank externalId", fact({ externalId: " " }), "ERR_INVALID", "externalId"],
  ["long externalId", fact({ externalId: "e".repeat(257) }), "ERR_TOO_LARGE", "externalId"],
  ["externalId like a URI", fact({ externalId: "cortex://x" }), "ERR_INVALID", "externalId"],
  ["lone surrogate in externalId", fact({ externalId: LONE }), "ERR_ILL_FORMED", "externalId"],
  ["supersedes that is no list", fact({ supersedes: "taken" }), "ERR_INVALID", "supersedes"],
  [
    "supersedes nobody",
    fact({ supersedes: ["taken", "nobody"] }),
    "ERR_NOT_FOUND",
    "supersedes[1]",
  ],
  ["supersedes a number", fact({ supersedes: [5] }), "ERR_BAD_ID", "supersedes[0]"],
  ["lone surrogate in supersedes", fact({ supersedes: [LONE] }), "ERR_ILL_FORMED", "supersedes[0]"],
  ["corrects nobody", fact({ corrects: "nobody" }), "ERR_NOT_FOUND", "corrects"],
  [
    "corrects a URI of another actor",
    fact({ corrects: "cortex://bob/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1" }),
    "ERR_ACTOR_MISMATCH",
    "corrects",
  ],
  [
    "corrects #latest",
    fact({ corrects: "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#latest" }),
    "ERR_BAD_URI",
    "corrects",
  ],
  ["provenance that is no object", fact({ provenance: "chat" }), "ERR_INVALID", "provenance"],
  ["provenance null", fact({ provenance: null }), "ERR_INVALID", "provenance"],
  [
    "provenance with an unknown field",
    fact({ provenance: { by: "x" } }),
    "ERR_UNKNOWN_FIELD",
    "provenance.by",
  ],
  [
    "provenance with an unknown source",
    fact({ provenance: { source: "me" } }),
    "ERR_INVALID",
    "provenance.source",
  ],
  [
    "derivedFrom #latest",
    fact({ provenance: { derivedFrom: ["cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#latest"] } }),
    "ERR_BAD_URI",
    "provenance.derivedFrom[0]",
  ],
  [
    "derivedFrom with trailing junk",
    fact({ provenance: { derivedFrom: ["cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1x"] } }),
    "ERR_BAD_URI",
    "provenance.derivedFrom[0]",
  ],
  [
    "a turn without its session",
    fact({ provenance: { turn: 1 } }),
    "ERR_INVALID",
    "provenance.session",
  ],
  ...[null, [], 5].map(
    (forms): Case => [`forms ${String(forms)}`, fact({ forms }), "ERR_INVALID", "forms"],
  ),
  ["half the forms", fact({ forms: { short: "s" } }), "ERR_INVALID", "forms.medium"],
  [
    "short form over its budget",
    fact({ forms: { short: "s".repeat(201), medium: "m" } }),
    "ERR_TOO_LARGE",
    "forms.short",
  ],
  [
    "medium form over its budget",
    fact({ forms: { short: "s", medium: "m".repeat(801) } }),
    "ERR_TOO_LARGE",
    "forms.medium",
  ],
  [
    "a third form",
    fact({ forms: { short: "s", medium: "m", full: "f" } }),
    "ERR_UNKNOWN_FIELD",
    "forms.full",
  ],
  [
    "lone surrogate in a form",
    fact({ forms: { short: LONE, medium: "m" } }),
    "ERR_ILL_FORMED",
    "forms.short",
  ],
  ["empty principal", fact({ by: "" }), "ERR_INVALID", "by"],
  ["long principal", fact({ by: "é".repeat(33) }), "ERR_TOO_LARGE", "by"],
  ["principal that is no text", fact({ by: {} }), "ERR_INVALID", "by"],
  ["lone surrogate in the principal", fact({ by: LONE }), "ERR_ILL_FORMED", "by"],
];

function nest(depth: number): object {
  return depth === 0 ? {} : { a: nest(depth - 1) };
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

describe("write", () => {
  test("every bad input is refused by name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    for (const one of WRITES) {
      await expectRefusal(memory, () => memory.write(one[1] as never), one);
    }
  });

  test("every type refuses to say nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const type of namesOf(MEMORY_TYPES)) {
      const error = await refusalOf(memory, () => memory.write({ type }));
      expect(error).toMatchObject({ code: "ERR_INVALID", details: { field: "text" } });
      expect(error.message).toContain(type);
    }
  });
});

const UPDATES: readonly Case[] = [
  ...NO_OBJECTS.map((input): Case => [`input ${String(input)}`, input, "ERR_INVALID", "input"]),
  ["unknown field", { text: "t", tags: ["a"] }, "ERR_UNKNOWN_FIELD", "tags"],
  ["text that is no text", { text: 5 }, "ERR_INVALID", "text"],
  ["blank text", { text: " " }, "ERR_INVALID", "text"],
  ["large text", { text: "x".repeat(LIMITS.contentBytes + 1) }, "ERR_TOO_LARGE", "text"],
  ["lone surrogate", { text: LONE }, "ERR_ILL_FORMED", "text"],
  ["data null", { data: null }, "ERR_INVALID", "data"],
  ["unknown data field", { data: { colour: 1 } }, "ERR_UNKNOWN_FIELD", "data.colour"],
  ["data that says too little", { data: { predicate: "p" } }, "ERR_INVALID", "text"],
  ...[0, -1, 1.5, NAN, UP, "1", null].map(
    (version): Case => [
      `version ${String(version)}`,
      { text: "t", basedOnVersion: version },
      "ERR_INVALID",
      "basedOnVersion",
    ],
  ),
  ["stale version", { text: "t", basedOnVersion: 7 }, "ERR_CONFLICT", "basedOnVersion"],
  ["NaN confidence", { confidence: NAN }, "ERR_INVALID", "confidence"],
  ["an end before the start", { validFrom: 9, validTo: 5 }, "ERR_INVALID", "validTo"],
  ["forms null", { forms: null }, "ERR_INVALID", "forms"],
  ["lone surrogate in the principal", { text: "t", by: LONE }, "ERR_ILL_FORMED", "by"],
  ["a cycle under a key", cyclic(), "ERR_INVALID", "input"],
  [
    "a bigint under a key",
    { text: "t", data: { object: 5n }, idempotencyKey: "k" },
    "ERR_INVALID",
    "input",
  ],
];

function cyclic(): object {
  const data: { self?: object } = {};
  data.self = data;
  return { text: "t", data, idempotencyKey: "k" };
}

const HEAD_PATCHES: readonly Case[] = [
  ...NO_OBJECTS.map((patch): Case => [`patch ${String(patch)}`, patch, "ERR_INVALID", "options"]),
  ["text", { text: "t" }, "ERR_UNKNOWN_FIELD", "text"],
  ["slot", { slot: "t" }, "ERR_UNKNOWN_FIELD", "slot"],
  ["lifecycle", { lifecycle: "archived" }, "ERR_UNKNOWN_FIELD", "lifecycle"],
  ["tags null", { tags: null }, "ERR_INVALID", "tags"],
  ["long tag", { tags: ["t".repeat(65)] }, "ERR_TOO_LARGE", "tags[0]"],
  ["importance", { importance: NAN }, "ERR_INVALID", "importance"],
  ["visibility", { visibility: "Public" }, "ERR_INVALID", "visibility"],
  ["status", { status: "" }, "ERR_INVALID", "status"],
  ["freshness", { freshnessAt: UP }, "ERR_INVALID", "freshnessAt"],
  ["frames", { frames: {} }, "ERR_INVALID", "frames"],
  ["lone surrogate in the kind", { kind: LONE }, "ERR_ILL_FORMED", "kind"],
];

describe("update, updateHead, tombstone, restore", () => {
  test("every bad input is refused by name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await seeded(memory);
    for (const one of UPDATES) {
      await expectRefusal(memory, () => memory.update("taken", one[1] as never), one);
    }
    for (const one of HEAD_PATCHES) {
      await expectRefusal(memory, () => memory.updateHead("taken", one[1] as never), one);
    }
    for (const empty of [{}, { by: "x" }]) {
      const calls = [() => memory.update("taken", empty), () => memory.updateHead("taken", empty)];
      for (const call of calls) {
        expect((await refusalOf(memory, call)).code).toBe("ERR_NO_CHANGE");
      }
    }
    const reasons: readonly Case[] = [
      ["empty reason", "", "ERR_INVALID", "reason"],
      ["no reason", undefined, "ERR_INVALID", "reason"],
      ["reason that is no text", {}, "ERR_INVALID", "reason"],
      ["long reason", "r".repeat(LIMITS.reasonBytes + 1), "ERR_TOO_LARGE", "reason"],
      ["lone surrogate", LONE, "ERR_ILL_FORMED", "reason"],
    ];
    for (const one of reasons) {
      await expectRefusal(memory, () => memory.tombstone("taken", one[1] as string), one);
    }
    const options: readonly Case[] = [
      ["unknown option", { reason: "r" }, "ERR_UNKNOWN_FIELD", "reason"],
      ["number", 5, "ERR_INVALID", "options"],
      ["list", [], "ERR_INVALID", "options"],
    ];
    for (const one of options) {
      await expectRefusal(memory, () => memory.tombstone("taken", "r", one[1] as never), one);
      await expectRefusal(memory, () => memory.restore("taken", one[1] as never), one);
    }
  });
});
