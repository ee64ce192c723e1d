/**
 * The text index against the plainest search there is, over a history of three thousand memories that
 * are changed, hidden, brought back, replaced, undone and forgotten: the same hits in the same order with the
 * same scores, now and at earlier positions, whatever of it lies in memory, in segments or in merged
 * ones, and after everything derived was built again.
 */
import { afterEach, describe, expect, test } from "vitest";
import { ulidText } from "../src/codec/ulid.js";
import type { Engine } from "../src/engine/engine.js";
import { Reader } from "../src/history/reader.js";
import { type Cortex, CortexError, LIMITS } from "../src/index.js";
import { TEXT_MANIFEST_KEY } from "../src/kv/keyspace.js";
import { around } from "../src/kv/kv.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { openGraph } from "../src/open.js";
import { type SeededRandom, seededRandom } from "../src/testing/seeded-random.js";
import { decodeManifest, encodeManifest } from "../src/text/manifest.js";
import { atCleanUp, cleanUp } from "./other-process.js";
import { Oracle } from "./text-oracle.js";

afterEach(cleanUp);

const SEED = 20_260;
const WORDS = 600;

interface World {
  readonly memory: Cortex;
  readonly engine: Engine;
  readonly oracle: Oracle;
  readonly random: SeededRandom;
  /** Positions that later questions go back to. */
  readonly positions: number[];
}

async function openWorld(): Promise<World> {
  const random = seededRandom(SEED);
  let now = Date.UTC(2030, 0, 1);
  const { memory, engine } = await openGraph("memory:", {
    actor: "ada",
    kv: openMemoryKv(new MemoryStore()),
    clock: () => {
      now += 1;
      return now;
    },
    random: random.bytes,
  });
  atCleanUp(() => memory.close());
  await memory.configure({ language: "none" });
  return { memory, engine, oracle: new Oracle(), random: seededRandom(SEED + 1), positions: [] };
}

/** Few words are common and many are rare, as in any text. */
function someWord(random: SeededRandom): string {
  const rank = Math.floor(WORDS ** (random.below(10_000) / 10_000));
  return `w${rank}`;
}

function someText(random: SeededRandom, number: number): string {
  const length = random.between(3, 25);
  return Array.from({ length }, () => someWord(random))
    .join(" ")
    .concat(` n${number}`);
}

let made = 0;

async function writeMany({ memory, oracle, random }: World, count: number): Promise<void> {
  const items = Array.from({ length: count }, () => {
    made += 1;
    const tags = random.below(3) === 0 ? [`t${random.below(20)}`] : [];
    return { type: "fact" as const, text: someText(random, made), tags };
  });
  const { results, seq } = await memory.batch(items.map((write) => ({ write })));
  for (const [at, result] of results.entries()) {
    if (!result.ok) throw result.error;
    const { text, tags } = items[at] ?? { text: "", tags: [] };
    const from = seq - count + 1 + at;
    oracle.record(result.id, { seq: from, lifecycle: "active", text, tags });
  }
}

/** One random change of one memory. */
async function changeOne({ memory, oracle, random }: World): Promise<void> {
  const dice = random.below(100);
  const lifecycle = dice >= 70 && dice < 80 ? "tombstoned" : dice >= 95 ? "archived" : "active";
  const ids = oracle.ids(lifecycle);
  const id = ids.length === 0 ? undefined : random.pick(ids);
  const before = id === undefined ? undefined : oracle.now(id);
  if (id === undefined || before === undefined) return;
  if (dice < 40) {
    made += 1;
    const text = someText(random, made);
    const { seq } = await memory.update(id, { text });
    oracle.record(id, { ...before, seq, text });
  } else if (dice < 55) {
    const tags = [`t${random.below(20)}`];
    const { seq } = await memory.updateHead(id, { tags });
    const slots = before.tags.filter((tag) => tag.startsWith("slot "));
    oracle.record(id, { ...before, seq, tags: [...tags, ...slots] });
  } else if (dice < 63) {
    await undoLast({ memory, oracle, id, seq: before.seq });
  } else if (dice < 70) {
    const { seq } = await memory.tombstone(id, "hidden");
    oracle.record(id, { ...before, seq, lifecycle: "tombstoned" });
  } else if (dice < 80) {
    const restored = await memory.restore(id).catch(unlessRefused);
    if (restored !== undefined) {
      oracle.record(id, { ...before, seq: restored.seq, lifecycle: "active" });
    }
  } else if (dice < 90) {
    await replaceInSlot({ memory, oracle, random });
  } else {
    await memory.forget(id, "asked for");
    oracle.forget(id);
  }
}

