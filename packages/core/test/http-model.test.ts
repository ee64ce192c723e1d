/**
 * The HTTP model against a real server: what is sent, what is tried again and how long it waits, what is
 * final, and that neither the key nor the prompt is in any failure.
 */
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { httpModel, isCortexError, type Model } from "../src/index.js";
import {
  blamesReply,
  checkModel,
  type HttpModelOptions,
  httpModelOver,
} from "../src/model/model.js";
import { type ModelBehaviour, type ModelServer, startModelServer } from "./model-server.js";

const KEY = "sk-very-secret-5678";
const PROMPT = "words of the prompt";
const request = { system: "Do it.", messages: [{ role: "user" as const, content: PROMPT }] };

let server: ModelServer;
/** Pauses that the client asked for. */
let pauses: number[];

beforeEach(async () => {
  server = await startModelServer(() => ({ facts: [] }));
  pauses = [];
});
afterEach(() => server.close());

function client(options: Partial<HttpModelOptions> = {}): Model {
  const given = { endpoint: server.endpoint, model: "small", apiKey: KEY, ...options };
  return checkModel(
    httpModelOver(given, {
      fetch: globalThis.fetch,
      pause: async (ms) => void pauses.push(ms),
      deadline: (ms) => AbortSignal.timeout(ms),
      random: () => 0.5,
      clock: () => Date.UTC(2030, 0, 1),
    }),
  );
}

async function failureOf(model: Model, signal?: AbortSignal) {
  const asked = signal === undefined ? request : { ...request, signal };
  const failure = await model.complete(asked).then(
    () => new Error("it was answered"),
    (error: unknown) => error,
  );
  if (!isCortexError(failure, "ERR_MODEL")) throw failure;
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(KEY);
  expect(JSON.stringify(failure)).not.toContain(PROMPT);
  return failure;
}

describe("asking", () => {
  test("sends the prompt and the key, asks for JSON, and gives the reply", async () => {
    expect(client().name).toBe(`small@${server.host}`);
    expect(await client().complete(request)).toBe('{"facts":[]}');
    expect(server.seen).toEqual([
      {
        authorization: `Bearer ${KEY}`,
        model: "small",
        messages: [
          { role: "system", content: "Do it." },
          { role: "user", content: PROMPT },
        ],
        response_format: { type: "json_object" },
      },
    ]);
  });

  test("sends a schema, a temperature or a number of tokens only when told to", async () => {
    const jsonSchema = { type: "object" };
    const asked = { ...request, jsonSchema, maxTokens: 50 };
    await client({ jsonMode: "schema", temperature: 0 }).complete(asked);
    await client({ jsonMode: "off" }).complete({ ...request, jsonSchema });
    expect(server.seen[0]).toMatchObject({
      response_format: { type: "json_schema", json_schema: { schema: jsonSchema, strict: true } },
      temperature: 0,
      max_tokens: 50,
    });
    expect(server.seen[1]).not.toHaveProperty("response_format");
    expect(server.seen[1]).not.toHaveProperty("temperature");
  });

  test("is bound to the process by httpModel, without a key unless one is given", async () => {
    const model = httpModel({ endpoint: server.endpoint, model: "small" });
    expect(await model.complete(request)).toBe('{"facts":[]}');
    expect(server.seen[0]?.authorization).toBeUndefined();
  });
});

describe("trying again", () => {
  test.each<readonly [string, readonly ModelBehaviour[], readonly number[]]>([
    ["a broken connection", ["reset", "reset"], [750, 1500]],
    ["a status of 500", [{ status: 500 }], [750]],
    ["a status of 429", [{ status: 429, retryAfter: "7" }], [7000]],
  ])("helps after %s", async (_, behaviours, waited) => {
    server.behave(...behaviours);
    expect(await client().complete(request)).toBe('{"facts":[]}');
    expect(pauses).toEqual(waited);
  });

  test("ends after the retries, and names the status and the code of the server", async () => {
    server.behave({ status: 503, code: "overloaded" }, { status: 503, code: "overloaded" });
    const failure = await failureOf(client({ retries: 1 }));
    expect(failure.message).toBe(`model small@${server.host}: HTTP status 503 (overloaded)`);
    expect(blamesReply(failure)).toBe(false);
    expect(server.seen).toHaveLength(2);
  });

  test("a model that says nothing is given up in time", async () => {
    server.behave("silence");
    const failure = await failureOf(client({ retries: 0, timeoutMs: 50 }));
    expect(failure.message).toContain("no answer within 50 ms");
  });

  test("a caller that stops is not asked again", async () => {
    const stop = new AbortController();
    stop.abort();
    expect((await failureOf(client(), stop.signal)).message).toContain("was stopped");
    expect(server.seen).toHaveLength(0);
  });
});

describe("what is final", () => {
  test.each<readonly [ModelBehaviour, string]>([
    ["not json", "expected JSON with choices"],
    ["ten megabytes", "expected an answer of at most 1048576 bytes, got more"],
    ["empty", "expected a message with content, got none"],
    ["cut off", "the reply was cut off (length)"],
    [{ status: 400, code: "context_length_exceeded" }, "HTTP status 400 (context_length_exceeded)"],
  ])("%o blames the prompt or the reply, and is asked once", async (behaviour, message) => {
    server.behave(behaviour);
    const failure = await failureOf(client());
    expect(failure.message).toContain(message);
    expect(blamesReply(failure)).toBe(true);
    expect(server.seen).toHaveLength(1);
  });

  test("a refused key is neither tried again nor blamed on the prompt", async () => {
    server.behave({ status: 401, code: "invalid_api_key" });
    const failure = await failureOf(client());
    expect([failure.message.includes("401"), blamesReply(failure)]).toEqual([true, false]);
    expect(server.seen).toHaveLength(1);
  });

  test("the key follows no redirect", async () => {
    server.behave("redirect");
    expect((await failureOf(client({ retries: 0 }))).message).toContain("no connection");
  });
});

describe("options", () => {
  test.each([
    [{ endpoint: "models.example" }, "endpoint: expected an http or https address"],
    [{ endpoint: "https://me:pw@models.example/" }, "endpoint: expected an address without"],
    [{ model: "two words" }, "model: expected a name"],
    [{ apiKey: "a\nb" }, "apiKey: expected printable characters"],
    [{ jsonMode: "maybe" as "off" }, "jsonMode: expected schema, object or off"],
    [{ temperature: 3 }, "temperature: expected a number from 0 to 2"],
    [{ retries: -1 }, "retries: expected an integer of at least 0"],
    [{ colour: "red" } as object, "colour: expected one of endpoint"],
  ])("refuses %o", (change, message) => {
    expect(() => client(change)).toThrow(message);
  });

  test("a model of one's own is checked as well", async () => {
    expect(() => checkModel({ name: "mine" } as Model)).toThrow("model: expected an object");
    const own = checkModel({ name: "mine", complete: async () => 5 as unknown as string });
    expect((await failureOf(own)).message).toBe("model mine: expected text, got 5");
    const broken = checkModel({
      name: "mine",
      complete: () => Promise.reject(new Error(`could not read ${PROMPT}`)),
    });
    expect((await failureOf(broken)).message).toBe("model mine: failed; the cause is attached");
  });
});
