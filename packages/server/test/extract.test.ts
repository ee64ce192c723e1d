/** `cortex extract` over a real chat service: settings, answer, failures, and what config shows. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "../../core/test/model-server.js";
import { makePlace, type Place } from "./cortex-process.js";

const KEY = "sk-not-to-be-seen";

let place: Place;
let server: ModelServer;
let env: { readonly [name: string]: string };

beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

beforeEach(async () => {
  server = await startModelServer(({ turns }) => ({
    facts: turns.map(({ name, content }) => ({ text: content, type: "fact", turns: [name] })),
    relationships: [],
  }));
  env = {
    CORTEX_MODEL_ENDPOINT: server.endpoint,
    CORTEX_MODEL_NAME: "tiny",
    CORTEX_MODEL_KEY_VARIABLE: "SERVICE_KEY",
    SERVICE_KEY: KEY,
  };
});
afterEach(() => server.close());

function remember(session: string, content: string): Promise<unknown> {
  const input = JSON.stringify({ role: "user", content });
  return place.json(["remember", "-", "--session", session], { input });
}

describe("cortex extract", () => {
  test("asks the service with the key, writes what it says, and says what it did", async () => {
    await remember("chat", "Ada lives in Porto");
    const dry = await place.cortex(["extract", "--dry-run"], { env });
    expect(dry).toMatchObject({ exit: 0 });
    expect(dry.out).toContain("nothing was written");
    const report = await place.json(["extract"], { env });
    expect(report).toMatchObject({
      model: `tiny@${server.host}`,
      calls: 1,
      turns: 1,
      facts: [{ session: "chat", text: "Ada lives in Porto", outcome: "new" }],
      waiting: 0,
    });
    expect(server.seen.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${KEY}`,
      `Bearer ${KEY}`,
    ]);
    expect(await place.json(["extract"], { env })).toMatchObject({ calls: 0 });
  });

  test("names what a reply broke, without its words, and a refused key fails", async () => {
    await remember("other", "Ada owns a boat");
    server.behave({ says: "Ada owns a boat, I guess" }, { status: 401, code: "invalid_api_key" });
    const refused = await place.cortex(["extract"], { env });
    expect(refused).toMatchObject({ exit: 0 });
    expect(refused.out).toContain("other: model tiny");
    expect(refused.out).toContain("1 turn still to be read");
    expect(refused.out).not.toContain("I guess");
    const failed = await place.cortex(["extract", "--json"], { env });
    expect(failed.exit).toBe(1);
    expect(JSON.parse(failed.err)).toMatchObject({ error: { code: "ERR_MODEL" } });
    expect(failed.err + failed.out + refused.err + refused.out).not.toContain(KEY);
  });

  test("relink links what the service finds, and says where", async () => {
    await place.json(["write", "fact", "The Zephyr needs a hangar"]);
    await place.json(["write", "goal", "The Zephyr shall fly in June"]);
    const link = { kind: "enables", reason: "A hangar comes first.", strength: 4 };
    const says = JSON.stringify({ facts: [], relationships: [{ from: "k1", to: "k2", ...link }] });
    server.behave({ says });
    const shown = await place.cortex(["relink"], { env });
    expect(shown).toMatchObject({ exit: 0 });
    expect(shown.out).toMatch(/1 link\b/);
    expect(shown.out).toMatch(/A\s+hangar comes first\./);
    server.behave({ says });
    const again = await place.json(["relink"], { env });
    expect(again).toMatchObject({ calls: 1, links: [{ ...link, outcome: "known" }] });
  });

  test("without settings says what is missing, and config never shows the key", async () => {
    const none = await place.cortex(["extract", "--json"], { env: { OPENAI_API_KEY: KEY } });
    expect(none.exit).toBe(1);
    expect(JSON.parse(none.err)).toMatchObject({ error: { code: "ERR_NO_MODEL" } });
    expect(server.seen).toEqual([]);
    const shown = await place.cortex(["config"], { env });
    expect(shown.out).toContain(server.endpoint);
    expect(shown.out + shown.err).not.toContain(KEY);
  });
});