/** Changes that are refused: somebody has the slot by now, or part of the entry was forgotten. */
const REFUSALS: readonly string[] = ["ERR_CONFLICT", "ERR_ERASED"];

function unlessRefused(error: unknown): undefined {
  if (error instanceof CortexError && REFUSALS.includes(error.code)) return undefined;
  throw error;
}

/** Undoes the entry that left a memory as it is, where that is allowed. */
async function undoLast({
  memory,
  oracle,
  id,
  seq: last,
}: Pick<World, "memory" | "oracle"> & {
  readonly id: string;
  readonly seq: number;
}): Promise<void> {
  const undone = await memory.revert(last).catch(unlessRefused);
  if (undone === undefined) return;
  expect(undone.memories).toContain(id);
  const { seq } = undone;
  for (const one of undone.memories) {
    const [now, then] = [oracle.now(one), oracle.before(one)];
    if (then !== undefined) oracle.record(one, { ...then, seq });
    else if (now !== undefined) oracle.record(one, { ...now, seq, lifecycle: "tombstoned" });
  }
}

/** A new value of a slot archives the one before. */
async function replaceInSlot({
  memory,
  oracle,
  random,
}: Pick<World, "memory" | "oracle" | "random">): Promise<void> {
  made += 1;
  const slot = `slot ${random.below(40)}`;
  const text = someText(random, made);
  const { id, seq, replaced } = await memory.write({ type: "fact", slot, text });
  for (const { id: old } of replaced) {
    const before = oracle.now(old);
    if (before !== undefined) oracle.record(old, { ...before, seq, lifecycle: "archived" });
  }
  // The words of its slot are searched like those of a tag.
  oracle.record(id, { seq, lifecycle: "active", text, tags: [slot] });
}

async function expectSame(world: World, questions: number): Promise<void> {
  const { memory, oracle, random } = world;
  const { seq: last } = await memory.stats();
  for (let question = 0; question < questions; question += 1) {
    const words = Array.from({ length: random.between(1, 4) }, () => someWord(random));
    const past = question % 3 === 0 ? random.pick(world.positions) : undefined;
    const limit = random.pick([1, 10, 100]);
    const lifecycles = random.pick([
      ["active"],
      ["active", "archived"],
      ["archived", "tombstoned"],
    ] as const);
    const asOf = past === undefined ? {} : { asOf: past };
    const found = await memory.search(words.join(" "), {
      limit,
      lifecycles: [...lifecycles],
      snippets: false,
      ...asOf,
    });
    const expected = oracle.search(words, { seq: past ?? last, lifecycles }).slice(0, limit);
    const where = `${words.join(" ")} at ${past ?? "the end"} in ${lifecycles.join(", ")}`;
    expect(
      found.hits.map(({ id }) => id),
      where,
    ).toEqual(expected.map(({ id }) => id));
    for (const [at, { score }] of found.hits.entries()) {
      expect(Math.abs(score - (expected[at]?.score ?? Number.NaN)), where).toBeLessThan(1e-9);
    }
  }
}

/** Memories that hold every word, as the plain search finds them: the last written first. */
async function expectMatching({ engine, oracle, random }: World): Promise<void> {
  await Reader.with(engine.kv, undefined, async (reader) => {
    for (let question = 0; question < 20; question += 1) {
      const words = Array.from({ length: random.between(1, 3) }, () => someWord(random));
      const hits = oracle.search(words, { seq: reader.seq, lifecycles: ["active"] });
      const single = words.map(
        (word) => oracle.search([word], { seq: reader.seq, lifecycles: ["active"] }).length,
      );
      const all = hits
        .filter(({ id }) => {
          const state = oracle.now(id);
          const held = `${state?.text} ${state?.tags.join(" ")}`.split(/\s+/);
          return words.every((word) => held.includes(word));
        })
        .sort((a, b) => (oracle.now(b.id)?.seq ?? 0) - (oracle.now(a.id)?.seq ?? 0))
        .map(({ id }) => id);
      const text = words.join(" ");
      const most = random.pick([3, 10_000]);
      const { ids, complete } = await engine.text.matching(reader, text, ["active"], most);
      expect(ids.map(ulidText), text).toEqual(all.slice(0, most));
      expect(complete).toBe(all.length <= most);
      expect(await engine.text.estimate(reader, text, ["active"])).toBe(Math.min(...single));
    }
  });
}

