/** Snapshots: what they seal, in which order, and that writers do not disturb them. */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import type { Signer } from "../journal/checkpoint.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { deriveSeed } from "../learning/compact.js";
import { open } from "../open.js";
import { seededRandom } from "../testing/seeded-random.js";
import { verifyCheckpoint } from "../verify.js";

function fresh(store = new MemoryStore(), seed = 1): Promise<Cortex> {
  let now = 1_767_225_600_000;
  return open("memory:", {
    actor: "ada",
    kv: openMemoryKv(store),
    clock: () => now++,
    random: seededRandom(seed).bytes,
  });
}

describe("a snapshot", () => {
  test("seals the root of its position and changes neither", async () => {
    await using memory = await fresh();
    await memory.write({ type: "fact", text: "one" });
    const before = await memory.root();
    const sealed = await memory.snapshot("first");
    expect(sealed).toMatchObject({ ...before, number: 1, reason: "first", by: "ada" });
    expect(await memory.root()).toEqual(before);
    expect(verifyCheckpoint(sealed.checkpoint)).toMatchObject({
      ok: true,
      anchored: false,
      checkpoint: { size: before.seq + 1, root: before.root, at: sealed.at },
      signatures: [],
    });
    expect((await memory.checkpoint()).checkpoint).toBe(sealed.checkpoint);
  });

  test("is found by number, newest first, by position and by root", async () => {
    await using memory = await fresh();
    const taken = [];
    for (let i = 0; i < 5; i += 1) {
      if (i !== 3) await memory.write({ type: "fact", text: `fact ${i}` });
      taken.push(await memory.snapshot(`s${i}`, { by: "robot" }));
    }
    expect(taken.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    const newestFirst = taken.toReversed();
    expect(await memory.snapshots()).toEqual(newestFirst);
    expect(await memory.snapshots({ limit: 2 })).toEqual(newestFirst.slice(0, 2));
    const { seq, root } = taken[2] as (typeof taken)[number];
    // Nothing was written before the fourth: two snapshots stand at one position.
    expect(await memory.snapshots({ seq })).toEqual([taken[3], taken[2]]);
    expect(await memory.snapshots({ root, limit: 1 })).toEqual([taken[3]]);
    expect(await memory.snapshots({ root: "00".repeat(32) })).toEqual([]);
    expect(await memory.snapshots({ seq, root: taken[0]?.root ?? "" })).toEqual([]);
  });

  test("of many at once has a number of its own, and so next to writers", async () => {
    await using memory = await fresh();
    const work = Array.from({ length: 12 }, (_, i) => [
      memory.snapshot(`s${i}`),
      memory.write({ type: "fact", text: `fact ${i}` }),
    ]);
    await Promise.all(work.flat());
    const all = await memory.snapshots();
    expect(all.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, i) => i + 1),
    );
    expect(new Set(all.map(({ reason }) => reason)).size).toBe(12);
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("starts over when another process writes while it is being signed", async () => {
    const store = new MemoryStore();
    await using memory = await fresh(store);
    await using other = await fresh(store, 2);
    const sizes: string[] = [];
    const signer: Signer = {
      name: "ada",
      keyHint: new Uint8Array(4),
      sign: async (note) => {
        sizes.push(new TextDecoder().decode(note).split("\n")[1] ?? "");
        if (sizes.length < 3) await other.write({ type: "fact", text: `late ${sizes.length}` });
        return new Uint8Array(64);
      },
    };
    const sealed = await memory.snapshot("signed", { signer });
    expect(sizes).toEqual(["1", "2", "3"]);
    expect(sealed).toMatchObject({ seq: 2, number: 1 });
    expect(await other.snapshots()).toEqual([sealed]);
  });

  test("keeps its signature, and a rebuild keeps the snapshot", async () => {
    await using memory = await fresh();
    await memory.write({ type: "fact", text: "one" });
    const signer: Signer = {
      name: "example.org/key",
      keyHint: Uint8Array.of(0xde, 0xad, 0xbe, 0xef),
      sign: (note) => new Uint8Array(note.subarray(0, 40)),
    };
    const sealed = await memory.snapshot("signed", { signer });
    expect(verifyCheckpoint(sealed.checkpoint)).toMatchObject({
      ok: true,
      signatures: [{ name: "example.org/key", keyHint: "deadbeef" }],
    });
    await memory.write({ type: "fact", text: "two" });
    await memory.rebuild();
    expect(await memory.snapshots()).toEqual([sealed]);
  });

  test("refuses a blank reason, a bad principal and bad filters", async () => {
    await using memory = await fresh();
    const bad = { code: "ERR_INVALID" };
    await expect(memory.snapshot(" ")).rejects.toMatchObject(bad);
    await expect(memory.snapshot("x", { by: "" })).rejects.toMatchObject(bad);
    await expect(memory.snapshots({ seq: -1 })).rejects.toMatchObject(bad);
    await expect(memory.snapshots({ root: "AB" })).rejects.toMatchObject(bad);
    await expect(memory.snapshots({ limit: 0 })).rejects.toMatchObject(bad);
    const access = { kind: "guest" } as const;
    const denied = { code: "ERR_DENIED" };
    await expect(memory.snapshot("x", { access })).rejects.toMatchObject(denied);
    await expect(memory.snapshots({ access })).rejects.toMatchObject(denied);
    await expect(memory.checkpoint({ access })).rejects.toMatchObject(denied);
    await expect(memory.share({ access })).rejects.toMatchObject(denied);
  });
});

describe("deriveSeed", () => {
  const digest = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);
  const input = {
    intent: "intent-1",
    actor: "ada",
    root: digest(1),
    mtxDigest: digest(2),
    modelDigest: digest(3),
  };

  test("is SHA-256 over its parts in order, as bytes or hex", () => {
    const seed = Buffer.from(deriveSeed(input)).toString("hex");
    // printf 'intent-1ada' and the three digests as raw bytes, through sha256sum
    expect(seed).toBe("335b7a6ea4847909e159c25ab7622a828deacbb21be57b6ad400a121b6a9be95");
    const root = new Uint8Array(32).fill(1);
    expect(deriveSeed({ ...input, root })).toEqual(deriveSeed(input));
  });

  test("differs with every part, and refuses what is no digest", () => {
    const changed = [
      { intent: "intent-2" },
      { actor: "bob" },
      { root: digest(4) },
      { mtxDigest: digest(4) },
      { modelDigest: digest(4) },
    ].map((change) => Buffer.from(deriveSeed({ ...input, ...change })).toString("hex"));
    expect(new Set([...changed, Buffer.from(deriveSeed(input)).toString("hex")]).size).toBe(6);
    expect(() => deriveSeed({ ...input, root: "abc" })).toThrow(/root: expected 32 bytes/);
    expect(() => deriveSeed({ ...input, intent: "" })).toThrow(/intent/);
  });
});
