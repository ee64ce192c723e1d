/**
 * The plain walk against the walk that takes everything: the same answer on random graphs, told by storage that has rows
 * at hand and by storage that has none.
 */
import { describe, expect, test } from "vitest";
import { around, type Kv } from "../kv/kv.js";
import { openTestHub, seededRandom, type TestHub } from "../testing/index.js";
import { rounds } from "../testing/lacking.js";

/** Storage whose rows are at hand only while told so, and which counts its batched reads. */
function switched() {
  const state = { isAtHand: true, reads: 0 };
  const wrapGraph = (inner: Kv): Kv =>
    around(inner, {
      snapshot: async (options) => {
        const snapshot = await inner.snapshot(options);
        const counted = {
          getMany: (keys: Parameters<typeof snapshot.getMany>[0]) => {
            state.reads += 1;
            return snapshot.getMany(keys);
          },
          ranges: (ranges: Parameters<typeof snapshot.ranges>[0]) => snapshot.ranges(ranges),
          close: () => snapshot.close(),
        };
        if (!state.isAtHand) return counted;
        return {
          ...counted,
          getNow: (key) => snapshot.getNow?.(key),
          lookNow: (key, look) => snapshot.lookNow?.(key, look),
        };
      },
    });
  return { state, wrapGraph };
}

const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
const KINDS = ["cites", "uses", "supports", "of our own"] as const;

/** A few notes, edges of every sort between them, and `unusual` things that a plain walk gives up on. */
async function grown({ hub }: TestHub, seed: number, unusual: boolean) {
  const bytes = seededRandom(seed).bytes;
  const pick = (most: number): number => (bytes(1)[0] ?? 0) % most;
  await hub.createGraph({ name: "w", id: "w" });
  await hub.use("w", async (memory) => {
    for (const name of NAMES) {
      await memory.write({ type: "note", text: `says ${name}`, tags: [name], externalId: name });
    }
    for (let count = 0; count < 14; count += 1) {
      const from = NAMES[pick(NAMES.length)] ?? "a";
      const to = NAMES[pick(NAMES.length)] ?? "b";
      const kind = KINDS[pick(KINDS.length)] ?? "cites";
      const over = pick(2) === 0 ? { validTo: 1 } : { validFrom: 2 ** 45 };
      const how = [{}, { ordinal: pick(5) }, { metadata: { why: "x" } }, over][pick(4)];
      const { id } = await memory.addEdge(from, kind, to, { loose: {}, ...how });
      if (pick(5) === 0) await memory.removeEdgeById(id);
    }
    await memory.write({ type: "note", text: "again", externalId: "b" }, { upsert: {} });
    if (!unusual) return;
    await memory.addEdge(NAMES[pick(3)] ?? "a", "uses", "nobody", { loose: {} });
    await memory.addEdge(NAMES[pick(3)] ?? "a", "uses", "far", { loose: { toGraph: "other" } });
    await memory.tombstone(NAMES[3 + pick(3)] ?? "d", "hidden");
    if (pick(2) === 0) await memory.forget(NAMES[6 + pick(2)] ?? "g", "asked");
  });
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("finds what the other walk finds, in the same order", async () => {
    let plain = 0;
    let given = 0;
    for (let seed = 1; seed <= rounds(4, 40); seed += 1) {
      const { state, wrapGraph } = switched();
      await using world = await openTestHub({ backend, seed, wrapGraph, check: false });
      const { hub } = world;
      await grown(world, seed, seed % 2 === 0);
      for (const name of [...NAMES, "nobody", "none"]) {
        for (const options of [
          { maxHops: 1 },
          { maxHops: 3 },
          { maxHops: 3, maxNodes: 4 },
          { maxHops: 2, kinds: ["cites", "of our own"] },
          { maxHops: 2, kinds: ["nobody's kind"] },
          { maxHops: 2, symlinks: true },
          { maxHops: 2, direction: "both" as const },
        ]) {
          const asked = { ...options, asGiven: true };
          state.isAtHand = false;
          const whole = await hub.traverse("w", name, asked);
          state.isAtHand = true;
          state.reads = 0;
          const found = await hub.traverse("w", name, asked);
          // The head alone was read by the batch.
          if (state.reads <= 1) plain += 1;
          else given += 1;
          expect(found).toEqual(whole);
        }
      }
    }
    expect(plain).toBeGreaterThan(50);
    expect(given).toBeGreaterThan(50);
  });

  test("a level of very many edges is left to the other walk", async () => {
    const { state, wrapGraph } = switched();
    await using world = await openTestHub({ backend, wrapGraph, check: false });
    const { hub } = world;
    await hub.createGraph({ name: "w", id: "w" });
    await hub.use("w", async (memory) => {
      for (const name of ["a", "b"])
        await memory.write({ type: "note", text: name, externalId: name });
      const links = Array.from({ length: 130 }, (_, ordinal) => ({
        link: { from: "a", to: "b", kind: "cites", loose: {}, ordinal: 200 - ordinal },
      }));
      await memory.batch(links, { loose: true });
    });
    const found = await hub.traverse("w", "a", { asGiven: true });
    state.isAtHand = false;
    expect(found).toEqual(await hub.traverse("w", "a", { asGiven: true }));
    expect(found.edges.map(({ edge }) => edge.ordinal)).toEqual(
      Array.from({ length: 130 }, (_, at) => 71 + at),
    );
  });
});
