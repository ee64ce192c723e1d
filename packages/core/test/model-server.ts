/**
 * A server that speaks chat completions for tests, on a port of its own, and plays the models one may
 * meet. What a good one says is given to it as a function of the document it was shown.
 *
 * Promise: requests are kept in order with what they asked; behaviours are used up one a request, and
 * after the last the server behaves. `close` ends connections that hang.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The document of a prompt, as the model reads it. */
export interface ShownDocument {
  readonly turns: readonly {
    readonly name: string;
    readonly role: string;
    readonly content: string;
  }[];
  readonly known: readonly {
    readonly name: string;
    readonly type: string;
    readonly text: string;
    readonly slot?: string;
  }[];
}

/** What a request said. */
export interface SeenPrompt {
  readonly authorization: string | undefined;
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly response_format?: { readonly type: string };
  readonly temperature?: number;
  readonly max_tokens?: number;
}

/** How one request is answered. */
export type ModelBehaviour =
  | "well"
  | "reset"
  | "silence"
  | "not json"
  | "ten megabytes"
  | "empty"
  | "cut off"
  | "redirect"
  | { readonly status: number; readonly retryAfter?: string; readonly code?: string }
  | { readonly says: string };

/** A running server. */
export interface ModelServer {
  readonly endpoint: string;
  readonly host: string;
  readonly seen: readonly SeenPrompt[];
  /** The documents it was shown. */
  shown(): readonly ShownDocument[];
  /** How the next requests are answered, one each. */
  behave(...next: readonly ModelBehaviour[]): void;
  close(): Promise<void>;
}

/** Starts a server whose good replies are what `reply` makes of the document. */
export async function startModelServer(
  reply: (document: ShownDocument) => unknown,
): Promise<ModelServer> {
  const seen: SeenPrompt[] = [];
  const planned: ModelBehaviour[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as SeenPrompt;
    const prompt = { ...body, authorization: request.headers.authorization };
    seen.push(prompt);
    respond(request, response, planned.shift() ?? "well", () => reply(documentOf(prompt)));
  };
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint: `http://${host}/v1/chat/completions`,
    host,
    seen,
    shown: () => seen.map(documentOf),
    behave: (...next) => void planned.push(...next),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

function documentOf({ messages }: SeenPrompt): ShownDocument {
  const text = messages.find(({ role }) => role === "user")?.content ?? "{}";
  try {
    return { turns: [], known: [], ...(JSON.parse(text) as Partial<ShownDocument>) };
  } catch {
    return { turns: [], known: [] };
  }
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: ModelBehaviour,
  good: () => unknown,
): void {
  response.setHeader("content-type", "application/json");
  const say = (content: string, end = "stop"): void => {
    const message = { role: "assistant", content };
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: end }] }));
  };
  if (typeof behaviour === "object") {
    if ("says" in behaviour) {
      say(behaviour.says);
      return;
    }
    const { status, retryAfter, code = "made_up" } = behaviour;
    response.statusCode = status;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    // Servers are known to quote what they were sent.
    const message = `refused: ${request.headers.authorization}`;
    response.end(JSON.stringify({ error: { code, message } }));
    return;
  }
  switch (behaviour) {
    case "well":
      say(JSON.stringify(good()));
      break;
    case "reset":
      request.socket.destroy();
      break;
    case "silence":
      break;
    case "not json":
      response.end("<html>Bad gateway</html>");
      break;
    case "ten megabytes":
      say(JSON.stringify({ facts: [], relationships: [], padding: "x".repeat(10_000_000) }));
      break;
    case "empty":
      say("");
      break;
    case "cut off":
      say('{"facts":[{"text":"Ada lives', "length");
      break;
    case "redirect":
      response.statusCode = 307;
      response.setHeader("location", "http://127.0.0.1:9/elsewhere");
      response.end();
      break;
  }
}
