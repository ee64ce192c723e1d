/**
 * The HTTP embedder against a real server: order, batches, what is tried again and how long it waits,
 * what is final, and that the key goes nowhere else.
 */
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { httpEmbedder, isCortexError } from "../src/index.js";
import {
  checkEmbedder,
  type Embedder,
  type HttpEmbedderOptions,
  hashEmbedder,
  httpEmbedderOver,
  refusesText,
} from "../src/vector/embedder.js";
import {
  type Behaviour,
  type EmbeddingsServer,
  startEmbeddingsServer,
} from "./embeddings-server.js";

const DIMENSIONS = 8;
const KEY = "sk-very-secret-1234";
const stub = hashEmbedder({ dimensions: DIMENSIONS });

let server: EmbeddingsServer;
/** Pauses that the client asked for. */
let pauses: number[];

beforeEach(async () => {
  server = await startEmbeddingsServer(stub);
  pauses = [];
});

afterEach(async () => {
  await server.close();
});

function client(
  options: Partial<HttpEmbedderOptions> = {},
  deadline: (ms: number) => AbortSignal = AbortSignal.timeout,
): Embedder {
  return checkEmbedder(
    httpEmbedderOver(
      {
        endpoint: server.endpoint,
        model: "small",
        dimensions: DIMENSIONS,
        apiKey: KEY,
        ...options,
      },
      {
        fetch: globalThis.fetch,
        pause: async (ms) => void pauses.push(ms),
        deadline,
        random: () => 0.5,
        clock: () => Date.UTC(2030, 0, 1),
      },
    ),
  );
}

async function failureOf(embedder: Embedder, texts = ["a text", "another"], signal?: AbortSignal) {
  const failure = await embedder.embed(texts, signal).then(
    () => new Error("it was accepted"),
    (error: unknown) => error,
  );
  if (!isCortexError(failure, "ERR_EMBEDDER")) throw failure;
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(KEY);
  expect(JSON.stringify(failure)).not.toContain(KEY);
  expect(failure.message).not.toContain("a text");
  return failure;
}

