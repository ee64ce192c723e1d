/** Times as other programs write them, and members that are not what they should be. */
import { isCortexError } from "@cortex-memory/core";
import { describe, expect, test } from "vitest";
import { attempt, jsonIn, objectIn, textIn, textsIn, timeIn } from "./records.js";

describe("times", () => {
  const noon = Date.UTC(2026, 4, 16, 12);
  test.each([
    ["2026-05-16T12:00:00Z", noon],
    ["2026-05-16T12:00:00", noon],
    ["2026-05-16T12:00", noon],
    ["2026-05-16 12:00:00", noon],
    ["2026-05-16T14:00:00+02:00", noon],
    ["2026-05-16T04:00:00.5-0800", noon + 500],
    ["2026-05-16T12:00:00.123456789Z", noon + 123],
    ["2026-05-16T12:00:00.1Z", noon + 100],
    ["2026-05-16 12:00:00.999999 +0000 UTC", noon + 999],
    ["2026-05-16", noon - 12 * 3_600_000],
    [noon, noon],
  ])("%s is read", (value, expected) => {
    expect(timeIn(value, "created")).toBe(expected);
  });

  test.each([
    "",
    "soon",
    "2026-13-01",
    "2026-05-16T25:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-04-31 12:00:00",
    "16.5.2026",
    1.5,
    null,
    undefined,
    {},
  ])("%s is refused by the name of its field", (value) => {
    expect(() => timeIn(value, "created")).toThrow(/^created: expected an ISO time/);
  });
});

describe("members of a record", () => {
  test.each([
    [() => textIn(5, "name"), "name: expected a text, got another number"],
    [() => textIn(null, "name"), "name: expected a text, got nothing"],
    [() => textsIn(["a", 1], "tags"), "tags: expected a list of texts, got a list"],
    [() => objectIn([], "line"), "line: expected an object, got a list"],
    [() => jsonIn("{secret", "tags"), "tags: expected JSON, got a text that is none"],
  ])("what is wrong is said without the content, case %#", (read, message) => {
    expect(attempt("line 7", read)).toEqual({
      at: "line 7",
      unusable: "bad",
      code: "ERR_INVALID",
      message,
    });
  });

  test("a fault of the program is no bad record", () => {
    const fault = (): never => {
      throw new TypeError("no such thing");
    };
    expect(() => attempt("line 1", fault)).toThrow(TypeError);
    expect(isCortexError(new TypeError("x"))).toBe(false);
  });
});
