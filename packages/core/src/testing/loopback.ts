/**
 * A real HTTP server on this machine, for tests of whoever speaks to one: it answers as the test says,
 * and can fall silent, cut a connection or break an answer off in the middle.
 *
 * Promise: it listens on loopback alone, notes every request before it is answered, and closing it ends
 * every connection, those that hang included. Nothing here knows a test runner.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the server saw it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** What stands behind the question mark. */
  readonly query: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What becomes of a request. */
export type Reply =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Begins, and is cut off. */
  | { readonly half: string; readonly type?: string }
  /** Begins, and never ends. */
  | { readonly begun: string; readonly type?: string }
  /** Never answered. */
  | "hold"
  /** The connection is cut before anything is answered. */
  | "cut";

/** How requests are answered. */
export type Answering = (asked: Asked) => Reply | Promise<Reply>;

/** A server of a test. */
export interface Loopback extends AsyncDisposable {
  readonly url: string;
  /** Requests so far. */
  readonly asked: readonly Asked[];
  /** Connections that are open now. */
  connections(): Promise<number>;
  /** Says how requests are answered from now on. */
  answer(how: Answering): void;
  close(): Promise<void>;
}

/** A reply of JSON. */
export function json(value: unknown, status = 200): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

/** A reply that tells of a failure, as a server of Cortex does. */
export function problem(status: number, members: object, headers = {}): Reply {
  const type = { "Content-Type": "application/problem+json", ...headers };
  return { status, headers: type, body: JSON.stringify(members) };
}

/** Starts a server. */
export async function startLoopback(how: Answering): Promise<Loopback> {
  let answering = how;
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    response.on("error", () => {});
    void readText(request)
      .then(async (body) => {
        const one = askedOf(request, body);
        asked.push(one);
        send(response, await answering(one));
      })
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let closing: Promise<unknown> | undefined;
  const close = async (): Promise<void> => {
    closing ??= once(server.close(), "close");
    server.closeAllConnections();
    await closing;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    answer: (next) => {
      answering = next;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function askedOf(request: IncomingMessage, body: string): Asked {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  return { method: request.method ?? "", path, query, headers: request.headers, body };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === "hold") return;
  if (reply === "cut") {
    response.destroy();
    return;
  }
  if ("begun" in reply || "half" in reply) {
    response.writeHead(200, { "Content-Type": reply.type ?? "application/json" });
    if ("begun" in reply) response.write(reply.begun);
    // Cut once the half is on its way, so that it arrives; its end, which says that it is whole, is not.
    else response.write(reply.half, () => response.destroy());
    return;
  }
  response.writeHead(reply.status ?? 200, reply.headers).end(reply.body ?? "");
}
