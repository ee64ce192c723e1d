/**
 * What a write says besides its data, checked by its contract and completed: tags, frames, labels,
 * levels, times and provenance.
 */
import { describe, expect, it } from "vitest";
import { update, updateHead, write } from "../contract/memory.js";
import { checkInput } from "../contract/refusal.js";
import { LIMITS } from "../limits.js";
import { FRAME_VERBS, namesOf, OBJECT_KINDS } from "../records/types.js";
import { failure } from "../testing/failure.js";
import { prepareHead, prepareVersion } from "./write-input.js";

/** The Head that fields lead to. */
const headWith = (fields: object) =>
  prepareHead(checkInput(updateHead.input, { id: "x", ...fields }));
/** The version that fields lead to. */
const versionWith = (fields: object) =>
  prepareVersion("fact", { subject: "ada", statement: "t" }, checked(fields), "agent");
const checked = (fields: object) => checkInput(update.input, { id: "x", ...fields });

const says = (run: () => unknown) => {
  const { code, details } = failure(run);
  return [code, details.field];
};

describe("tags", () => {
  it("keep their order and lose repetitions", () => {
    expect(headWith({ tags: ["b", "a", "b", "B"] }).tags).toEqual(["b", "a", "B"]);
    expect(headWith({ tags: [] }).tags).toEqual([]);
    expect(headWith({ tags: ["two words", "é".repeat(32)] }).tags).toEqual([
      "two words",
      "é".repeat(32),
    ]);
  });

  it("count after repetitions are gone", () => {
    const tags = Array.from({ length: LIMITS.tags }, (_, at) => `t${at}`);
    expect(headWith({ tags: [...tags, ...tags] }).tags).toEqual(tags);
    const error = failure(() => headWith({ tags: [...tags, "one more"] }));
    expect(error.message).toBe("tags: expected at most 16 different tags, got 17");
    expect(error.code).toBe("ERR_TOO_LARGE");
  });

  it.each([
    ["a", "ERR_INVALID", "tags"],
    [[""], "ERR_INVALID", "tags[0]"],
    [["a", " "], "ERR_INVALID", "tags[1]"],
    [["a\tb"], "ERR_INVALID", "tags[0]"],
    [["a\u007f"], "ERR_INVALID", "tags[0]"],
    [["é".repeat(33)], "ERR_TOO_LARGE", "tags[0]"],
    [["\ud800"], "ERR_ILL_FORMED", "tags[0]"],
    [[7], "ERR_INVALID", "tags[0]"],
    [[undefined], "ERR_INVALID", "tags[0]"],
    [null, "ERR_INVALID", "tags"],
  ])("refuse %j", (input, code, field) => {
    expect(says(() => headWith({ tags: input }))).toEqual([code, field]);
  });
});

describe("frames", () => {
  const frame = { verb: "find", object: "service", ref: "search" };

  it("take every verb with every kind of object", () => {
    for (const verb of namesOf(FRAME_VERBS)) {
      for (const object of namesOf(OBJECT_KINDS)) {
        expect(headWith({ frames: [{ verb, object, ref: "r" }] }).frames).toEqual([
          { verb, object, ref: "r" },
        ]);
      }
    }
  });

  it("lose repetitions, and only those", () => {
    const other = { ...frame, ref: "Search" };
    expect(headWith({ frames: [frame, other, { ...frame }] }).frames).toEqual([frame, other]);
  });

  it("are at most sixteen", () => {
    const many = Array.from({ length: LIMITS.frames + 1 }, (_, at) => ({
      ...frame,
      ref: `r${at}`,
    }));
    expect(headWith({ frames: many.slice(1) }).frames).toHaveLength(LIMITS.frames);
    expect(says(() => headWith({ frames: many }))).toEqual(["ERR_TOO_LARGE", "frames"]);
  });

  it.each([
    [{ ...frame, verb: "x:fly" }, "ERR_INVALID", "frames[1].verb"],
    [{ ...frame, verb: 1 }, "ERR_INVALID", "frames[1].verb"],
    [{ ...frame, object: "thing" }, "ERR_INVALID", "frames[1].object"],
    [{ ...frame, ref: "" }, "ERR_INVALID", "frames[1].ref"],
    [{ ...frame, ref: "x".repeat(257) }, "ERR_TOO_LARGE", "frames[1].ref"],
    [{ ...frame, ref: "\udfff" }, "ERR_ILL_FORMED", "frames[1].ref"],
    [{ ...frame, objKind: "service" }, "ERR_UNKNOWN_FIELD", "frames[1].objKind"],
    [{ verb: "find", object: "service" }, "ERR_INVALID", "frames[1].ref"],
    ["find service", "ERR_INVALID", "frames[1]"],
  ])("refuse %j", (bad, code, field) => {
    expect(says(() => headWith({ frames: [frame, bad] }))).toEqual([code, field]);
  });
});

