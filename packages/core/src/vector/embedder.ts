/**
 * What turns text into vectors, as Cortex sees it, and the check that every embedder runs behind.
 *
 * An embedder is the caller's: a local model, an HTTP endpoint (`http-embedder.ts`), or the stub for
 * tests (`hashEmbedder`). Its `model` names the space its vectors live in: vectors of two models
 * are never compared, and a store keeps those of each apart. The root of a store never depends on it.
 *
 * Promise of the check: as many vectors as texts, each as wide as announced, finite, of unit length.
 * Whatever an embedder does otherwise is `ERR_EMBEDDER`, with its own failure as the cause. A failure
 * whose `details.field` is `input` says that the text is at fault, not the embedder: a worker may go
 * on with the next text then. Messages never quote the texts.
 *
 * An embedder without a model: the vector of a text is made from its hash. Equal texts get equal
 * vectors, and that is all they say. It serves tests and examples, which must not need a network.
 *
 * Promise: the same bytes on every machine. The first block is SHA-256 of `hash-stub.v1`, the salt
 * and the text; every next one is the hash of the block before. A block gives eight big-endian 32-bit
 * numbers, each turned into `n / 2^31 - 1`; the whole is then brought to unit length. The model is
 * `hash-stub@` and the first 8 hex digits of SHA-256 over `hash-stub.v1`, the dimensions (8 bytes,
 * big-endian) and the salt.
 */

import { HASH_BYTES } from "../codec/hash.js";
import { concatBytes, keyOf, readU32, toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { utf8 } from "../codec/text.js";
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { unitVector } from "./distance.js";

/** Turns texts into vectors of one model. */
export interface Embedder {
  /** Names the model and who serves it, such as `text-embedding-3-small@api.openai.com`. */
  readonly model: string;
  /** How many numbers a vector has. */
  readonly dimensions: number;
  /** True where a text takes microseconds and no network: a question then waits for what is not embedded. */
  readonly isQuick?: boolean;
  /** One vector for each text, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
  /** The vector of a question, for models that embed questions otherwise than texts. */
  embedQuery?(text: string, signal?: AbortSignal): Promise<Float32Array>;
}

/** An embedder whose answers hold what the file header promises. */
export interface CheckedEmbedder extends Embedder {
  embedQuery(text: string, signal?: AbortSignal): Promise<Float32Array>;
}

/** Checks an embedder's own members, and from then on every answer it gives. */
export function checkEmbedder(embedder: Embedder): CheckedEmbedder {
  const { model, dimensions } = checkMembers(embedder);
  const isQuick = embedder.isQuick === true;
  const embed = async (
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> => {
    if (texts.length === 0) return [];
    const answer: unknown = await called(() => embedder.embed(texts, signal), model, signal);
    if (!Array.isArray(answer) || answer.length !== texts.length) {
      throw wrong(model, `${texts.length} vectors`, describe(answer));
    }
    return answer.map((vector: unknown) => checkVector(vector, model, dimensions));
  };
  return {
    model,
    dimensions,
    isQuick,
    embed,
    async embedQuery(text, signal) {
      const own = embedder.embedQuery?.bind(embedder);
      if (own !== undefined) {
        return checkVector(await called(() => own(text, signal), model, signal), model, dimensions);
      }
      const [vector] = await embed([text], signal);
      if (vector === undefined) throw wrong(model, "1 vector", "none");
      return vector;
    },
  };
}

/** Whether a failure says that the text cannot be embedded, by this embedder, ever. */
export function refusesText(error: unknown): boolean {
  return isCortexError(error, "ERR_EMBEDDER") && error.details.field === "input";
}

function checkMembers(embedder: Embedder): Pick<Embedder, "model" | "dimensions"> {
  if (typeof embedder !== "object" || embedder === null || typeof embedder.embed !== "function") {
    throw invalid("embedder", "an object with model, dimensions and embed", embedder);
  }
  const { model, dimensions } = embedder;
  if (typeof model !== "string" || model === "" || model.length > LIMITS.labelBytes) {
    throw invalid("embedder.model", `a name of 1 to ${LIMITS.labelBytes} characters`, model);
  }
  return { model, dimensions: checkDimensions(dimensions, "embedder.dimensions") };
}

/** Checks the width of vectors. */
export function checkDimensions(dimensions: unknown, field: string): number {
  const most = LIMITS.vectorDimensions;
  if (
    typeof dimensions === "number" &&
    Number.isSafeInteger(dimensions) &&
    dimensions >= 1 &&
    dimensions <= most
  ) {
    return dimensions;
  }
  throw invalid(field, `an integer from 1 to ${most}`, dimensions);
}

/** The embedder's answer; a failure that is not ours yet becomes ours. */
async function called<T>(
  call: () => Promise<T>,
  model: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (isCortexError(cause)) throw cause;
    const what = signal?.aborted === true ? "was stopped" : `failed: ${messageOf(cause)}`;
    throw new CortexError("ERR_EMBEDDER", `embedder ${model} ${what}`, { subject: model }, cause);
  }
}

/** The first words of a foreign failure: enough to act on, too few for much of a text. */
function messageOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : describe(cause);
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}

function checkVector(vector: unknown, model: string, dimensions: number): Float32Array {
  if (!(vector instanceof Float32Array) || vector.length !== dimensions) {
    const got = vector instanceof Float32Array ? `${vector.length} numbers` : `${describe(vector)}`;
    throw wrong(model, `a Float32Array of ${dimensions} numbers`, got);
  }
  const unit = unitVector(vector);
  if (unit !== undefined) return unit;
  throw new CortexError(
    "ERR_EMBEDDER",
    `embedder ${model}: expected finite numbers that are not all zero, got something else for a text`,
    { field: "input", subject: model },
  );
}

function wrong(model: string, expected: string, got: string): CortexError {
  const message = `embedder ${model}: expected ${expected}, got ${got}`;
  return new CortexError("ERR_EMBEDDER", message, { subject: model, expected, got });
}

/** How the stub is made. */
export interface HashEmbedderOptions {
  /** 768 unless given. */
  readonly dimensions?: number;
  /** Makes another space of the same width. */
  readonly salt?: string;
}

const NAME = utf8("hash-stub.v1");
const DIMENSIONS_DEFAULT = 768;
const TWO_31 = 2 ** 31;

/** Makes the stub. */
export function hashEmbedder(options: HashEmbedderOptions = {}): Embedder {
  const dimensions = checkDimensions(options.dimensions ?? DIMENSIONS_DEFAULT, "dimensions");
  const salt = utf8(options.salt ?? "");
  // A key of one byte and a u64, without the byte: the eight bytes of the number.
  const width = keyOf(0).u64(dimensions).end().subarray(1);
  const digest = toHex(sha256Pure(concatBytes(NAME, width, salt))).slice(0, 8);
  return {
    model: `hash-stub@${digest}`,
    dimensions,
    embed: async (texts) => texts.map((text) => hashVector(utf8(text), salt, dimensions)),
  };
}

function hashVector(text: Uint8Array, salt: Uint8Array, dimensions: number): Float32Array {
  const raw = new Float32Array(dimensions);
  let block = sha256Pure(concatBytes(NAME, salt, text));
  for (let at = 0; at < dimensions; at += 1) {
    const offset = (4 * at) % HASH_BYTES;
    if (at > 0 && offset === 0) block = sha256Pure(block);
    raw[at] = readU32(block, offset) / TWO_31 - 1;
  }
  // One number alone may be a zero; its direction is then as good as any other.
  return unitVector(raw) ?? Float32Array.from(raw, (_, at) => (at === 0 ? 1 : 0));
}
