/**
 * Salience at a position: what was scored at every step of a random history can be scored again from
 * its end, to the last digit, as long as the memory was not forgotten.
 */
import { describe, expect, test } from "vitest";
import { parseUlid } from "../codec/ulid.js";
import { Reader } from "../history/reader.js";
import type { Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { findMemory } from "../memory/read.js";
import { open } from "../open.js";
import type { Salience } from "../salience/salience.js";
import { countingKv } from "../testing/counting-kv.js";
import { type SeededRandom, seededRandom } from "../testing/seeded-random.js";
import { salienceOf, weightsAt } from "./salience-reader.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_121);

async function scored(
  kv: Kv,
  ids: readonly string[],
  nowMs: number,
  asOf?: number,
): Promise<ReadonlyMap<string, Salience>> {
  return Reader.with(kv, asOf, async (reader) => {
    const all = await Promise.all(
      ids.map((id) => findMemory(reader, parseUlid(id) ?? new Uint8Array(16))),
    );
    const there = ids.filter((_, at) => all[at] !== undefined);
    const found = all.flatMap((memory) => memory ?? []);
    const scores = await salienceOf(reader, found, { nowMs });
    return new Map(there.map((id, at) => [id, scores[at] as Salience]));
  });
}

async function step(memory: Awaited<ReturnType<typeof open>>, random: SeededRandom, ids: string[]) {
  const dice = random.below(10);
  if (ids.length < 3 || dice < 2) {
    const text = `text ${random.below(8)}`;
    const { id } = await memory.write({ type: "fact", text, importance: random.below(11) });
    if (!ids.includes(id)) ids.push(id);
  } else if (dice < 4) {
    await memory.updateHead(random.pick(ids), { importance: random.below(11) });
  } else if (dice < 5) {
    await memory.update(random.pick(ids), { text: `text ${random.below(100)}` });
  } else {
    const outcome = random.pick(["success", "failure"] as const);
    const reason = random.chance(60) ? { reason: "wrong_assumption" } : {};
    const cited = random.shuffled(ids).slice(0, random.between(1, 3));
    await memory.attest({ intentId: "t", outcome, cited, ...reason });
  }
}

describe("the past is scored as it was", () => {
  for (const seed of [SEED, SEED + 1, SEED + 2]) {
    test(`seed ${seed}`, async () => {
      console.log(`salience of the past: seed ${seed}`);
      const random = seededRandom(seed);
      const kv = openMemoryKv();
      let now = Date.UTC(2030, 0, 1);
      const clock = () => now;
      const options = { kv, clock, random: random.bytes, rateLimits: false } as const;
      await using memory = await open("memory:", options);
      const ids: string[] = [];
      const past: { seq: number; now: number; scores: ReadonlyMap<string, Salience> }[] = [];
      for (let at = 0; at < 60; at += 1) {
        now += random.below(5 * 24 * 3600 * 1000);
        await step(memory, random, ids);
        const { seq } = await memory.stats();
        past.push({ seq, now, scores: await scored(kv, ids, now) });
      }
      const gone = ids.splice(0, 2);
      for (const id of gone) await memory.forget(id, "why");
      for (const { seq, now: then, scores } of past) {
        const left = new Map([...scores].filter(([id]) => !gone.includes(id)));
        expect(await scored(kv, ids, then, seq)).toEqual(left);
      }
      const cited = past.flatMap(({ scores }) => [...scores.values()]);
      expect(cited.some(({ factors }) => factors.citations > 0)).toBe(true);
    });
  }
});

test("many memories are scored in two batched reads, and one look where none was used", async () => {
  const kv = countingKv(openMemoryKv());
  await using memory = await open("memory:", { kv });
  const { results } = await memory.batch(
    Array.from({ length: 300 }, (_, n) => ({ write: { type: "note", text: `${n}` } })),
  );
  const ids = results.map((result) => ("id" in result ? result.id : ""));
  await Reader.with(kv, undefined, async (reader) => {
    const raw = ids.map((id) => parseUlid(id) ?? new Uint8Array(16));
    const found = await reader.memories(raw, await reader.memoryRows(raw));
    kv.reset();
    const all = found.flatMap((memory) => memory ?? []);
    const scores = await salienceOf(reader, all, { nowMs: Date.now() });
    expect(scores.every(({ factors }) => factors.citations === 0)).toBe(true);
    expect(kv.counts()).toMatchObject({ batches: 2, keys: 1 });
  });
  await memory.attest({ intentId: "t", outcome: "success", cited: ids.slice(0, 200) });
  await Reader.with(kv, undefined, async (reader) => {
    const raw = ids.map((id) => parseUlid(id) ?? new Uint8Array(16));
    const found = await reader.memories(raw, await reader.memoryRows(raw));
    kv.reset();
    const scores = await salienceOf(
      reader,
      found.flatMap((memory) => memory ?? []),
      { nowMs: Date.now() },
    );
    expect(scores.filter(({ factors }) => factors.citations > 0)).toHaveLength(200);
    // The look at hand whether any was used, and the two reads.
    expect(kv.counts()).toMatchObject({ batches: 3, keys: 302 });
    expect((await weightsAt(reader)).similarity).toBe(0.1);
  });
});

test("no memories need no read, and a time must be one", async () => {
  const kv = countingKv(openMemoryKv());
  await using memory = await open("memory:", { kv });
  const { id } = await memory.write({ type: "note", text: "one" });
  await Reader.with(kv, undefined, async (reader) => {
    kv.reset();
    expect(await salienceOf(reader, [], { nowMs: 0 })).toEqual([]);
    expect(kv.counts().batches).toBe(0);
    const found = await findMemory(reader, parseUlid(id) ?? new Uint8Array(16));
    await expect(
      salienceOf(reader, found === undefined ? [] : [found], { nowMs: Number.NaN }),
    ).rejects.toMatchObject({ code: "ERR_INVALID" });
  });
});
