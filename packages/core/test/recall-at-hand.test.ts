/**
 * Where a read waits for nobody, recall and search follow rows one by one and look at some where they stand; elsewhere
 * they read by the batch. Both must find the same, whatever the store holds and whatever is asked.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Cortex } from "../src/index.js";
import type { Kv } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { seededRandom } from "../src/testing/seeded-random.js";
import { byTheBatch } from "./by-the-batch.js";
import { atCleanUp } from "./other-process.js";
import { graphWith, wordEmbedder } from "./vector-support.js";

const BACKENDS: readonly (readonly [string, () => Promise<() => Promise<Kv>>])[] = [
  [
    "memory",
    async () => {
      const store = new MemoryStore();
      return async () => openMemoryKv(store);
    },
  ],
  [
    "lmdb",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "cortex-test-"));
      atCleanUp(() => rm(folder, { recursive: true, force: true }));
      return () => openLmdbKv(join(folder, "ada"), { relaxed: true });
    },
  ],
];

const WORDS = "tea garden Porto flight Nora violin office river lamp Oslo winter bread".split(" ");

/** Facts with and without slots, turns that ask and answer, links, rivals, what was hidden and what replaced. */
async function fill(memory: Cortex): Promise<void> {
  const next = seededRandom(7);
  const sentence = (): string => Array.from({ length: 7 }, () => next.pick(WORDS)).join(" ");
  const ids: string[] = [];
  for (let at = 0; at < 120; at += 1) {
    const slot = at % 5 === 0 ? { slot: `${WORDS[at % 7]?.toLowerCase()} ${at % 3}` } : {};
    const { id } = await memory.write({ type: "fact", text: `${sentence()} ${at}`, ...slot });
    ids.push(id);
  }
  await memory.write({ type: "fact", slot: "tea", text: "Tea comes from Porto" });
  await memory.write({ type: "fact", slot: "office river", text: "The office is at the river" });
  for (let at = 0; at < 12; at += 1) {
    const turns = Array.from({ length: 8 }, (_, turn) => ({
      role: turn % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `${sentence()}${turn % 3 === 0 ? "?" : ""}`,
      ...(at % 2 === 0 ? { speaker: turn % 2 === 0 ? "Nora" : "Piet" } : {}),
    }));
    await memory.remember(turns, { session: `session ${at}` });
    if (at === 6) await memory.maintain();
  }
  for (let at = 0; at < 30; at += 1) {
    await memory.link(ids[at] as string, "relates to", ids[119 - at] as string);
  }
  for (const id of ids.slice(40, 46)) await memory.tombstone(id, "no longer");
  for (const id of ids.slice(50, 54)) await memory.update(id, { text: sentence() });
  await memory.forget(ids[60] as string, "asked to");
}

describe.each(BACKENDS)("rows at hand and by the batch (%s)", (_, storage) => {
  test("give the same answers", { timeout: 60_000 }, async () => {
    const open = await storage();
    const embedder = wordEmbedder();
    const near = await graphWith(embedder, await open());
    await fill(near.memory);
    await near.memory.embedPending();
    const far = await graphWith(embedder, byTheBatch(await open()), 2);
    const now = Date.UTC(2030, 0, 2);
    const next = seededRandom(11);
    for (let at = 0; at < 40; at += 1) {
      const words = Array.from({ length: 1 + (at % 6) }, () => next.pick(WORDS));
      const question = `${at % 2 === 0 ? "What about " : ""}${words.join(" ")}?`;
      const options = { now, limit: 4 + at, ...OPTIONS[at % OPTIONS.length] };
      const answer = await near.memory.recall(question, options);
      expect(await far.memory.recall(question, options)).toEqual(answer);
      expect(answer.hits.length).toBeGreaterThan(0);
      const hits = await near.memory.search(question, { limit: 30 });
      expect(await far.memory.search(question, { limit: 30 })).toEqual(hits);
    }
  });
});

const OPTIONS = [{}, { history: true }, { by: "session" as const }, { types: ["fact" as const] }];
