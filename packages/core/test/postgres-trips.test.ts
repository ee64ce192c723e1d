/**
 * How many round trips a call takes on Postgres: counted as the messages that somebody waits for. The
 * number is a promise, whatever a call is given: four for a write, and five for one that has to look up
 * whom it replaces. Reads are held to what they take today.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cortex, open } from "../src/index.js";
import { postgresCounts } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { type PgliteServer, startPglite } from "./pglite-server.js";

let server: PgliteServer;
let memory: Cortex;
let ids: readonly string[];

beforeAll(async () => {
  server = await startPglite();
  memory = await open(hubIn(server.url), { actor: "ada" });
  const { results } = await memory.batch(
    Array.from({ length: 300 }, (_, at) => ({
      write: {
        type: "fact" as const,
        text: `fact ${at} about trains and rivers`,
        externalId: `f${at}`,
        tags: ["t"],
        ...(at < 5 ? { slot: `s${at}` } : {}),
      },
    })),
  );
  ids = results.map((result) => (result.ok ? result.id : ""));
});
afterAll(async () => {
  await memory.close();
  await server.stop();
});

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
  ["get", 3, (m) => m.get(ids[30] ?? "")],
  ["find", 6, (m) => m.find({ tags: ["t"], limit: 10 })],
  ["search", 10, (m) => m.search("trains", { limit: 10 })],
  ["recall", 13, (m) => m.recall("trains along rivers", { budgetTokens: 400 })],
];

test.each(CALLS)("%s takes at most %i", async (_, most, call) => {
  // Once before: what a process reads once for all is not the call's.
  await memory.search("rivers", { limit: 1 });
  const before = messages();
  await call(memory);
  expect(messages() - before).toBeLessThanOrEqual(most);
});
