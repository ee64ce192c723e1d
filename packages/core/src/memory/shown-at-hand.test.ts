/** Memories that are read where their rows stand: the same answers, and the same refusals, as by way of copies. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { byTheBatch } from "../../test/by-the-batch.js";
import type { Cortex } from "../cortex.js";
import { isCortexError } from "../errors.js";
import { KEYSPACE } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow } from "../kv/kv.js";
import { openLmdbKv } from "../kv/lmdb-backend.js";
import { open } from "../open.js";
import { seededRandom, TEST_EPOCH_MS } from "../testing/index.js";

const SEED = 20_261_118;

/** A plain memory and one of every other kind. */
async function fill(memory: Cortex): Promise<void> {
  const frame = { verb: "build", object: "plan", ref: "trip" } as const;
  await memory.write({ type: "fact", text: "plain", tags: ["red"] });
  await memory.write({ type: "fact", text: "é 日 😀 \ufffd", tags: ["red", "blå"], importance: 9 });
  await memory.write({ type: "note", text: "x".repeat(5000), tags: ["red"], kind: "memo" });
  await memory.write({ type: "goal", text: "framed", tags: ["red"], frames: [frame] });
  await memory.write({ type: "fact", text: "Lyon", slot: "home", tags: ["red"], externalId: "a" });
  await memory.write({ type: "fact", text: "Porto", slot: "home", tags: ["red"] });
  await memory.write({ type: "fact", text: "soon", slot: "home", tags: ["red"], validFrom: 2e12 });
  await memory.write({ type: "belief", text: "half", tags: ["red"], confidence: 0.5 });
  await memory.write({ type: "note", text: "first", tags: ["red"], externalId: "u" });
  await memory.update("u", { text: "second" });
  await memory.updateHead("u", { importance: 1 });
  await memory.update("u", { text: "third", metadata: { deep: { er: [1, 2] } } });
  await memory.update("u", { text: "fourth" });
  await memory.write({ type: "note", text: "gone", tags: ["red"], externalId: "t" });
  await memory.tombstone("t", "old");
  await memory.write({ type: "note", text: "forgotten", tags: ["red"], externalId: "f" });
  await memory.forget("f", "asked to");
  await memory.remember([{ role: "user", content: "hello" }], { session: "s" });
}

/** Everything that lists, finds and gets say, or the words of each refusal. */
async function answers(memory: Cortex, ids: readonly string[]): Promise<readonly string[]> {
  const asked = [
    () => memory.list({ tag: "red" }),
    () => memory.list({ tag: "red", limit: 3 }),
    () => memory.list({ tag: "red", lifecycles: ["active", "archived", "tombstoned"] }),
    () => memory.list({ order: "oldest" }),
    () => memory.find({ tags: ["red"], limit: 20 }),
    () => memory.find({ tags: ["red"], where: { gte: ["head.importance", 5] }, limit: 20 }),
    ...ids.map((id) => () => memory.get(id)),
    ...ids.map((id) => () => memory.history(id)),
  ];
  const found: string[] = [];
  for (const ask of asked) {
    try {
      found.push(JSON.stringify(await ask()) ?? "nothing");
    } catch (error) {
      found.push(isCortexError(error) ? `${error.code}: ${error.message}` : String(error));
    }
  }
  return found;
}

test(`at hand and from afar, sound and damaged (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const folder = mkdtempSync(join(tmpdir(), "cortex-shown-"));
  const kv = await openLmdbKv(folder);
  const how = { actor: "ada", clock: () => TEST_EPOCH_MS, verifyReads: false } as const;
  const atHand = await open("memory:", { ...how, kv, random: random.bytes });
  const afar = await open("memory:", { ...how, kv: byTheBatch(await openLmdbKv(folder)) });
  try {
    await fill(atHand);
    const { memories } = await atHand.list({ lifecycles: ["active", "archived", "tombstoned"] });
    const ids = [...memories.map(({ id }) => id), "a", "u", "f", "nobody"];
    const sound = await answers(atHand, ids);
    expect(sound.filter((answer) => answer.startsWith("ERR_"))).toEqual([]);
    expect(await answers(afar, ids)).toEqual(sound);
    let refused = 0;
    for (const row of await rowsOf(kv)) {
      for (let damage = 0; damage < 4; damage += 1) {
        const value = row.value.slice();
        const bits = random.bytes(3);
        // Once at the front, where the lengths stand.
        const at = ((bits[0] ?? 0) * 256 + (bits[1] ?? 0)) % (damage === 0 ? 16 : value.length);
        value[at] = (value[at] ?? 0) ^ (1 << ((bits[2] ?? 0) % 8));
        await put(kv, { key: row.key, value });
        const expected = await answers(afar, ids);
        refused += expected.filter((answer) => answer.startsWith("ERR_")).length;
        expect(await answers(atHand, ids), `${row.key}, byte ${at}`).toEqual(expected);
      }
      await put(kv, row);
    }
    expect(refused).toBeGreaterThan(100);
    expect(await answers(atHand, ids)).toEqual(sound);
  } finally {
    await atHand.close();
    await afar.close();
    rmSync(folder, { recursive: true });
  }
}, 120_000);

/** The rows that a memory is read from. */
async function rowsOf(kv: Kv): Promise<readonly KvRow[]> {
  const snapshot = await kv.snapshot();
  const found = await snapshot.ranges(
    [KEYSPACE.memory, KEYSPACE.journal, KEYSPACE.version, KEYSPACE.history].map(({ byte }) => ({
      gte: Uint8Array.of(byte),
      lt: Uint8Array.of(byte + 1),
      limit: 1000,
    })),
  );
  snapshot.close();
  return found.flat();
}

async function put(kv: Kv, row: KvRow): Promise<void> {
  const snapshot = await kv.snapshot();
  const [head = new Uint8Array(0) as Bytes] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  await kv.commit({ expectHead: head, head, puts: [row], deletes: [] });
}
