/** `log` and `stats`: the journal as it is, without content. */
import { describe, expect, test } from "vitest";
import { openTestStore, refusalOf } from "../testing/index.js";

describe("log", () => {
  test("entries in order, without gaps, with who, when and about what", async () => {
    await using store = await openTestStore({ stepMs: 7 });
    const { memory } = store;
    const a = await memory.write({ type: "note", text: "hush-hush", by: "bob" });
    const b = await memory.write({ type: "note", text: "b" });
    await memory.addEdge(a.id, "uses", b.id);
    await memory.configure({ conflictPolicy: "manual" });
    const { entries, seq } = await memory.log();
    expect(seq).toBe(4);
    expect(entries.map((entry) => entry.seq)).toEqual([0, 1, 2, 3, 4]);
    expect(entries.map(({ kind }) => kind)).toEqual([
      "genesis",
      "write",
      "write",
      "add_edge",
      "config",
    ]);
    expect(entries[1]).toMatchObject({ by: "bob", parts: [{ subject: `memory:${a.id}` }] });
    expect(entries[3]?.parts[0]?.subject).toMatch(/^edge:[0-9a-f]{64}$/);
    expect(entries[4]?.parts[0]?.subject).toBe("config");
    for (const entry of entries) {
      expect(entry.parts.every(({ hash, erased }) => hash?.length === 64 && !erased)).toBe(true);
    }
    const times = entries.map(({ at }) => at);
    expect([...times].sort((x, y) => x - y)).toEqual(times);
    expect(JSON.stringify(entries)).not.toContain("hush");
  });

  test("pages lead from one to the next", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 10; at += 1) await memory.write({ type: "note", text: `${at}` });
    const seen: number[] = [];
    let from: number | undefined = 0;
    while (from !== undefined) {
      const page = await memory.log({ from, limit: 3 });
      expect(page.entries.length).toBeLessThanOrEqual(3);
      seen.push(...page.entries.map((entry) => entry.seq));
      from = page.next;
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await memory.log({ from: 11 })).toEqual({ entries: [], seq: 10 });
    expect((await memory.log({ from: 10 })).entries).toHaveLength(1);
  });

  test("a clock that goes back does not take the journal with it", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    await memory.write({ type: "note", text: "a" });
    clock.advance(-1_000_000);
    await memory.write({ type: "note", text: "b" });
    const times = (await memory.log()).entries.map(({ at }) => at);
    expect(times[2]).toBe(times[1]);
    const [late] = (await memory.list({ limit: 1 })).memories;
    expect(late?.text).toBe("b");
  });

  test("positions that are none are refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const from of [-1, 0.5, Number.NaN, "1", Number.POSITIVE_INFINITY]) {
      const error = await refusalOf(memory, () => memory.log({ from: from as number }));
      expect(error).toMatchObject({ code: "ERR_INVALID", details: { field: "from" } });
    }
    for (const limit of [0, -1, 10_001, Number.NaN, "5"]) {
      const error = await refusalOf(memory, () => memory.log({ limit: limit as number }));
      expect(error).toMatchObject({ code: "ERR_INVALID", details: { field: "limit" } });
    }
  });
});

describe("stats", () => {
  test("counts every state, and counts the same after reopening", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    const { memory } = store;
    expect(await memory.stats()).toMatchObject({
      actor: "ada",
      backend: process.env.CORTEX_TEST_POSTGRES ? "postgres" : "lmdb",
      entries: 1,
      seq: 0,
      memories: { active: 0, archived: 0, tombstoned: 0, erased: 0 },
      edges: { live: 0, removed: 0, openKinds: 0 },
    });
    await memory.write({ type: "fact", slot: "s", text: "a" });
    await memory.write({ type: "fact", slot: "s", text: "b" });
    const c = await memory.write({ type: "note", text: "c" });
    const d = await memory.write({ type: "note", text: "d" });
    await memory.addEdge(c.id, "own kind", d.id);
    await memory.removeEdge(c.id, "own kind", d.id);
    await memory.tombstone(c.id, "r");
    const expected = {
      entries: 9,
      seq: 8,
      memories: { active: 2, archived: 1, tombstoned: 1, erased: 0 },
      edges: { live: 2, removed: 1, openKinds: 1 },
    };
    expect(await memory.stats()).toMatchObject(expected);
    expect(await (await store.reopen()).stats()).toMatchObject(expected);
    expect((await store.memory.stats()).sizeBytes).toBeGreaterThan(0);
  });

  test("what fails is not counted", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "a" });
    const before = await memory.stats();
    await refusalOf(memory, () => memory.addEdge(id, "new kind", "nobody"));
    await refusalOf(memory, () =>
      memory.batch([
        { write: { type: "note", text: "b" } },
        { link: { from: id, kind: "new kind", to: id } },
      ]),
    );
    expect(await memory.stats()).toEqual(before);
  });
});
