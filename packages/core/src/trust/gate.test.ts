/** Who may say what: every source, every type, every status. */
import { describe, expect, test } from "vitest";
import { isCortexError } from "../errors.js";
import {
  MEMORY_TYPES,
  type MemoryType,
  namesOf,
  SOURCES,
  type Source,
  STATUSES,
  type Status,
} from "../records/types.js";
import {
  checkRevision,
  checkStatusChange,
  gatedStatus,
  mayReplace,
  OWNERS_TYPES,
  outranks,
  type Standing,
  standingOf,
} from "./gate.js";

/** The standing of every source, written out: a change of the levels must be meant. */
const STANDINGS: { readonly [source in Source]: Standing } = {
  user_input: "owner",
  agent: "own",
  observed: "own",
  extraction: "own",
  imported: "own",
  derived: "own",
  dream: "own",
  channel: "outside",
  tool_output: "outside",
  document: "outside",
};

const sources = namesOf(SOURCES) as readonly Source[];
const types = namesOf(MEMORY_TYPES) as readonly MemoryType[];
const statuses = namesOf(STATUSES) as readonly Status[];

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return isCortexError(error) ? error.code : "not a CortexError";
  }
}

test("every source has the standing it is meant to have", () => {
  expect(Object.fromEntries(sources.map((source) => [source, standingOf(source)]))).toEqual(
    STANDINGS,
  );
});

describe.each(sources)("%s", (source) => {
  test.each(types)("writes %s", (type) => {
    const standing = STANDINGS[source];
    const owners = type === "identity" || type === "preference" || type === "constraint";
    expect(OWNERS_TYPES.has(type)).toBe(owners);
    for (const wanted of statuses) {
      if (standing === "outside" && owners) {
        expect(codeOf(() => gatedStatus(type, source, wanted))).toBe("ERR_TRUST");
        continue;
      }
      const got = gatedStatus(type, source, wanted);
      if (standing === "owner") expect(got).toBe(wanted);
      else if (wanted === "asserted") expect(got).toBe(owners ? "provisional" : "asserted");
      else if (wanted === "confirmed") expect(got).toBe(owners ? "provisional" : "asserted");
      else expect(got).toBe(wanted);
    }
  });

  test.each(sources)("meets what %s said", (holder) => {
    const height = { outside: 0, own: 1, owner: 2 };
    const mine = height[STANDINGS[source]];
    const theirs = height[STANDINGS[holder]];
    expect(mayReplace(source, holder)).toBe(mine >= theirs);
    expect(outranks(source, holder)).toBe(mine > theirs);
    const code = mine >= theirs ? undefined : "ERR_TRUST";
    const memory = { type: "fact" as const, source: holder, status: "asserted" as const };
    const id = new Uint8Array(16).fill(1);
    expect(codeOf(() => checkRevision(source, memory, id))).toBe(code);
    const confirmed = { ...memory, status: "confirmed" as const };
    const asOwner = source === "user_input" ? undefined : "ERR_TRUST";
    expect(codeOf(() => checkRevision(source, confirmed, id))).toBe(asOwner);
    expect(codeOf(() => checkStatusChange(source, memory, "retracted", id))).toBe(code);
    const confirms = source === "user_input" ? undefined : "ERR_TRUST";
    expect(codeOf(() => checkStatusChange(source, memory, "confirmed", id))).toBe(confirms);
    expect(codeOf(() => checkStatusChange(source, memory, "disputed", id))).toBeUndefined();
  });
});
