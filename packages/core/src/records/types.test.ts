/** The closed vocabularies: code and name lead to each other; the codes are those of journals. */
import { describe, expect, it } from "vitest";
import { isCortexError } from "../errors.js";
import * as types from "./types.js";

const TABLES: { readonly [name: string]: types.WordTable } = {
  MEMORY_TYPES: types.MEMORY_TYPES,
  VISIBILITIES: types.VISIBILITIES,
  LIFECYCLES: types.LIFECYCLES,
  STATUSES: types.STATUSES,
  SOURCES: types.SOURCES,
  FRAME_VERBS: types.FRAME_VERBS,
  OBJECT_KINDS: types.OBJECT_KINDS,
  STANCES: types.STANCES,
  POLARITIES: types.POLARITIES,
  STRENGTHS: types.STRENGTHS,
  CONSTRAINT_SOURCES: types.CONSTRAINT_SOURCES,
  GOAL_STATUSES: types.GOAL_STATUSES,
  EVENT_KINDS: types.EVENT_KINDS,
  OUTCOMES: types.OUTCOMES,
  GOAL_DECISIONS: types.GOAL_DECISIONS,
  TURN_ROLES: types.TURN_ROLES,
};

describe("vocabularies", () => {
  it("are all listed in this test", () => {
    const exported = Object.keys(types).filter((name) => /^[A-Z_]+$/.test(name));
    expect(exported.sort()).toEqual(Object.keys(TABLES).sort());
  });

  it.each(Object.entries(TABLES))(
    "%s: codes are 1..n without gaps, words are plain",
    (_, table) => {
      const codes = Object.values(table).map((word) => word.code);
      expect(codes).toEqual(codes.map((_, at) => at + 1));
      for (const [name, word] of Object.entries(table)) {
        expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
        expect(word.meaning).toMatch(/^[A-Z].{3,70}\.$/);
      }
    },
  );

  it.each(Object.entries(TABLES))("%s: code and name lead to each other", (label, table) => {
    for (const name of types.namesOf(table)) {
      expect(types.isNameOf(table, name)).toBe(true);
      expect(types.nameOf(table, table[name]?.code, label)).toBe(name);
    }
  });

  it("holds the bytes that journals hold", () => {
    const codes = (table: types.WordTable) =>
      Object.fromEntries(Object.entries(table).map(([name, word]) => [name, word.code]));
    expect(codes(types.MEMORY_TYPES)).toEqual({
      identity: 1,
      fact: 2,
      preference: 3,
      belief: 4,
      event: 5,
      goal: 6,
      constraint: 7,
      capability: 8,
      pattern: 9,
      note: 10,
      artifact: 11,
    });
    expect(types.namesOf(types.VISIBILITIES)).toEqual(["private", "scoped", "public"]);
    expect(types.namesOf(types.LIFECYCLES).join()).toBe("active,archived,tombstoned,erased");
    expect(types.namesOf(types.STATUSES).join()).toBe(
      "asserted,provisional,confirmed,disputed,retracted",
    );
    expect(types.namesOf(types.SOURCES).join()).toBe(
      "user_input,agent,observed,tool_output,document,channel,extraction,imported,derived,dream",
    );
    expect(types.namesOf(types.FRAME_VERBS).join()).toBe(
      "find,acquire,build,modify,deliver,analyze,negotiate,schedule,monitor,delegate",
    );
    expect(types.namesOf(types.OBJECT_KINDS).join()).toBe(
      "service,model,agent,knowledge,intent,asset,plan,capability",
    );
    expect(types.namesOf(types.POLARITIES).join()).toBe("prefer,avoid,neutral,do,dont");
    expect(types.namesOf(types.EVENT_KINDS).join()).toBe(
      "intent_completed,intent_failed,payment,dispatch,observation,interaction",
    );
    expect(types.namesOf(types.GOAL_DECISIONS).join()).toBe("emit_intent,complete,stuck,noop");
    expect(types.namesOf(types.TURN_ROLES).join()).toBe(
      "user,assistant,system,tool_call,tool_result",
    );
  });
});

describe("lookups", () => {
  it.each([0, 12, -1, 1.5, Number.NaN, "1", null, undefined])("refuses the code %s", (code) => {
    try {
      types.nameOf(types.MEMORY_TYPES, code, "type");
      expect.unreachable();
    } catch (error) {
      expect(isCortexError(error, "ERR_CORRUPT")).toBe(true);
      expect((error as Error).message).toMatch(/^type: no word has the code /);
    }
  });

  it.each(["Fact", "FACT", " fact", "", "toString", "__proto__", 2, null, undefined])(
    "refuses the type name %s",
    (name) => {
      expect(types.isNameOf(types.MEMORY_TYPES, name)).toBe(false);
      try {
        types.checkMemoryType(name);
        expect.unreachable();
      } catch (error) {
        expect(isCortexError(error, "ERR_UNKNOWN_TYPE")).toBe(true);
        expect((error as Error).message).toMatch(/^type: expected one of identity, fact, /);
      }
    },
  );

  it("finds types by the name that URIs carry, and by no other", () => {
    for (const name of types.namesOf(types.MEMORY_TYPES)) {
      const { uriName } = types.MEMORY_TYPES[name];
      expect(uriName.toLowerCase()).toBe(name);
      expect(types.typeOfUriName(uriName)).toBe(name);
      expect(types.typeOfUriName(name)).toBeUndefined();
    }
  });

  it("checks a word and names the field and the words", () => {
    expect(types.checkNameOf(types.STANCES, "doubt", { field: "data.stance" })).toBe("doubt");
    expect(() => types.checkNameOf(types.STANCES, "doubts", { field: "data.stance" })).toThrow(
      'data.stance: expected one of believe, doubt, suspect, got "doubts"',
    );
  });
});
