/**
 * What a holder of a scope is answered over REST and MCP is a function of what the holder may see: two
 * stores that differ only in the rest give the same status, headers and body, byte for byte. Every
 * operation and every tool is asked, with inputs made from its own schema; and what a taken name shows,
 * which cannot be helped, is written down here exactly.
 */
import type { Cortex } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { TEST_EPOCH_MS } from "../../core/src/testing/index.js";
import {
  hiddenNames,
  SECONDS,
  SECRET_CLAIM,
  type Twin,
  twinScope,
  twins,
} from "../../core/test/twin-stores.js";
import { serveSettingsFor } from "../src/config.js";
import { type App, makeApp } from "../src/http/app.js";
import { type Route, routesOf } from "../src/http/routes.js";
import { Stores } from "../src/http/stores.js";
import { MEMGRAPH_TOOLS } from "../src/mcp/tools-memgraph.js";
import { STANDARD_TOOLS } from "../src/mcp/tools-standard.js";
import { hasBody } from "../src/memgraph/call.js";
import { MEMGRAPH_ROUTES } from "../src/memgraph/table.js";
import { OPERATIONS } from "../src/operations.js";
import { readServeOptions } from "../src/settings.js";

type Json = { readonly [keyword: string]: unknown };
type Input = { readonly [field: string]: unknown };

const SEED = 3;
const HIDDEN = hiddenNames(SEED);
const POSITION = TEST_EPOCH_MS + 105 * SECONDS;
const TOKEN = "the-admin-token-of-this-test";

/** The one store, whoever is asked for. */
function oneStore(memory: Cortex): Stores {
  const stores = new Stores({ location: "memory:", isFolder: () => false });
  const use = <T>(_: unknown, __: string, work: (memory: Cortex) => Promise<T>): Promise<T> =>
    work(memory);
  return Object.assign(stores, { use });
}

function appOver(memory: Cortex): App {
  const serve = serveSettingsFor({ port: "0", token: TOKEN }, { env: {} });
  const options = readServeOptions(serve, () => ({ text: "", mode: undefined }));
  return makeApp({
    operations: OPERATIONS,
    options,
    actor: "ada",
    version: "0.0.0",
    stores: oneStore(memory),
    bodyLimitBytes: options.bodyLimitBytes,
    location: "memory:",
    settings: [],
    writeLog: () => {},
    clock: () => TEST_EPOCH_MS,
    nowMs: () => 0,
  });
}

let sides: readonly { readonly twin: Twin; readonly app: App }[];
let headers: { readonly [name: string]: string };
let number = 0;
/** A scope that holds at both, to hand in. */
let scopeText = "";

beforeAll(async () => {
  const { plain, busy, end } = await twins(SEED);
  sides = [plain, busy].map((twin) => ({ twin, app: appOver(twin.memory) }));
  number = end;
  headers = {
    Authorization: `Bearer ${await twinScope({ grantedTo: "bearer:me", writable: true })}`,
    Accept: "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
    "X-Request-Id": "one",
  };
  scopeText = await twinScope({ grantedTo: "bearer:another" });
});

afterAll(async () => {
  for (const { twin, app } of sides) {
    await app.stop();
    await twin.memory.close();
  }
});

interface Sent {
  readonly method: "GET" | "POST" | "HEAD" | "OPTIONS" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly more?: { readonly [name: string]: string };
}

/** Status, headers and body of both stores, at one moment. */
async function bothAnswers({ method, path, body, more }: Sent): Promise<readonly string[]> {
  number += 1;
  const answers: string[] = [];
  for (const { twin, app } of sides) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const length = text === undefined ? {} : { "Content-Length": `${Buffer.byteLength(text)}` };
    const request = new Request(`http://127.0.0.1${path}`, {
      method,
      headers: Object.entries({ ...headers, ...length, ...more }).filter(
        ([, value]) => value !== "",
      ),
      ...(text === undefined ? {} : { body: text }),
    });
    const response = await twin.step(number, () => app.fetch(request));
    const told = [...response.headers].map(([name, value]) => `${name}: ${value}`).sort();
    answers.push(`${response.status}\n${await response.text()}\n${told.join("\n")}`);
  }
  return answers;
}

