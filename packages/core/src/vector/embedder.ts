/**
 * What turns text into vectors, as Cortex sees it, the check that every embedder runs behind, and two embedders: one
 * behind HTTP, and a stub for tests.
 *
 * An embedder is the caller's. Its `model` names the space its vectors live in: vectors of two models
 * are never compared, and a store keeps those of each apart. The root of a store never depends on it.
 *
 * Promise of the check: as many vectors as texts, each as wide as announced, finite, of unit length.
 * Whatever an embedder does otherwise is `ERR_EMBEDDER`, with its own failure as the cause. A failure
 * whose `details.field` is `input` says that the text is at fault, not the embedder: a worker may go
 * on with the next text then. Messages never quote the texts.
 *
 * Over HTTP it is asked in the form that OpenAI introduced and most servers speak: POST `{ model, input: [texts] }`,
 * answered by `{ data: [{ index, embedding }] }`. Texts go out in batches and vectors come back in the order of the
 * texts, whatever the order of the answer. What is tried again, what is final and where the key goes is as
 * `net/http-post.ts` says; 400, 413 and 422 blame the text (`refusesText`). Network, time and chance are arguments
 * (`http-services.ts` binds them).
 *
 * The stub, `hashEmbedder`, makes the vector of a text from its hash: equal texts get equal vectors, and that is all
 * they say. The same bytes on every machine: the first block is SHA-256 of `hash-stub.v1`, the salt
 * and the text; every next one is the hash of the block before. A block gives eight big-endian 32-bit
 * numbers, each turned into `n / 2^31 - 1`; the whole is then brought to unit length. The model is
 * `hash-stub@` and the first 8 hex digits of SHA-256 over `hash-stub.v1`, the dimensions (8 bytes,
 * big-endian) and the salt.
 */

import { HASH_BYTES } from "../codec/hash.js";
import { concatBytes, keyOf, readU32, toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { truncateUtf8, utf8 } from "../codec/text.js";
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
  postJson,
} from "../net/http-post.js";
import { unitVector } from "./distance.js";
import { readerOf } from "./readable.js";

/** Turns texts into vectors of one model. */
export interface Embedder {
  /** Names the model and who serves it, such as `text-embedding-3-small@api.openai.com`. */
  readonly model: string;
  /** How many numbers a vector has. */
  readonly dimensions: number;
  /** True where a text takes microseconds and no network: a question then waits for what is not embedded. */
  readonly isQuick?: boolean;
  /**
   * The languages whose texts it reads, as in `Intl` ("en", "zh-Hant"); all where it names none. A text in the script of
   * another language gets no vector, and a question in one is answered without meaning.
   */
  readonly languages?: readonly string[];
  /** Whether it can read a question, where more than the script tells so; one that it cannot is answered without meaning. */
  readsQuestion?(text: string): boolean | Promise<boolean>;
  /** One vector for each text, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
  /** The vector of a question, for models that embed questions otherwise than texts. */
  embedQuery?(text: string, signal?: AbortSignal): Promise<Float32Array>;
}

/** An embedder whose answers hold what the file header promises. */
export interface CheckedEmbedder extends Embedder {
  /** Whether a text is in a script that the model knows (`readable.ts`). */
  reads(text: string): boolean;
  /** The same of a question, and whether the embedder itself says so. */
  readsQuestion(text: string): Promise<boolean>;
  embedQuery(text: string, signal?: AbortSignal): Promise<Float32Array>;
}

