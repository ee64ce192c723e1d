/**
 * What bad input gets, verb by verb: for every verb of the contract, every required field missing, every
 * wrong type and every bound passed by one is refused by the library, by REST and by MCP with the same
 * code and the same words, which name the field; and by the command line, which calls it by its flag or
 * by the label of its argument. Nothing of it reaches the journal. The cases are made from the contract,
 * so a new verb is in here from its first day.
 */
import { type Cortex, isCortexError, open } from "@cortex-memory/core";
import { noteOf, VERBS, type Verb } from "@cortex-memory/core/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type * as z from "zod";
import { routesOf } from "../src/http/routes.js";
import { mended } from "../src/mcp/mend.js";
import { toolName } from "../src/mcp/tools.js";
import { STANDARD_TOOLS } from "../src/mcp/tools-standard.js";
import { OPERATIONS } from "../src/operations.js";
import { badInputs, plainInput } from "./bad-inputs.js";
import { badLines } from "./bad-lines.js";
import { makePlace, type Place } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { type Connected, connect } from "./mcp-client.js";

let place: Place;
let memory: Cortex;
let server: TestServer;
let agent: Connected;
let tools: ReadonlySet<string>;

beforeAll(async () => {
  place = makePlace();
  memory = await open(place.data);
  await memory.write({ type: "fact", externalId: "x", text: "Ada lives in Porto" });
  server = await startTestServer({ location: place.data });
  agent = await connect({ args: ["--data", place.data, "--profile", "full"], home: place.home });
  tools = new Set((await agent.client.listTools()).tools.map((tool) => tool.name));
});

afterAll(async () => {
  await agent.client.close();
  await server.close();
  await memory.close();
  place.remove();
});

/** Operations that are the verb and nothing else, by the verb's name. */
const ROWS = new Map(OPERATIONS.map((row) => [row.name, row]));
const ROUTES = new Map(routesOf(OPERATIONS).map((route) => [route.operation.name, route]));

/** Tools that are made for models have inputs of their own. */
const OWN_TOOLS = new Set(STANDARD_TOOLS.map((tool) => tool.name));

async function refusalOf(call: () => unknown): Promise<{ code: string; message: string }> {
  try {
    await call();
  } catch (error) {
    if (isCortexError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("it was not refused");
}

describe.each(
  Object.values(VERBS)
    .filter((verb: Verb) => badInputs(verb).length > 0)
    .map((verb: Verb) => [verb.name, verb] as const),
)("%s", (name, verb) => {
  const cases = badInputs(verb);

  test("refuses every bad input at every door", async () => {
    const before = (await memory.stats()).entries;
    const row = ROWS.get(name);
    const route = ROUTES.get(name);
    const call = memory[name as keyof typeof VERBS] as (input: object) => unknown;
    for (const { what, field, input } of cases) {
      const { code, message } = await refusalOf(() => call.call(memory, input));
      expect(message, what).toContain(field);
      expect(message, what).toContain("expected");
      if (row === undefined) continue;
      const isPlain = row.stream === undefined && route?.file === undefined;
      if (route !== undefined && route.unavailable === undefined && isPlain) {
        const rest = await server.post(`/v1/${route.name}`, input);
        expect([what, rest.json], what).toMatchObject([what, { code, detail: message }]);
      }
      const tool = toolName(row);
      // What a model is forgiven is no bad input at its door.
      const isForgiven = row.input.safeParse(mended(row.input, input)).success;
      if (tools.has(tool) && !OWN_TOOLS.has(tool) && !isForgiven) {
        const { failure } = await agent.call(tool, { ...input });
        expect([what, failure]).toMatchObject([what, { code, message }]);
      }
    }
    expect((await memory.stats()).entries).toBe(before);
  });
});

test("a position that the journal does not have is called by the field that gave it", async () => {
  const told: string[] = [];
  for (const [name, verb] of Object.entries(VERBS) as [keyof typeof VERBS, Verb][]) {
    const shape = verb.input.shape as { readonly [field: string]: z.ZodType };
    const positions = Object.entries(shape).filter(([, one]) => noteOf(one).position === true);
    const call = memory[name] as (input: object) => unknown;
    for (const [field] of positions) {
      const input = { ...plainInput(shape), [field]: 1e9 };
      const error = await Promise.resolve(call.call(memory, input)).catch((thrown) => thrown);
      if (!isCortexError(error, "ERR_AS_OF")) continue; // it waits for that position, or lacks something else
      expect([name, error.details.field, error.message]).toEqual([
        name,
        field,
        `${field}: expected a seq up to 1, got 1000000000`,
      ]);
      told.push(`${name} ${field}`);
    }
  }
  expect(told.length).toBeGreaterThan(10);
});

describe.each(
  OPERATIONS.filter(({ verbs }) => verbs.length > 0)
    .map((row) => ({ command: row.cli.command, name: row.name, lines: badLines(row) }))
    .filter(({ lines }) => lines.length > 0),
)("cortex $command ($name)", ({ lines }) => {
  test("refuses every bad input in the words of the command line", async () => {
    const before = (await memory.stats()).entries;
    const faults: unknown[] = [];
    for (const line of lines) {
      const { exit, out, err } = await place.cortex([...line.args, "--json"], line.start);
      const { message } = (JSON.parse(err) as { error: { message: string } }).error;
      const isNamed = line.shown.some((name) => message.startsWith(name));
      const isRight = isNamed && message.includes("expected") && line.exits.includes(exit);
      if (!isRight || out !== "") faults.push({ ...line, exit, message });
    }
    expect(faults).toEqual([]);
    expect((await memory.stats()).entries).toBe(before);
  });
});