describe("against the plain search", () => {
  test(`three thousand memories, seed ${SEED}`, async () => {
    const world = await openWorld();
    const { memory, engine } = world;
    for (let round = 0; round < 20; round += 1) {
      await writeMany(world, 150);
      for (let change = 0; change < 40; change += 1) await changeOne(world);
      world.positions.push((await memory.stats()).seq);
      if (round % 5 === 4) await expectSame(world, 6);
      // The last ones are left in memory.
      if (round < 19) await engine.text.flush();
    }
    await expectSame(world, 20);
    const before = await engine.text.status();
    expect(before.segments).toBeGreaterThan(16);
    await engine.text.flush();
    await expectSame(world, 20);
    const merged = await engine.text.merge();
    expect(merged.gone).toBeGreaterThan(6);
    await expectSame(world, 30);
    await expectMatching(world);
    for (let change = 0; change < 150; change += 1) await changeOne(world);
    await expectSame(world, 20);
    await expectMatching(world);
    expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
    await memory.vacuum();
    await expectSame(world, 10);
    await memory.rebuild();
    expect(await engine.text.status()).toMatchObject({ segments: 0, cursor: 0 });
    await expectSame(world, 20);
  });
});

describe("upkeep", () => {
  async function writeFacts(memory: Cortex, count: number): Promise<void> {
    for (let done = 0; done < count; done += 1000) {
      const size = Math.min(1000, count - done);
      await memory.batch(
        Array.from({ length: size }, (_, at) => ({
          write: { type: "fact", text: `lantern ${done + at} of ${count}` },
        })),
      );
    }
  }

  test("a search finds everything and leaves a short tail, however much was written", async () => {
    const { memory, engine } = await openWorld();
    await writeFacts(memory, 2 * LIMITS.textTailEntries + 2000);
    expect((await memory.search("lantern", { limit: 10_000 })).hits).toHaveLength(
      Math.min(10_000, 2 * LIMITS.textTailEntries + 2000),
    );
    const status = await engine.text.status();
    expect(status.segments).toBeGreaterThan(0);
    // A search waits for segments when twice the usual tail is left; the rest is written behind it.
    expect(status.tail).toBeLessThanOrEqual(2 * LIMITS.textTailEntries);
    expect(status).not.toHaveProperty("failure");
  });

  test("whoever closes writes a long tail out, and leaves a short one", async () => {
    const store = new MemoryStore();
    const openHandle = () => openGraph("memory:", { actor: "ada", kv: openMemoryKv(store) });
    const short = await openHandle();
    await writeFacts(short.memory, 100);
    await short.memory.close();
    const long = await openHandle();
    expect(await long.engine.text.status()).toMatchObject({ cursor: 0, segments: 0, tail: 101 });
    await writeFacts(long.memory, LIMITS.textCloseEntries);
    await long.memory.close();
    const after = await openHandle();
    atCleanUp(() => after.memory.close());
    expect(await after.engine.text.status()).toMatchObject({ segments: 1, tail: 0 });
    // Each hundred stands once by itself and once among the five hundred.
    expect((await after.memory.search("lantern", { limit: 1000 })).hits).toHaveLength(612);
  });

  test("storage that takes no more changes of caches is still searched", async () => {
    const store = new MemoryStore();
    const inner = openMemoryKv(store);
    const full = around(inner, {
      commitCaches: () =>
        Promise.reject(new CortexError("ERR_DISK_FULL", "the disk is full; nothing was written")),
    });
    const { memory, engine } = await openGraph("memory:", { actor: "ada", kv: full });
    atCleanUp(() => memory.close());
    await writeFacts(memory, 2 * LIMITS.textTailEntries + 100);
    expect((await memory.search("lantern 77", { limit: 1 })).hits[0]?.text).toContain(
      "lantern 77 ",
    );
    expect(await engine.text.status()).toMatchObject({
      segments: 0,
      failure: "ERR_DISK_FULL: the disk is full; nothing was written",
    });
  });
});

test("an index of an earlier analyser is made again by the first search, and answers the same", async () => {
  const { memory, engine } = await openWorld();
  await memory.remember(
    ["The kettle is red.", "Always write dates with the month first."].map((content) => ({
      role: "user" as const,
      content,
    })),
    { session: "a" },
  );
  await memory.maintain();
  const before = await memory.recall("write dates");
  const [row] = await Reader.with(engine.kv, undefined, (reader) =>
    reader.getMany([TEXT_MANIFEST_KEY]),
  );
  if (row === undefined) throw new Error("expected a manifest, got none");
  const older = encodeManifest({ ...decodeManifest(row), analyser: "1:none" });
  const change = { expect: [], puts: [{ key: TEXT_MANIFEST_KEY, value: older }], deletes: [] };
  expect(await engine.kv.commitCaches(change)).toBe(true);
  const after = await memory.recall("write dates");
  expect(after.hits).toEqual(before.hits);
  expect(after.hits[0]?.why.lanes.standing).toBeGreaterThan(0);
  expect((await memory.search("kettle")).hits).toHaveLength(1);
});
