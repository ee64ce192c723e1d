/**
 * A server that speaks the embeddings protocol for tests, on a port of its own, and misbehaves on
 * demand. Its vectors come from an embedder it is given, so that a test can tell what it should get.
 *
 * Promise: requests are kept in order with what they asked; behaviours are used up one a request, and
 * after the last the server behaves. `close` ends connections that hang.
 */
import type { ServerResponse } from "node:http";
import type { Embedder } from "../src/vector/embedder.js";
import { type Fault, fail, isFault, startFaultyServer } from "./faulty-server.js";

/** How one request is answered. */
export type Behaviour =
  | "well"
  | "reversed"
  | "no index"
  | "too few"
  | "too wide"
  | "with null"
  | Fault;

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
  const server = await startFaultyServer(async (request, response, body) => {
    const asked = body as Omit<SeenRequest, "authorization">;
    seen.push({ ...asked, authorization: request.headers.authorization });
    const vectors = await embedder.embed(asked.input);
    const behaviour = planned.shift() ?? "well";
    if (isFault(behaviour)) fail(request, response, behaviour);
    else respond(response, behaviour, vectors);
  });
  return {
    endpoint: `http://${server.host}/v1/embeddings`,
    host: server.host,
    seen,
    behave: (...next) => void planned.push(...next),
    close: server.close,
  };
}

function respond(
  response: ServerResponse,
  behaviour: Exclude<Behaviour, Fault>,
  vectors: readonly Float32Array[],
): void {
  const data = vectors.map((vector, index) => ({ index, embedding: [...vector] as unknown[] }));
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
  }
}
