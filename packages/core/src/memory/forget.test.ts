/** Forgetting many at once, by the name they stand under: all of them, in one commit, listed before if asked. */
import { describe, expect, test } from "vitest";
import { openTestStore, refusalOf } from "../testing/index.js";

async function story() {
  const store = await openTestStore();
  const { memory } = store;
  const turns = [
    "I moved to Porto",
    "Noted",
    "Never book me a red-eye",
    "very long ".repeat(7000),
  ].map((content, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content,
  }));
  await memory.remember(turns, { session: "chat-1" });
  await memory.remember([{ role: "user", content: "Another chat altogether" }], {
    session: "chat-2",
  });
  const [first] = (await memory.session("chat-1")).turns;
  const fact = await memory.write({
    type: "fact",
    slot: "home city",
    text: "Ada lives in Lyon",
    tags: ["travel"],
  });
  const now = await memory.write({
    type: "fact",
    slot: "Home City",
    text: "Ada lives in Porto",
    provenance: { derivedFrom: [first?.uri ?? ""] },
  });
  const rule = await memory.write({
    type: "constraint",
    text: "No red-eye flights",
    tags: ["travel"],
  });
  await memory.tombstone(rule.id, "for now");
  return { ...store, memory, fact, now, rule };
}

async function textsLeft(memory: Awaited<ReturnType<typeof story>>["memory"]): Promise<string> {
  const lifecycles = ["active", "archived", "tombstoned"] as const;
  const { memories } = await memory.list({ lifecycles, limit: 200 });
  return memories.map(({ text }) => text).join("\n");
}

describe("forgetting by a name", () => {
  test("a session goes with every turn and piece of one; what was drawn from it is named, or goes too", async () => {
    const { memory, now, ...store } = await story();
    const before = (await memory.session("chat-1")).turns.length;
    const planned = await memory.forget({ session: "chat-1" }, "asked by Ada", { dryRun: true });
    expect(planned).toMatchObject({ dryRun: true, erased: [], derived: [now.id] });
    expect(planned.memories?.map(({ text }) => text)).toContain("I moved to Porto");
    expect(planned.memories?.length).toBeGreaterThan(before);
    expect((await memory.session("chat-1")).turns.length).toBe(before);
    const done = await memory.forget({ session: "chat-1" }, "asked by Ada");
    expect(done.erased).toEqual(planned.memories?.map(({ id }) => id));
    expect(done).toMatchObject({ derived: [now.id], edges: planned.edges });
    expect(done).not.toHaveProperty("id");
    expect((await memory.session("chat-1")).turns).toEqual([]);
    expect((await memory.session("chat-2")).turns).toHaveLength(1);
    expect(await memory.forget({ session: "chat-1" }, "again")).toMatchObject({
      erased: [],
      edges: 0,
    });
    expect(await memory.check()).toMatchObject({ ok: true });
    await store.dispose();
    const other = await story();
    const all = await other.memory.forget({ session: "chat-1" }, "asked", { cascade: true });
    expect(all.erased).toContain(other.now.id);
    expect(await textsLeft(other.memory)).not.toContain("Ada lives in Porto");
    await other.dispose();
  });

  test("a slot goes with all values it ever had, a tag with hidden memories too", async () => {
    const { memory, fact, now, rule, ...store } = await story();
    const slot = await memory.forget({ slot: "home-city" }, "asked");
    expect([...slot.erased].sort()).toEqual([fact.id, now.id].sort());
    expect((await memory.slotHistory("home city")).values).toEqual([]);
    const tag = await memory.forget({ tag: "travel" }, "asked");
    expect(tag.erased).toEqual([rule.id]);
    expect(await textsLeft(memory)).not.toContain("red-eye flights");
    expect(await memory.check()).toMatchObject({ ok: true });
    await store.dispose();
  });

  test("one name is given, and a call repeated under its key is done once", async () => {
    const { memory, ...store } = await story();
    for (const given of [{}, { session: "a", tag: "b" }, { id: "a", slot: "b" }]) {
      expect(await refusalOf(memory, () => memory.forget(given as never, "why"))).toMatchObject({
        code: "ERR_INVALID",
        details: { field: "id, session, slot, tag" },
      });
    }
    expect(
      await refusalOf(memory, () => memory.forget({ session: "chat-1" }, undefined as never)),
    ).toMatchObject({
      details: { field: "reason" },
    });
    const key = { idempotencyKey: "forget-1" };
    const first = await memory.forget({ session: "chat-1" }, "asked", key);
    await memory.remember([{ role: "user", content: "I am back" }], { session: "chat-1" });
    expect(await memory.forget({ session: "chat-1" }, "asked", key)).toEqual(first);
    expect((await memory.session("chat-1")).turns).toHaveLength(1);
    await store.dispose();
  });

  test("what is more than one call forgets is said, and goes with the next", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const writes = Array.from({ length: 1001 }, (_, at) => ({
      write: { type: "note" as const, kind: "n", text: `note ${at}`, tags: ["many"] },
    }));
    await memory.batch(writes as never);
    const first = await memory.forget({ tag: "many" }, "asked");
    expect(first).toMatchObject({ more: true });
    expect(first.erased).toHaveLength(1000);
    const second = await memory.forget({ tag: "many" }, "asked");
    expect(second.erased).toHaveLength(1);
    expect(second).not.toHaveProperty("more");
    expect((await memory.list({ tag: "many" })).memories).toEqual([]);
  });
});
