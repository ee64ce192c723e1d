/**
 * What is at the edge of a form, for every operation: the largest integers there are, names with marks
 * that turn text round, and a member called `__proto__` however it is spelled. None of them is a fault
 * of the server, none is dropped in silence; what is out of range is the caller's error. The cases are
 * made from the contract.
 */
import { type Cortex, isCortexError, open } from "@cortex-memory/core";
import { VERBS, type Verb } from "@cortex-memory/core/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { routesOf } from "../src/http/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { plainInput } from "./bad-inputs.js";
import { startTestServer, type TestServer } from "./http-server.js";

type Json = { readonly [keyword: string]: unknown };
type Path = readonly (string | number)[];

let memory: Cortex;
let server: TestServer;

beforeAll(async () => {
  memory = await open("memory:");
  await memory.write({ type: "fact", externalId: "x", text: "Ada lives in Porto" });
  server = await startTestServer();
  await server.post("/v1/write", { type: "fact", externalId: "x", text: "Ada lives in Porto" });
});

afterAll(async () => {
  await server.close();
  await memory.close();
});

/** Every place in a schema that a test picks, with the schema there. */
function places(json: Json, isPicked: (one: Json) => boolean, at: Path = []): [Path, Json][] {
  const forms = ((json.anyOf ?? []) as readonly Json[]).flatMap((one) => places(one, isPicked, at));
  const members = Object.entries((json.properties ?? {}) as Record<string, Json>).flatMap(
    ([name, one]) => places(one, isPicked, [...at, name]),
  );
  const items = json.items === undefined ? [] : places(json.items as Json, isPicked, [...at, 0]);
  return [...(isPicked(json) ? [[at, json] as [Path, Json]] : []), ...forms, ...members, ...items];
}

/** The plainest input with one value put in its place. */
function inputWith(verb: Verb, path: Path, value: unknown): Record<string, unknown> {
  const plain = plainInput(verb.input.shape as { readonly [field: string]: z.ZodType });
  const input = structuredClone(plain) as Record<string | number, unknown>;
  let inner = input;
  for (const [at, step] of path.slice(0, -1).entries()) {
    const isThere = typeof inner[step] === "object" && inner[step] !== null;
    if (!isThere) inner[step] = typeof path[at + 1] === "number" ? [] : {};
    inner = inner[step] as Record<string | number, unknown>;
  }
  inner[path.at(-1) ?? ""] = value;
  return input;
}

/** Verbs that answer once, and do not take all the time that a number allows them. */
const ASKED = Object.values(VERBS).filter(({ name }: Verb) => name !== "subscribe") as Verb[];
const jsonOf = (verb: Verb): Json =>
  z.toJSONSchema(verb.input, { io: "input", unrepresentable: "any" }) as Json;
const ROUTES = new Map(
  routesOf(OPERATIONS)
    .filter(({ unavailable, file }) => unavailable === undefined && file === undefined)
    .map((route) => [route.operation.name, route]),
);

/** A failure of the library; nothing where there was none. */
async function refusalOf(call: () => unknown): Promise<{ code?: string; message?: string }> {
  try {
    await call();
    return {};
  } catch (error) {
    if (isCortexError(error)) return { code: error.code, message: error.message };
    throw error;
  }
}

/** What a refusal calls the field: the first part of the path at least. */
const nameIn = (path: Path): string => String(path.find((step) => typeof step === "string") ?? "");

/** Integers at the end of what can be said, and what is no integer at all. */
const EXTREMES: readonly number[] = [
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  Number.MIN_SAFE_INTEGER,
  -1,
  1.5,
  1e308,
  -1e308,
];

/** Its code alone. */
const codeOf = async (call: () => unknown): Promise<string | undefined> =>
  (await refusalOf(call)).code;

describe("integers", () => {
  const isNumber = ({ type }: Json): boolean => type === "integer" || type === "number";
  const cases = ASKED.flatMap((verb) => {
    const found = places(jsonOf(verb), isNumber);
    return found.length === 0 ? [] : [{ name: verb.name, verb, found }];
  });

  test.each(cases)("$name takes none that is out of its range", async ({ name, verb, found }) => {
    const call = memory[name as keyof typeof VERBS] as (input: object) => unknown;
    for (const [path, { type, minimum, maximum }] of found) {
      const end = type === "integer" ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE;
      const most = Number(maximum ?? end);
      const least = Number(minimum ?? -end);
      for (const value of [most, ...EXTREMES]) {
        const input = inputWith(verb, path, value);
        const what = `${path.join(".")} ${value}`;
        const { code, message } = await refusalOf(() => call.call(memory, input));
        const isOut =
          value > most || value < least || (type === "integer" && !Number.isSafeInteger(value));
        if (isOut) expect(code, what).toBeDefined();
        if (isOut) expect(message, what).toContain(nameIn(path));
        const route = ROUTES.get(name);
        if (route === undefined) continue;
        const { status, text } = await server.post(`/v1/${route.name}`, input);
        expect(status < 500, `${what}: ${text}`).toBe(true);
        if (isOut) expect(status, `${what}: ${text}`).toBe(400);
        if (isOut) expect(text, what).toContain(nameIn(path));
      }
    }
  });

  test("one as a parameter of an address as well", async () => {
    for (const at of ["log?from=9007199254740991", "journal-page?from=9007199254740991"]) {
      const { status, json } = await server.get(`/v1/${at}`);
      expect([status, json.code, json.field]).toEqual([400, "ERR_INVALID", "from"]);
    }
    expect((await server.get("/v1/log?from=9007199254740990")).status).toBe(200);
  });

  test("an entry that cannot be undone is told so by a status that the document has", async () => {
    const { status, json } = await server.post("/v1/revert", { seq: 0 });
    expect([status, json.code]).toEqual([409, "ERR_CONFLICT"]);
  });

  test("the last place of a session is taken, and read around; there is none after it", async () => {
    const last = 0xffff_fffe;
    const turn = { role: "user", content: "the very last word" } as const;
    await memory.remember([{ ...turn, index: last }], { session: "full" });
    const { hits } = await memory.recall("the very last word", { limit: 5 });
    expect(hits.length).toBeGreaterThan(0);
    expect(await codeOf(() => memory.remember([turn], { session: "full" }))).toBe("ERR_TOO_LARGE");
  });
});

