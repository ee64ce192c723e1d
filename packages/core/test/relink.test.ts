/**
 * Links found in a whole graph by a model behind a real HTTP server: across any distance, few of the same
 * topic, safe to repeat, in pieces, and without harm from bad replies.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Cortex, httpModel, LIMITS } from "../src/index.js";
import { openTestStore, refusalOf, type TestStore } from "../src/testing/fixtures.js";
import { type ModelServer, type ShownDocument, startModelServer } from "./model-server.js";

let server: ModelServer;
let store: TestStore;
let memory: Cortex;
/** What the model says next; a test sets it. */
let say: (document: ShownDocument) => unknown;

beforeEach(async () => {
  say = linksNamesakes;
  server = await startModelServer((document) => say(document));
  const model = httpModel({ endpoint: server.endpoint, model: "tiny", retries: 0 });
  store = await openTestStore({ model });
  memory = store.memory;
});
afterEach(async () => {
  await store.dispose();
  await server.close();
});

/** A model that links every two memories that name the Zephyr. */
function linksNamesakes({ known }: ShownDocument): unknown {
  const named = known.filter(({ text }) => text.includes("Zephyr"));
  return {
    facts: [],
    relationships: pairs(
      named.map(({ name }) => name),
      "works_on",
    ),
  };
}

function pairs(names: readonly string[], kind: string): readonly object[] {
  return names.flatMap((from, at) =>
    names
      .slice(at + 1)
      .map((to) => ({ from, kind, to, reason: "Both name the Zephyr.", strength: 4 })),
  );
}

const PEOPLE = ["Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo", "Kim"];

/** Facts that have little to do with each other. */
async function crowd(count: number): Promise<void> {
  await memory.batch(
    Array.from({ length: count }, (_, at) => {
      const text = `${PEOPLE[at % PEOPLE.length]} rents cellar ${at} in street ${at % 7}`;
      return { write: { type: "fact" as const, text } };
    }),
  );
}

describe("relink", () => {
  test("links memories however far apart they were written (defect 17)", async () => {
    const first = await memory.write({ type: "fact", text: "Ada designs the Zephyr engine" });
    await crowd(210);
    const last = await memory.write({ type: "goal", text: "The Zephyr shall fly in June" });
    const report = await memory.relink();
    const wanted = report.links.filter(({ outcome }) => outcome === "new");
    expect(wanted.map(({ from, to }) => [from, to].sort())).toEqual([[first.id, last.id].sort()]);
    expect(report).toMatchObject({ memories: 212, failures: [] });
    expect(report.cursor).toBeUndefined();
    const { edges } = await memory.edgesOut(wanted[0]?.from ?? "");
    expect(edges).toMatchObject([
      { kind: "works_on", source: "extraction", reason: "Both name the Zephyr.", strength: 4 },
    ]);
    for (const { known } of server.shown()) expect(known.length).toBeLessThanOrEqual(40);
  });

  test("is safe to repeat, and a dry run changes nothing", async () => {
    await memory.write({ type: "fact", text: "Ada designs the Zephyr engine" });
    await memory.write({ type: "fact", text: "The Zephyr needs a hangar" });
    const before = await memory.root();
    const dry = await memory.relink({ dryRun: true });
    expect(dry.links.map(({ outcome }) => outcome)).toEqual(["proposed"]);
    expect(await memory.root()).toEqual(before);
    await memory.relink();
    const linked = await memory.root();
    const again = await memory.relink();
    expect(again.links.map(({ outcome }) => outcome)).toEqual(["known"]);
    expect(await memory.root()).toEqual(linked);
  });

  test("gives a memory few links of the same topic, over all prompts together", async () => {
    const hub = await memory.write({ type: "fact", text: "Ada collects Zephyr models" });
    for (let at = 0; at < 20; at += 1) {
      await memory.write({ type: "fact", text: `Zephyr model ${at} is on shelf ${at}` });
    }
    // Three others each time, never the same: more than a reply may say, and more than a memory takes.
    let offered = 0;
    say = ({ known }) => {
      const own = known.find(({ text }) => text.startsWith("Ada"))?.name ?? "";
      const others = known.map(({ name }) => name).filter((name) => name !== own);
      const links = [0, 1, 2].flatMap((at) => {
        return pairs([own, others[(offered + at) % others.length] ?? ""], "same_topic");
      });
      offered += 2;
      return { facts: [], relationships: links };
    };
    const reports = [];
    for (let round = 0; round < 9; round += 1) reports.push(await memory.relink());
    const links = reports.flatMap((report) => report.links);
    expect(links.filter(({ outcome }) => outcome === "new")).toHaveLength(LIMITS.sameTopicEdges);
    expect(links.some(({ outcome }) => outcome === "refused")).toBe(true);
    for (const { dropped } of reports) expect(dropped).toEqual([{ rule: "topics", count: 1 }]);
    const { edges } = await memory.edgesOut(hub.id);
    const topics = edges.filter(({ kind }) => kind === "same_topic");
    expect(topics).toHaveLength(LIMITS.sameTopicEdges);
    expect(topics.every(({ strength }) => strength === 2)).toBe(true);
  });

  test("stops at the limit of calls and goes on from there, leaving nothing out", async () => {
    await memory.write({ type: "fact", text: "Ada designs the Zephyr engine" });
    await crowd(60);
    await memory.write({ type: "fact", text: "The Zephyr needs a hangar" });
    const found: string[] = [];
    let cursor: string | undefined;
    let calls = 0;
    do {
      const report = await memory.relink({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      expect(report.calls).toBe(1);
      found.push(...report.links.map(({ outcome }) => outcome));
      cursor = report.cursor;
      calls += 1;
    } while (cursor !== undefined && calls < 50);
    expect(calls).toBeGreaterThan(1);
    expect(cursor).toBeUndefined();
    expect(found).toContain("new");
  });

  test.each([
    ["prose", "I would link them."],
    ["invented names", '{"facts":[],"relationships":[{"from":"k1","to":"k99"}]}'],
    ["facts", '{"facts":[{"text":"Ada is rich","type":"fact","turns":["t1"]}]}'],
  ])("a reply of %s changes nothing and is named", async (_, reply) => {
    await memory.write({ type: "fact", text: "Ada designs the Zephyr engine" });
    await memory.write({ type: "fact", text: "The Zephyr needs a hangar" });
    const before = await memory.root();
    server.behave({ says: reply });
    const report = await memory.relink();
    expect(report).toMatchObject({ calls: 1, links: [], failures: [{ code: "ERR_MODEL" }] });
    expect(await memory.root()).toEqual(before);
  });

  test("a dead model ends the call, a store without a model says so, and guests may not", async () => {
    await memory.write({ type: "fact", text: "Ada designs the Zephyr engine" });
    await memory.write({ type: "fact", text: "The Zephyr needs a hangar" });
    server.behave("reset");
    const dead = await refusalOf(memory, () => memory.relink());
    expect(dead.code).toBe("ERR_MODEL");
    await using plain = await openTestStore();
    const none = await refusalOf(plain.memory, () => plain.memory.relink());
    expect(none.code).toBe("ERR_NO_MODEL");
    const guest = await refusalOf(memory, () => memory.relink({ access: { kind: "guest" } }));
    expect(guest.code).toBe("ERR_DENIED");
    await refusalOf(memory, () => memory.relink({ limit: 0 }));
    await refusalOf(memory, () => memory.relink({ cursor: "no cursor" }));
  });
});
