/**
 * A real server inside the test, on a free port over a folder of its own, or over a hub of its own in the
 * database of `CORTEX_TEST_POSTGRES`, and clients for it: fetch for
 * requests, and bare sockets for what no client would send.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { hubIn } from "../../core/src/testing/fixtures.js";
import { type ServeSettingName, serveSettingsFor } from "../src/config.js";
import { startServer } from "../src/http/server.js";
import { Stores, type StoresOptions } from "../src/http/stores.js";
import type { Operation } from "../src/operations/define.js";
import { OPERATIONS } from "../src/operations.js";
import { readServeOptions } from "../src/settings.js";

/** An answer, read to its end. */
export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; empty when it is none. */
  readonly json: Readonly<Record<string, unknown>>;
}

/**
 * A connection of its own for a request. A server closes a connection that has idled for five seconds; a test that
 * was held up for as long, by a process that it waited for, would send its next request into the closed one.
 */
export const ALONE = { Connection: "close" } as const;

/** A server of a test. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** A folder of its own: that of the stores, unless they are in a database. */
  readonly folder: string;
  /** Where its stores are. */
  readonly location: string;
  /** What it reaches its stores through. */
  readonly stores: Stores;
  /** Lines of the log so far. */
  logged(): readonly Readonly<Record<string, unknown>>[];
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Got>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Got>;
  /** Sends bytes as they are and reads until the server closes, or until `enough` says so. */
  raw(bytes: string | Uint8Array, enough?: (text: string) => boolean): Promise<string>;
  close(): Promise<void>;
}

/** How a server of a test differs from the usual one. */
export interface TestServerOptions {
  readonly settings?: { readonly [name in ServeSettingName]?: string };
  readonly operations?: readonly Operation[];
  readonly location?: string;
  /** How its stores are opened and kept. */
  readonly opening?: Omit<StoresOptions, "location" | "isFolder">;
}

/** Starts a server. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "cortex-http-"));
  const serve = serveSettingsFor({ port: "0", ...options.settings }, { env: {} });
  const read = readServeOptions(serve, () => ({ text: "", mode: undefined }));
  const database = process.env.CORTEX_TEST_POSTGRES;
  const location = options.location ?? (database ? hubIn(database) : folder);
  const stores = new Stores({ location, isFolder, ...options.opening });
  let log = "";
  const server = await startServer({
    operations: options.operations ?? OPERATIONS,
    options: read,
    actor: "default",
    version: "0.0.0",
    stores,
    bodyLimitBytes: read.bodyLimitBytes,
    location,
    settings: [],
    writeLog: (text) => {
      log += text;
    },
    clock: Date.now,
    nowMs: () => performance.now(),
  });
  const { url, port } = server;
  return {
    url,
    port,
    folder,
    location,
    stores,
    logged: () =>
      log
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    get: async (path, headers = {}) =>
      readAll(await fetch(url + path, { headers: { ...ALONE, ...headers } })),
    post: async (path, body, headers = {}) =>
      readAll(
        await fetch(url + path, {
          method: "POST",
          headers: { ...ALONE, "Content-Type": "application/json", ...headers },
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
      ),
    raw: (bytes, enough) => exchange(port, bytes, enough),
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Reads an answer to its end. */
export async function readAll(response: Response): Promise<Got> {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** Sends bytes over a socket and gives what came back. */
export function exchange(
  port: number,
  bytes: string | Uint8Array,
  enough: (text: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ port, host: "127.0.0.1" }, () => socket.write(bytes));
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      if (enough(text)) socket.destroy();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // A server that refuses a body may close before it was all sent.
      if (error.code === "ECONNRESET" || error.code === "EPIPE") resolve(text);
      else reject(error);
    });
    socket.on("close", () => resolve(text));
  });
}

/** The status of an answer as it came over a socket. */
export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
}
