/**
 * What the services of tests have in common, whatever protocol they speak: a port of their own, the body of
 * a request as JSON, and the faults that any service may have.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A fault that has nothing to do with what was asked. */
export type Fault =
  | "reset"
  | "silence"
  | "not json"
  | "redirect"
  | { readonly redirect: string }
  | { readonly status: number; readonly retryAfter?: string; readonly code?: string };

/** A server that listens. */
export interface Listening {
  readonly host: string;
  /** Ends it, and connections that hang. */
  close(): Promise<void>;
}

/** Answers one request, whose body is given as JSON. */
export type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) => Promise<void> | void;

/** Starts a server on a free port. */
export async function startFaultyServer(answer: Answer): Promise<Listening> {
  const server = createServer((request, response) => {
    const work = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      await answer(request, response, JSON.parse(Buffer.concat(chunks).toString("utf8")));
    };
    void work().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

/** Nobody listens there. */
const ELSEWHERE = "http://127.0.0.1:9/elsewhere";

/** Whether a behaviour is one of the faults. */
export function isFault(behaviour: unknown): behaviour is Fault {
  if (typeof behaviour === "object" && behaviour !== null) {
    return "status" in behaviour || "redirect" in behaviour;
  }
  return ["reset", "silence", "not json", "redirect"].includes(String(behaviour));
}

/** Answers by a fault. */
export function fail(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
  response.setHeader("content-type", "application/json");
  const redirect = (location: string): void => {
    response.statusCode = 307;
    response.setHeader("location", location);
    response.end();
  };
  if (typeof fault === "object") {
    if ("redirect" in fault) {
      redirect(fault.redirect);
      return;
    }
    const { status, retryAfter, code = "made_up" } = fault;
    response.statusCode = status;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    // Servers are known to quote what they were sent.
    const message = `refused: ${request.headers.authorization}`;
    response.end(JSON.stringify({ error: { code, message } }));
    return;
  }
  switch (fault) {
    case "reset":
      request.socket.destroy();
      break;
    case "silence":
      break;
    case "not json":
      response.end("<html>Bad gateway</html>");
      break;
    case "redirect":
      redirect(ELSEWHERE);
      break;
  }
}
