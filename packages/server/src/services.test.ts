/** Which embedder and which model the settings give, and that a key alone gives none. */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { embedderSettingsFor, serviceSettingsFor, shownSettings } from "./config.js";
import { backgroundIn, servicesIn } from "./services.js";

const KEY = "sk-not-to-be-seen";
const env = {
  CORTEX_EMBEDDER_ENDPOINT: "https://models.example/v1/embeddings",
  CORTEX_EMBEDDER_MODEL: "small",
  CORTEX_EMBEDDER_DIMENSIONS: "384",
};

describe("the embedder of the settings", () => {
  test("is none without an address, whatever keys lie about", () => {
    for (const one of [{}, { OPENAI_API_KEY: KEY, CORTEX_EMBEDDER_MODEL: "small" }]) {
      expect(servicesIn(one)).toEqual({});
      expect(backgroundIn(one)).toEqual({});
    }
  });

  test("is the model at the address; doors that stay open embed in the background", () => {
    const { embedder } = servicesIn(env);
    expect(embedder).toMatchObject({ model: "small@models.example", dimensions: 384 });
    expect(backgroundIn(env)).toMatchObject({ jobs: true, embedder: { dimensions: 384 } });
  });

  test("has its key from the variable that is named, and shows it nowhere", () => {
    const keyed = { ...env, CORTEX_EMBEDDER_KEY_VARIABLE: "MY_KEY", MY_KEY: KEY };
    const { embedder } = servicesIn(keyed);
    const shown = shownSettings(Object.values(embedderSettingsFor({ env: keyed })));
    expect(inspect([embedder, shown], { depth: 9, showHidden: true })).not.toContain(KEY);
    expect(shown.map(({ name, value, from }) => [name, value, from])).toEqual([
      ["embedder.endpoint", env.CORTEX_EMBEDDER_ENDPOINT, "CORTEX_EMBEDDER_ENDPOINT"],
      ["embedder.model", "small", "CORTEX_EMBEDDER_MODEL"],
      ["embedder.dimensions", "384", "CORTEX_EMBEDDER_DIMENSIONS"],
      ["embedder.keyVariable", "MY_KEY", "CORTEX_EMBEDDER_KEY_VARIABLE"],
    ]);
  });

  test.each([
    [{ CORTEX_EMBEDDER_MODEL: "" }, "CORTEX_EMBEDDER_MODEL: expected a value"],
    [{ CORTEX_EMBEDDER_DIMENSIONS: "" }, "CORTEX_EMBEDDER_DIMENSIONS: expected a value"],
    [{ CORTEX_EMBEDDER_DIMENSIONS: "many" }, "dimensions: expected an integer"],
    [{ CORTEX_EMBEDDER_ENDPOINT: "models.example" }, "endpoint: expected an http or https address"],
    [{ CORTEX_EMBEDDER_KEY_VARIABLE: "MISSING" }, "names MISSING, which is not set"],
  ])("is refused with %o", (change, message) => {
    expect(() => servicesIn({ ...env, ...change })).toThrow(message);
  });
});

describe("the model of the settings", () => {
  const asked = {
    CORTEX_MODEL_ENDPOINT: "https://models.example/v1/chat/completions",
    CORTEX_MODEL_NAME: "chatty",
  };

  test("is the model at the address, beside the embedder or alone", () => {
    expect(servicesIn(asked)).toMatchObject({ model: { name: "chatty@models.example" } });
    expect(Object.keys(backgroundIn({ ...env, ...asked })).sort()).toEqual([
      "embedder",
      "jobs",
      "model",
    ]);
    expect(servicesIn({ CORTEX_MODEL_NAME: "chatty", OPENAI_API_KEY: KEY })).toEqual({});
  });

  test("has its key from the variable that is named, and shows it nowhere", () => {
    const keyed = { ...asked, CORTEX_MODEL_KEY_VARIABLE: "MY_KEY", MY_KEY: KEY };
    const shown = shownSettings(serviceSettingsFor({ env: keyed }));
    const all = inspect([servicesIn(keyed), shown], { depth: 9, showHidden: true });
    expect(all).toContain("MY_KEY");
    expect(all).not.toContain(KEY);
  });

  test.each([
    [{ CORTEX_MODEL_NAME: "" }, "CORTEX_MODEL_NAME: expected a value"],
    [{ CORTEX_MODEL_ENDPOINT: "models.example" }, "endpoint: expected an http or https address"],
    [{ CORTEX_MODEL_KEY_VARIABLE: "MISSING" }, "names MISSING, which is not set"],
  ])("is refused with %o", (change, message) => {
    expect(() => servicesIn({ ...asked, ...change })).toThrow(message);
  });
});
