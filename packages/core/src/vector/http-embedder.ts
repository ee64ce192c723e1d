/**
 * An embedder behind HTTP, in the form that OpenAI introduced and most servers speak: POST
 * `{ model, input: [texts] }`, answered by `{ data: [{ index, embedding }] }`.
 *
 * Promises: texts go out in batches and vectors come back in the order of the texts, whatever the order
 * of the answer. What is tried again, what is final and where the key goes is as `net/http-post.ts` says;
 * 400, 413 and 422 blame the text (`refusesText`).
 *
 * Pure but for what it is given: network, time and chance are arguments (`http-services.ts` binds them).
 */
import { toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { truncateUtf8, utf8 } from "../codec/text.js";
import { CortexError, describe } from "../errors.js";
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
import { checkDimensions, type Embedder } from "./embedder.js";

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
