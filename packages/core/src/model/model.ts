/**
 * What turns a prompt into words, as Cortex sees it, and the check that every model runs behind.
 *
 * A model is the caller's: an HTTP endpoint (`http-model.ts`), a local one, or a function in a test. It
 * is used by `extract` and `relink` alone, and only when `open` was given one.
 *
 * Promise of the check: a reply is text of at most a megabyte. Whatever a model does otherwise is
 * `ERR_MODEL`, with its own failure as the cause. A failure whose `details.field` is `reply` says that
 * the model answered and the answer is no good: others may be answered better. Messages never quote
 * prompts or replies.
 */
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";

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
