/**
 * What turns a prompt into words, as Cortex sees it, the check that every model runs behind, and the one behind HTTP.
 *
 * A model is the caller's: an HTTP endpoint, a local one, or a function in a test. It
 * is used by `extract` and `relink` alone, and only when `open` was given one.
 *
 * Promise of the check: a reply is text of at most a megabyte. Whatever a model does otherwise is
 * `ERR_MODEL`, with its own failure as the cause. A failure whose `details.field` is `reply` says that
 * the model answered and the answer is no good: others may be answered better. Messages never quote
 * prompts or replies.
 *
 * Over HTTP it is asked in the form that OpenAI introduced and most servers speak: POST `{ model, messages }` to a
 * chat completions endpoint, answered by `{ choices: [{ message }] }`. The server is asked for JSON. What is tried
 * again, what is final and where the key goes is as `net/http-post.ts` says; an answer of more than a megabyte is
 * given up while it comes in. A reply that was cut off, refused or empty is a failure, never half a reply. Network,
 * time and chance are arguments (`http-services.ts` binds them).
 */
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import {
  checkApiKey,
  checkEndpoint,
  checkInteger,
  checkKnown,
  checkModelName,
  type HttpEffects,
  jsonObjectIn,
  type PostSettings,
  postJson,
} from "../net/http-post.js";

/** One message of a prompt. */
export interface ModelMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** What a model is asked. */
export interface ModelRequest {
  /** What it is to do; the messages are what it is to do it with. */
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  /** The shape of the JSON that the reply has to be, for models that can be held to one. */
  readonly jsonSchema?: { readonly [member: string]: unknown };
  /** Tokens that the reply may have. */
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
}

/** Answers prompts. */
export interface Model {
  /** Names the model and who serves it, such as `gpt-4.1-mini@api.openai.com`. */
  readonly name: string;
  /** The text of the reply. */
  complete(request: ModelRequest): Promise<string>;
}

/** Checks a model's own members, and from then on every reply it gives. */
export function checkModel(model: Model): Model {
  if (typeof model !== "object" || model === null || typeof model.complete !== "function") {
    throw invalid("model", "an object with name and complete", model);
  }
  const { name } = model;
  if (typeof name !== "string" || name === "" || name.length > LIMITS.labelBytes) {
    throw invalid("model.name", `a name of 1 to ${LIMITS.labelBytes} characters`, name);
  }
  return {
    name,
    async complete(request) {
      const reply: unknown = await called(model, request);
      if (typeof reply !== "string") {
        throw modelFailure(name, `expected text, got ${describe(reply)}`, undefined, "reply");
      }
      if (reply.length <= LIMITS.modelReplyBytes) return reply;
      const what = `expected at most ${LIMITS.modelReplyBytes} bytes, got more`;
      throw modelFailure(name, what, undefined, "reply");
    },
  };
}

async function called(model: Model, request: ModelRequest): Promise<unknown> {
  try {
    return await model.complete(request);
  } catch (cause) {
    if (isCortexError(cause, "ERR_MODEL")) throw cause;
    // What a foreign model says of its failure may quote the prompt: it is kept as the cause alone.
    const what = request.signal?.aborted === true ? "was stopped" : "failed; the cause is attached";
    throw modelFailure(model.name, what, cause);
  }
}

/** A failure of a model; `reply` blames what it answered, `input` what it was asked. */
export function modelFailure(
  name: string,
  what: string,
  cause?: unknown,
  field?: "input" | "reply",
): CortexError {
  const details = { subject: name, ...(field === undefined ? {} : { field }) };
  return new CortexError("ERR_MODEL", `model ${name}: ${what}`, details, cause);
}

/** Whether a failure is about one prompt or reply, so that another may go well. */
export function blamesReply(error: unknown): error is CortexError {
  return isCortexError(error, "ERR_MODEL") && error.details.field !== undefined;
}

/** The failure of whoever needs a model where none is configured. */
export function noModel(): CortexError {
  return new CortexError(
    "ERR_NO_MODEL",
    "model: expected one, got none; give open() a model, or set model.endpoint",
    { field: "model" },
  );
}

/** How a server is asked for JSON: by a schema, by the word alone, or not at all. */
type JsonMode = "schema" | "object" | "off";