/** Checks an embedder's own members, and from then on every answer it gives. */
export function checkEmbedder(embedder: Embedder): CheckedEmbedder {
  const { model, dimensions, reads } = checkMembers(embedder);
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
    reads,
    async readsQuestion(text) {
      if (!reads(text)) return false;
      const own = embedder.readsQuestion?.bind(embedder);
      return own === undefined || (await called(async () => own(text), model, undefined));
    },
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

function checkMembers(embedder: Embedder): Pick<CheckedEmbedder, "model" | "dimensions" | "reads"> {
  if (typeof embedder !== "object" || embedder === null || typeof embedder.embed !== "function") {
    throw invalid("embedder", "an object with model, dimensions and embed", embedder);
  }
  const { model, dimensions, languages } = embedder;
  if (typeof model !== "string" || model === "" || model.length > LIMITS.labelBytes) {
    throw invalid("embedder.model", `a name of 1 to ${LIMITS.labelBytes} characters`, model);
  }
  return {
    model,
    dimensions: checkDimensions(dimensions, "embedder.dimensions"),
    reads: checkLanguages(languages),
  };
}

function checkLanguages(languages: unknown): CheckedEmbedder["reads"] {
  if (languages === undefined) return readerOf(undefined);
  try {
    if (Array.isArray(languages) && languages.length > 0) return readerOf(languages);
  } catch {
    // What `Intl` does not take for a language is refused below.
  }
  throw invalid("embedder.languages", 'languages as in Intl, such as ["en"]', languages);
}

/** Checks the width of vectors. */
function checkDimensions(dimensions: unknown, field: string): number {
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

/** Where the model is and how it is asked. */
export interface HttpEmbedderOptions {
  /** The full address, such as `https://api.openai.com/v1/embeddings`. */
  readonly endpoint: string;
  /** The model's name, as the server knows it. */
  readonly model: string;
  /** How many numbers its vectors have. */
  readonly dimensions: number;
  /** Sent as a bearer token. Nothing is read from the environment. */
  readonly apiKey?: string;
  /** Asks the server for vectors of `dimensions` numbers, for models that can shorten theirs. */
  readonly sendDimensions?: boolean;
  /** Put before every text; some models want to be told what they read. Makes another model. */
  readonly textPrefix?: string;
  /** Put before every question. */
  readonly queryPrefix?: string;
  /** Texts of one request; 32 unless given. */
  readonly batchSize?: number;
  /** Longer texts are cut to so many bytes before they are sent; 24,000 unless given. */
  readonly inputBytes?: number;
  /** Milliseconds for one request; 30,000 unless given. */
  readonly timeoutMs?: number;
  /** How often a request is tried again; 3 unless given. */
  readonly retries?: number;
  /** The first pause before a request is tried again; 1,000 unless given. */
  readonly backoffMs?: number;
}

const BATCH_SIZE = 32;
/** About 6,000 tokens of English; most models read 8,192. */
const INPUT_BYTES = 24_000;
const TIMEOUT_MS = 30_000;
const RETRIES = 3;
const BACKOFF_MS = 1000;
/** The widest vectors as JSON take some 25 bytes a number; a batch of them is far below this. */
const ANSWER_BYTES = 256 * 1024 * 1024;

/** An embedder over HTTP, with the world given to it. */
export function httpEmbedderOver(options: HttpEmbedderOptions, effects: HttpEffects): Embedder {
  const client = new Client(checkHttpOptions(options), effects);
  const { textPrefix = "", queryPrefix = "" } = options;
  return {
    model: client.model,
    dimensions: client.dimensions,
    embed: (texts, signal) =>
      client.embed(
        texts.map((text) => textPrefix + text),
        signal,
      ),
    async embedQuery(text, signal) {
      const [vector] = await client.embed([queryPrefix + text], signal);
      if (vector === undefined) throw client.failure("expected 1 vector, got none");
      return vector;
    },
  };
}

type Checked = Required<Omit<HttpEmbedderOptions, "apiKey" | "queryPrefix">> & {
  readonly apiKey: string | undefined;
  readonly host: string;
};

const KNOWN = [
  "endpoint",
  "model",
  "dimensions",
  "apiKey",
  "sendDimensions",
  "textPrefix",
  "queryPrefix",
  "batchSize",
  "inputBytes",
  "timeoutMs",
  "retries",
  "backoffMs",
];

function checkHttpOptions(options: HttpEmbedderOptions): Checked {
  checkKnown(options, KNOWN);
  const { sendDimensions = false, textPrefix = "" } = options;
  const integer = (field: keyof HttpEmbedderOptions, least: number, otherwise: number): number =>
    checkInteger(field, options[field] ?? otherwise, least);
  return {
    ...checkEndpoint(options.endpoint),
    model: checkModelName(options.model),
    dimensions: checkDimensions(options.dimensions, "dimensions"),
    apiKey: checkApiKey(options.apiKey),
    sendDimensions: sendDimensions === true,
    textPrefix,
    batchSize: integer("batchSize", 1, BATCH_SIZE),
    inputBytes: integer("inputBytes", 16, INPUT_BYTES),
    timeoutMs: integer("timeoutMs", 1, TIMEOUT_MS),
    retries: integer("retries", 0, RETRIES),
    backoffMs: integer("backoffMs", 0, BACKOFF_MS),
  };
}

class Client {
  readonly model: string;
  readonly dimensions: number;
  readonly #options: Checked;
  readonly #effects: HttpEffects;

  constructor(options: Checked, effects: HttpEffects) {
    const { model, host, textPrefix } = options;
    const mark = toHex(sha256Pure(utf8(textPrefix))).slice(0, 8);
    this.model = `${model}@${host}${textPrefix === "" ? "" : `#${mark}`}`;
    this.dimensions = options.dimensions;
    this.#options = options;
    this.#effects = effects;
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    const { batchSize, inputBytes } = this.#options;
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += batchSize) {
      const batch = texts.slice(at, at + batchSize).map((text) => truncateUtf8(text, inputBytes));
      for (const vector of await this.#request(batch, signal)) vectors.push(vector);
    }
    return vectors;
  }

  failure(what: string, cause?: unknown, field?: "input"): CortexError {
    const about = { subject: this.model, ...(field === undefined ? {} : { field }) };
    return new CortexError("ERR_EMBEDDER", `embedder ${this.model}: ${what}`, about, cause);
  }

  #request(
    batch: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> {
    const { model, sendDimensions } = this.#options;
    const body = { model, input: batch };
    return postJson(
      this.#options,
      {
        body: sendDimensions ? { ...body, dimensions: this.dimensions } : body,
        answerBytes: ANSWER_BYTES,
        signal,
        // A bad answer is no fault of the text: only `input` may let a worker pass over it.
        failure: (what, cause, field) =>
          this.failure(what, cause, field === "input" ? field : undefined),
        read: (text) => this.#read(text, batch.length),
      },
      this.#effects,
    );
  }

  /** The vectors of an answer, by their index. */
  #read(text: string, count: number): readonly Float32Array[] {
    const data = dataIn(text);
    if (data === undefined)
      throw this.failure("expected JSON with a list data, got something else");
    if (data.length !== count) {
      throw this.failure(`expected ${count} vectors, got ${data.length}`);
    }
    const vectors = new Map<number, Float32Array>();
    for (const item of data) {
      const { index, embedding } = (item ?? {}) as { index?: unknown; embedding?: unknown };
      if (typeof index !== "number") throw this.failure("expected an index for every vector");
      vectors.set(index, this.#vectorOf(embedding));
    }
    return Array.from({ length: count }, (_, index) => {
      const vector = vectors.get(index);
      if (vector === undefined) throw this.failure(`expected a vector with index ${index}`);
      return vector;
    });
  }

  #vectorOf(embedding: unknown): Float32Array {
    const expected = `expected ${this.dimensions} numbers for a vector`;
    if (!Array.isArray(embedding)) throw this.failure(`${expected}, got ${describe(embedding)}`);
    if (embedding.length !== this.dimensions) {
      throw this.failure(`${expected}, got ${embedding.length}`);
    }
    const stranger = embedding.find((value: unknown) => typeof value !== "number");
    if (stranger !== undefined) throw this.failure(`${expected}, got something else among them`);
    return Float32Array.from(embedding as readonly number[]);
  }
}

function dataIn(text: string): readonly unknown[] | undefined {
  const data = jsonObjectIn(text)?.data;
  return Array.isArray(data) ? data : undefined;
}
