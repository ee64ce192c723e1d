/**
 * A recorded corpus of memgraph's calls and answers, replayed over MCP and REST and compared field by
 * field. `memgraph-corpus.jsonl` holds a line for each call, in the order of the calls: what is asked,
 * and what memgraph's specification says is answered. In it:
 *
 * - `$g1` and the like stand for ids: bound to what is answered first, the same ever after, in requests
 *   as in answers;
 * - `$time`, `$number` and `$text` stand for any of their kind;
 * - `{"$set": [...]}` is a list in any order, and a failure is the beginning of its text.
 */
import { readFileSync } from "node:fs";
import { type Cortex, type Hub, open, openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import { expect, test } from "vitest";
import { AGENT_ACCESS } from "../src/mcp/define.js";
import { serveStreams } from "../src/mcp/sdk-stdio.js";
import { readAll, startTestServer } from "./http-server.js";

type Json = { readonly [member: string]: unknown };

interface Line extends Json {
  readonly call?: string;
  readonly arguments?: Json;
  readonly method?: string;
  readonly path?: string;
  readonly body?: Json;
  readonly status?: number;
  readonly answer?: unknown;
  readonly error?: string;
  readonly error_code?: string;
}

const LINES = readFileSync(new URL("memgraph-corpus.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Line);

const NAME = /\$[gnle]\d+/g;

/** What names stand for, as far as answers have told. */
class Names {
  readonly #bound = new Map<string, unknown>();

  /** A value with its names replaced by what they stand for. */
  filled<T>(value: T, encode: (text: string) => string = (text) => text): T {
    const text = JSON.stringify(value).replace(NAME, (name) => {
      const bound = this.#bound.get(name);
      return JSON.stringify(encode(String(bound ?? name))).slice(1, -1);
    });
    return JSON.parse(text) as T;
  }

  /** How an answer differs from what is expected; names that are met first are bound. */
  difference(expected: unknown, got: unknown, at = ""): string | undefined {
    if (typeof expected === "string") return this.#text(expected, got, at);
    if (Array.isArray(expected)) return this.#list(expected, got, at);
    if (typeof expected !== "object" || expected === null) {
      return Object.is(expected, got) ? undefined : told(at, expected, got);
    }
    const set = (expected as { readonly $set?: readonly unknown[] }).$set;
    if (set !== undefined) return this.#set(set, got, at);
    if (typeof got !== "object" || got === null) return told(at, expected, got);
    const [wanted, given] = [expected as Json, got as Json];
    const members = new Set([...Object.keys(wanted), ...Object.keys(given)]);
    for (const name of members) {
      if (Object.hasOwn(wanted, name) !== Object.hasOwn(given, name)) {
        return told(`${at}.${name}`, wanted[name], given[name]);
      }
      const found = this.difference(wanted[name], given[name], `${at}.${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #text(expected: string, got: unknown, at: string): string | undefined {
    const is = (fits: boolean): string | undefined => (fits ? undefined : told(at, expected, got));
    if (expected === "$time") return is(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(String(got)));
    if (expected === "$number") return is(typeof got === "number");
    if (expected === "$text") return is(typeof got === "string" && got !== "");
    if (expected.startsWith("^")) return is(String(got).startsWith(expected.slice(1)));
    if (!/^\$[gnle]\d+$/.test(expected)) return is(expected === got);
    if (!this.#bound.has(expected) && typeof got === "string") this.#bound.set(expected, got);
    return is(this.#bound.get(expected) === got);
  }

  #list(expected: readonly unknown[], got: unknown, at: string): string | undefined {
    if (!Array.isArray(got) || got.length !== expected.length) return told(at, expected, got);
    for (const [index, one] of expected.entries()) {
      const found = this.difference(one, got[index], `${at}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #set(expected: readonly unknown[], got: unknown, at: string): string | undefined {
    if (!Array.isArray(got) || got.length !== expected.length) return told(at, expected, got);
    const left = [...(got as readonly unknown[])];
    for (const one of expected) {
      const place = left.findIndex((each) => this.difference(one, each) === undefined);
      if (place < 0) return told(at, one, left);
      left.splice(place, 1);
    }
    return undefined;
  }
}

function told(at: string, expected: unknown, got: unknown): string {
  const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 600) ?? "nothing";
  return `${at}: expected ${shown(expected)}, got ${shown(got)}`;
}

/** A client of the stdio server, in this process: lines in, lines out. */
function client(hub: Hub, memory: Cortex) {
  const waiting = new Map<number, (message: Json) => void>();
  const lines: Uint8Array[] = [];
  let wake = (): void => {};
  let ended = false;
  async function* input(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const door = {
    memory,
    access: AGENT_ACCESS,
    location: "memory:",
    settings: [],
    profile: "memgraph",
    hub: async () => hub,
    log: () => {},
  } as const;
  const write = async (chunk: Uint8Array): Promise<void> => {
    for (const line of Buffer.from(chunk).toString().split("\n")) {
      if (line === "") continue;
      const message = JSON.parse(line) as Json;
      waiting.get(Number(message.id))?.(message);
    }
  };
  const { done } = serveStreams(door, { input: input(), write });
  let last = 0;
  const send = (...messages: readonly Json[]): void => {
    const said = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    lines.push(Buffer.from(said.join("")));
    wake();
  };
  return {
    send,
    ask(method: string, params: Json): Promise<Json> {
      last += 1;
      const id = last;
      send({ id, method, params });
      return new Promise((resolve) => {
        waiting.set(id, resolve);
      });
    },
    /** Told with the next answer to an id. */
    answerTo: (id: number, told: (message: Json) => void) => void waiting.set(id, told),
    async end() {
      ended = true;
      wake();
      await done;
    },
  };
}

const HANDSHAKE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "corpus", version: "1" },
};

/** Of a call that says this, nothing is known here: the SDK takes it. */
const MORE = { _meta: { "modelcontextprotocol.example/more": 1 } };

test("a plain call is answered as the SDK answers it, and not when it is cancelled", async () => {
  await using hub = await openHub("memory:");
  await using memory = await open("memory:");
  const mcp = client(hub, memory);
  await mcp.ask("initialize", HANDSHAKE);
  mcp.send({ method: "notifications/initialized" });
  const made = { name: "memgraph_create_graph", arguments: { name: "g" } };
  expect(await mcp.ask("tools/call", { ...made, _meta: { progressToken: 7 } })).toMatchObject({
    result: { structuredContent: { name: "g", conflict_policy: "lww" } },
  });
  const calls: readonly Json[] = [
    { name: "memgraph_list_graphs" },
    { name: "memgraph_list_graphs", arguments: {} },
    { name: "memgraph_list_graphs", arguments: null },
    { name: "memgraph_get_node", arguments: { lineage_id: "nobody" } },
    { name: "memgraph_get_node", arguments: { lineage_id: 5, __proto__: { x: 1 }, more: true } },
    { name: "memgraph_nothing", arguments: {} },
    { name: "toString" },
    { name: 5 },
    { arguments: {} },
  ];
  for (const params of calls) {
    const [{ id: _, ...own }, { id: __, ...others }] = [
      await mcp.ask("tools/call", params),
      await mcp.ask("tools/call", { ...params, ...MORE }),
    ];
    expect(own, JSON.stringify(params)).toEqual(others);
  }
  let isAnswered = false;
  mcp.answerTo(1000, () => {
    isAnswered = true;
  });
  const { graphs } = await hub.listGraphs();
  const node = { graph_id: graphs[0]?.id, kind: "n", content: "kept", lineage_id: "a" };
  mcp.send(
    { id: 1000, method: "tools/call", params: { name: "memgraph_put_node", arguments: node } },
    { method: "notifications/cancelled", params: { requestId: 1000 } },
  );
  const asked = { name: "memgraph_get_node", arguments: { lineage_id: "a" } };
  await expect
    .poll(() => mcp.ask("tools/call", asked))
    .toMatchObject({
      result: { structuredContent: { content: "kept" } },
    });
  await mcp.end();
  expect(isAnswered).toBe(false);
});

test("calls that are sent without waiting begin in their order, from the handshake on", async () => {
  await using hub = await openHub("memory:");
  await using memory = await open("memory:");
  await hub.createGraph({ id: "g", name: "g" });
  // The lineage is known, so that every call takes the same way.
  const node = { kind: "n", lineageId: "a", content: "0" };
  await memgraph(hub).putNode("g", node, { access: AGENT_ACCESS });
  const mcp = client(hub, memory);
  const numbers = Array.from({ length: 30 }, (_, at) => at + 1);
  const calls = numbers.map((number) => ({
    id: 1000 + number,
    method: "tools/call",
    params: {
      name: "memgraph_put_node",
      arguments: { graph_id: "g", kind: "n", lineage_id: "a", content: String(number) },
      ...(number % 7 === 0 ? MORE : {}),
    },
  }));
  const answered = new Promise<void>((resolve) => {
    let left = calls.length;
    for (const { id } of calls) {
      mcp.answerTo(id, () => {
        left -= 1;
        if (left === 0) resolve();
      });
    }
  });
  mcp.send(
    { id: 1, method: "initialize", params: HANDSHAKE },
    { method: "notifications/initialized" },
    ...calls.slice(0, 10),
  );
  mcp.send(...calls.slice(10));
  await answered;
  const contents = (await memgraph(hub).history("a")).map(({ content }) => Number(content));
  expect(contents.reverse()).toEqual([0, ...numbers]);
  await mcp.end();
});

test("MCP: every recorded call has its recorded answer", async () => {
  const calls = LINES.filter(({ call }) => call !== undefined);
  expect(calls.length).toBeGreaterThanOrEqual(150);
  await using hub = await openHub("memory:");
  await using memory = await open("memory:");
  const names = new Names();
  const mcp = client(hub, memory);
  await mcp.ask("initialize", HANDSHAKE);
  mcp.send({ method: "notifications/initialized" });
  for (const [at, line] of calls.entries()) {
    const params = { name: `memgraph_${line.call}`, arguments: names.filled(line.arguments ?? {}) };
    const { result } = (await mcp.ask("tools/call", params)) as {
      readonly result: Json & { readonly content: readonly { readonly text: string }[] };
    };
    const where = `call ${at + 1}, ${JSON.stringify(params)}`;
    if (!/^(put|create|delete)_/.test(line.call ?? "")) {
      const again = await mcp.ask("tools/call", { ...params, ...MORE });
      expect(again.result, where).toEqual(result);
    }
    const text = result.content[0]?.text ?? "";
    expect(result.isError === true ? text : "answered", where).toEqual(
      line.error === undefined ? "answered" : expect.stringMatching(`^${line.error}`),
    );
    if (line.answer === undefined) continue;
    expect(names.difference(line.answer, result.structuredContent), where).toBeUndefined();
  }
  await mcp.end();
});

test("REST: every recorded request has its recorded answer", async () => {
  const requests = LINES.filter(({ method }) => method !== undefined);
  expect(requests.length).toBeGreaterThanOrEqual(100);
  const server = await startTestServer();
  try {
    const names = new Names();
    for (const [at, line] of requests.entries()) {
      const { method = "", body } = line;
      const path = names.filled(line.path ?? "", encodeURIComponent);
      const init =
        body === undefined
          ? { method }
          : {
              method,
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify(names.filled(body)),
            };
      const got = await readAll(await fetch(server.url + path, init));
      const where = `request ${at + 1}, ${method} ${path} ${JSON.stringify(body)}: ${got.text}`;
      expect(got.status, where).toBe(line.status);
      if (line.error !== undefined) {
        expect(String(got.json.error), where).toMatch(new RegExp(`^${line.error}`));
        expect(got.json.error_code, where).toBe(line.error_code);
      }
      if (line.answer === undefined) continue;
      expect(names.difference(line.answer, got.json), where).toBeUndefined();
    }
  } finally {
    await server.close();
  }
});
