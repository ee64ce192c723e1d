/**
 * How many round trips a call takes on Postgres: counted as the messages that somebody waits for. The
 * number is a promise, whatever a call is given: four for a write and five for one that has to look up
 * whom it replaces; three for a find and one more for every further, larger page; five for a recall,
 * six where it walks two links. What the backend counts of itself is held against what passes a proxy in front of the server.
 *
 * On PGlite, and on the server that `npm run test:postgres` starts.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cortex, open, openHub } from "../src/index.js";
import { postgresCounts } from "../src/kv/postgres-backend.js";
import { READ_VERSION } from "../src/kv/postgres-schema.js";
import { BACKEND, COMMIT, CONNECTION_SETTINGS } from "../src/kv/postgres-tables.js";
import { hubIn } from "../src/testing/fixtures.js";
import { startPglite } from "./pglite-server.js";
import { startProxy } from "./postgres-proxy.js";

const DATABASE = process.env.CORTEX_TEST_POSTGRES ?? "";

let server: { readonly url: string; stop(): Promise<void> };
let proxy: Awaited<ReturnType<typeof startProxy>>;
let memory: Cortex;
let location: string;
let ids: readonly string[];

beforeAll(async () => {
  server = DATABASE === "" ? await startPglite() : { url: DATABASE, stop: async () => {} };
  const url = new URL(server.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  location = hubIn(url.href);
  memory = await open(location, { actor: "ada" });
  const { results } = await memory.batch(
    Array.from({ length: 540 }, (_, at) => ({
      write: {
        type: "fact" as const,
        text: `fact ${at} about trains and rivers`,
        externalId: `f${at}`,
        tags: at >= 60 && at < 63 ? ["old"] : at < 50 ? ["t"] : ["t", "unchanged"],
        ...(at >= 50 && at < 53 ? { importance: 9 } : {}),
        ...(at < 5 ? { slot: `s${at}` } : {}),
      },
    })),
  );
  ids = results.map((result) => (result.ok ? result.id : ""));
  for (const at of [60, 61, 62]) {
    await memory.update(ids[at] ?? "", { text: `other words ${at}` });
  }
  const light = await memory.write({ type: "fact", text: "The lighthouse of Faro burns" });
  for (const at of [70, 71, 72]) {
    await memory.link(light.id, "supports", ids[at] ?? "");
    await memory.link(ids[at] ?? "", "supports", ids[at + 10] ?? "");
  }
  // A graph of a hub has a configuration, and most of its words are in segments.
  await memory.configure({ name: "Ada" });
  await memory.close();
  memory = await open(location, { actor: "ada" });
});
afterAll(async () => {
  await memory.close();
  proxy.stop();
  await server.stop();
});

/** What a connection says when it is new, and the end of a read that nothing came behind: nobody waits for these. */
const NOT_WAITED_FOR = [COMMIT, READ_VERSION].map(({ text }) => text);
const AT_THE_START = [BACKEND, CONNECTION_SETTINGS];

/** How many messages have passed the proxy for which a call has waited. */
function passed(): number {
  return proxy.seen.filter((texts) => {
    const [only] = texts;
    if (texts.length !== 1 || only === undefined) return true;
    return !NOT_WAITED_FOR.includes(only) && !AT_THE_START.includes(only);
  }).length;
}

function messages(): number {
  return postgresCounts().reduce((sum, pool) => sum + pool.messages, 0);
}

