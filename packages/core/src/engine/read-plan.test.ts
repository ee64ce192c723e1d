/** A plan says by which indexes and lanes a read went and how much it read, and nothing of what was asked. */
import { describe, expect, test } from "vitest";
import type { OnPlan, ReadPlan } from "../contract/hits.js";
import type { Cortex } from "../cortex.js";
import { KEYSPACE, keyString } from "../kv/keyspace.js";
import { around, type KvSnapshot } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { hashEmbedder } from "../vector/embedder.js";

/** Words that stand in memories and questions, and must stand in no plan. */
const MARKED = /zanzibar|quokka|xylophone|marimba/i;

async function filled(): Promise<Cortex> {
  const memory = await open("memory:");
  const frames = [{ verb: "schedule", object: "plan", ref: "quokka-trip" }] as const;
  await memory.write({
    type: "fact",
    text: "Ada moved to Zanzibar",
    slot: "quokka city",
    tags: ["xylophone"],
    externalId: "marimba",
    frames,
  });
  await memory.write({ type: "note", kind: "quokka", text: "a note from Zanzibar" });
  await memory.write({ type: "constraint", text: "no xylophone at night", externalId: "rule" });
  await memory.link("rule", "related_to", "marimba", { reason: "quokka" });
  const turns = [{ role: "user", content: "Is there a quokka in Zanzibar?" }] as const;
  await memory.remember(turns, { session: "marimba-talk" });
  return memory;
}

/** The plan that a read tells. */
async function planOf(
  read: (memory: Cortex, onPlan: OnPlan) => Promise<unknown>,
): Promise<ReadPlan> {
  await using memory = await filled();
  const told: ReadPlan[] = [];
  await read(memory, (plan) => void told.push(plan));
  expect(told).toHaveLength(1);
  const [plan] = told;
  if (plan === undefined) throw new Error("no plan was told");
  expect(JSON.stringify(plan)).not.toMatch(MARKED);
  expect(plan.rowsRead).toBeGreaterThan(0);
  return plan;
}

describe("find", () => {
  test.each([
    [{ tags: ["xylophone"] }, "tag"],
    [{ slot: "quokka city" }, "slot"],
    [{ kinds: ["quokka"] }, "kind"],
    [{ session: "marimba-talk" }, "session"],
    [{ frame: { verb: "schedule", object: "plan", ref: "quokka-trip" } }, "frame"],
    [{ text: "zanzibar" }, "text"],
    [{ from: "rule" }, "walk"],
    [{ where: { eq: ["head.externalId", "marimba"] } }, "external ids"],
    [{ where: { gte: ["head.createdAt", 1] } }, "journal"],
  ] as const)("by %j is read from %s", async (query, index) => {
    const plan = await planOf((memory, onPlan) => memory.find({ ...query, limit: 5, onPlan }));
    expect(plan).toMatchObject({ verb: "find", index });
    expect(plan.hits).toBeGreaterThan(0);
  });

  test("names every index there was, by its cost, and reads as much as explain says", async () => {
    await using memory = await filled();
    const told: ReadPlan[] = [];
    const { explain } = await memory.find({
      type: "fact",
      tags: ["xylophone"],
      limit: 5,
      explain: true,
      onPlan: (plan) => void told.push(plan),
    });
    const [plan] = told;
    if (plan?.verb !== "find") throw new Error("expected the plan of a find");
    expect(plan.indexes.map(({ name }) => name).sort()).toEqual(["tag", "type"]);
    expect(plan.rowsRead).toBe(explain?.rowsRead);
    expect(plan).toMatchObject({ candidates: explain?.candidates, order: explain?.order, hits: 1 });
  });
});

test("search and searchBatch tell words, segments and tail", async () => {
  const one = await planOf((memory, onPlan) => memory.search("quokka zanzibar", { onPlan }));
  expect(one).toMatchObject({ verb: "search", index: "text", queries: 1, words: 2, segments: 0 });
  expect(one).toHaveProperty(
    "tail",
    expect.toSatisfy((tail: number) => tail >= 5),
  );
  const many = await planOf((memory, onPlan) =>
    memory.searchBatch(["quokka", "xylophone at night"], { onPlan }),
  );
  expect(many).toMatchObject({ verb: "searchBatch", queries: 2 });
  expect(many.hits).toBeGreaterThan(1);
});

test("recall tells its lanes", async () => {
  const plan = await planOf((memory, onPlan) =>
    memory.recall(["what is the quokka city?", "where is Zanzibar?"], { onPlan }),
  );
  if (plan.verb !== "recall") throw new Error("expected the plan of a recall");
  expect(plan).toMatchObject({ questions: 2, trimmed: 0 });
  expect(plan.lanes.lexical).toBeGreaterThan(1);
  expect(plan.lanes.slot).toBe(1);
  expect(plan.candidates).toBeGreaterThanOrEqual(plan.hits);
});

