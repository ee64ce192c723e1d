/**
 * MCP over a pair of streams, one JSON document per line.
 *
 * Promises: the output carries the protocol and nothing else. When the input ends, or `stop` is called,
 * nothing more is read, every request that was accepted is finished and answered, and then the
 * connection closes; a reader that went away does not keep accepted work from being finished. A line
 * that is no JSON, no message or too long gets a JSON-RPC error and the next line is read. A client
 * that sends without reading is not read from once too many of its requests are waiting.
 *
 * A plain call of a tool, from a client that has introduced itself the older way, is answered here, as the SDK
 * would answer it: it takes a request apart nine times, which costs three times what reading a memory does.
 * Whatever is more than a plain call goes through the SDK.
 */
import { isAscii } from "node:buffer";
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Door } from "./define.js";
import { buildServer, type DirectCalls, directCalls } from "./sdk-server.js";

/** The largest message, in bytes: a save of ten thousand turns fits, a runaway client does not. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Requests that may be under way before reading waits. */
const UNDER_WAY_MAX = 1024;

/** The streams of a connection. */
interface Streams {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the next may follow; rejects when nobody reads any more. */
  readonly write: (chunk: Uint8Array) => Promise<void>;
}

/** A connection that is being served. */
interface Connection {
  /** Reads no more; what was accepted is finished. */
  stop(): void;
  /** Resolves when everything is finished and the connection is closed. */
  readonly done: Promise<void>;
}

/** Serves one connection over streams. */
export function serveStreams(door: Door, streams: Streams): Connection {
  const wire = new Wire(streams);
  const handle = serveStdio(
    async ({ era }) => {
      const server = await buildServer(door, { changes: era === "modern" ? "always" : "asked" });
      if (era === "legacy") {
        const calls = await directCalls(server, door);
        server.server.oninitialized = () => wire.callDirectly(calls);
      }
      return server;
    },
    { transport: wire, onerror: (error) => door.log(`protocol: ${error.message}`) },
  );
  return {
    stop: () => wire.stop(),
    done: wire.finished.then(() => handle.close()),
  };
}

const NEWLINE = 0x0a;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** A request that stays open for as long as its subscription does. */
const LISTEN = "subscriptions/listen";

/** The wire: lines in, lines out, and which requests are under way. */
class Wire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when no more is read and everything accepted has been answered. */
  readonly finished: Promise<void>;

  readonly #streams: Streams;
  readonly #underWay = new Set<RequestId>();
  /** Of these, the calls that are answered here. */
  readonly #direct = new Set<RequestId>();
  readonly #lines: string[] = [];
  #writing: Promise<void> | undefined;
  /** Ends the read that waits, if one does. */
  #endRead: (() => void) | undefined;
  #isStopped = false;
  #calls: DirectCalls | undefined;
  #finish: () => void = () => {};
  #wake: (() => void) | undefined;
  #isReading = true;
  #isClosed = false;

  constructor(streams: Streams) {
    this.#streams = streams;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  async start(): Promise<void> {
    void this.#read();
  }

  /** From now on plain calls of tools are answered here. */
  callDirectly(calls: DirectCalls): void {
    this.#calls = calls;
  }

  stop(): void {
    this.#isStopped = true;
    this.#endRead?.();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message);
    // What is sent was made here, and what was accepted is a message: its members tell which one.
    const isAnswer = "result" in message || "error" in message;
    if (isAnswer && message.id !== undefined) this.#settle(message.id);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.stop();
    // Nothing can be answered any more.
    this.#underWay.clear();
    this.#direct.clear();
    this.#wake?.();
    this.#finishWhenIdle();
    this.onclose?.();
  }

  #write(message: JSONRPCMessage): Promise<void> {
    return this.#writeJson(JSON.stringify(message));
  }

  /** Writes a line; lines that come while others are on their way go together. */
  #writeJson(message: string): Promise<void> {
    this.#lines.push(message, "\n");
    this.#writing ??= this.#writeLines();
    return this.#writing;
  }

  async #writeLines(): Promise<void> {
    // Answers of the same turn are one write: a write costs more than making a small answer.
    await Promise.resolve();
    while (this.#lines.length > 0) {
      const lines = this.#lines.splice(0);
      try {
        await this.#streams.write(Buffer.from(lines.join("")));
      } catch {
        // Nobody reads the answers any more: no more requests either, but the accepted ones go on.
        this.stop();
      }
    }
    // In the same step as the look at the lines, so that none can slip in between.
    this.#writing = undefined;
  }

  async #read(): Promise<void> {
    const lines = new LineReader(MESSAGE_BYTES_MAX);
    const input = this.#streams.input[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#next(input);
        if (next === undefined || next.done === true) break;
        for (const line of lines.add(next.value)) await this.#accept(line);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    this.#isReading = false;
    this.#finishWhenIdle();
  }

  /** The next chunk; `undefined` once nothing more is to be read. */
  #next(
    input: AsyncIterator<Uint8Array>,
  ): Promise<IteratorResult<Uint8Array> | undefined> | undefined {
    if (this.#isStopped) return undefined;
    // A race against one promise for all reads would keep something of every read until the end.
    return new Promise((resolve, reject) => {
      this.#endRead = () => resolve(undefined);
      input.next().then(resolve, reject);
    });
  }

  async #accept(line: Uint8Array | "too long"): Promise<void> {
    if (line === "too long") {
      const limit = `a message of at most ${MESSAGE_BYTES_MAX} bytes`;
      await this.#refuse(INVALID_REQUEST, `expected ${limit}`);
      return;
    }
    let value: unknown;
    try {
      const text = textOf(line);
      if (text.trim() === "") return;
      value = JSON.parse(text);
    } catch {
      await this.#refuse(PARSE_ERROR, "expected one JSON document per line");
      return;
    }
    if (!this.#callsTool(value) && !(await this.#passOn(value))) return;
    if (this.#underWay.size >= UNDER_WAY_MAX) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Hands a message to the SDK; false where it is none. */
  async #passOn(value: unknown): Promise<boolean> {
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      await this.#refuse(INVALID_REQUEST, "expected a JSON-RPC 2.0 message", idIn(value));
      return false;
    }
    this.#note(message);
    this.onmessage?.(message);
    return true;
  }

  /** Begins a plain call of a tool; false for anything else. */
  #callsTool(value: unknown): boolean {
    const call = this.#calls === undefined ? undefined : plainCall(value);
    if (call === undefined || this.#direct.has(call.id)) return false;
    // What was asked first begins first: behind a request that the SDK has, the SDK has the next as well.
    if (this.#underWay.size > this.#direct.size) return false;
    const run = this.#calls?.(call.name, call.given);
    if (run === undefined) return false;
    this.#underWay.add(call.id);
    this.#direct.add(call.id);
    void this.#answer(call.id, run);
    return true;
  }

  async #answer(id: RequestId, run: ReturnType<DirectCalls> & object): Promise<void> {
    try {
      const result = await run;
      // What is cancelled is not answered.
      if (!this.#underWay.has(id)) return;
      await this.#writeJson(`{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`);
      this.#settle(id);
    } catch (error) {
      // A tool tells its failures as answers: this is a fault of ours.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      if (this.#underWay.has(id))
        await this.#refuse(INTERNAL_ERROR, "a fault of cortex itself", id);
      this.#settle(id);
    }
  }

  #note(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) {
      if (message.method !== LISTEN) this.#underWay.add(message.id);
    } else if (message.method === "notifications/cancelled") {
      const cancelled = message.params?.requestId;
      // What is cancelled is not answered.
      if (cancelled !== undefined) this.#settle(cancelled as RequestId);
    }
  }

  #settle(id: RequestId): void {
    this.#underWay.delete(id);
    this.#direct.delete(id);
    if (this.#underWay.size < UNDER_WAY_MAX) this.#wake?.();
    this.#finishWhenIdle();
  }

  #finishWhenIdle(): void {
    if (!this.#isReading && this.#underWay.size === 0) this.#finish();
  }

  async #refuse(code: number, message: string, id: RequestId | null = null): Promise<void> {
    const answer = { jsonrpc: "2.0", id, error: { code, message } };
    await this.#write(answer as unknown as JSONRPCMessage);
  }
}