/** Where the answers part; nothing where they are the same. */
async function parting(sent: Sent): Promise<readonly string[]> {
  const [a = "", b = ""] = await bothAnswers(sent);
  if (a === b) return a.startsWith("500") ? [`${sent.path} ${JSON.stringify(sent.body)} ${a}`] : [];
  let at = 0;
  while (a[at] === b[at]) at += 1;
  const from = Math.max(0, at - 80);
  const asked = `${sent.method} ${sent.path} ${JSON.stringify(sent.body)}`;
  return [`${asked}\n    ${a.slice(from, at + 60)}\n    ${b.slice(from, at + 60)}`];
}

/** Of what both show, what nobody has, and what one hides. The library is asked for every memory. */
const REFS = ["draft", "nobody", HIDDEN.externalId];

/** What is put into a field of a name; hidden names are among the values, but where they would be taken. */
const NAMED: { readonly [field: string]: readonly unknown[] } = {
  text: ["Porto", SECRET_CLAIM],
  question: ["Where is the hotel in Porto?", "secretword"],
  questions: [["hotel in Porto", "secretreason"]],
  queries: [["Porto", "secretword"]],
  query: ["Porto", "secretreason"],
  session: ["mine"],
  slot: ["home city"],
  externalId: [],
  id: REFS,
  ref: REFS,
  lineage_id: REFS,
  from: REFS,
  to: REFS,
  item: ["disputed-nobody"],
  keep: REFS,
  supersedes: REFS.map((ref) => [ref]),
  corrects: REFS,
  derivedFrom: [[]],
  uri: ["cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1"],
  kind: ["page", "relates_to", HIDDEN.kind],
  kinds: [["page"], ["relates_to"], [HIDDEN.kind]],
  tags: [["trip"], [HIDDEN.tag]],
  tag: ["trip", HIDDEN.tag],
  cited: [["a", HIDDEN.externalId, HIDDEN.asked]],
  asOf: [POSITION],
  validAt: [POSITION],
  idempotencyKey: [HIDDEN.key],
  cursor: ["AAAA"],
  graph_id: ["ada"],
  turns: [[{ role: "user", content: "hello Porto" }]],
  atomic: [true, false],
  items: [
    [
      { write: { type: "note", text: "in a batch", tags: ["trip"] } },
      { update: { id: HIDDEN.externalId, text: "t" } },
      { write: { type: "identity", text: "Ada", source: "user_input" } },
    ],
  ],
};

/** Values of a field that only reading may have: a write that took the name would show that it is taken. */
const READ_ONLY: { readonly [field: string]: readonly unknown[] } = {
  session: ["chat", HIDDEN.session],
  slot: [HIDDEN.slot],
};

function valuesOf(name: string, json: Json, isRead: boolean): readonly unknown[] {
  if (name === "scope") return [scopeText];
  const named = NAMED[name];
  if (named !== undefined) return [...named, ...(isRead ? (READ_ONLY[name] ?? []) : [])];
  if (Array.isArray(json.enum)) return json.enum.slice(0, 1);
  const [first] = (json.anyOf ?? json.oneOf ?? []) as readonly Json[];
  if (first !== undefined) return valuesOf(name, first, isRead).slice(0, 1);
  switch (json.type) {
    case "boolean":
      return [true];
    case "integer":
    case "number":
      return [Math.max(2, Number(json.minimum ?? 1))];
    case "array":
      return valuesOf("", (json.items ?? {}) as Json, isRead).map((one) => [one]);
    case "object":
      return [plainInput(json, isRead)];
    default:
      return ["Porto"];
  }
}

function plainInput(json: Json, isRead: boolean): Input {
  const properties = (json.properties ?? {}) as { readonly [name: string]: Json };
  const required = (json.required ?? []) as readonly string[];
  return Object.fromEntries(
    required.map((name) => [name, valuesOf(name, properties[name] ?? {}, isRead)[0] ?? "x"]),
  );
}

/** The plainest input, and for every field each of its values. */
function inputsOf(json: Json, isRead: boolean): readonly Input[] {
  const plain = plainInput(json, isRead);
  const properties = Object.entries((json.properties ?? {}) as { readonly [name: string]: Json });
  const inputs = properties.flatMap(([name, one]) =>
    valuesOf(name, one, isRead).map((value) => ({ ...plain, [name]: value })),
  );
  return [plain, ...inputs];
}

const jsonOf = (schema: z.ZodType): Json =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;

const ASKED: readonly Route[] = routesOf(OPERATIONS).filter(
  ({ unavailable, file, operation }) =>
    unavailable === undefined && file === undefined && operation.stream === undefined,
);
const isReading = ({ operation }: Route): boolean => operation.kind === "read";

