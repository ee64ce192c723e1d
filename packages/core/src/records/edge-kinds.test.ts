/** The registry of edge kinds: codes that stores hold, names that are told apart, open kinds. */
import { describe, expect, it } from "vitest";
import { type CortexError, isCortexError } from "../errors.js";
import {
  canonicalKind,
  checkOpenKindName,
  EDGE_KINDS,
  type EdgeKind,
  kindByCode,
  OPEN_KIND_CODE_MIN,
} from "./edge-kinds.js";

const KINDS: readonly EdgeKind[] = EDGE_KINDS;

function failure(run: () => unknown): CortexError {
  try {
    run();
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

describe("the registry", () => {
  it("has the codes that stores hold, without gaps, below the open ones", () => {
    expect(KINDS.map(({ code, name }) => `${code.toString(16)} ${name}`)).toEqual([
      "1 derived_from",
      "2 supersedes",
      "3 references",
      "4 contradicts",
      "5 corroborates",
      "6 consents_to",
      "7 dispatched_to",
      "8 attested_by",
      "9 cited_in",
      "a tombstones",
      "b part_of",
      "c instance_of",
      "d caused_by",
      "e observed_by",
      "f related_to",
      "10 transition",
      "11 corrects",
      "12 supports",
      "13 precedes",
      "14 enables",
      "15 blocks",
      "16 co_constrains",
      "17 located_at",
      "18 uses",
      "19 works_on",
      "1a contrasts_with",
      "1b same_topic",
      "1c refines",
      "1d distinct_from",
    ]);
    expect(Math.max(...KINDS.map(({ code }) => code))).toBeLessThan(OPEN_KIND_CODE_MIN);
  });

  it("has no name, inverse or alias twice", () => {
    const names = KINDS.flatMap(({ name, inverse, aliases }) => [
      name,
      ...(inverse === undefined ? [] : [inverse]),
      ...(aliases ?? []),
    ]);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it.each(KINDS.map((kind) => [kind.name, kind] as const))("%s is complete", (_, kind) => {
    expect(["lifecycle", "factual", "thematic", "legacy", "provenance"]).toContain(kind.group);
    expect(kind.walkTrust).toBeGreaterThan(0);
    expect(kind.walkTrust).toBeLessThanOrEqual(1);
    expect(kind.meaning).toMatch(/^[A-Z].*\.$/);
    expect(kind.meaning).toMatch(/\bA\b.*\bB\b|\bB\b.*\bA\b/);
    expect(kind.symmetric && kind.inverse !== undefined).toBe(false);
    expect(Object.isFrozen(kind)).toBe(true);
  });

  it("lets only the store mint what only the store does", () => {
    const minted = KINDS.filter(({ mint }) => mint === "store").map(({ name }) => name);
    expect(minted).toEqual(["tombstones", "transition"]);
  });

  it("trusts a shared topic less than any fact", () => {
    const facts = KINDS.filter(({ group }) => group === "factual");
    const thematic = canonicalKind("same_topic")?.kind.walkTrust ?? 1;
    for (const fact of facts) expect(fact.walkTrust).toBeGreaterThan(thematic);
  });

  it("is symmetric only where both readings are true", () => {
    const symmetric = KINDS.filter((kind) => kind.symmetric).map(({ name }) => name);
    expect(symmetric).toEqual([
      "contradicts",
      "related_to",
      "co_constrains",
      "contrasts_with",
      "same_topic",
      "distinct_from",
    ]);
  });

  it("knows every name of the three designs", () => {
    const names = [
      ..."supersedes transition contradicts corrects derived_from supports".split(" "),
      ..."causes caused_by part_of precedes follows enables blocks co_constrains".split(" "),
      ..."located_at uses works_on contrasts_with relates_to same_topic relates".split(" "),
      ..."related_to references corroborates consents_to dispatched_to attested_by".split(" "),
      ..."cited_in tombstones instance_of observed_by refines".split(" "),
    ];
    expect(names.filter((name) => canonicalKind(name) === undefined)).toEqual([]);
  });
});

describe("names", () => {
  it.each([
    ["caused_by", "caused_by", false],
    ["causes", "caused_by", true],
    ["precedes", "precedes", false],
    ["follows", "precedes", true],
    ["related_to", "related_to", false],
    ["relates", "related_to", false],
    ["relates_to", "related_to", false],
    ["blocks", "blocks", false],
  ])("%s is stored as %s, ends swapped: %s", (name, canonical, swap) => {
    const found = canonicalKind(name);
    expect([found?.kind.name, found?.swap]).toEqual([canonical, swap]);
  });

  it.each(["Blocks", " blocks", "blocked_by", "", "__proto__", "doc.contains"])(
    "%j is not built in",
    (name) => {
      expect(canonicalKind(name)).toBeUndefined();
    },
  );

  it("codes lead back to kinds", () => {
    for (const kind of KINDS) expect(kindByCode(kind.code)).toBe(kind);
    for (const code of [0, 0x1e, OPEN_KIND_CODE_MIN, -1, 1.5, Number.NaN]) {
      expect(kindByCode(code)).toBeUndefined();
    }
  });
});

describe("names of open kinds", () => {
  it.each([
    "cites",
    "doc.contains",
    "depends on",
    "Ist-Teil-von",
    "关系",
    "x",
    "é".repeat(32),
    "part of",
  ])("%s may be used", (name) => {
    expect(checkOpenKindName(name)).toBe(name);
  });

  it.each([
    ["", "ERR_EDGE_KIND", "not blank"],
    ["   ", "ERR_EDGE_KIND", "not blank"],
    ["x".repeat(65), "ERR_EDGE_KIND", "at most 64 bytes"],
    ["é".repeat(33), "ERR_EDGE_KIND", "at most 64 bytes"],
    ["a\nb", "ERR_EDGE_KIND", "control characters"],
    ["a\u0000", "ERR_EDGE_KIND", "control characters"],
    ["a\u0085", "ERR_EDGE_KIND", "control characters"],
    ["a\ud800", "ERR_ILL_FORMED", "lone surrogate"],
    ["blocks", "ERR_EDGE_KIND", "not built in"],
    ["relates", "ERR_EDGE_KIND", "not built in"],
    ["Blocks", "ERR_EDGE_KIND", "the built-in blocks as it is spelled"],
    [" blocks ", "ERR_EDGE_KIND", "the built-in blocks as it is spelled"],
    ["CAUSES", "ERR_EDGE_KIND", "the built-in causes as it is spelled"],
    ["Relates_To ", "ERR_EDGE_KIND", "the built-in relates_to as it is spelled"],
    [7, "ERR_EDGE_KIND", "expected a string"],
    [undefined, "ERR_EDGE_KIND", "expected a string"],
  ])("%j is refused", (name, code, why) => {
    const error = failure(() => checkOpenKindName(name));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^kind: expected /);
    expect(error.message).toContain(why);
  });
});