describe("names", () => {
  const isName = ({ pattern }: Json): boolean => String(pattern ?? "").includes("\\u202e");
  const cases = ASKED.flatMap((verb) => {
    const found = places(jsonOf(verb), isName);
    return found.length === 0 ? [] : [{ name: verb.name, verb, found }];
  });
  const MARKS = ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff"];

  test("are what tags, kinds, slots, sessions and authors are", () => {
    const known = new Set(cases.flatMap(({ found }) => found.map(([path]) => String(path[0]))));
    for (const name of ["tags", "kind", "kinds", "slot", "session", "by", "reason"]) {
      expect(name === "reason" ? !known.has(name) : known.has(name), name).toBe(true);
    }
  });

  test.each(cases)("of $name have no mark that turns text round", async ({ name, verb, found }) => {
    const call = memory[name as keyof typeof VERBS] as (input: object) => unknown;
    for (const [path] of found) {
      for (const mark of MARKS) {
        const input = inputWith(verb, path, `a${mark}b`);
        const code = await codeOf(() => call.call(memory, input));
        expect(code, `${path.join(".")} ${mark.codePointAt(0)?.toString(16)}`).toBeDefined();
      }
    }
  });
});

describe("a member called __proto__", () => {
  const SPELLED = ["__proto__", "\\u005f_proto__", "_\\u005Fproto__", "__\\u0070roto__"];

  test.each([...ROUTES.values()].filter(({ methods }) => methods.includes("POST")))(
    "is refused by $name, however it is spelled",
    async ({ name }) => {
      for (const spelled of SPELLED) {
        for (const body of [`{"${spelled}": 1}`, `{"metadata": {"a": {"${spelled}": {}}}}`]) {
          const { status, json } = await server.post(`/v1/${name}`, body);
          expect([status, json.code, body]).toEqual([400, "ERR_UNKNOWN_FIELD", body]);
        }
      }
    },
  );

  test("is kept by the library, as any other name", async () => {
    const metadata = JSON.parse('{"a": {"__proto__": 1}}') as Json;
    const { id } = await memory.write({ type: "note", kind: "k", text: "with one", metadata });
    const found = await memory.get(id);
    expect(JSON.stringify(found?.data)).toContain('"__proto__":1');
  });
});

/** What the MCP door answers to one request. */
async function mcpAsk(method: string, params: object): Promise<{ error?: { code: number } }> {
  const headers = {
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
  };
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const { text } = await server.post("/mcp?profile=full", body, headers);
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { error?: { code: number } };
}

describe("MCP: what is wrong with an address or an argument is the caller's", () => {
  const ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const ADDRESSES: readonly unknown[] = [
    "",
    "::::",
    "nothing",
    "http://elsewhere",
    "cortex://",
    "cortex://default/Fact/nope",
    `cortex://default/Fact/${ULID}`,
    `cortex://default/Fact/${ULID}#0`,
    `cortex://default/Fact/${ULID}#9007199254740991`,
    "memgraph://%",
    "memgraph://default/%",
    "memgraph://default/%FF",
    `memgraph://default/${"x".repeat(5000)}`,
    5,
    null,
    undefined,
  ];

  test.each(ADDRESSES.map((uri) => ({ uri })))("$uri", async ({ uri }) => {
    const { error } = await mcpAsk("resources/read", { uri });
    expect(error?.code).toBe(-32602);
  });

  test.each([
    {},
    { name: 5 },
    { name: "nope" },
    { name: "remember_this" },
    { name: "remember_this", arguments: { text: 5 } },
    { name: "remember_this", arguments: { text: "x", more: "y" } },
  ])("prompt $name $arguments", async (params) => {
    const { error } = await mcpAsk("prompts/get", params);
    expect(error?.code).toBe(-32602);
  });
});