const CALLS: readonly (readonly [string, number, (memory: Cortex) => Promise<unknown>])[] = [
  ["write", 4, (m) => m.write({ type: "note", text: "new" })],
  ["write under a key", 4, (m) => m.write({ type: "note", text: "n", idempotencyKey: "k" })],
  ["restate", 4, (m) => m.write({ type: "fact", text: "fact 7 about trains and rivers" })],
  ["write into a new slot", 4, (m) => m.write({ type: "fact", text: "x", slot: "new" })],
  ["change a slot", 5, (m) => m.write({ type: "fact", text: "y", slot: "s1" })],
  ["update", 4, (m) => m.update(ids[10] ?? "", { text: "other words" })],
  ["update by name", 5, (m) => m.update("f11", { text: "more words" })],
  ["tombstone", 4, (m) => m.tombstone(ids[12] ?? "", "why not")],
  ["link", 4, (m) => m.link(ids[20] ?? "", "supports", ids[21] ?? "")],
  ["remember", 4, (m) => m.remember([{ role: "user", content: "hello" }], { session: "s" })],
  [
    "batch of 40",
    4,
    (m) =>
      m.batch(
        Array.from({ length: 40 }, (_, at) => ({
          write: { type: "note" as const, text: `many ${at}` },
        })),
      ),
  ],
  ["get", 2, (m) => m.get(ids[30] ?? "")],
  ["get of what was read before", 1, (m) => m.get(ids[30] ?? "")],
  ["list", 3, (m) => m.list({ type: "fact", limit: 10 })],
  ["find", 3, (m) => m.find({ tags: ["t"], limit: 10 })],
  ["find of what was changed since", 3, (m) => m.find({ tags: ["old"], limit: 10 })],
  ["find with a choice of paths", 3, (m) => m.find({ type: "fact", tags: ["t"], limit: 10 })],
  ["find by words", 3, (m) => m.find({ text: "trains", limit: 10 })],
  [
    "find in another order",
    3,
    (m) => m.find({ tags: ["old"], orderBy: [{ field: "salience" }], limit: 5 }),
  ],
  ["search", 3, (m) => m.search("trains", { limit: 10 })],
  ["recall", 5, (m) => m.recall("trains along rivers", { budgetTokens: 400 })],
  ["recall along links", 6, (m) => m.recall("the lighthouse of Faro", { budgetTokens: 400 })],
];

/** The fewest messages that one of some calls took: in between, indexes may have been brought up to date. */
async function fewest(call: (at: number) => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  // Failures before make presumptions rare; what holds makes them usual again.
  for (let at = 0; at < 8; at += 1) {
    const before = messages();
    await call(at);
    taken.push(messages() - before);
  }
  return Math.min(...taken);
}

test("plain writes take one each, and none believes what another process has changed", async () => {
  expect(await fewest((at) => memory.write({ type: "note", text: `calm ${at}` }))).toBe(1);
  const keyed = (at: number) =>
    memory.write({ type: "note", text: `keyed ${at}`, idempotencyKey: `k${at}` });
  expect(await fewest(keyed)).toBe(1);
  await using other = await open(location, { actor: "ada" });
  const theirs = await other.write({ type: "fact", text: "Written by the other" });
  const again = await memory.write({ type: "fact", text: "Written by the other" });
  expect(again).toMatchObject({ id: theirs.id, reinforced: true, seq: theirs.seq + 1 });
  await other.configure({ kindWhitelist: ["own"] });
  const foreign = { type: "note", text: "of a kind", kind: "foreign" } as const;
  await expect(memory.write(foreign)).rejects.toMatchObject({ code: "ERR_KIND_NOT_ALLOWED" });
  expect(await memory.check()).toMatchObject({ ok: true });
  expect((await memory.root()).root).toEqual((await other.root()).root);
});

/** A batch of plain writes, large enough that new rows are added without a look. */
function batchOf(m: Cortex, texts: readonly string[], idempotencyKey?: string) {
  const items = texts.map((text) => ({ write: { type: "fact" as const, text } }));
  return m.batch(items, idempotencyKey === undefined ? {} : { idempotencyKey });
}

