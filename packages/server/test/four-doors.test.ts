/**
 * One call, four doors: the library, REST, MCP and the command line give the same answer to the same
 * question, and refuse the same misuse with the same code and the same words, the command line with the
 * field called as it was typed. All four work on one store at the same time.
 */
import { type Cortex, isCortexError, open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routesOf } from "../src/http/routes.js";
import { toolName } from "../src/mcp/tools.js";
import { OPERATIONS } from "../src/operations.js";
import { makePlace, type Place } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { type Connected, connect } from "./mcp-client.js";

let place: Place;
let memory: Cortex;
let server: TestServer;
let agent: Connected;

beforeAll(async () => {
  place = makePlace();
  memory = await open(place.data);
  await memory.write({ type: "fact", externalId: "home", slot: "home city", text: "Lyon" });
  await memory.update("home", { text: "Porto" });
  await memory.write({ type: "constraint", externalId: "rule", text: "No red-eye flights" });
  await memory.link("rule", "related_to", "home", { reason: "one trip", strength: 2 });
  await memory.remember([{ role: "user", content: "hello there", at: 5 }], { session: "chat" });
  server = await startTestServer({ location: place.data });
  agent = await connect({ args: ["--data", place.data, "--profile", "full"], home: place.home });
});

afterAll(async () => {
  await agent.client.close();
  await server.close();
  await memory.close();
  place.remove();
});

interface Call {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The same for the command line. */
  readonly args: readonly string[];
  readonly library: (memory: Cortex) => Promise<unknown>;
}

const READS: readonly Call[] = [
  {
    operation: "history",
    input: { id: "home" },
    args: ["history", "home"],
    library: async (m) => ({ versions: await m.history("home") }),
  },
  {
    operation: "inspect",
    input: { id: "rule", asOf: 4 },
    args: ["inspect", "rule", "--as-of", "4"],
    library: (m) => m.inspect("rule", { asOf: 4 }),
  },
  {
    operation: "list",
    input: { type: "fact", limit: 5 },
    args: ["list", "--type", "fact", "--limit", "5"],
    library: (m) => m.list({ type: "fact", limit: 5 }),
  },
  {
    operation: "search",
    input: { text: "flights", limit: 3 },
    args: ["search", "flights", "--limit", "3"],
    library: (m) => m.search("flights", { limit: 3 }),
  },
  {
    operation: "session",
    input: { session: "chat" },
    args: ["session", "chat"],
    library: (m) => m.session("chat"),
  },
  {
    operation: "traverse",
    input: { id: "rule", maxHops: 1 },
    args: ["traverse", "rule", "--max-hops", "1"],
    library: (m) => m.traverse("rule", { maxHops: 1 }),
  },
  {
    operation: "changes",
    input: { from: 1, to: 3 },
    args: ["changes", "1", "3"],
    library: (m) => m.changes(1, 3),
  },
  { operation: "root", input: {}, args: ["root"], library: (m) => m.root() },
  { operation: "checkpoint", input: {}, args: ["checkpoint"], library: (m) => m.checkpoint() },
];

const REFUSED: readonly Call[] = [
  {
    operation: "update",
    input: { id: "nobody", text: "x" },
    args: ["update", "nobody", "x"],
    library: (m) => m.update("nobody", { text: "x" }),
  },
  {
    operation: "revert",
    input: { seq: 900 },
    args: ["revert", "900"],
    library: (m) => m.revert(900),
  },
  {
    operation: "tombstone",
    input: { id: "nobody", reason: "x" },
    args: ["tombstone", "nobody", "x"],
    library: (m) => m.tombstone("nobody", "x"),
  },
  {
    operation: "traverse",
    input: { id: "rule", asOf: 900 },
    args: ["traverse", "rule", "--as-of", "900"],
    library: (m) => m.traverse("rule", { asOf: 900 }),
  },
  {
    operation: "write",
    input: { type: "fact", text: "x", externalId: "home" },
    args: ["write", "fact", "x", "--external-id", "home"],
    library: (m) => m.write({ type: "fact", text: "x", externalId: "home" }),
  },
];

/** What the command line calls the fields that are refused here. */
const typedAs: { readonly [field: string]: string } = {
  asOf: "--as-of",
  externalId: "--external-id",
  id: "ID",
  seq: "SEQ",
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function routeOf(operation: string): string {
  const route = routesOf(OPERATIONS).find((one) => one.operation.name === operation);
  if (route === undefined) throw new Error(`no route for ${operation}`);
  return `/v1/${route.name}`;
}

describe("the same answer", () => {
  test.each(READS)("$operation", async ({ operation, input, args, library }) => {
    const expected = plain(await library(memory));
    const { status, json } = await server.post(routeOf(operation), input);
    expect([status, json]).toEqual([200, expected]);
    const { answer } = await agent.call(toolName({ name: operation }), { ...input });
    expect(answer).toEqual(expected);
    const { exit, out } = await place.cortex([...args, "--json"]);
    expect([exit, JSON.parse(out)]).toEqual([0, expected]);
  });
});

describe("the same failure", () => {
  test.each(REFUSED)("$operation $input", async ({ operation, input, args, library }) => {
    const error = await library(memory).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!isCortexError(error)) throw new Error("the library did not refuse");
    const { code, message } = error;
    const rest = await server.post(routeOf(operation), input);
    expect(rest.json).toMatchObject({ code, detail: message });
    expect(rest.status).toBeGreaterThanOrEqual(400);
    const tool = toolName({ name: operation });
    expect((await agent.call(tool, { ...input })).failure).toMatchObject({ code, message });
    const { exit, err } = await place.cortex([...args, "--json"]);
    const typed = message.replace(/^\w+(?=:)/, (field) => typedAs[field] ?? field);
    expect([exit, JSON.parse(err)]).toEqual([1, { error: { code, message: typed } }]);
  });
});
