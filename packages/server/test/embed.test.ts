/** `cortex embed` over a real embeddings service: settings, answer, failures, and what config shows. */
import { LOCAL_MODEL } from "@cortex-memory/embed";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashEmbedder } from "../../core/src/vector/embedder.js";
import { type EmbeddingsServer, startEmbeddingsServer } from "../../core/test/embeddings-server.js";
import { makePlace, type Place } from "./cortex-process.js";

const KEY = "sk-not-to-be-seen";

let place: Place;
let server: EmbeddingsServer;
let env: { readonly [name: string]: string };

beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

beforeEach(async () => {
  server = await startEmbeddingsServer(hashEmbedder({ dimensions: 8 }));
  env = {
    CORTEX_EMBEDDER_ENDPOINT: server.endpoint,
    CORTEX_EMBEDDER_MODEL: "tiny",
    CORTEX_EMBEDDER_DIMENSIONS: "8",
    CORTEX_EMBEDDER_KEY_VARIABLE: "SERVICE_KEY",
    SERVICE_KEY: KEY,
  };
});
afterEach(() => server.close());

describe("cortex embed", () => {
  test("asks the service once for each text, with the key, and says what it did", async () => {
    await place.json(["write", "fact", "Ada lives in Porto"]);
    await place.json(["note", "idea", "coffee"]);
    const report = await place.json(["embed"], { env });
    expect(report).toMatchObject({
      model: `tiny@${server.host}`,
      texts: 2,
      memories: 2,
      refused: 0,
      lag: 0,
    });
    expect(server.seen).toMatchObject([
      { authorization: `Bearer ${KEY}`, model: "tiny", input: ["Ada lives in Porto", "coffee"] },
    ]);
    const again = await place.cortex(["embed"], { env });
    expect(again).toMatchObject({ exit: 0 });
    expect(again.out).toContain("0 memories got a vector, 0 texts embedded");
    expect(server.seen).toHaveLength(1);
  });

  test("fails with the status and without the key when the service refuses", async () => {
    await place.json(["note", "idea", "tea"]);
    server.behave({ status: 401, code: "invalid_api_key" });
    const failed = await place.cortex(["embed", "--json"], { env });
    expect(failed.exit).toBe(1);
    expect(JSON.parse(failed.err)).toEqual({
      error: {
        code: "ERR_EMBEDDER",
        message: `embedder tiny@${server.host}: HTTP status 401 (invalid_api_key)`,
      },
    });
    expect(failed.err + failed.out).not.toContain(KEY);
    // All three: a service at another port is another model.
    expect(await place.json(["embed"], { env })).toMatchObject({ texts: 3, lag: 0 });
  });

  test("switched off says what is missing, and a key alone changes nothing", async () => {
    await place.json(["note", "idea", "juice"]);
    const none = await place.cortex(["embed", "--json"], { env: { OPENAI_API_KEY: KEY } });
    expect(none.exit).toBe(1);
    expect(JSON.parse(none.err)).toMatchObject({ error: { code: "ERR_NO_EMBEDDER" } });
    const half = await place.cortex(["embed"], { env: { ...env, CORTEX_EMBEDDER_MODEL: "" } });
    expect(half).toMatchObject({ exit: 2, out: "" });
    expect(half.err).toContain("CORTEX_EMBEDDER_MODEL: expected a value");
    expect(server.seen).toEqual([]);
  });

  test("config shows the settings of the embedder and never the key", async () => {
    const shown = await place.cortex(["config"], { env });
    expect(shown.out).toContain(server.endpoint);
    expect(shown.out).toContain("SERVICE_KEY");
    expect(shown.out + shown.err).not.toContain(KEY);
  });

  test("finds other words where there is one memory alone", async () => {
    const standard = { env: { CORTEX_EMBEDDER_ENDPOINT: "" } };
    const data = ["--actor", "alone"];
    await place.json(["note", "talk", "I can't eat peanuts, they make me ill", ...data], standard);
    await place.json(["embed", ...data], standard);
    const found = await place.json(["recall", "Do I have any allergies?", ...data], standard);
    expect(found).toMatchObject({ hits: [{ text: expect.stringContaining("peanuts") }] });
  });

  test("finds other words with the model that comes along, which needs no setting", async () => {
    const standard = { env: { CORTEX_EMBEDDER_ENDPOINT: "" } };
    const data = ["--actor", "meaning"];
    for (const text of [
      "I can't eat peanuts, they make me ill",
      "The train leaves at nine",
      "My sister plays chess",
    ]) {
      await place.json(["note", "talk", text, ...data], standard);
    }
    const question = ["recall", "Do I have any allergies?", ...data];
    const peanuts = {
      hits: expect.arrayContaining([
        expect.objectContaining({ text: expect.stringContaining("peanuts") }),
      ]),
    };
    // What was just written is embedded before the answer, because this model is quick.
    expect(await place.json(question, standard)).toMatchObject(peanuts);
    expect(await place.json(["embed", ...data], standard)).toMatchObject({
      model: LOCAL_MODEL,
      lag: 0,
    });
    expect(await place.json(question, standard)).toMatchObject(peanuts);
    expect(server.seen).toEqual([]);
  });
});
