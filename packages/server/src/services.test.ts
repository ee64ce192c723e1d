/** Which embedder, model and jobs the settings give, and that a key alone gives none. */
import { inspect } from "node:util";
import { open } from "@cortex-memory/core";
import { LOCAL_MODEL } from "@cortex-memory/embed";
import { describe, expect, test } from "vitest";
import { DEBOUNCE_MS } from "../../core/src/extract/extract.js";
import { MAINTAIN_EVERY_MS } from "../../core/src/upkeep/maintain.js";
import { serviceSettingsFor, shownSettings } from "./config.js";
import { backgroundIn, servicesIn } from "./services.js";

const KEY = "sk-not-to-be-seen";
const env = {
  CORTEX_EMBEDDER_ENDPOINT: "https://models.example/v1/embeddings",
  CORTEX_EMBEDDER_MODEL: "small",
  CORTEX_EMBEDDER_DIMENSIONS: "384",
};

describe("the embedder of the settings", () => {
  test("is the local model without an address, whatever keys lie about", () => {
    for (const one of [{}, { OPENAI_API_KEY: KEY, CORTEX_EMBEDDER_MODEL: "small" }]) {
      expect(servicesIn(one)).toMatchObject({ embedder: { model: LOCAL_MODEL } });
      expect(Object.keys(backgroundIn(one))).toEqual(["embedder", "jobs"]);
    }
  });

  test("is none where the settings say so", () => {
    expect(servicesIn({ CORTEX_EMBEDDER_ENDPOINT: "none" })).toEqual({});
  });

  test("is the model at the address; doors that stay open embed in the background", () => {
    const { embedder } = servicesIn(env);
    expect(embedder).toMatchObject({ model: "small@models.example", dimensions: 384 });
    expect(backgroundIn(env)).toMatchObject({ jobs: {}, embedder: { dimensions: 384 } });
  });

  test("has its key from the variable that is named, and shows it nowhere", () => {
    const keyed = { ...env, CORTEX_EMBEDDER_KEY_VARIABLE: "MY_KEY", MY_KEY: KEY };
    const { embedder } = servicesIn(keyed);
    const shown = shownSettings(Object.values(serviceSettingsFor({ env: keyed })));
    expect(inspect([embedder, shown], { depth: 9, showHidden: true })).not.toContain(KEY);
    const own = shown.filter(({ name }) => name.startsWith("embedder."));
    expect(own.map(({ name, value, from }) => [name, value, from])).toEqual([
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
    expect(servicesIn({ CORTEX_MODEL_NAME: "chatty", OPENAI_API_KEY: KEY })).not.toHaveProperty(
      "model",
    );
  });

  test("has its key from the variable that is named, and shows it nowhere", () => {
    const keyed = { ...asked, CORTEX_MODEL_KEY_VARIABLE: "MY_KEY", MY_KEY: KEY };
    const shown = shownSettings(Object.values(serviceSettingsFor({ env: keyed })));
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

describe("the jobs of a door that stays open", () => {
  const times = (maintain: string, snapshot: string, extract: string) => ({
    CORTEX_JOBS_MAINTAIN_EVERY_MS: maintain,
    CORTEX_JOBS_SNAPSHOT_EVERY_MS: snapshot,
    CORTEX_JOBS_EXTRACT_AFTER_MS: extract,
  });

  test("are run as the library runs them, unless the settings say otherwise", async () => {
    const standard = { maintainEveryMs: MAINTAIN_EVERY_MS, snapshotEveryMs: 0 };
    const firstLookMs = 500;
    const giveWayMs = 5000;
    const off = { CORTEX_EMBEDDER_ENDPOINT: "none" };
    expect(backgroundIn(off)).toEqual({
      jobs: { firstLookMs, giveWayMs, ...standard, extractAfterMs: DEBOUNCE_MS },
    });
    expect(backgroundIn({ ...off, ...times("0", "60000", "5") })).toEqual({
      jobs: {
        firstLookMs,
        giveWayMs,
        maintainEveryMs: 0,
        snapshotEveryMs: 60_000,
        extractAfterMs: 5,
      },
    });
    // What the settings accept, the library accepts.
    await (await open("memory:", backgroundIn(times("0", "1", "86400000")))).close();
  });

  test.each([
    [
      times("often", "0", "0"),
      'MAINTAIN_EVERY_MS: expected a whole number, 0 or more, got "often"',
    ],
    [times("0", "-1", "0"), "SNAPSHOT_EVERY_MS: expected a whole number"],
    [times("0", "0", "86400001"), "EXTRACT_AFTER_MS: expected a whole number, 0 to 86400000"],
  ])("are refused with %o", (change, message) => {
    expect(() => backgroundIn(change)).toThrow(`CORTEX_JOBS_${message}`);
  });

  test("have their settings shown with the others", () => {
    const shown = serviceSettingsFor({ env: { CORTEX_JOBS_SNAPSHOT_EVERY_MS: "1000" } });
    const jobs = Object.values(shown).filter(({ name }) => name.startsWith("jobs."));
    expect(jobs.map(({ name, value, from }) => [name, value, from])).toEqual([
      ["jobs.maintainEveryMs", "3600000", "default"],
      ["jobs.snapshotEveryMs", "1000", "CORTEX_JOBS_SNAPSHOT_EVERY_MS"],
      ["jobs.extractAfterMs", "45000", "default"],
    ]);
  });
});
