/** Flags follow from schemas, and their texts become values that the field accepts. */
import { positionField, timeOf } from "@cortex-memory/core/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineOperation } from "../operations/define.js";
import { fieldsOf } from "../operations/text-input.js";
import { OPERATIONS } from "../operations.js";
import { flagFields, readAssignments, readValue, typedName } from "./input.js";

const operation = defineOperation({
  name: "sample",
  verbs: ["write"],
  kind: "write",
  summary: "A sample",
  help: "None.",
  example: "cortex sample",
  input: z.strictObject({
    id: z.string().describe("the id"),
    tags: z.array(z.string()).readonly().describe("tags").exactOptional(),
    words: z
      .array(z.enum(["a", "b"]))
      .describe("words")
      .exactOptional(),
    count: z.int().min(0).max(10).describe("a count").exactOptional(),
    one: z.enum(["x", "y"]).describe("one").exactOptional(),
    validFrom: z.int().meta({ description: "a time", time: true }).exactOptional(),
    asOf: z.union([z.int(), z.string()]).describe("a position").exactOptional(),
    at: positionField("a position of the contract").optional(),
    since: timeOf("a time of the contract").optional(),
    near: z
      .union([z.string(), z.object({ uri: z.string() })])
      .describe("a text or an object")
      .exactOptional(),
    data: z.record(z.string(), z.unknown()).describe("data").exactOptional(),
    pairs: z.record(z.string(), z.string()).describe("pairs").exactOptional(),
    on: z.boolean().describe("on").exactOptional(),
    off: z.boolean().meta({ description: "off", standard: true }).exactOptional(),
    turns: z.array(z.object({ a: z.int() })).describe("turns"),
  }),
  output: z.object({}),
  call: async () => ({}),
  cli: {
    command: "sample",
    group: "store",
    arguments: [
      { field: "id", label: "ID" },
      { body: "turns", label: "FILE" },
    ],
    flags: { tags: "tag" },
  },
});

const field = (name: string) => {
  const found = fieldsOf(operation).find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

test("every field that is neither an argument nor a body has a flag", () => {
  expect(flagFields(operation).map(({ flag, syntax }) => `${flag} ${syntax}`)).toEqual([
    "tag list",
    "words list",
    "count number",
    "one choice",
    "valid-from time",
    "as-of position",
    "at position",
    "since time",
    "near either",
    "data json",
    "pairs pairs",
    "on switch",
    "off switch",
  ]);
  expect(field("id").required).toBe(true);
  expect(field("tags").required).toBe(false);
  expect(field("words").choices).toEqual(["a", "b"]);
});

describe("values", () => {
  test.each([
    ["count", "7", 7],
    ["asOf", "42", 42],
    ["asOf", "2026-01-01", "2026-01-01"],
    ["validFrom", "2026-01-01T00:00:00Z", 1767225600000],
    ["validFrom", "-5", -5],
    ["at", "42", 42],
    ["at", "2026-01-01", "2026-01-01"],
    ["since", "2026-01-01T00:00:00Z", 1767225600000],
    ["near", '{"uri":"home"}', { uri: "home" }],
    ["near", "{curly} words", "{curly} words"],
    ["near", "42", "42"],
    ["tags", "x", ["x"]],
    ["data", '{"a":1}', { a: 1 }],
    ["pairs", ["a=1", "b=x=y"], { a: "1", b: "x=y" }],
    ["pairs", '{"a":"1"}', { a: "1" }],
    ["tags", ["x", "y"], ["x", "y"]],
    ["on", true, true],
    ["off", false, false],
    ["one", "y", "y"],
  ])("--%s %j is %j", (name, raw, expected) => {
    expect(readValue(field(name), raw, `--${name}`)).toEqual(expected);
  });

  test.each([
    ["count", "seven", '--x: expected a number, got "seven"'],
    ["count", "11", '--x: expected at most 10, got "11"'],
    ["count", "1.5", '--x: expected a whole number, got "1.5"'],
    ["one", "z", '--x: expected one of x, y, got "z"'],
    ["words", ["a", "c"], '--x: expected one of a, b, got "c"'],
    ["validFrom", "yesterday", "ISO time"],
    ["data", "{", "--x: expected JSON"],
    ["pairs", ["a"], '--x: expected key=value, got "a"'],
    ["pairs", ["a=1", "a=2"], "--x: expected each key once"],
  ])("--%s refuses %j", (name, raw, message) => {
    expect(() => readValue(field(name), raw, "--x")).toThrow(message);
  });
});

test("what a member says is true of its value; only its flag turns something off, or names a file", () => {
  const fields = OPERATIONS.filter(
    ({ http }) => http === undefined || !("unavailable" in http),
  ).flatMap(fieldsOf);
  const off = fields.filter(({ syntax, sets }) => syntax === "switch" && !sets);
  expect(off.map(({ name }) => name)).toEqual(expect.arrayContaining(["atomic", "snippets"]));
  for (const { name, about, description } of off) {
    expect([name, about]).not.toEqual([name, description]);
    expect(description).toMatch(/; true when not given$/);
  }
  const files = fields.filter(({ syntax }) => syntax === "file");
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(["since", "document"]));
  for (const { about, description } of files) {
    expect(about).toContain("file");
    expect(description).not.toMatch(/file|stdin/);
  }
});

