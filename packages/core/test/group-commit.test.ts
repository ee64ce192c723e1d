/**
 * Group commit, seen from the facade: waiting writes share one commit, and none of them notices.
 *
 * Few commits for many writes, seqs in the order of submission, failures that stay alone, times that
 * never go back. The writer's own promises are in `history/writer.test.ts`.
 */
import { describe, expect, test } from "vitest";
import { type Cortex, isCortexError, LIMITS, open } from "../src/index.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { exactRows } from "../src/testing/bare-journal.js";
import { type CountingKv, countingKv } from "../src/testing/index.js";

async function openCounted(): Promise<{ readonly memory: Cortex; readonly kv: CountingKv }> {
  const kv = countingKv(openMemoryKv());
  const memory = await open("memory:", { actor: "ada", kv });
  kv.reset();
  return { memory, kv };
}

function ascending(count: number, first: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

describe("many at once", () => {
  test("64 writes of one turn are one commit, in the order of submission", async () => {
    const { memory, kv } = await openCounted();
    const texts = ascending(64, 0).map((n) => `note ${n}`);
    const results = await Promise.all(texts.map((text) => memory.write({ type: "note", text })));
    expect(kv.counts().commits).toBe(1);
    expect(results.map(({ seq }) => seq)).toEqual(ascending(64, 1));
    const { entries } = await memory.log({ limit: 100 });
    expect(entries.map(({ seq }) => seq)).toEqual(ascending(65, 0));
    expect(entries.every(({ batch }) => batch === undefined)).toBe(true);
    for (const [at, { id }] of results.entries()) {
      expect((await memory.get(id))?.text).toBe(texts[at]);
    }
    expect((await memory.check()).ok).toBe(true);
  });

  test("writes that come while a commit is under way share the next one", async () => {
    const { memory, kv } = await openCounted();
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      for (let n = 0; n < 8; n += 1) await memory.write({ type: "note", text: `${lane} ${n}` });
    });
    await Promise.all(lanes);
    expect((await memory.stats()).entries).toBe(129);
    expect(kv.counts().commits).toBeLessThanOrEqual(16);
  });

  test("a group is closed in time: more than its limit makes several commits", async () => {
    const { memory, kv } = await openCounted();
    const count = 2 * LIMITS.groupOperations + 1;
    const all = ascending(count, 0).map((n) => memory.write({ type: "note", text: `note ${n}` }));
    const seqs = (await Promise.all(all)).map(({ seq }) => seq);
    expect(kv.counts().commits).toBe(3);
    expect(seqs).toEqual(ascending(count, 1));
  });

  test("later ones of a group build on earlier ones", async () => {
    const { memory, kv } = await openCounted();
    const [, updated, , linked] = await Promise.all([
      memory.write({ type: "fact", externalId: "a", text: "one" }),
      memory.update("a", { text: "two" }),
      memory.write({ type: "fact", externalId: "b", text: "other" }),
      memory.link("a", "supports", "b"),
      memory.tombstone("b", "gone"),
    ]);
    expect(kv.counts().commits).toBe(1);
    expect(updated.version).toBe(2);
    expect(linked.changed).toBe(true);
    expect((await memory.get("b"))?.head.lifecycle).toBe("tombstoned");
    expect((await memory.check()).ok).toBe(true);
  });
});

describe("failures", () => {
  test("one in the middle harms nobody, and takes no seq", async () => {
    const { memory, kv } = await openCounted();
    await memory.write({ type: "note", externalId: "taken", text: "first" });
    kv.reset();
    const asked = ascending(60, 0).map((n) => {
      if (n % 6 === 1) return memory.link("nobody", "supports", "taken");
      if (n % 6 === 3) return memory.write({ type: "note", externalId: "taken", text: `${n}` });
      if (n % 6 === 5) return memory.update("nobody", { text: `${n}` });
      return memory.write({ type: "note", text: `note ${n}` });
    });
    const settled = await Promise.allSettled(asked);
    const codes = settled.map((one) => (one.status === "rejected" ? one.reason.code : "ok"));
    const expected = ["ok", "ERR_UNKNOWN_ENDPOINT", "ok", "ERR_EXISTS", "ok", "ERR_NOT_FOUND"];
    expect(codes).toEqual(codes.map((_, n) => expected[n % 6]));
    const seqs = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.seq] : []));
    expect(seqs).toEqual(ascending(30, 2));
    expect(kv.counts().commits).toBe(1);
    expect(await memory.check()).toMatchObject({ ok: true, entries: 32 });
  });

  test("a batch that fails leaves nothing, not even beside one that stands", async () => {
    const { memory, kv } = await openCounted();
    await memory.write({ type: "note", externalId: "there", text: "there" });
    const before = await exactRows(kv);
    const bad = [
      { write: { type: "note", text: "a" } as const, ref: "a" },
      { link: { from: { ref: "a" }, kind: "a new kind", to: "there" } },
      { update: { id: "there", text: "changed" } },
      { link: { from: { ref: "a" }, kind: "supports", to: "nobody" } },
    ];
    await expect(memory.batch(bad)).rejects.toMatchObject({ code: "ERR_UNKNOWN_ENDPOINT" });
    expect(await exactRows(kv)).toEqual(before);
    const [failed, stands] = await Promise.allSettled([
      memory.batch(bad),
      memory.write({ type: "note", externalId: "beside", text: "beside" }),
    ]);
    expect(failed.status).toBe("rejected");
    expect(stands.status).toBe("fulfilled");
    expect(await memory.stats()).toMatchObject({ entries: 3, edges: { live: 0, openKinds: 0 } });
    expect((await memory.get("there"))?.version).toBe(1);
    expect((await memory.check()).ok).toBe(true);
  });
});

test("a clock that goes back does not take the entries with it", async () => {
  let clock = 5_000_000;
  const memory = await open("memory:", { actor: "ada", clock: () => clock });
  const texts = ["a", "b", "c", "d"];
  for (const text of texts) {
    await memory.write({ type: "note", text });
    clock -= 1000;
  }
  clock = 6_000_000;
  await memory.write({ type: "note", text: "e" });
  const { entries } = await memory.log();
  expect(entries.map(({ at }) => at)).toEqual([...Array(5).fill(5_000_000), 6_000_000]);
  expect((await memory.check()).ok).toBe(true);
});

test("a closed store refuses writes and finishes what was queued", async () => {
  const { memory } = await openCounted();
  const queued = ["a", "b"].map((text) => memory.write({ type: "note", text }));
  const closing = memory.close();
  const late = memory.write({ type: "note", text: "late" });
  await expect(late).rejects.toSatisfy((error) => isCortexError(error, "ERR_CLOSED"));
  expect((await Promise.all(queued)).map(({ seq }) => seq)).toEqual([1, 2]);
  await closing;
});
