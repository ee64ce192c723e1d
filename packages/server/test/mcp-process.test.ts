/** The MCP server as a process: streams, ends, bad lines, other processes, and what clients paste. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { open } from "@cortex-memory/core";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENTS } from "../src/cli/clients.js";
import { userDataFolder } from "../src/config.js";
import { IS_PUBLISHED } from "../src/version.js";
import { type Ended, makePlace, type Place } from "./cortex-process.js";
import { connect, INITIALIZE, type RawServer, startRaw, toolCall } from "./mcp-client.js";

let place: Place;
beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

/** A server without a client, past the handshake. */
async function started(data = place.data): Promise<RawServer> {
  const server = startRaw({ args: ["--data", data], home: place.home });
  server.send(INITIALIZE);
  expect(await server.next()).toMatchObject({ id: 0, result: { serverInfo: { name: "cortex" } } });
  server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return server;
}

const remember = (id: number, text: string) => toolCall(id, "memory_remember", { text });

/** Texts of the facts in the store. */
async function facts(data = place.data): Promise<readonly string[]> {
  await using memory = await open(data);
  const { memories } = await memory.list({ type: ["fact"], limit: 10_000 });
  return memories.map(({ text }) => text);
}

describe("the end of a connection", () => {
  test("stdin ends: what was accepted is stored and answered, exit 0", async () => {
    const server = await started();
    for (let id = 1; id <= 50; id += 1) server.send(remember(id, `Accepted number ${id}`));
    server.child.stdin.end();
    const answered = new Set<unknown>();
    for (let at = 0; at < 50; at += 1) {
      const { id, result } = await server.next();
      expect(result).toMatchObject({ structuredContent: { version: 1 } });
      answered.add(id);
    }
    expect(answered.size).toBe(50);
    expect(await server.ended).toEqual({ exit: 0, signal: null });
    const kept = await facts();
    expect(kept.filter((text) => text.startsWith("Accepted number"))).toHaveLength(50);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s: the same", async (signal) => {
    const server = await started();
    server.send(remember(1, `Accepted before ${signal}`));
    await server.next();
    const calls = Array.from({ length: 19 }, (_, at) =>
      JSON.stringify(remember(at + 2, `Just before ${signal} ${at}`)),
    );
    // One write, so that all of them have come when the first is answered.
    server.send(calls.join("\n"));
    await server.next();
    server.child.kill(signal);
    expect(await server.ended).toEqual({ exit: 0, signal: null });
    const kept = await facts();
    expect(kept.filter((text) => text.startsWith(`Just before ${signal}`))).toHaveLength(19);
  });

  test("nobody reads the answers: what was accepted is stored all the same", async () => {
    const server = await started();
    server.child.stdout.destroy();
    for (let id = 1; id <= 20; id += 1) server.send(remember(id, `Nobody listens ${id}`));
    server.child.stdin.end();
    expect(await server.ended).toEqual({ exit: 0, signal: null });
    const kept = await facts();
    expect(kept.filter((text) => text.startsWith("Nobody listens"))).toHaveLength(20);
  });

  test("kill -9: whatever was answered is there, and the next server starts", async () => {
    const first = await connect({ args: ["--data", place.data], home: place.home });
    const { answer } = await first.call("memory_remember", { text: "Written before the kill" });
    process.kill(first.pid, "SIGKILL");
    const second = await connect({ args: ["--data", place.data], home: place.home });
    const found = await second.call("memory_get", { id: answer.id });
    expect(found.answer).toMatchObject({ text: "Written before the kill" });
    await second.client.close();
    await first.client.close();
    await using memory = await open(place.data);
    expect((await memory.check()).ok).toBe(true);
  });
});

