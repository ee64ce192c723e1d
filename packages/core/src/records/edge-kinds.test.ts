/** The registry of edge kinds: codes that stores hold, names that are told apart, open kinds. */
import { describe, expect, it } from "vitest";
import { failure } from "../testing/failure.js";
import {
  askedKind,
  canonicalKind,
  checkOpenKindName,
  EDGE_KINDS,
  type EdgeKind,
  kindByCode,
  OPEN_KIND_CODE_MIN,
  readingFrom,
} from "./edge-kinds.js";

const KINDS: readonly EdgeKind[] = EDGE_KINDS;

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
      "1e relates_to",
      "1f relates",
    ]);
    expect(Math.max(...KINDS.map(({ code }) => code))).toBeLessThan(OPEN_KIND_CODE_MIN);
  });

  it("has no name or inverse twice", () => {
    const names = KINDS.flatMap(({ name, inverse }) => [
      name,
      ...(inverse === undefined ? [] : [inverse]),
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
      "relates_to",
      "relates",
    ]);
  });

  it("keeps Tideline's strong kind apart from the legacy ones", () => {
    const groups = ["relates_to", "relates", "related_to"].map((name) => canonicalKind(name)?.kind);
    expect(groups.map((kind) => [kind?.name, kind?.group])).toEqual([
      ["relates_to", "factual"],
      ["relates", "legacy"],
      ["related_to", "legacy"],
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
    ["relates", "relates", false],
    ["relates_to", "relates_to", false],
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
    for (const code of [0, 0x20, OPEN_KIND_CODE_MIN, -1, 1.5, Number.NaN]) {
      expect(kindByCode(code)).toBeUndefined();
    }
  });
});

describe("names of open kinds", () => {
  it.each([
    ["cites", "cites"],
    ["doc.contains", "doc_contains"],
    ["depends on", "depends_on"],
    ["Ist-Teil-von", "ist_teil_von"],
    ["关系", "关系"],
    ["x", "x"],
    ["é".repeat(32), "é".repeat(32)],
    ["e\u0301", "é"],
    ["→", "→"],
  ])("%s may be used, as %s", (name, normal) => {
    expect(checkOpenKindName(name)).toBe(normal);
  });

  it("a built-in kind is meant however it is spelled", () => {
    const spellings = (name: string) => [
      name.toUpperCase(),
      ` ${name} `,
      name.replaceAll("_", " "),
      name.replaceAll("_", "-"),
      `${name.charAt(0).toUpperCase()}${name.slice(1)}!`,
    ];
    for (const kind of KINDS) {
      for (const name of [kind.name, ...(kind.inverse === undefined ? [] : [kind.inverse])]) {
        for (const spelled of spellings(name)) {
          expect(askedKind(spelled)).toEqual({ kind, swap: name !== kind.name });
        }
      }
    }
    expect(askedKind("blocked_by")).toBeUndefined();
  });

  it("a kind reads from its end, and from the other one where it has a name there", () => {
    expect(readingFrom("caused_by", "from")).toEqual({ kind: "caused_by", inverse: true });
    expect(readingFrom("caused_by", "to")).toEqual({ kind: "causes", inverse: false });
    expect(readingFrom("precedes", "from")).toEqual({ kind: "precedes", inverse: false });
    expect(readingFrom("precedes", "to")).toEqual({ kind: "follows", inverse: true });
    for (const { name, symmetric, inverse } of KINDS) {
      const back = readingFrom(name, "to")?.kind;
      expect(back).toBe(symmetric ? name : inverse);
    }
    expect(readingFrom("likes", "from")).toEqual({ kind: "likes", inverse: false });
    expect(readingFrom("likes", "to")).toBeUndefined();
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
    [7, "ERR_EDGE_KIND", "expected a string"],
    [undefined, "ERR_EDGE_KIND", "expected a string"],
  ])("%j is refused", (name, code, why) => {
    const error = failure(() => checkOpenKindName(name));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^kind: expected /);
    expect(error.message).toContain(why);
  });
});