test("a batch of plain writes takes one, and believes nothing that another process has changed", async () => {
  const texts = (name: string) => Array.from({ length: 100 }, (_, at) => `${name} ${at}`);
  expect(await fewest((at) => batchOf(memory, texts(`calm ${at}`)))).toBe(1);
  expect(await fewest((at) => batchOf(memory, texts(`keyed ${at}`), `batch ${at}`))).toBe(1);
  const before = await batchOf(memory, texts("mine"), "mine");
  expect(await batchOf(memory, texts("mine"), "mine")).toEqual(before);
  // What it says again is reinforced, whether the head is still the one that it left or not.
  const again = await batchOf(memory, [...texts("more"), "mine 7"]);
  expect(again.results.at(-1)).toMatchObject({
    id: before.results[7]?.ok === true ? before.results[7].id : "",
    reinforced: true,
  });
  await using other = await open(location, { actor: "ada" });
  const theirs = await batchOf(other, texts("theirs"));
  const { results } = await batchOf(memory, texts("theirs"));
  const idsOf = (all: typeof results) => all.map((result) => (result.ok ? result.id : ""));
  expect(idsOf(results)).toEqual(idsOf(theirs.results));
  for (const result of results) expect(result).toMatchObject({ ok: true, reinforced: true });
  expect(await memory.check()).toMatchObject({ ok: true });
  expect((await memory.root()).root).toEqual((await other.root()).root);
});

test("a large batch that travels while it is reckoned takes one as well", async () => {
  await using other = await open(location, { actor: "eve" });
  const texts = (name: string) => Array.from({ length: 150 }, (_, at) => `${name} ${at}`);
  const taken: number[] = [];
  for (let at = 0; at < 3; at += 1) {
    const before = messages();
    await batchOf(other, texts(`large ${at}`));
    taken.push(messages() - before);
  }
  expect(Math.min(...taken)).toBe(1);
  await using third = await open(location, { actor: "eve" });
  const theirs = await batchOf(third, texts("theirs"));
  const { results } = await batchOf(other, texts("theirs"));
  const idsOf = (all: typeof results) => all.map((result) => (result.ok ? result.id : ""));
  expect(idsOf(results)).toEqual(idsOf(theirs.results));
  expect(await other.check()).toMatchObject({ ok: true });
});

const READS = /^(get|list|find|search|recall)/;

test.each(CALLS)("%s takes at most %i", async (_, most, call) => {
  // Once before: what a process reads once for all is not the call's.
  await memory.search("rivers", { limit: 1 });
  await memory.recall("rivers");
  const before = [messages(), passed()] as const;
  await call(memory);
  const [counted, seen] = [messages() - before[0], passed() - before[1]];
  expect(counted).toBeLessThanOrEqual(most);
  // What is counted is what goes over the wire.
  expect(seen).toBe(counted);
});

test("a graph of a hub takes no more", async () => {
  await using hub = await openHub(location);
  const counts = await hub.use("ada", async (graph) => {
    await graph.recall("rivers");
    const found: (readonly [string, number, number])[] = [];
    for (const [name, most, call] of CALLS.filter(([what]) => READS.test(what))) {
      const before = messages();
      await call(graph);
      found.push([name, most, messages() - before]);
    }
    return found;
  });
  expect(counts.length).toBeGreaterThan(8);
  expect(counts.filter(([, most, taken]) => taken > most)).toEqual([]);
});

test("plain writes to a graph of a hub take one each", async () => {
  await using hub = await openHub(location);
  await hub.use("ada", async (graph) => {
    const write = (at: number) => graph.write({ type: "note", text: `through a hub ${at}` });
    expect(await fewest(write)).toBe(1);
  });
});

test("where a record lay is a guess: what another process has changed since is read as it is", async () => {
  const id = ids[40] ?? "";
  await memory.get(id);
  await using other = await open(location, { actor: "ada" });
  await other.update(id, { text: "changed elsewhere" });
  expect(await memory.get(id)).toMatchObject({ text: "changed elsewhere", version: 2 });
  await other.forget(id, "asked for");
  expect(await memory.get(id)).toBeUndefined();
});

test("a find that reads on takes one more for every page, and pages grow", async () => {
  // The hits are older than some five hundred memories: pages of 10, 40, 160 and 640 candidates.
  const before = messages();
  const { hits } = await memory.find({
    tags: ["unchanged"],
    where: { gt: ["head.importance", 8] },
    limit: 5,
  });
  expect(hits).toHaveLength(3);
  expect(messages() - before).toBeLessThanOrEqual(3 + 3);
});