describe("bad lines", () => {
  const DEEP = 100_000;
  const BAD: readonly (readonly [string, string | Uint8Array, number])[] = [
    ["no JSON", "{\n", -32700],
    ["bytes that are no text", Uint8Array.of(0xff, 0xfe, 0x0a), -32700],
    ["no message", '{"hello": 1}\n', -32600],
    ["a batch", "[]\n", -32600],
    ["a number", "7\n", -32600],
    ["another protocol", '{"jsonrpc": "1.0", "id": 3, "method": "ping"}\n', -32600],
    ["a line that is too long", `"${"x".repeat(17 * 1024 * 1024)}"\n`, -32600],
  ];

  test("each is refused, and the next line is served", async () => {
    const server = await started("memory:");
    for (const [what, line, code] of BAD) {
      server.child.stdin.write(line);
      expect(await server.next(), what).toMatchObject({ error: { code } });
      server.send({ jsonrpc: "2.0", id: 9, method: "ping" });
      expect(await server.next(), what).toEqual({ jsonrpc: "2.0", id: 9, result: {} });
    }
    server.child.stdin.end();
    expect(await server.ended).toEqual({ exit: 0, signal: null });
  });

  test("deep nesting in an argument is refused, and nothing falls over", async () => {
    const server = await started("memory:");
    const nested = [
      `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`,
      `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`,
    ];
    for (const [at, value] of nested.entries()) {
      const call = toolCall(at, "memory_revise", { id: "x", basedOnVersion: 1, data: "NESTED" });
      server.send(JSON.stringify(call).replace('"NESTED"', value));
      const { id, result, error } = await server.next();
      expect(id).toBe(at);
      expect(error ?? result).toMatchObject(
        error === undefined ? { isError: true } : { code: -32603 },
      );
      server.send({ jsonrpc: "2.0", id: 9, method: "ping" });
      expect(await server.next()).toEqual({ jsonrpc: "2.0", id: 9, result: {} });
    }
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual({ exit: 0, signal: null });
  });

  test("an unknown method is a JSON-RPC error; blank lines are nothing", async () => {
    const server = await started("memory:");
    server.send("");
    server.send("   ");
    server.send({ jsonrpc: "2.0", id: 1, method: "memory/nonsense" });
    expect(await server.next()).toMatchObject({ id: 1, error: { code: -32601 } });
    server.child.stdin.end();
    await server.ended;
  });

  test("thousands of requests that nobody waits for are all answered", async () => {
    const server = await started("memory:");
    const count = 5000;
    for (let id = 1; id <= count; id += 1) server.send({ jsonrpc: "2.0", id, method: "ping" });
    const ids = new Set<unknown>();
    for (let at = 0; at < count; at += 1) ids.add((await server.next()).id);
    expect(ids.size).toBe(count);
    server.child.stdin.end();
    expect(await server.ended).toEqual({ exit: 0, signal: null });
  });
});