/** The requests for one route: as a body, and every other one as parameters where it reads. */
function requestsFor(route: Route): readonly Sent[] {
  const isRead = isReading(route);
  return inputsOf(jsonOf(route.operation.input), isRead).map((input, at): Sent => {
    const path = `/v1/${route.name}`;
    if (!isRead || at % 2 === 0) return { method: "POST", path, body: input };
    const pairs = Object.entries(input).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one): [string, string] => [
        name,
        typeof one === "object" ? JSON.stringify(one) : String(one),
      ]),
    );
    return { method: "GET", path: `${path}?${new URLSearchParams(pairs)}` };
  });
}

describe("over REST", () => {
  test("every operation that reads", async () => {
    const found: string[] = [];
    for (const route of ASKED.filter(isReading)) {
      for (const sent of requestsFor(route)) found.push(...(await parting(sent)));
    }
    expect(found).toEqual([]);
  });

  test("every operation that writes, and what is read after that", async () => {
    const found: string[] = [];
    for (const route of ASKED.filter((one) => !isReading(one))) {
      for (const sent of requestsFor(route)) found.push(...(await parting(sent)));
    }
    for (const name of ["find", "list", "search", "recall", "context", "review"]) {
      const body = name === "find" || name === "list" ? { limit: 20 } : {};
      const text = name === "search" ? { text: "Porto" } : {};
      const asked = name === "recall" ? { question: "Porto" } : {};
      const input = { ...body, ...text, ...asked };
      found.push(...(await parting({ method: "POST", path: `/v1/${name}`, body: input })));
    }
    expect(found).toEqual([]);
  });

  test("files, streams, memgraph's routes, and methods that give no body", async () => {
    const routes = routesOf(OPERATIONS).filter(({ unavailable }) => unavailable === undefined);
    const paths = routes.flatMap((route) => {
      const input = plainInput(jsonOf(route.operation.input), isReading(route));
      const words = Object.entries(input).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      return [`/v1/${route.name}?${new URLSearchParams(words)}`];
    });
    const memgraph = MEMGRAPH_ROUTES.map(
      ({ route }): Sent => ({
        method: route.method,
        path: `/v1${route.path.replaceAll(/:\w+/g, HIDDEN.externalId)}`,
        ...(hasBody(route) ? { body: {} } : {}),
      }),
    );
    const files = routes
      .filter(({ file, operation }) => file !== undefined || operation.stream !== undefined)
      .flatMap(({ name }): readonly Sent[] => [
        { method: "GET", path: `/v1/${name}` },
        { method: "POST", path: `/v1/${name}`, body: {} },
      ]);
    expect(files.length).toBeGreaterThan(4);
    const bare = paths.flatMap((path): readonly Sent[] => [
      { method: "HEAD", path },
      { method: "OPTIONS", path },
    ]);
    const found: string[] = [];
    for (const sent of [...memgraph, ...files, ...bare]) found.push(...(await parting(sent)));
    expect(found).toEqual([]);
  });

  test("a page after a page, by the addresses that the answers give", async () => {
    for (const start of ["/v1/list?limit=2", "/v1/find?tags=trip&limit=2", "/v1/review?limit=1"]) {
      let pages = 0;
      for (let path: string | undefined = start; path !== undefined && pages < 20; pages += 1) {
        const [a = "", b] = await bothAnswers({ method: "GET", path });
        expect(b).toBe(a);
        path = /^link: <([^>]+)>/m.exec(a)?.[1];
      }
      expect(pages).toBeGreaterThan(start.includes("review") ? 0 : 1);
    }
  });

  test("a scope that is handed in, by its holder and by a stranger: no position", async () => {
    const body = { scope: scopeText };
    for (const more of [{}, { Authorization: "" }]) {
      const [a = "", b] = await bothAnswers({ method: "POST", path: "/v1/post-scope", body, more });
      expect([a.slice(0, 3), b]).toEqual(["200", a]);
      expect(a).toContain('"seq":0}');
    }
  });

  test("a misspelt path, and an answer that is known already", async () => {
    const [a = ""] = await bothAnswers({ method: "GET", path: "/v1/get?id=b" });
    const tag = /^etag: (.*)$/m.exec(a)?.[1] ?? "";
    expect(tag).not.toBe("");
    const known = { "If-None-Match": tag };
    const [c, d] = await bothAnswers({ method: "GET", path: "/v1/get?id=b", more: known });
    expect([c?.slice(0, 3), d]).toEqual(["304", c]);
    expect(await parting({ method: "GET", path: "/v1/fnid" })).toEqual([]);
  });
});

