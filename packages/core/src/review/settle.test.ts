/** Deciding what is open: each decision, and who may take it. That it can be undone: `settle-undo`. */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { openTestStore, refusalOf } from "../testing/index.js";

async function lone(memory: Cortex): Promise<string> {
  const { items } = await memory.review();
  expect(items).toHaveLength(1);
  return items[0]?.id ?? "";
}

/** An owner's value of a slot, and a rival of it. */
async function rivals(memory: Cortex) {
  const own = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
  const rival = await memory.write({
    type: "fact",
    slot: "home",
    text: "lives in Rome",
    source: "agent",
  });
  return { own, rival, item: await lone(memory) };
}

const lifecycleOf = async (memory: Cortex, id: string) => (await memory.get(id))?.head.lifecycle;

describe("a rival", () => {
  test("keep_one, the rival: it takes the slot, the owner's value becomes history", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { own, rival, item } = await rivals(memory);
    const done = await memory.settle(item, {
      decision: "keep_one",
      keep: rival.id,
      reason: "moved",
    });
    expect(done).toMatchObject({ kept: [rival.id], archived: [own.id] });
    expect((await memory.get(rival.id))?.head).toMatchObject({ slot: "home", status: "confirmed" });
    expect(await lifecycleOf(memory, own.id)).toBe("archived");
    const { values } = await memory.slotHistory("home");
    expect(values.map(({ text }) => text)).toEqual(["lives in Rome", "lives in Porto"]);
    expect(values[1]?.to).toBeTypeOf("number");
    const [entry] = (await memory.log({ from: done.seq })).entries;
    expect(entry?.kind).toBe("settle");
    expect((await refusalOf(memory, () => again(memory, item, rival.id))).code).toBe(
      "ERR_CONFLICT",
    );
  });

  test("keep_one, the owner's: the rival becomes history and the slot stays", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { own, rival, item } = await rivals(memory);
    await memory.settle(item, { decision: "keep_one", keep: own.id, reason: "checked" });
    expect(await lifecycleOf(memory, rival.id)).toBe("archived");
    expect((await memory.get(own.id))?.head.slot).toBe("home");
    expect((await memory.review()).items).toEqual([]);
  });

  test("keep_both: neither is archived, and nothing is open any more", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { own, rival, item } = await rivals(memory);
    await memory.settle(item, { decision: "keep_both", reason: "two homes" });
    expect(await lifecycleOf(memory, own.id)).toBe("active");
    expect((await memory.get(rival.id))?.head.status).toBe("confirmed");
    expect((await memory.getEdge(rival.id, "contradicts", own.id))?.tombstone?.reason).toBe(
      "two homes",
    );
    expect((await memory.review()).items).toEqual([]);
  });

  test("merge: one memory says the agreed text, the other is history", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { own, rival, item } = await rivals(memory);
    const text = "lives in Porto, and in Rome in winter";
    await memory.settle(item, { decision: "merge", keep: own.id, text, reason: "both are right" });
    expect(await memory.get(own.id)).toMatchObject({ text, version: 2, head: { slot: "home" } });
    expect(await lifecycleOf(memory, rival.id)).toBe("archived");
    const said = await memory.write({ type: "fact", slot: "home", text });
    expect([said.id, said.reinforced]).toEqual([own.id, true]);
  });

  test("retract: what is not kept is taken back, or everything", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { own, rival, item } = await rivals(memory);
    const done = await memory.settle(item, {
      decision: "retract",
      keep: own.id,
      reason: "made up",
    });
    expect((await memory.get(rival.id))?.head).toMatchObject({
      lifecycle: "archived",
      status: "retracted",
    });
    await memory.revert(done.seq);
    await memory.settle(item, { decision: "retract", reason: "neither is true" });
    expect((await memory.list({ slot: "home" })).memories).toEqual([]);
    expect((await memory.get(own.id))?.head.status).toBe("retracted");
  });
});

function again(memory: Cortex, item: string, keep: string) {
  return memory.settle(item, { decision: "keep_one", keep, reason: "again" });
}

