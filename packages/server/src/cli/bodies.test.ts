/** What an argument, a file or stdin may say. */
import { describe, expect, test } from "vitest";
import { UsageError } from "../error-status.js";
import { readBody } from "./input.js";

describe("a memory", () => {
  test.each([
    ["Ada lives in Porto", { text: "Ada lives in Porto" }],
    ["from a pipe\n", { text: "from a pipe" }],
    ["two\n\n", { text: "two\n" }],
    ["42", { text: "42" }],
    ["[draft] a plan", { text: "[draft] a plan" }],
    [' {"text": "x", "slot": "city"}', { text: "x", slot: "city" }],
  ])("%j", (text, expected) => {
    expect(readBody("memory", text, "JSON")).toEqual(expected);
  });

  test("broken JSON is refused, not stored as a sentence", () => {
    expect(() => readBody("memory", "{text: 'x'}", "JSON")).toThrow(UsageError);
    expect(() => readBody("memory", "{text: 'x'}", "JSON")).toThrow(/--text/);
  });
});

describe("turns", () => {
  const one = { role: "user", content: "hello" };
  const two = { role: "assistant", content: "hi" };
  test.each([
    ["an array", JSON.stringify([one, two]), { turns: [one, two] }],
    ["an array over lines", JSON.stringify([one, two], null, 2), { turns: [one, two] }],
    ["an empty array", "[]", { turns: [] }],
    ["lines", `${JSON.stringify(one)}\n\n${JSON.stringify(two)}\r\n`, { turns: [one, two] }],
    ["one object", JSON.stringify(one, null, 2), { turns: [one] }],
    ["an object with turns", JSON.stringify({ turns: [one] }), { turns: [one] }],
    ["plain text", "hello\n", { turns: [one] }],
    ["a transcript", "User: hello\nAssistant: hi\n", { turns: [one, two] }],
    [
      "a transcript with turns of several lines, as people write them",
      "**Human:** hello\n\nHow are you?\n\nAI: hi\n",
      { turns: [{ role: "user", content: "hello\n\nHow are you?" }, two] },
    ],
    ["a colon in plain text", "Note: hello", { turns: [{ role: "user", content: "Note: hello" }] }],
    ["text in brackets", "[sic] hello", { turns: [{ role: "user", content: "[sic] hello" }] }],
  ])("%s", (_, text, expected) => {
    expect(readBody("turns", text, "FILE")).toEqual(expected);
  });

  test("a broken line is named; nothing at all is refused", () => {
    expect(() => readBody("turns", `${JSON.stringify(one)}\n{oops`, "FILE")).toThrow(/line 2/);
    expect(() => readBody("turns", '[{"role":', "FILE")).toThrow(UsageError);
    expect(() => readBody("turns", "\n", "FILE")).toThrow(/got nothing/);
  });
});

test("items and states", () => {
  expect(readBody("items", '[{"write":{}}]', "FILE")).toEqual({ items: [{ write: {} }] });
  expect(readBody("items", '{"write":{}}\n{"link":{}}\n', "FILE")).toEqual({
    items: [{ write: {} }, { link: {} }],
  });
  expect(readBody("state", '{"failureStreak":1}', "JSON")).toEqual({ state: { failureStreak: 1 } });
  expect(() => readBody("state", "[1]", "JSON")).toThrow(/a JSON object/);
});
