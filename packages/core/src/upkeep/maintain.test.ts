/**
 * Upkeep: says before what it will do, does it in pieces, changes no answer, and can be stopped
 * anywhere.
 */
import { describe, expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import { keyString, vectorKey } from "../kv/keyspace.js";
import type { Kv, KvRow } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { modelTag } from "../records/vector-rows.js";
import { GUEST } from "../scope/access.js";
import { refusalOf } from "../testing/index.js";
import { checkEmbedder, hashEmbedder } from "../vector/embedder.js";
import { dropOtherModels } from "../vector/vector-changes.js";
import { type MaintainStep, runSteps } from "./steps.js";

const OLD = hashEmbedder({ dimensions: 8, salt: "old" });
const NEW = hashEmbedder({ dimensions: 8, salt: "new" });
const tagOf = (embedder: typeof OLD): Uint8Array => modelTag(sha256Node, checkEmbedder(embedder));

async function rowsOf(kv: Kv): Promise<readonly KvRow[]> {
  const snapshot = await kv.snapshot();
  const everything = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff), limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([everything]);
  snapshot.close();
  return rows;
}

/** Every row as text, to compare two states. */
async function stateOf(kv: Kv): Promise<readonly string[]> {
  return (await rowsOf(kv)).map(({ key, value }) => `${keyString(key)} ${keyString(value)}`);
}

/** How many rows of a model there are, of each sort. */
async function rowsOfModel(kv: Kv, tag: Uint8Array): Promise<readonly number[]> {
  const rows = await rowsOf(kv);
  return (["vector", "vectorOwner", "vectorMemory"] as const).map((sort) => {
    const prefix = keyString(vectorKey(sort, tag));
    return rows.filter(({ key }) => keyString(key).startsWith(prefix)).length;
  });
}

/** A store of so many notes with vectors of the old model, and of the new one if asked for. */
async function world(count: number, both = true): Promise<MemoryStore> {
  const data = new MemoryStore();
  await using memory = await open("memory:", { kv: openMemoryKv(data), embedder: OLD });
  for (let from = 0; from < count; from += 1000) {
    await memory.batch(
      Array.from({ length: Math.min(1000, count - from) }, (_, at) => ({
        write: {
          type: "note",
          text: `note number ${from + at}`,
          externalId: `${from + at}`,
        } as const,
      })),
    );
  }
  await memory.embedPending();
  if (both) {
    await using next = await open("memory:", { kv: openMemoryKv(data), embedder: NEW });
    await next.embedPending();
  }
  return data;
}

describe("a dry run", () => {
  test("says what there is, and not one row is different afterwards", async () => {
    const data = await world(300);
    const kv = openMemoryKv(data);
    await using memory = await open("memory:", { kv: openMemoryKv(data), embedder: NEW });
    const before = await stateOf(kv);
    const report = await memory.maintain({ dryRun: true });
    expect(await stateOf(kv)).toEqual(before);
    expect(report).toEqual({
      dryRun: true,
      steps: [
        { step: "vectors of other models", done: 0, left: 901 },
        { step: "text flush", done: 0, left: 301 },
        { step: "text merge", done: 0, left: 0 },
        { step: "confirm", done: 0, left: 0 },
      ],
      changes: [],
      complete: false,
      seq: 300,
    });
  });
});

describe("a run", () => {
  test("does what the dry run said, changes no answer, and finds nothing to do again", async () => {
    const data = await world(300);
    const kv = openMemoryKv(data);
    await using memory = await open("memory:", { kv: openMemoryKv(data), embedder: NEW });
    const ask = async () => {
      const { hits } = await memory.search("note number 7", { limit: 20 });
      return { hits, root: await memory.root(), list: await memory.list({ limit: 300 }) };
    };
    const before = await ask();
    expect(before.hits.length).toBeGreaterThan(0);
    const report = await memory.maintain();
    expect(report.steps).toEqual([
      { step: "vectors of other models", done: 901, left: 0 },
      { step: "text flush", done: 301, left: 0 },
      { step: "text merge", done: 0, left: 0 },
      { step: "confirm", done: 0, left: 0 },
    ]);
    expect(report.complete).toBe(true);
    expect(await ask()).toEqual(before);
    expect(await rowsOfModel(kv, tagOf(OLD))).toEqual([0, 0, 0]);
    expect(await rowsOfModel(kv, tagOf(NEW))).toEqual([300, 300, 300]);
    const after = await stateOf(kv);
    expect((await memory.maintain()).steps.map(({ done }) => done)).toEqual([0, 0, 0, 0]);
    expect(await stateOf(kv)).toEqual(after);
    expect(await memory.embedPending()).toMatchObject({ texts: 0 });
    expect((await memory.check()).ok).toBe(true);
  });

  test("merges segments that many small visits left", async () => {
    const data = new MemoryStore();
    await using memory = await open("memory:", { kv: openMemoryKv(data) });
    for (let visit = 0; visit < 9; visit += 1) {
      await memory.write({ type: "note", text: `visit ${visit}` });
      await memory.maintain({ budgetMs: 60_000 });
    }
    const { text } = await memory.stats();
    expect(text).toMatchObject({ tail: 0, lag: 0, cursor: 10 });
    expect(text.segments).toBeLessThan(9);
    expect((await memory.search("visit", { limit: 20 })).hits).toHaveLength(9);
  });

  test("stops when its time is over and goes on the next time", async () => {
    const data = await world(4000, false);
    let now = Date.now();
    const clock = (): number => {
      now += 10;
      return now;
    };
    await using memory = await open("memory:", {
      kv: openMemoryKv(data),
      embedder: NEW,
      clock,
    });
    const left: number[] = [];
    for (let run = 0; run < 40; run += 1) {
      // The clock moves whenever it is asked: first time for a piece of an index, then for all of them.
      const report = await memory.maintain({ budgetMs: run < 10 ? 15 : 75 });
      left.push(report.steps.reduce((sum, step) => sum + step.left, 0));
      if (report.complete) break;
    }
    expect(left.length).toBeGreaterThan(1);
    expect(left.at(-1)).toBe(0);
    expect(left).toEqual([...left].sort((a, b) => b - a));
    const stopped = await memory.maintain({ signal: AbortSignal.abort() });
    expect(stopped.steps.map(({ done }) => done)).toEqual([0, 0, 0, 0]);
  });

  test("without an embedder nobody knows which model is meant: all vectors stay", async () => {
    const data = await world(20);
    await using memory = await open("memory:", { kv: openMemoryKv(data) });
    expect((await memory.maintain()).steps.map(({ step }) => step)).toEqual([
      "text flush",
      "text merge",
      "confirm",
    ]);
    const kv = openMemoryKv(data);
    expect(await rowsOfModel(kv, tagOf(OLD))).toEqual([20, 20, 20]);
  });
});