/** A call of a tool that says nothing beside its name and its arguments. */
interface PlainCall {
  readonly id: RequestId;
  readonly name: string;
  readonly given: object;
}

/** The call that a message is; `undefined` for any other message, and for a call that says more. */
function plainCall(value: unknown): PlainCall | undefined {
  if (!isMap(value) || value.method !== "tools/call" || value.jsonrpc !== "2.0") return undefined;
  const { id, params } = value;
  const isNamed = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if (!isNamed || Object.keys(value).length !== 4 || !isMap(params)) return undefined;
  const { name, arguments: given = {}, _meta: about = {} } = params;
  const isPlain = Object.keys(params).every((member) => CALL_MEMBERS.has(member));
  if (!isPlain || typeof name !== "string" || !isMap(given) || !isMap(about)) return undefined;
  // What the protocol itself says there is the SDK's to understand.
  if (Object.keys(about).some((member) => member.includes("modelcontextprotocol")))
    return undefined;
  return { id, name, given };
}

const CALL_MEMBERS: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);

function isMap(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The id of something that would be a request, were it well-formed. */
function idIn(value: unknown): RequestId | null {
  const id = (value as { readonly id?: unknown } | null)?.id;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** The text of a line; most are plain, and then nothing has to be decoded. */
function textOf(line: Uint8Array): string {
  return isAscii(line)
    ? Buffer.from(line.buffer, line.byteOffset, line.length).toString("latin1")
    : UTF8.decode(line);
}

/** Cuts chunks into lines; of a line that is too long only the fact is kept. */
class LineReader {
  readonly #bytesMax: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isSkipping = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Uint8Array): (Uint8Array | "too long")[] {
    const lines: (Uint8Array | "too long")[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#isSkipping ? "too long" : this.#joined());
      this.#chunks = [];
      this.#bytes = 0;
      this.#isSkipping = false;
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #joined(): Uint8Array {
    const [only] = this.#chunks;
    const isWhole = only !== undefined && this.#chunks.length === 1;
    return isWhole ? only : Buffer.concat(this.#chunks, this.#bytes);
  }

  #keep(piece: Uint8Array): void {
    if (this.#isSkipping || piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) {
      this.#isSkipping = true;
      this.#chunks = [];
      return;
    }
    this.#chunks.push(piece);
  }
}