test.each([
  ["without a model", {}],
  ["with the lane of meaning", { embedder: hashEmbedder({ dimensions: 16 }) }],
] as const)("a recall %s reads each entry once, and few rows", async (_, options) => {
  const asked: string[] = [];
  const inner = openMemoryKv();
  const kv = around(inner, {
    async snapshot(how) {
      const snapshot = await inner.snapshot(how);
      const getMany: KvSnapshot["getMany"] = (keys) => {
        asked.push(...keys.map(keyString));
        return snapshot.getMany(keys);
      };
      return {
        ...snapshot,
        getMany,
        ranges: (all) => snapshot.ranges(all),
        close: () => snapshot.close(),
      };
    },
  });
  await using memory = await open("memory:", { kv, ...options });
  const text = (at: number): string => `the ${WORDS[at % 7]} of ${WORDS[at % 11]} and number ${at}`;
  await memory.batch(
    Array.from({ length: 400 }, (__, at) => ({ write: { type: "fact", text: text(at) } })),
  );
  for (let session = 0; session < 20; session += 1) {
    const turns = Array.from({ length: 10 }, (__, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: text(10 * session + at),
    }));
    await memory.remember(turns, { session: `s${session}` });
  }
  await memory.maintain();
  const question = `which ${WORDS[3]} and ${WORDS[9]}?`;
  const ask = async (): Promise<ReadPlan> => {
    const told: ReadPlan[] = [];
    await memory.recall(question, { limit: 20, onPlan: (plan) => void told.push(plan) });
    const [plan] = told;
    if (plan === undefined) throw new Error("no plan was told");
    return plan;
  };
  // The first question loads what later ones have in memory.
  await ask();
  asked.length = 0;
  const plan = await ask();
  if (plan.verb !== "recall") throw new Error("expected the plan of a recall");
  expect(plan.candidates).toBeGreaterThan(100);
  const times = (prefix: number): number[] => {
    const keys = asked.filter((key) => key.charCodeAt(0) === prefix);
    return [...new Set(keys)].map((key) => keys.filter((other) => other === key).length);
  };
  const entries = times(KEYSPACE.journal.byte);
  expect(Math.max(...entries)).toBe(1);
  // What words and meaning both find has its row read by either.
  expect(Math.max(...times(KEYSPACE.memory.byte))).toBeLessThanOrEqual(
    "embedder" in options ? 2 : 1,
  );
  // Nothing is loaded that is not weighed: hits by words, turns beside them, what is near.
  expect(entries.length).toBeLessThanOrEqual(plan.candidates + SPARE);
  const perCandidate = "embedder" in options ? 5 : 3;
  // Turns around hits are keys of a range: five for each of 64.
  expect(plan.rowsRead).toBeLessThanOrEqual(perCandidate * plan.candidates + 5 * 64 + SPARE);
});

/** Rows that a recall reads whatever it finds: the head, the manifest, rows of words, the configuration. */
const SPARE = 64;

const WORDS = "amber birch cedar dune ember fjord grove heath islet jetty knoll".split(" ");

test("context tells its tiers", async () => {
  const plan = await planOf((memory, onPlan) =>
    memory.context({ verb: "schedule", objects: { plan: "quokka-trip" }, onPlan }),
  );
  expect(plan).toMatchObject({
    verb: "context",
    tiers: { pinned: 1, outcomes: 0, frame_relevant: 1 },
    capped: [],
    trimmed: 0,
    hits: 2,
  });
});

test("traverse tells hops and edges", async () => {
  const plan = await planOf((memory, onPlan) => memory.traverse("rule", { maxHops: 2, onPlan }));
  expect(plan).toMatchObject({ verb: "traverse", hops: 2, edges: 1, truncated: false, hits: 1 });
});

test("answers are the same whether a plan is told or not, and what is no function is refused", async () => {
  await using memory = await filled();
  const onPlan = (): void => {};
  const query = { type: "fact", limit: 5 } as const;
  expect(await memory.find({ ...query, onPlan })).toEqual(await memory.find(query));
  const now = 1_900_000_000_000;
  expect(await memory.recall("Zanzibar", { now, onPlan })).toEqual(
    await memory.recall("Zanzibar", { now }),
  );
  const bad = "please" as never;
  for (const read of [
    () => memory.find({ ...query, onPlan: bad }),
    () => memory.search("x", { onPlan: bad }),
    () => memory.searchBatch(["x"], { onPlan: bad }),
    () => memory.recall("x", { onPlan: bad }),
    () => memory.context({ onPlan: bad }),
    () => memory.traverse("rule", { onPlan: bad }),
  ]) {
    await expect(read()).rejects.toMatchObject({ code: "ERR_INVALID" });
  }
});