/** Where the model is and how it is asked. */
export interface HttpModelOptions {
  /** The full address, such as `https://api.openai.com/v1/chat/completions`. */
  readonly endpoint: string;
  /** The model's name, as the server knows it. */
  readonly model: string;
  /** Sent as a bearer token. Nothing is read from the environment. */
  readonly apiKey?: string;
  /** `object` unless given, which most servers know; `off` for those that refuse to be told. */
  readonly jsonMode?: JsonMode;
  /** Sent when given; some models refuse any but their own. */
  readonly temperature?: number;
  /** Milliseconds for one request; 60,000 unless given. */
  readonly timeoutMs?: number;
  /** How often a request is tried again; 2 unless given. */
  readonly retries?: number;
  /** The first pause before a request is tried again; 1,000 unless given. */
  readonly backoffMs?: number;
}

const KNOWN = [
  "endpoint",
  "model",
  "apiKey",
  "jsonMode",
  "temperature",
  "timeoutMs",
  "retries",
  "backoffMs",
];
const TIMEOUT_MS = 60_000;
const RETRIES = 2;
const BACKOFF_MS = 1000;

/** A model over HTTP, with the world given to it. */
export function httpModelOver(options: HttpModelOptions, effects: HttpEffects): Model {
  checkKnown(options, KNOWN);
  const { endpoint, host } = checkEndpoint(options.endpoint);
  const model = checkModelName(options.model);
  const name = `${model}@${host}`;
  const jsonMode = checkJsonMode(options.jsonMode);
  const temperature = checkTemperature(options.temperature);
  const settings: PostSettings = {
    endpoint,
    apiKey: checkApiKey(options.apiKey),
    timeoutMs: checkInteger("timeoutMs", options.timeoutMs ?? TIMEOUT_MS, 1),
    retries: checkInteger("retries", options.retries ?? RETRIES, 0),
    backoffMs: checkInteger("backoffMs", options.backoffMs ?? BACKOFF_MS, 0),
  };
  return {
    name,
    complete: (request) =>
      postJson(
        settings,
        {
          body: {
            model,
            messages: [{ role: "system", content: request.system }, ...request.messages],
            ...formatOf(jsonMode, request),
            ...(request.maxTokens === undefined ? {} : { max_tokens: request.maxTokens }),
            ...(temperature === undefined ? {} : { temperature }),
          },
          answerBytes: LIMITS.modelReplyBytes,
          signal: request.signal,
          failure: (what, cause, field) => modelFailure(name, what, cause, field),
          read: (text) => replyIn(name, text),
        },
        effects,
      ),
  };
}

function checkJsonMode(mode: unknown = "object"): JsonMode {
  if (mode === "schema" || mode === "object" || mode === "off") return mode;
  throw invalid("jsonMode", "schema, object or off", mode);
}

function checkTemperature(temperature: unknown): number | undefined {
  if (temperature === undefined) return undefined;
  if (typeof temperature === "number" && temperature >= 0 && temperature <= 2) return temperature;
  throw invalid("temperature", "a number from 0 to 2", temperature);
}

function formatOf(mode: JsonMode, { jsonSchema }: ModelRequest): object {
  if (mode === "off") return {};
  if (mode === "object" || jsonSchema === undefined) {
    return { response_format: { type: "json_object" } };
  }
  const json_schema = { name: "reply", schema: jsonSchema, strict: true };
  return { response_format: { type: "json_schema", json_schema } };
}

/** The reply in an answer, whole. */
function replyIn(name: string, text: string): string {
  const choices = jsonObjectIn(text)?.choices;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (typeof choice !== "object" || choice === null) {
    throw modelFailure(name, "expected JSON with choices, got something else", undefined, "reply");
  }
  const { message, finish_reason: end } = choice as { message?: unknown; finish_reason?: unknown };
  if (end === "length" || end === "content_filter") {
    throw modelFailure(name, `the reply was cut off (${end})`, undefined, "reply");
  }
  const content: unknown = (message as { content?: unknown } | null | undefined)?.content;
  if (typeof content === "string" && content.trim() !== "") return content;
  throw modelFailure(name, "expected a message with content, got none", undefined, "reply");
}