describe("over MCP", () => {
  test("resources, prompts and completions, in every profile", async () => {
    const memory = (id: string): string => `cortex://ada/Fact/${id}`;
    const uris = ["cortex://ada", "memgraph://ada", `memgraph://ada/${HIDDEN.externalId}`];
    const [, shown = ""] = /"id":"(\w{26})"/.exec(
      (await bothAnswers({ method: "GET", path: "/v1/get?id=b" }))[0] ?? "",
    ) ?? [""];
    const read = [...uris, memory(shown), memory("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "cortex://bob"];
    const ref = { type: "ref/resource", uri: "cortex://{actor}/{type}/{id}" };
    const asked: readonly (readonly [string, object])[] = [
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["prompts/list", {}],
      ["prompts/get", { name: "what_do_you_know", arguments: { topic: "Porto" } }],
      ...read.map((uri) => ["resources/read", { uri }] as const),
      ...["actor", "type", "id"].map(
        (name) => ["completion/complete", { ref, argument: { name, value: "" } }] as const,
      ),
      ["resources/subscribe", { uri: "cortex://ada" }],
    ];
    const found: string[] = [];
    for (const profile of ["standard", "full", "memgraph"]) {
      for (const [method, params] of asked) {
        const body = { jsonrpc: "2.0", id: 1, method, params };
        const path = `/mcp?profile=${profile}`;
        found.push(...(await parting({ method: "POST", path, body })));
      }
      const list = { jsonrpc: "2.0", id: 1, method: "resources/list", params: {} };
      const path = `/mcp?profile=${profile}`;
      const [listed] = await bothAnswers({ method: "POST", path, body: list });
      expect([profile, listed]).toEqual([profile, expect.stringContaining('"resources":[')]);
    }
    expect(found).toEqual([]);
  });

  test("every tool that is more than an operation of REST, memgraph's among them", async () => {
    const found: string[] = [];
    // Each in the smallest profile that has it: a request makes all the tools of its profile.
    for (const [profile, tools] of Object.entries({
      standard: STANDARD_TOOLS,
      memgraph: MEMGRAPH_TOOLS,
    })) {
      const path = `/mcp?profile=${profile}`;
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
      const [listed] = await bothAnswers({ method: "POST", path, body: list });
      for (const tool of tools) {
        expect(listed).toContain(`"name":"${tool.name}"`);
        const isRead = tool.effect === "read";
        const inputs = inputsOf(tool.inputSchema() as Json, isRead);
        // memgraph's tools refuse every scope before they look at what is asked.
        for (const input of profile === "memgraph" ? inputs.slice(0, 1) : inputs) {
          const params = { name: tool.name, arguments: input };
          const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
          found.push(...(await parting({ method: "POST", path, body })));
        }
      }
    }
    expect(found).toEqual([]);
  });
});

describe("what a taken name shows to a holder who writes", () => {
  const fact = { type: "fact", text: "Grace keeps it", tags: ["trip"] };

  /** Code and detail of both answers. */
  async function told(path: string, body: object): Promise<readonly unknown[]> {
    const answers = await bothAnswers({ method: "POST", path, body });
    return answers.map((answer) => {
      const json = JSON.parse(answer.split("\n")[1] ?? "") as Json;
      return [json.code ?? "done", json.detail ?? ""];
    });
  }

  test("an external id: that there is such a name", async () => {
    const body = { ...fact, externalId: HIDDEN.externalId };
    const named = `externalId: expected a new name, got "${HIDDEN.externalId}", which is a memory's`;
    expect(await told("/v1/write", body)).toEqual([
      ["done", ""],
      ["ERR_EXISTS", named],
    ]);
  });

  test("a slot and a session: that it may not be written there", async () => {
    const denied = ["ERR_DENIED", expect.stringMatching(/^scope: [^"]*$/)];
    expect(await told("/v1/write", { ...fact, slot: HIDDEN.slot })).toEqual([["done", ""], denied]);
    const turns = [{ role: "user", content: "hello" }];
    for (const session of [HIDDEN.session, "chat"]) {
      expect(await told("/v1/remember", { session, turns })).toEqual([["done", ""], denied]);
    }
  });

  test("an idempotency key: nothing", async () => {
    for (const text of ["one", "another"]) {
      const body = { type: "note", text, tags: ["trip"], idempotencyKey: HIDDEN.key };
      expect(await parting({ method: "POST", path: "/v1/write", body })).toEqual([]);
    }
  });
});
