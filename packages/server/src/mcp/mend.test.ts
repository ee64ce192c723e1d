/**
 * What models write, against every field of every tool: the ways in which they are nearly right are generated
 * from each schema, and have to come out as the value that was meant. What is wrong is refused in the tool's own
 * words, and the refusal says what to send instead.
 */

import { type Cortex, OWNER, open } from "@cortex-memory/core";
import { noteOf, unwrapped } from "@cortex-memory/core/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { metaOf } from "../operations/fields.js";
import type { Tool, ToolContext } from "./define.js";
import { mended } from "./mend.js";
import { toolsOf } from "./tools.js";

const TOOLS = toolsOf("full", true);
/** What the server was not given: no field, and nothing that another call could say. */
const SETUP = ["model", "embedder"];
/** memgraph's tools fail in memgraph's words. */
const OWN_TOOLS = toolsOf("full");

let memory: Cortex;

beforeAll(async () => {
  memory = await open("memory:");
});

afterAll(async () => {
  await memory.close();
});

const context: ToolContext = {
  access: OWNER,
  location: "memory:",
  settings: [],
  log: () => {},
};

interface Nearly {
  readonly what: string;
  readonly given: unknown;
  readonly meant: unknown;
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
const capital = (word: string): string => word[0]?.toUpperCase() + word.slice(1);

/** A value that a field takes, by its form; `undefined` where the form says too little. */
function sampleOf(field: z.core.$ZodType): unknown {
  const { time, position } = metaOf(field);
  if (time === true || position === true) return "2026-03-01T12:00:00Z";
  const { def } = unwrapped(field)._zod as { readonly def: z.core.$ZodTypeDef };
  switch (def.type) {
    case "string":
      return "abc";
    case "number":
      return [1, 0.5, 50, 1000].find((one) => (field as z.ZodType).safeParse(one).success);
    case "boolean":
      return true;
    case "enum":
      return Object.values((def as z.core.$ZodEnumDef).entries)[0];
    case "array": {
      const item = sampleOf((def as z.core.$ZodArrayDef).element);
      return item === undefined ? undefined : [item];
    }
    default:
      return undefined;
  }
}

/** The ways in which a model gets the form of a field nearly right. */
function nearly(field: z.core.$ZodType, sample: unknown): readonly Nearly[] {
  if (typeof sample === "number") return [{ what: "digits", given: `${sample}`, meant: sample }];
  if (sample === true) return [{ what: "a word", given: "True", meant: true }];
  const { def } = unwrapped(field)._zod as { readonly def: z.core.$ZodTypeDef };
  if (def.type === "enum") {
    return [{ what: "a capital", given: capital(String(sample)), meant: sample }];
  }
  if (!Array.isArray(sample)) return [{ what: "a list of one", given: [sample], meant: sample }];
  const [item] = sample as readonly unknown[];
  const element = (def as z.core.$ZodArrayDef).element;
  const several =
    typeof item === "string" && noteOf(element).prose !== true
      ? [{ what: "commas", given: `${item}, ${item}`, meant: [item, item] }]
      : [];
  return [
    { what: "one item", given: item, meant: sample },
    { what: "JSON", given: JSON.stringify(sample), meant: sample },
    ...several,
    ...nearly(element, item).flatMap(({ what, given, meant }) =>
      Array.isArray(given) ? [] : [{ what: `${what} in a list`, given: [given], meant: [meant] }],
    ),
  ];
}

/** Every field of a tool that has a sample. */
function fieldsOf({ input }: Tool): readonly (readonly [string, z.ZodType, unknown])[] {
  return Object.entries(input.shape).flatMap(([name, field]) => {
    const sample = sampleOf(field);
    const isTaken = sample !== undefined && (field as z.ZodType).safeParse(sample).success;
    return isTaken ? [[name, field as z.ZodType, sample] as const] : [];
  });
}

describe("what is nearly right", () => {
  test("most fields have a sample, so that this is a test of most fields", () => {
    const all = TOOLS.flatMap(({ input }) => Object.keys(input.shape));
    expect(TOOLS.flatMap(fieldsOf).length).toBeGreaterThan(all.length * 0.8);
  });

  test.each(TOOLS)("$name: every field, in every form and under every spelling", (tool) => {
    for (const [name, field, sample] of fieldsOf(tool)) {
      const right = { [name]: sample };
      expect(mended(tool.input, right)).toEqual(right);
      for (const { what, given, meant } of nearly(field, sample)) {
        expect([name, what, mended(tool.input, { [name]: given })]).toEqual([
          name,
          what,
          { [name]: meant },
        ]);
      }
      const names = [snake(name), capital(name), name.replace(/s$/, "")];
      for (const spelling of names.filter((one) => !Object.hasOwn(tool.input.shape, one))) {
        expect([spelling, mended(tool.input, { [spelling]: sample })]).toEqual([spelling, right]);
      }
    }
  });

  test.each(TOOLS)("$name: null in a field that need not be given counts as not given", (tool) => {
    for (const [name, field] of Object.entries(tool.input.shape)) {
      const takesNull = (field as z.ZodType).safeParse(null).success;
      if (field._zod.optin !== "optional" || takesNull) continue;
      expect([name, mended(tool.input, { [name]: null })]).toEqual([name, {}]);
    }
  });

  test("a question, under other names, with its comma", () => {
    const recall = TOOLS.find(({ name }) => name === "memory_recall");
    for (const name of ["query", "question", "text", "q"]) {
      const given = { [name]: "Where, since when, does Ada live?" };
      expect(mended(recall?.input ?? z.object(), given)).toEqual({
        questions: ["Where, since when, does Ada live?"],
      });
    }
  });

  test("a name that may mean two fields, or one that is given, is left to be refused", () => {
    const schema = z.strictObject({ text: z.string(), content: z.string() });
    expect(mended(schema, { body: "x" })).toEqual({ body: "x" });
    const { input } = TOOLS.find(({ name }) => name === "memory_recall") ?? { input: schema };
    const both = { questions: ["a"], query: "b" };
    expect(mended(input, both)).toEqual(both);
  });

  test("names that objects have by themselves are members like others", () => {
    const schema = z.strictObject({ n: z.number() });
    const given: unknown = JSON.parse('{"n": "5", "__proto__": {"a": 1}, "constructor": 2}');
    expect(mended(schema, given)).toEqual({ ...(given as object), n: 5 });
  });
});

describe("what is refused", () => {
  test.each(OWN_TOOLS)("$name: dates in words, with an example of what to send", async (tool) => {
    const times = Object.entries(tool.input.shape).filter(([, field]) => metaOf(field).time);
    for (const [name] of times) {
      const { isError, text } = await tool.run(
        memory,
        { ...required(tool), [name]: "last week" },
        context,
      );
      const { message, advice } = JSON.parse(text) as { readonly [member: string]: string };
      expect([isError, message]).toEqual([
        true,
        expect.stringMatching(`^${name}: expected .*2026-03-01`),
      ]);
      expect(advice).toContain(`Call ${tool.name} again with ${name}: a date such as 2026-03-01`);
    }
  });

  test.each(OWN_TOOLS)("$name: in its own words, with what to send instead", async (tool) => {
    const own = new Set([...Object.keys(tool.input.shape), "input"]);
    for (const name of ["nonsense", ...Object.keys(tool.input.shape)]) {
      for (const bad of [{ of: [{}] }, "\ud800"]) {
        const given = { ...required(tool), [name]: bad };
        const { isError, text } = await tool.run(memory, given, context);
        if (isError !== true) continue;
        const { code, message, advice } = JSON.parse(text) as { readonly [member: string]: string };
        expect(`${advice}`).not.toMatch(/will not help|undefined/);
        expect([tool.name, name, code]).not.toContain("ERR_INTERNAL");
        const [, field = ""] =
          /^(\w+)[^ ]*: expected (?!at least one of)/.exec(message ?? "") ?? [];
        const isOwn = ["", "nonsense", ...SETUP].includes(field) || own.has(field);
        expect([tool.name, message, isOwn]).toEqual([tool.name, message, true]);
      }
    }
  });
});

/** An input with the fields that a tool asks for. */
function required(tool: Tool): { readonly [name: string]: unknown } {
  return Object.fromEntries(
    fieldsOf(tool)
      .filter(([, field]) => field._zod.optin !== "optional")
      .map(([name, , sample]) => [name, sample]),
  );
}
