/**
 * The built server as a process of its own, driven over stdio by the official client, or by hand where
 * a client would not do such things.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { MAIN, NO_EMBEDDER } from "./cortex-process.js";

/** How a server is started. */
export interface Start {
  readonly args: readonly string[];
  readonly home: string;
  readonly cwd?: string;
  /** The newest revision of the protocol instead of the handshake that clients of today use. */
  readonly modern?: boolean;
}

/** A client that is connected. */
export interface Connected {
  readonly client: Client;
  readonly pid: number;
  /** Calls a tool: its structured answer and its text, or the failure that it tells. */
  call(name: string, args?: Record<string, unknown>): Promise<Called>;
  /** Everything the server wrote to stderr so far. */
  readonly log: () => string;
}

/** What a tool answered. */
export interface Called {
  readonly text: string;
  readonly answer: { readonly [member: string]: unknown };
  readonly failure?: { readonly code: string; readonly message: string; readonly advice: string };
}

/** Starts a server and connects. */
export async function connect({ args, home, cwd, modern }: Start): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp", ...args],
    env: { PATH: process.env.PATH ?? "", HOME: home, ...NO_EMBEDDER },
    stderr: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
  });
  let log = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const client = new Client(
    { name: "test client", version: "1.0.0" },
    modern === true ? { versionNegotiation: { mode: "auto" } } : {},
  );
  await client.connect(transport);
  const { pid } = transport;
  if (pid === null) throw new Error("the server has no process");
  return { client, pid, log: () => log, call: (name, given) => call(client, name, given) };
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Called> {
  const result = await client.callTool({ name, arguments: args });
  const [first] = result.content;
  const text = first?.type === "text" ? first.text : "";
  const answer = (result.structuredContent ?? {}) as Called["answer"];
  if (result.isError !== true) return { text, answer };
  return { text, answer, failure: JSON.parse(text) as NonNullable<Called["failure"]> };
}

/** A server whose lines are written and read one by one. */
export interface RawServer {
  readonly child: ChildProcessWithoutNullStreams;
  /** Writes a line: text as it is, anything else as JSON. */
  send(line: unknown): void;
  /** The next line that the server writes. */
  next(): Promise<{ readonly [member: string]: unknown }>;
  /** Everything the server wrote to stdout, line by line, when it has ended; and how it ended. */
  readonly ended: Promise<{ readonly exit: number | null; readonly signal: string | null }>;
  readonly log: () => string;
}

/** Starts a server without a client. */
export function startRaw({ args, home, cwd }: Start): RawServer {
  const child = spawn(process.execPath, [MAIN, "mcp", ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: home, ...NO_EMBEDDER },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let [out, log] = ["", ""];
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  child.stdout.on("data", (chunk: Buffer) => {
    const parts = (out + chunk.toString()).split("\n");
    out = parts.pop() ?? "";
    for (const line of parts) {
      const taker = waiting.shift();
      if (taker === undefined) lines.push(line);
      else taker(line);
    }
  });
  child.stdin.on("error", () => {
    // A server that has ended takes no more: tests see how it ended.
  });
  return {
    child,
    send: (line) => {
      child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
    },
    next: async () => {
      const known = lines.shift();
      const line = known ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
      return JSON.parse(line) as { readonly [member: string]: unknown };
    },
    ended: new Promise((resolve) => {
      child.once("close", (exit, signal) => resolve({ exit, signal }));
    }),
    log: () => log,
  };
}

/** The handshake of a client without a library. */
export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "by hand", version: "1" },
  },
} as const;

/** A call of a tool, as a message. */
export function toolCall(id: number, name: string, args: Record<string, unknown>) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } } as const;
}
