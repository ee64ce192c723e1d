/**
 * A server that speaks chat completions for tests, on a port of its own, and plays the models one may
 * meet. What a good one says is given to it as a function of the document it was shown.
 *
 * Promise: requests are kept in order with what they asked; behaviours are used up one a request, and
 * after the last the server behaves. `close` ends connections that hang.
 */
import type { ServerResponse } from "node:http";
import { type Fault, fail, isFault, startFaultyServer } from "./faulty-server.js";

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
  | "ten megabytes"
  | "empty"
  | "cut off"
  | "when told"
  | { readonly says: string }
  | Fault;

/** A running server. */
export interface ModelServer {
  readonly endpoint: string;
  readonly host: string;
  readonly seen: readonly SeenPrompt[];
  /** The documents it was shown. */
  shown(): readonly ShownDocument[];
  /** How the next requests are answered, one each. */
  behave(...next: readonly ModelBehaviour[]): void;
  /** Answers the requests that were to be answered when told, well and too late; says how many. */
  tell(): number;
  close(): Promise<void>;
}

/** Starts a server whose good replies are what `reply` makes of the document. */
export async function startModelServer(
  reply: (document: ShownDocument) => unknown,
): Promise<ModelServer> {
  const seen: SeenPrompt[] = [];
  const planned: ModelBehaviour[] = [];
  const held: (() => void)[] = [];
  const server = await startFaultyServer((request, response, body) => {
    const prompt = { ...(body as SeenPrompt), authorization: request.headers.authorization };
    seen.push(prompt);
    const behaviour = planned.shift() ?? "well";
    const answerAs = (how: Exclude<ModelBehaviour, "when told">): void => {
      if (isFault(how)) fail(request, response, how);
      else respond(response, how, () => reply(documentOf(prompt)));
    };
    if (behaviour === "when told") held.push(() => answerAs("well"));
    else answerAs(behaviour);
  });
  return {
    endpoint: `http://${server.host}/v1/chat/completions`,
    host: server.host,
    seen,
    shown: () => seen.map(documentOf),
    behave: (...next) => void planned.push(...next),
    tell() {
      const late = held.splice(0);
      for (const answerLate of late) answerLate();
      return late.length;
    },
    close: server.close,
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
  response: ServerResponse,
  behaviour: Exclude<ModelBehaviour, "when told" | Fault>,
  good: () => unknown,
): void {
  response.setHeader("content-type", "application/json");
  const say = (content: string, end = "stop"): void => {
    const message = { role: "assistant", content };
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: end }] }));
  };
  if (typeof behaviour === "object") {
    say(behaviour.says);
    return;
  }
  switch (behaviour) {
    case "well":
      say(JSON.stringify(good()));
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
  }
}
