/**
 * Extraction against a service in trouble, over real HTTP: one that answers when nobody listens any
 * more, one that asks for time, one that fails again and again, one that sends its callers elsewhere.
 * Each time no memory changes that must not, and no turn is lost.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cortex, httpModel, type Model } from "../src/index.js";
import { type HttpModelOptions, httpModelOver } from "../src/model/model.js";
import type { HttpEffects } from "../src/net/http-post.js";
import { openTestStore, TEST_EPOCH_MS, type TestStore } from "../src/testing/fixtures.js";
import { settle } from "../src/testing/manual-time.js";
import {
  type ModelBehaviour,
  type ModelServer,
  type ShownDocument,
  startModelServer,
} from "./model-server.js";

/** Failures enough for a request and the two times it is tried again. */
const STORM = Array<ModelBehaviour>(3).fill({ status: 500 });

let server: ModelServer;
let store: TestStore;
let memory: Cortex;
/** Who is asked; a test may ask somebody else. */
let client: Model;

beforeEach(async () => {
  server = await startModelServer(statesTurns);
  client = httpModel({ endpoint: server.endpoint, model: "tiny", retries: 0 });
  const model: Model = { name: "tiny", complete: (request) => client.complete(request) };
  store = await openTestStore({ model });
  memory = store.memory;
  for (const session of ["a", "b"]) {
    await memory.remember([{ role: "user", content: `Ada visits ${session}` }], { session });
  }
});
afterEach(async () => {
  await store.dispose();
  await server.close();
});

/** A client whose world is the test's where it says so. */
function clientOver(options: Partial<HttpModelOptions>, world: Partial<HttpEffects>): Model {
  return httpModelOver(
    { endpoint: server.endpoint, model: "tiny", ...options },
    {
      fetch: globalThis.fetch,
      pause: async () => {},
      deadline: (ms) => AbortSignal.timeout(ms),
      random: () => 0.5,
      clock: () => TEST_EPOCH_MS,
      ...world,
    },
  );
}

/** A model that makes every turn a fact, word for word. */
function statesTurns({ turns }: ShownDocument): unknown {
  return {
    facts: turns.map(({ name, content }) => ({ text: content, type: "fact", turns: [name] })),
  };
}

async function facts(): Promise<readonly string[]> {
  const { memories } = await memory.list({ type: "fact", order: "oldest" });
  return memories.map(({ text }) => text);
}

/** A call that ends because the model cannot be asked, and changes nothing. */
async function endsWithoutChange(message: string): Promise<void> {
  const before = await memory.root();
  await expect(memory.extract()).rejects.toMatchObject({
    code: "ERR_MODEL",
    message: expect.stringContaining(message),
  });
  expect(await memory.root()).toEqual(before);
}

test("an answer that comes after the time is over is not heard", async () => {
  const patient = client;
  const over = new AbortController();
  client = clientOver({ retries: 0 }, { deadline: () => over.signal });
  server.behave("when told");
  const ended = endsWithoutChange("no answer within 60000 ms");
  while (server.seen.length === 0) await settle();
  over.abort();
  await ended;
  expect(server.tell()).toBe(1);
  client = patient;
  const before = await memory.root();
  expect(await memory.extract({ dryRun: true })).toMatchObject({ waiting: 2 });
  expect(await memory.root()).toEqual(before);
  expect(await memory.extract()).toMatchObject({ turns: 2, waiting: 0 });
  expect(await facts()).toEqual(["Ada visits a", "Ada visits b"]);
});

test("a service that asks for time gets it, and a storm of failures costs no turn", async () => {
  const pauses: number[] = [];
  client = clientOver({ retries: 2 }, { pause: async (ms) => void pauses.push(ms) });
  server.behave({ status: 429, retryAfter: "7" }, "well", ...STORM);
  await expect(memory.extract()).rejects.toMatchObject({ code: "ERR_MODEL" });
  expect([pauses[0], server.seen.length]).toEqual([7000, 2 + STORM.length]);
  expect(await facts()).toEqual(["Ada visits a"]);
  for (let at = 0; at < 3; at += 1) {
    server.behave(...STORM);
    await endsWithoutChange("HTTP status 500");
  }
  expect(await memory.extract()).toMatchObject({ calls: 1, turns: 1, waiting: 0 });
  expect(await facts()).toEqual(["Ada visits a", "Ada visits b"]);
});

test("a service that sends elsewhere is not followed: the other host hears nothing", async () => {
  const elsewhere = await startModelServer(statesTurns);
  try {
    server.behave({ redirect: elsewhere.endpoint });
    await endsWithoutChange("no connection");
    expect(elsewhere.seen).toEqual([]);
    expect(await memory.extract()).toMatchObject({ turns: 2, waiting: 0 });
  } finally {
    await elsewhere.close();
  }
});
