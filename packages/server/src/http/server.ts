/**
 * The socket around the routes: listening, limits of time, and an end that finishes what was accepted.
 *
 * Promise: a client that sends slowly, or takes its answer slowly, is cut off after the request timeout
 * and disturbs nobody. `close` stops accepting, answers every request that had arrived, ends streams,
 * closes the stores, and resolves when all of that is done.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { type App, type AppOptions, makeApp } from "./app.js";
import { HttpFailure, PROBLEM_TYPE, problemOf } from "./respond.js";

/** A server that listens. */
export interface RunningServer {
  /** Where it is, as a client on this machine would write it. */
  readonly url: string;
  readonly port: number;
  /** Ends it; may be called again. */
  close(): Promise<void>;
}

/** How often connections that idle are closed while the server ends. */
const CLOSE_EVERY_MS = 20;

/** How often the server looks for requests that take too long to arrive. */
const LOOK_MS_MAX = 1000;

/**
 * How long a connection stays for a next request. Where the server ends one at the moment at which a client sends, the
 * request fails, and one that writes is not sent again by itself. So it is longer than clients and proxies keep theirs,
 * mostly a minute. After Node's five seconds it happened to a client in a process that was busy for so long.
 */
const KEEP_ALIVE_MS = 75_000;

/** Bytes that the head of a request may have. */
const HEAD_BYTES = 16 * 1024;

/** Starts a server. */
export async function startServer(made: AppOptions): Promise<RunningServer> {
  const { host, port, requestTimeoutMs } = made.options;
  const app = makeApp(made);
  const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    // The adapter asks this only about requests it cannot read, such as a malformed address.
    errorHandler: () =>
      app.refuse(new HttpFailure("malformed", "request: expected a valid address")),
  });
  const exchanges = new Set<Exchange>();
  let closing: Promise<void> | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(LOOK_MS_MAX, requestTimeoutMs / 2),
      maxHeaderSize: HEAD_BYTES,
    },
    (incoming, outgoing) => {
      const exchange: Exchange = { incoming };
      exchanges.add(exchange);
      outgoing.once("close", () => {
        exchanges.delete(exchange);
        exchange.incoming = undefined;
      });
      // Not the time that an answer takes to be made: only bytes that nobody fetches count.
      outgoing.setTimeout(requestTimeoutMs);
      outgoing.on("timeout", endStalled);
      if (closing !== undefined) outgoing.setHeader("Connection", "close");
      void listener(incoming, outgoing);
    },
  );
  server.on("clientError", (error, socket) => answerUnreadable(error, socket as Socket));
  server.on("upgrade", (_, socket) => socket.destroy());
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  return {
    url: `http://${shownHost(host)}:${address.port}`,
    port: address.port,
    close() {
      closing ??= endServer(server, app, exchanges);
      return closing;
    },
  };
}

function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** An address as it stands in a URL; one that means every address is reached by the loopback one. */
function shownHost(host: string): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return reachable.includes(":") ? `[${reachable}]` : reachable;
}

/**
 * A request until the last byte of its answer is written or the connection is gone. It lets go of the request
 * then: a set that grows and shrinks leaves old tables behind for the garbage collector, and what hangs on
 * those lives long. With whole requests on them reads took a fifth more processor time.
 */
interface Exchange {
  incoming: IncomingMessage | undefined;
}

async function endServer(
  server: Server,
  app: App,
  exchanges: ReadonlySet<Exchange>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  await app.stop();
  const closeWhatIsDone = (): void => {
    // A connection that was kept alive for a next request gets none, and one that has not sent
    // its request by now has sent it too late.
    const isDone = [...exchanges].every(({ incoming }) => incoming?.complete !== true);
    if (isDone) server.closeAllConnections();
    else server.closeIdleConnections();
  };
  const closer = setInterval(closeWhatIsDone, CLOSE_EVERY_MS);
  closeWhatIsDone();
  await closed;
  clearInterval(closer);
}

/** Answers bytes that are no request, a head that is too long, and a request that never ends. */
function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const failure =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? new HttpFailure("timeout", "request: expected all of it in time")
      : error.code === "HPE_HEADER_OVERFLOW"
        ? new HttpFailure("headers", `request: expected a head of at most ${HEAD_BYTES} bytes`)
        : new HttpFailure("malformed", "request: expected HTTP/1.1");
  const { problem } = problemOf(failure, "none");
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${REASONS[problem.status] ?? "Bad Request"}\r\n` +
      `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

const REASONS: Readonly<Record<number, string>> = {
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};