describe("streams and stores", () => {
  test("stdout carries the protocol alone; stderr says which store", async () => {
    const server = await started();
    server.send(remember(1, "Only protocol on stdout"));
    expect(await server.next()).toMatchObject({ jsonrpc: "2.0", id: 1 });
    server.child.stdin.end();
    await server.ended;
    expect(server.log()).toBe(`cortex: ${place.shown}, actor default\n`);
  });

  test("with the root folder as cwd, the first write goes to the user's data folder", async () => {
    const fresh = makePlace();
    try {
      const server = await connect({ args: [], home: fresh.home, cwd: "/" });
      const { failure } = await server.call("memory_remember", { text: "First of all" });
      expect(failure).toBeUndefined();
      await server.client.close();
      const { platform } = process;
      const folder = userDataFolder({ env: {}, home: fresh.home, platform });
      expect(existsSync(join(folder, "default"))).toBe(true);
      expect(await facts(folder)).toEqual(["First of all"]);
    } finally {
      fresh.remove();
    }
  });

  test("two servers on one folder lose nothing and see each other's writes", async () => {
    const fresh = makePlace();
    const start = { args: ["--data", fresh.data, "--actor", "ada"], home: fresh.home };
    const [one, two] = await Promise.all([connect(start), connect(start)]);
    try {
      const each = 40;
      const writes = Array.from({ length: each }, (_, at) => [
        one.call("memory_remember", { text: `One says ${at}` }),
        two.call("memory_remember", { text: `Two says ${at}` }),
      ]).flat();
      const done = await Promise.all(writes);
      expect(done.filter(({ failure }) => failure !== undefined)).toEqual([]);
      const last = done.at(-1)?.answer.id;
      expect((await one.call("memory_get", { id: last })).answer).toMatchObject({
        text: `Two says ${each - 1}`,
      });
      expect(new Set(done.map(({ answer }) => answer.seq)).size).toBe(2 * each);
    } finally {
      await Promise.all([one.client.close(), two.client.close()]);
      fresh.remove();
    }
  });

  test("a store that cannot be opened is said on stderr, with exit 1", async () => {
    const { exit, out, err } = await place.bare(["mcp", "--data", "mysql://nowhere/x"]);
    expect([exit, out]).toEqual([1, ""]);
    expect(err).toContain("ERR_UNSUPPORTED");
  });

  test("a profile that there is not is used wrongly", async () => {
    const { exit, err } = await place.bare(["mcp", "--profile", "huge"]);
    expect(exit).toBe(2);
    expect(err).toContain("try: cortex mcp --help");
  });
});

describe("what clients paste", () => {
  interface Server {
    readonly command: string;
    readonly args: readonly string[];
  }

  /** The block that a client is told to paste, and its server. */
  function pasted({ exit, out, err }: Ended): Server {
    expect([exit, err.includes("add this to")]).toEqual([0, true]);
    const block = JSON.parse(out) as { readonly [member: string]: { readonly cortex: Server } };
    const [member] = Object.values(block);
    if (member === undefined) throw new Error("the block names no server");
    return member.cortex;
  }

  /** Asks for a client's block inside the test. */
  const blockOf = (...words: readonly string[]): Promise<Ended> =>
    place.bare(["mcp", "config", ...words], { cwd: place.folder });

  test.each(Object.keys(CLIENTS))("%s gets a block with absolute paths", async (client) => {
    const { command, args } = pasted(await blockOf(client, "--data", "relative", "--actor", "ada"));
    expect([command, args[0]].map((path) => isAbsolute(path ?? ""))).toEqual([true, true]);
    const data = join(place.folder, "relative");
    expect(args.slice(1)).toEqual(["mcp", "--data", data, "--actor", "ada"]);
  });

  test("the block starts a server, from any folder", async () => {
    const words = ["mcp", "config", "claude", "--data", "pasted", "--actor", "ada"];
    const { command, args } = pasted(place.process(words, { cwd: place.folder }));
    const env = { HOME: place.home };
    const started = new Client({ name: "pasted", version: "1" });
    await started.connect(
      new StdioClientTransport({ command, args: [...args], env, cwd: "/", stderr: "ignore" }),
    );
    expect((await started.listResources()).resources).toMatchObject([{ uri: "cortex://ada" }]);
    await started.close();
    expect(existsSync(join(place.folder, "pasted", "ada"))).toBe(true);
  });

  test("with another profile when asked", async () => {
    const { args } = pasted(await blockOf("cursor", "--profile", "full"));
    expect(args.slice(-2)).toEqual(["--profile", "full"]);
  });

  test("through npx only once the package is published: the name could be anybody's", async () => {
    const { exit, err, out } = await blockOf("cursor", "--npx");
    if (IS_PUBLISHED) expect(out).toContain("@cortex-memory/server");
    else expect([exit, err]).toEqual([2, expect.stringContaining("in no registry yet")]);
  });

  test("a client that is not known is used wrongly, and the known ones are named", async () => {
    const { exit, err } = await blockOf("nonsense");
    expect(exit).toBe(2);
    for (const name of Object.keys(CLIENTS)) expect(err).toContain(name);
  });
});
