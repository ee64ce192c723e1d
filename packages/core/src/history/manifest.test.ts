/**
 * Manifests as rows, and what happens when two processes seal one position at once: both stay, under
 * one number, through a rebuild and through a file, and each of them is checked.
 */
import { describe, expect, test } from "vitest";
import { encode, fields } from "../codec/cbor.js";
import { hasherNode, sha256Node } from "../codec/node-crypto.js";
import type { Cortex } from "../cortex.js";
import type { Signer } from "../journal/checkpoint.js";
import { HEAD_KEY, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { importVolumes } from "../move/import-journal.js";
import { open } from "../open.js";
import { seededRandom } from "../testing/seeded-random.js";
import { catchUp, levelWith, startBuilding, withSnapshot } from "./build-beside.js";
import { decodeManifest, type Manifest, manifestRow, readManifests } from "./manifest.js";

const MANIFEST: Manifest = {
  number: 7,
  mark: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  size: 12,
  at: 1_767_225_600_000,
  epoch: 1,
  reason: "monday",
  by: "ada",
  roots: {
    genesis: new Uint8Array(32).fill(1),
    journal: new Uint8Array(32).fill(2),
    trees: { edges: new Uint8Array(32).fill(3), memories: new Uint8Array(32).fill(4) },
  },
  overall: new Uint8Array(32).fill(5),
  counts: {
    active: 1,
    archived: 2,
    tombstoned: 3,
    erased: 4,
    edgesLive: 5,
    edgesRemoved: 6,
    openEdgeKinds: 7,
  },
};

describe("the row", () => {
  test("reads back as it was, and its key is number and mark", () => {
    const signature = { name: "example.org/ada", bytes: new Uint8Array(68).fill(9) };
    for (const manifest of [MANIFEST, { ...MANIFEST, signature }]) {
      const { key, value } = manifestRow(manifest);
      expect(Buffer.from(key).toString("hex")).toBe("4000000000000000070102030405060708");
      expect(decodeManifest(value)).toEqual(manifest);
    }
  });

  test("without a whole mark is refused", () => {
    for (const mark of [undefined, new Uint8Array(7), "12345678"]) {
      const bare = encode(
        fields([1, 7, 12, 0, 0, "r", [], new Uint8Array(32), [], undefined, "ada", mark]),
      );
      expect(() => decodeManifest(bare)).toThrow(expect.objectContaining({ code: "ERR_CORRUPT" }));
    }
  });
});

function opened(kv: Kv, seed: number): Promise<Cortex> {
  let now = 1_767_225_600_000;
  const clock = (): number => now++;
  return open("memory:", { actor: "ada", kv, clock, random: seededRandom(seed).bytes });
}

/** Lets somebody else act between reading the last number and taking the next. */
function interrupted(act: () => Promise<unknown>): Signer {
  const sign = async (): Promise<Uint8Array> => {
    await act();
    return new Uint8Array(64);
  };
  return { name: "slow", keyHint: new Uint8Array(4), sign };
}

describe("two that seal one position at once", () => {
  test("take one number, and both stay; the next takes the next", async () => {
    const store = new MemoryStore();
    await using one = await opened(openMemoryKv(store), 1);
    await using two = await opened(openMemoryKv(store), 2);
    await one.write({ type: "fact", text: "one" });
    const others: unknown[] = [];
    const signer = interrupted(async () => others.push(await two.snapshot("theirs")));
    const mine = await one.snapshot("mine", { signer });
    expect([mine, ...others]).toMatchObject([
      { number: 1, reason: "mine", seq: 1 },
      { number: 1, reason: "theirs", seq: 1 },
    ]);
    const next = await two.snapshot("next");
    expect(next.number).toBe(2);
    for (const memory of [one, two]) {
      const listed = await memory.snapshots();
      expect(listed[0]).toEqual(next);
      expect(new Set(listed.slice(1))).toEqual(new Set([mine, ...others]));
      expect(await memory.check()).toMatchObject({ ok: true });
    }
  });

  test("both come through a rebuild and an export as they were", async () => {
    const store = new MemoryStore();
    await using one = await opened(openMemoryKv(store), 1);
    await using two = await opened(openMemoryKv(store), 2);
    await one.write({ type: "fact", text: "one" });
    await one.snapshot("mine", { signer: interrupted(() => two.snapshot("theirs")) });
    const sealed = await one.snapshots();
    expect(sealed.map(({ number }) => number)).toEqual([1, 1]);
    await one.write({ type: "fact", text: "two" });
    await one.rebuild();
    expect(await one.snapshots()).toEqual(sealed);
    const file: Uint8Array[] = [];
    await one.exportJournal((chunk) => void file.push(chunk));
    const kv = openMemoryKv(new MemoryStore());
    await importFile(kv, file);
    await using back = await opened(kv, 3);
    expect(await back.snapshots()).toEqual(sealed);
  });

  test("many at once lose none", async () => {
    const store = new MemoryStore();
    await using one = await opened(openMemoryKv(store), 1);
    await using two = await opened(openMemoryKv(store), 2);
    const reasons = Array.from({ length: 12 }, (_, i) => `reason ${i}`);
    await Promise.all(reasons.map((reason, i) => (i % 2 === 0 ? one : two).snapshot(reason)));
    const listed = await one.snapshots();
    expect(listed.map(({ reason }) => reason).toSorted()).toEqual(reasons.toSorted());
    const numbers = listed.map(({ number }) => number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
  });
});

async function importFile(kv: Kv, file: readonly Uint8Array[]): Promise<void> {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* file;
  }
  const parts = { kv, sha256: sha256Node, hasher: hasherNode, actor: "ada" };
  await importVolumes(parts, [source()], { newEpoch: false });
}

test("a second snapshot of a number is checked like the first, also when it comes late", async () => {
  const kv = openMemoryKv(new MemoryStore());
  await using memory = await opened(kv, 1);
  await memory.write({ type: "fact", text: "one" });
  await memory.snapshot("good");
  await memory.write({ type: "fact", text: "two" });
  const target = openMemoryKv(new MemoryStore());
  const parts = { kv, sha256: sha256Node };
  const building = startBuilding(target);
  await catchUp(parts, building);
  const [good] = await withSnapshot(kv, readManifests);
  if (good === undefined) throw new Error("a snapshot was just taken");
  const roots = { ...good.roots, journal: new Uint8Array(32) };
  await put(kv, { ...good, mark: new Uint8Array(8), roots });
  await expect(
    withSnapshot(kv, (source) => levelWith(parts, building, source)),
  ).rejects.toMatchObject({ code: "ERR_ROOT_MISMATCH" });
  await target.close();
});

async function put(kv: Kv, manifest: Manifest): Promise<void> {
  const [head] = await withSnapshot(kv, (snapshot) => snapshot.getMany([HEAD_KEY]));
  if (head === undefined) throw new Error("the store is empty");
  const puts = [manifestRow(manifest)];
  expect(await kv.commit({ expectHead: head, head, puts, deletes: [] })).toMatchObject({
    ok: true,
  });
}