describe("asking", () => {
  test("gives the vectors of the texts, in batches, with the key as a bearer token", async () => {
    const texts = Array.from({ length: 7 }, (_, at) => `text ${at}`);
    const vectors = await client({ batchSize: 3 }).embed(texts);
    expect(vectors).toEqual(await checkEmbedder(stub).embed(texts));
    expect(server.seen.map(({ input }) => input.length)).toEqual([3, 3, 1]);
    expect(new Set(server.seen.map(({ authorization }) => authorization))).toEqual(
      new Set([`Bearer ${KEY}`]),
    );
    expect(server.seen[0]).toMatchObject({ model: "small", input: texts.slice(0, 3) });
    expect(server.seen[0]).not.toHaveProperty("dimensions");
  });

  test("goes by the index of the answer, not by its order", async () => {
    server.behave("reversed");
    expect(await client().embed(["a", "b", "c"])).toEqual(
      await checkEmbedder(stub).embed(["a", "b", "c"]),
    );
  });

  test("names model and host; another text prefix is another model", async () => {
    expect(client().model).toBe(`small@${server.host}`);
    const prefixed = client({
      textPrefix: "passage: ",
      queryPrefix: "query: ",
      sendDimensions: true,
    });
    expect(prefixed.model).toMatch(/^small@[^#]+#[0-9a-f]{8}$/);
    await prefixed.embed(["x"]);
    await prefixed.embedQuery?.("y");
    expect(server.seen.map(({ input }) => input)).toEqual([["passage: x"], ["query: y"]]);
    expect(server.seen[0]?.dimensions).toBe(DIMENSIONS);
  });

  test("cuts long texts between characters and sends no key when there is none", async () => {
    const { fetch } = globalThis;
    const embedder = httpEmbedder({
      endpoint: server.endpoint,
      model: "small",
      dimensions: DIMENSIONS,
      inputBytes: 17,
      fetch,
    });
    await embedder.embed(["ö".repeat(20)]);
    expect(server.seen[0]?.input).toEqual(["ö".repeat(8)]);
    expect(server.seen[0]?.authorization).toBeUndefined();
  });

  test("shows model, dimensions and that it is slow, and nothing else of itself", () => {
    const embedder = client();
    expect(JSON.parse(JSON.stringify(embedder))).toEqual({
      model: embedder.model,
      dimensions: DIMENSIONS,
      isQuick: false,
    });
    expect(inspect(embedder, { depth: 9, showHidden: true })).not.toContain(KEY);
  });
});

describe("trying again", () => {
  test.each<[string, readonly Behaviour[], readonly number[]]>([
    ["after 500 and 503, with growing pauses", [{ status: 500 }, { status: 503 }], [750, 1500]],
    ["after a broken connection", ["reset"], [750]],
    ["after 429, as long as the server asks", [{ status: 429, retryAfter: "2" }], [2000]],
    [
      "after 429, until the time the server names",
      [{ status: 429, retryAfter: "Tue, 01 Jan 2030 00:00:05 GMT" }],
      [5000],
    ],
    ["after 429 that asks for less than our own pause", [{ status: 429, retryAfter: "0" }], [750]],
    ["after 429 that asks for nonsense", [{ status: 429, retryAfter: "soon" }], [750]],
  ])("%s", async (_, behaviours, expected) => {
    server.behave(...behaviours);
    expect(await client().embed(["x"])).toEqual(await checkEmbedder(stub).embed(["x"]));
    expect(pauses).toEqual(expected);
    expect(server.seen).toHaveLength(behaviours.length + 1);
  });

  test("when no answer comes in time", async () => {
    server.behave("silence");
    const asked: number[] = [];
    // The first request alone runs out of time, however long the second takes to be answered.
    const deadline = (ms: number): AbortSignal => {
      asked.push(ms);
      return asked.length === 1 ? AbortSignal.timeout(ms) : new AbortController().signal;
    };
    const vectors = await client({ timeoutMs: 150 }, deadline).embed(["x"]);
    expect(vectors).toHaveLength(1);
    expect(asked).toEqual([150, 150]);
    expect(server.seen.length).toBeLessThanOrEqual(2);
  });

  test("ends after so many tries, with the last failure", async () => {
    server.behave({ status: 500 }, { status: 500 }, { status: 503, code: "overloaded" });
    const failure = await failureOf(client({ retries: 2 }));
    expect(failure.message).toBe(`embedder small@${server.host}: HTTP status 503 (overloaded)`);
    expect(server.seen).toHaveLength(3);
    expect(pauses).toEqual([750, 1500]);
  });

  test("is not done when the server asks for a pause that is too long", async () => {
    server.behave({ status: 429, retryAfter: "3600" });
    expect((await failureOf(client())).message).toContain("to be tried in 3600 s");
    expect(server.seen).toHaveLength(1);
  });

  test("is not done once the caller has stopped it", async () => {
    const stop = new AbortController();
    server.behave("silence");
    const failing = failureOf(client(), ["x"], stop.signal);
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    expect((await failing).message).toContain("no connection");
    expect(server.seen).toHaveLength(1);
    await failureOf(client(), ["x"], stop.signal);
    expect(server.seen).toHaveLength(1);
  });

  test("fails when nobody listens", async () => {
    await server.close();
    const failure = await failureOf(client({ retries: 1 }));
    expect(failure.message).toContain("no connection");
    expect(pauses).toHaveLength(1);
    server = await startEmbeddingsServer(stub);
  });
});

describe("final refusals", () => {
  test.each([
    [400, true],
    [413, true],
    [422, true],
    [401, false],
    [403, false],
    [404, false],
    [408, false],
  ])("HTTP status %i, blaming the text: %j", async (status, blamesText) => {
    server.behave({ status });
    const failure = await failureOf(client());
    expect(failure.message).toContain(`HTTP status ${status}`);
    expect(refusesText(failure)).toBe(blamesText);
    expect(server.seen).toHaveLength(1);
  });

  test.each<[Behaviour, string]>([
    ["not json", "expected JSON with a list data"],
    ["no index", "expected an index for every vector"],
    ["too few", "expected 2 vectors, got 1"],
    ["too wide", "expected 8 numbers for a vector, got 9"],
    ["with null", "got something else among them"],
  ])("an answer that is %s", async (behaviour, message) => {
    server.behave(behaviour);
    const failure = await failureOf(client());
    expect(failure.message).toContain(message);
    expect(refusesText(failure)).toBe(false);
    expect(server.seen).toHaveLength(1);
  });

  test("a redirect is not followed, so that the key stays with the endpoint", async () => {
    server.behave("redirect", "redirect");
    await failureOf(client({ retries: 1 }));
    expect(server.seen).toHaveLength(2);
  });
});

test.each([
  [{ endpoint: "ftp://x/y" }, "endpoint: expected an http or https address"],
  [{ endpoint: "here" }, "endpoint: expected an http or https address"],
  [{ endpoint: "https://me:pw@x/y" }, "without a name or password"],
  [{ model: "two words" }, "model: expected"],
  [{ dimensions: 0 }, "dimensions: expected"],
  [{ apiKey: `${KEY}\n` }, "apiKey: expected printable characters"],
  [{ batchSize: 0 }, "batchSize: expected an integer of at least 1"],
  [{ retries: -1 }, "retries: expected an integer of at least 0"],
  [{ timeout: 5 }, "timeout: expected one of endpoint"],
])("options %o are refused", (change, message) => {
  const make = () => client(change as Partial<HttpEmbedderOptions>);
  expect(make).toThrow(message);
  expect(make).not.toThrow(KEY);
});