describe("single fields", () => {
  it("external ids", () => {
    const externalId = (value: unknown) =>
      checkInput(write.input, { type: "fact", externalId: value }).externalId;
    expect(externalId("node-1/α")).toBe("node-1/α");
    expect(externalId("x".repeat(256))).toHaveLength(256);
    expect(says(() => externalId("x".repeat(257)))).toEqual(["ERR_TOO_LARGE", "externalId"]);
    expect(says(() => externalId(""))).toEqual(["ERR_INVALID", "externalId"]);
    expect(says(() => externalId("a\u0000"))).toEqual(["ERR_INVALID", "externalId"]);
    expect(says(() => externalId("cortex://a"))).toEqual(["ERR_INVALID", "externalId"]);
    expect(says(() => externalId("\ud800"))).toEqual(["ERR_ILL_FORMED", "externalId"]);
    expect(says(() => externalId(9))).toEqual(["ERR_INVALID", "externalId"]);
  });

  it("kinds", () => {
    expect(headWith({ kind: "entity:person" }).kind).toBe("entity:person");
    expect(says(() => headWith({ kind: "x".repeat(65) }))).toEqual(["ERR_TOO_LARGE", "kind"]);
    for (const bad of ["", "  ", "a\nb", null]) {
      expect(says(() => headWith({ kind: bad }))).toEqual(["ERR_INVALID", "kind"]);
    }
  });

  it("importance", () => {
    for (const good of [0, 5, 10]) expect(headWith({ importance: good }).importance).toBe(good);
    expect(Object.is(headWith({ importance: -0 }).importance, 0)).toBe(true);
    for (const bad of [-1, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null]) {
      expect(says(() => headWith({ importance: bad }))).toEqual(["ERR_INVALID", "importance"]);
    }
  });

  it("visibility", () => {
    for (const good of ["private", "scoped", "public"]) {
      expect(headWith({ visibility: good }).visibility).toBe(good);
    }
    for (const bad of ["actor_public", "Private", "", 1, null]) {
      expect(says(() => headWith({ visibility: bad }))).toEqual(["ERR_INVALID", "visibility"]);
    }
  });

  it("confidence and times", () => {
    for (const good of [0, 0.5, 1]) expect(versionWith({ confidence: good }).confidence).toBe(good);
    for (const bad of [-0.1, 1.1, Number.NaN, "1"]) {
      expect(says(() => versionWith({ confidence: bad }))).toEqual(["ERR_INVALID", "confidence"]);
    }
    expect(versionWith({ validFrom: -1 }).validFrom).toBe(-1);
    expect(versionWith({ validFrom: new Date(5) }).validFrom).toBe(5);
    expect(versionWith({ validFrom: "1970-01-01T00:00:01Z" }).validFrom).toBe(1000);
    for (const bad of [0.5, 9e15, "2024", "yesterday", new Date(Number.NaN)]) {
      expect(says(() => versionWith({ validFrom: bad }))).toEqual(["ERR_INVALID", "validFrom"]);
    }
  });
});

describe("provenance", () => {
  const uri = "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1";
  const other = "cortex://bob/Note/01ARZ3NDEKTSV4RRFFQ69G5FAV#12";

  it("is complete, with the source of the door by default", () => {
    const plain = { source: "agent", derivedFrom: [], attestations: [] };
    expect(versionWith({ provenance: undefined }).provenance).toStrictEqual(plain);
    expect(versionWith({ provenance: { session: undefined } }).provenance).toStrictEqual(plain);
    const full = {
      source: "document",
      derivedFrom: [uri, other],
      attestations: [other],
      session: "s",
      turn: 0,
    };
    expect(versionWith({ provenance: full }).provenance).toStrictEqual(full);
    expect(versionWith({ provenance: { derivedFrom: [uri, uri] } }).provenance.derivedFrom).toEqual(
      [uri],
    );
  });

  it.each([
    [{ source: "user" }, "ERR_INVALID", "provenance.source"],
    [{ derivedFrom: uri }, "ERR_INVALID", "provenance.derivedFrom"],
    [{ derivedFrom: [uri, "x"] }, "ERR_BAD_URI", "provenance.derivedFrom[1]"],
    [{ derivedFrom: new Array(65).fill(uri) }, "ERR_TOO_LARGE", "provenance.derivedFrom"],
    [{ attestations: [uri.replace("#1", "#latest")] }, "ERR_BAD_URI", "provenance.attestations[0]"],
    [{ attestations: [7] }, "ERR_INVALID", "provenance.attestations[0]"],
    [{ session: "" }, "ERR_INVALID", "provenance.session"],
    [{ session: "s", turn: -1 }, "ERR_INVALID", "provenance.turn"],
    [{ turn: 1 }, "ERR_INVALID", "provenance.session"],
    [{ signedBy: "x" }, "ERR_UNKNOWN_FIELD", "provenance.signedBy"],
    ["user_input", "ERR_INVALID", "provenance"],
    [null, "ERR_INVALID", "provenance"],
  ])("refuses %j", (input, code, field) => {
    expect(says(() => versionWith({ provenance: input }).provenance)).toEqual([code, field]);
  });
});
