/**
 * A server that speaks the embeddings protocol for tests, on a port of its own, and misbehaves on
 * demand. Its vectors come from an embedder it is given, so that a test can tell what it should get.
 *
 * Promise: requests are kept in order with what they asked; behaviours are used up one a request, and
 * after the last the server behaves. `close` ends connections that hang.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Embedder } from "../src/vector/embedder.js";

/** How one request is answered. */
export type Behaviour =
  | "well"
  | "reversed"
  | "reset"
  | "silence"
  | "not json"
  | "no index"
  | "too few"
  | "too wide"
  | "with null"
  | "redirect"
  | { readonly status: number; readonly retryAfter?: string; readonly code?: string };

/** What a request said. */
export interface SeenRequest {
  readonly authorization: string | undefined;
  readonly model: string;
  readonly input: readonly string[];
  readonly dimensions?: number;
}

/** A running server. */
export interface EmbeddingsServer {
  readonly endpoint: string;
  readonly host: string;
  readonly seen: readonly SeenRequest[];
  /** How the next requests are answered, one each. */
  behave(...next: readonly Behaviour[]): void;
  close(): Promise<void>;
}

/** Starts a server over an embedder. */
export async function startEmbeddingsServer(embedder: Embedder): Promise<EmbeddingsServer> {
  const seen: SeenRequest[] = [];
  const planned: Behaviour[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Omit<
      SeenRequest,
      "authorization"
    >;
    seen.push({ ...body, authorization: request.headers.authorization });
    const vectors = await embedder.embed(body.input);
    respond(request, response, planned.shift() ?? "well", vectors);
  };
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint: `http://${host}/v1/embeddings`,
    host,
    seen,
    behave: (...next) => void planned.push(...next),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
  vectors: readonly Float32Array[],
): void {
  const data = vectors.map((vector, index) => ({ index, embedding: [...vector] as unknown[] }));
  if (typeof behaviour === "object") {
    const { status, retryAfter, code = "made_up" } = behaviour;
    response.statusCode = status;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    // Servers are known to quote what they were sent.
    response.end(
      JSON.stringify({ error: { code, message: `refused: ${request.headers.authorization}` } }),
    );
    return;
  }
  response.setHeader("content-type", "application/json");
  const send = (items: readonly unknown[]): void => {
    response.end(JSON.stringify({ data: items }));
  };
  switch (behaviour) {
    case "well":
      send(data);
      break;
    case "reversed":
      send(data.toReversed());
      break;
    case "reset":
      request.socket.destroy();
      break;
    case "silence":
      break;
    case "not json":
      response.end("<html>Bad gateway</html>");
      break;
    case "no index":
      send(data.map(({ embedding }) => ({ embedding })));
      break;
    case "too few":
      send(data.slice(1));
      break;
    case "too wide":
      send(data.map((item) => ({ ...item, embedding: [...item.embedding, 0.5] })));
      break;
    case "with null":
      send(data.map((item) => ({ ...item, embedding: [null, ...item.embedding.slice(1)] })));
      break;
    case "redirect":
      response.statusCode = 307;
      response.setHeader("location", "http://127.0.0.1:9/elsewhere");
      response.end();
      break;
  }
}