describe("vectors of a model that are half removed", () => {
  test("a forget takes out everything that is left of its memory, and nothing else", async () => {
    const data = await world(1000);
    const kv = openMemoryKv(data);
    await dropOtherModels(kv, tagOf(NEW), { limit: 900 });
    const [vectors = 0, owners = 0, memories = 0] = await rowsOfModel(kv, tagOf(OLD));
    expect([owners, memories]).toEqual([vectors, vectors]);
    expect(vectors).toBeGreaterThan(0);
    expect(vectors).toBeLessThan(1000);
    await using memory = await open("memory:", { kv: openMemoryKv(data), embedder: NEW });
    // Some of both: those whose vectors are gone, and those who still have one.
    for (let at = 0; at < 1000; at += 20) await memory.forget(String(at), "asked");
    const left = await rowsOfModel(kv, tagOf(OLD));
    const gone = vectors - (left[0] ?? 0);
    expect(gone).toBeGreaterThan(0);
    expect(left).toEqual(Array(3).fill(vectors - gone));
    expect((await memory.maintain()).complete).toBe(true);
    expect(await rowsOfModel(kv, tagOf(OLD))).toEqual([0, 0, 0]);
    expect(await rowsOfModel(kv, tagOf(NEW))).toEqual([950, 950, 950]);
  });

  test("a process that still uses the model starts it anew, and nobody is without a vector", async () => {
    const data = await world(1000, false);
    const kv = openMemoryKv(data);
    await dropOtherModels(kv, tagOf(NEW), { limit: 900 });
    await using memory = await open("memory:", { kv: openMemoryKv(data), embedder: OLD });
    await memory.embedPending();
    expect(await rowsOfModel(kv, tagOf(OLD))).toEqual([1000, 1000, 1000]);
    expect((await memory.stats()).vectors).toMatchObject({ memories: 1000, lag: 0 });
  });
});

describe("steps", () => {
  test("a step that cannot get on does not hold up the next", async () => {
    const stuck: MaintainStep = { step: "stuck", left: async () => 5, work: async () => 0 };
    let todo = 3;
    const going: MaintainStep = {
      step: "going",
      left: async () => todo,
      work: async () => {
        todo -= 1;
        return todo < 0 ? 0 : 1;
      },
    };
    const reports = await runSteps([stuck, going], { dryRun: false, isOver: () => todo < 0 });
    expect(reports[0]).toEqual({ step: "stuck", done: 0, left: 5 });
    expect(reports[1]).toMatchObject({ step: "going", done: 3 });
  });

  test("what is no option is refused, and so is a guest", async () => {
    await using memory = await open("memory:");
    const codeOf = async (options: object) =>
      (await refusalOf(memory, () => memory.maintain(options))).code;
    expect(await codeOf({ dryRun: "yes" })).toBe("ERR_INVALID");
    expect(await codeOf({ budgetMs: 0 })).toBe("ERR_INVALID");
    expect(await codeOf({ signal: {} })).toBe("ERR_INVALID");
    expect(await codeOf({ merge: 1 })).toBe("ERR_INVALID");
    expect(await codeOf({ maxChanges: 10_001 })).toBe("ERR_INVALID");
    expect(await codeOf({ snapshotEveryMs: 0.5 })).toBe("ERR_INVALID");
    expect(await codeOf({ budget: 5 })).toBe("ERR_UNKNOWN_FIELD");
    expect(await codeOf({ access: GUEST })).toBe("ERR_DENIED");
  });
});