test("whatever a flag refuses, it says in words what it takes", () => {
  let refused = 0;
  for (const one of OPERATIONS) {
    for (const field of fieldsOf(one)) {
      for (const text of [
        "",
        " ",
        "nonsense",
        "1.5",
        "-1",
        "{",
        "[]",
        "{}",
        "a=b",
        "x".repeat(70_000),
      ]) {
        const raw = field.syntax === "list" || field.syntax === "pairs" ? [text] : text;
        try {
          readValue(field, raw, "--x");
        } catch (error) {
          refused += 1;
          expect([one.name, field.name, String(error)]).toEqual([
            one.name,
            field.name,
            expect.not.stringMatching(/Invalid|undefined|\[object/),
          ]);
        }
      }
    }
  }
  expect(refused).toBeGreaterThan(500);
});

test("whatever is missing is called by its flag or its argument's label, in every command", () => {
  const raw = { args: [], flags: new Map(), globals: {} } as never;
  for (const one of OPERATIONS) {
    const labels = new Set((one.cli.arguments ?? []).map(({ label }) => label));
    const bodies = (one.cli.arguments ?? []).flatMap((place) =>
      "body" in place ? [place.body] : [],
    );
    const names = fieldsOf(one).map(({ name }) => name);
    for (const name of names) {
      const said = typedName(one, raw, name);
      const isTyped = said.startsWith("--") || labels.has(said);
      // Turns and items come in a document, and assignments are called as they are written.
      const isElsewhere = bodies.length > 0 || one.cli.assign !== undefined;
      expect([one.name, name, said, isTyped || isElsewhere]).toEqual([one.name, name, said, true]);
    }
    const flags = flagFields(one).filter(({ name }) => names.includes(name));
    const pair = flags.slice(0, 2).map(({ name }) => name);
    const shown = flags.slice(0, 2).map(({ flag }) => `--${flag}`);
    if (one.cli.arguments === undefined) {
      expect(typedName(one, raw, pair.join(", "))).toBe(shown.join(", "));
    }
  }
});

test("assignments name fields, and lists are separated by commas", () => {
  const fields = fieldsOf(operation);
  expect(readAssignments(fields, ["count=3", "tags=a, b", "validFrom=5"], "set")).toEqual({
    count: 3,
    tags: ["a", "b"],
    validFrom: 5,
  });
  expect(readAssignments(fields, ["tag="], "set")).toEqual({ tags: [] });
  expect(() => readAssignments(fields, ["count"], "set")).toThrow(/key=value/);
  expect(() => readAssignments(fields, ["nope=1"], "set")).toThrow(/one of id, tags/);
});