describe("one memory", () => {
  test("open versions: one is kept, or another text takes their place", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "one" });
    await memory.update(id, { text: "two" });
    await memory.update(id, { text: "three", basedOnVersion: 1 });
    const item = await lone(memory);
    const [, older] = (await memory.review()).items[0]?.sides ?? [];
    const kept = await memory.settle(item, {
      decision: "keep_one",
      keep: older?.uri ?? "",
      reason: "first come",
    });
    expect(await memory.get(id)).toMatchObject({ text: "two", version: 4, head: { siblings: [] } });
    await memory.revert(kept.seq);
    expect((await memory.get(id))?.text).toBe("three");
    expect((await memory.get(id))?.head.siblings).toEqual([2]);
    await memory.settle(item, { decision: "merge", text: "two and three", reason: "both" });
    expect(await memory.get(id)).toMatchObject({ text: "two and three", head: { siblings: [] } });
  });

  test("a provisional memory is confirmed by the owner, and by nobody else", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "preference", text: "likes tea", source: "agent" });
    const item = await lone(memory);
    const input = { decision: "keep_one", reason: "asked" } as const;
    const refusal = await refusalOf(memory, () =>
      memory.settle(item, { ...input, source: "agent" }),
    );
    expect(refusal.code).toBe("ERR_TRUST");
    await memory.settle(item, input);
    expect((await memory.get(id))?.head.status).toBe("confirmed");
  });

  test("the reason is on record, and goes with the memory", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "doubtful", status: "disputed" });
    const reason = "a-reason-nobody-else-gives";
    await memory.settle(await lone(memory), { decision: "retract", reason });
    const bytes = async () => {
      const chunks: Uint8Array[] = [];
      await memory.exportJournal((chunk) => {
        chunks.push(chunk);
      });
      return Buffer.concat(chunks).includes(reason);
    };
    expect(await bytes()).toBe(true);
    await memory.forget(id, "asked");
    expect(await bytes()).toBe(false);
  });
});

test("a source settles nothing at the cost of a more trusted one", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { own, rival, item } = await rivals(memory);
  const attempts = [
    { decision: "keep_one", keep: rival.id },
    { decision: "retract" },
    { decision: "retract", keep: rival.id },
    { decision: "merge", keep: own.id, text: "lives in Rome" },
    { decision: "merge", keep: rival.id, text: "lives in Rome" },
  ] as const;
  for (const attempt of attempts) {
    const call = () => memory.settle(item, { ...attempt, reason: "r", source: "agent" });
    expect((await refusalOf(memory, call)).code).toBe("ERR_TRUST");
  }
  await memory.settle(item, { decision: "keep_one", keep: own.id, reason: "r", source: "agent" });
  expect(await lifecycleOf(memory, rival.id)).toBe("archived");
});

test("what cannot be meant is refused", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { own, item } = await rivals(memory);
  const other = await memory.write({ type: "fact", text: "other" });
  const nobody = `contradiction-${other.id}`;
  const good = { decision: "keep_one", keep: own.id, reason: "r" };
  const bad: readonly [string, object, string][] = [
    ["gossip-1", good, "ERR_INVALID"],
    [nobody, good, "ERR_NOT_FOUND"],
    [item, { ...good, decision: "toss a coin" }, "ERR_INVALID"],
    [item, { ...good, keep: undefined }, "ERR_INVALID"],
    [item, { ...good, keep: other.id }, "ERR_INVALID"],
    [item, { ...good, reason: "" }, "ERR_INVALID"],
    [item, { ...good, text: "t" }, "ERR_INVALID"],
    [item, { ...good, decision: "merge" }, "ERR_INVALID"],
    [item, { ...good, mood: "calm" }, "ERR_UNKNOWN_FIELD"],
    [`disputed-${other.id}`, { decision: "keep_one", reason: "r" }, "ERR_CONFLICT"],
  ];
  for (const [id, input, code] of bad) {
    const refusal = await refusalOf(memory, () => memory.settle(id, input as never));
    expect([id, refusal.code]).toEqual([id, code]);
  }
});
