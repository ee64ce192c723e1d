/** `update`, `updateHead`, `tombstone`, `restore`: what moves, what stays, and both policies. */
import { describe, expect, test } from "vitest";
import { openTestStore, refusalOf } from "../testing/index.js";

describe("update", () => {
  test("appends a version and leaves the ones before as they were", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", text: "one", tags: ["t"], confidence: 0.5 });
    const second = await memory.update(first.id, { text: "two", by: "bob" });
    expect(second).toEqual({
      id: first.id,
      uri: `cortex://ada/Fact/${first.id}#2`,
      version: 2,
      seq: 2,
      replaced: [],
      conflicts: [],
      similar: [],
      reinforced: false,
    });
    const now = await memory.get(first.id);
    expect(now).toMatchObject({ version: 2, text: "two", seq: 2 });
    expect(now?.versionRecord).toMatchObject({
      supersedes: [1],
      createdBy: "bob",
      confidence: 0.5,
    });
    expect(now?.head).toMatchObject({ tags: ["t"], version: 2, siblings: [] });
    expect(now?.head.updatedAt).toBeGreaterThan(now?.head.createdAt ?? 0);
    expect(await memory.resolve(first.uri)).toMatchObject({ version: 1, text: "one" });
  });

  test("text alone keeps the structured fields", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({
      type: "preference",
      text: "Likes tea",
      data: { topic: "tea", polarity: "prefer", strength: 0.8, rationale: "calm" },
    });
    await memory.update(id, { text: "Likes green tea" });
    expect((await memory.get(id))?.data).toEqual({
      statement: "Likes green tea",
      topic: "tea",
      polarity: "prefer",
      strength: 0.8,
      rationale: "calm",
    });
  });

  test("data replaces the data whole", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "a", metadata: { a: 1 } });
    await memory.update(id, { data: { content: "b", summary: "s" } });
    expect((await memory.get(id))?.data).toEqual({ content: "b", summary: "s" });
    await memory.update(id, { content: "c" });
    expect((await memory.get(id))?.data).toEqual({ content: "c" });
  });

  for (const [type, text] of [
    ["note", "other content"],
    ["artifact", "other title"],
    ["event", "other words"],
    ["capability", "can fly"],
    ["identity", "another name"],
  ] as const) {
    test(`a ${type} takes a new text`, async () => {
      await using store = await openTestStore();
      const { id } = await store.memory.write({ type, text: "first" });
      await store.memory.update(id, { text });
      expect((await store.memory.get(id))?.text).toBe(text);
    });
  }

  test("the validity of the same words can be closed, and its start stays", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({
      type: "fact",
      text: "works at Acme",
      provenance: { session: "s" },
      forms: { short: "Acme", medium: "Acme" },
      expiresAt: 5_000_000_000_000,
    });
    const start = (await memory.get(id))?.head.createdAt ?? 0;
    await memory.update(id, { validTo: start + 100 });
    const now = await memory.get(id);
    expect(now?.versionRecord).toMatchObject({
      number: 2,
      validFrom: start,
      validTo: start + 100,
      expiresAt: 5_000_000_000_000,
      forms: { short: "Acme" },
      provenance: { session: "s" },
    });
    expect(now?.text).toBe("works at Acme");
    expect(await memory.get(id, { validAt: start + 50 })).toMatchObject({ version: 2 });
    expect(await memory.get(id, { validAt: start + 100 })).toBeUndefined();
  });

  test("a turn keeps its place whatever its data becomes", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { turns } = await memory.remember([{ role: "user", content: "hello" }], { session: "s" });
    const id = turns[0]?.id ?? "";
    await memory.update(id, { data: { content: "hullo", speaker: "Ada" } });
    await memory.update(id, { text: "hallo" });
    expect((await memory.session("s")).turns).toMatchObject([
      { id, index: 0, role: "user", content: "hallo", speaker: "Ada" },
    ]);
  });

  test("archived memories take versions, tombstoned ones do not", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", slot: "s", text: "a" });
    await memory.write({ type: "fact", slot: "s", text: "b" });
    expect((await memory.update(a.id, { text: "a, more exactly" })).version).toBe(3);
    expect((await memory.get(a.id))?.head.lifecycle).toBe("archived");
    await memory.tombstone(a.id, "r");
    expect(await refusalOf(memory, () => memory.update(a.id, { text: "c" }))).toMatchObject({
      code: "ERR_TOMBSTONED",
    });
  });
});

describe("conflicts", () => {
  test("lww: a stale version is refused, a current one or none is taken", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "1" });
    await memory.update(id, { text: "2", basedOnVersion: 1 });
    const error = await refusalOf(memory, () =>
      memory.update(id, { text: "3", basedOnVersion: 1 }),
    );
    expect(error).toMatchObject({
      code: "ERR_CONFLICT",
      details: { field: "basedOnVersion", expected: "2", got: "1" },
    });
    expect((await memory.update(id, { text: "3" })).version).toBe(3);
    expect((await memory.update(id, { text: "4", basedOnVersion: 3 })).conflicts).toEqual([]);
  });

  test("manual: a stale version becomes a rival, and any open one settles them all", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "base" });
    await memory.update(id, { text: "A", basedOnVersion: 1 });
    const b = await memory.update(id, { text: "B", basedOnVersion: 1 });
    expect(b).toMatchObject({
      version: 3,
      conflicts: [{ uri: `cortex://ada/Fact/${id}#2`, text: "A" }],
    });
    const c = await memory.update(id, { text: "C", basedOnVersion: 1 });
    expect(c.version).toBe(4);
    expect(c.conflicts.map(({ uri, text }) => [uri.split("#")[1], text])).toEqual([
      ["3", "B"],
      ["2", "A"],
    ]);
    const open = await memory.get(id);
    expect(open).toMatchObject({ version: 4, text: "C", head: { siblings: [2, 3] } });
    expect(open?.versionRecord.supersedes).toEqual([]);
    expect((await memory.history(id))?.map(({ version, current }) => [version, current])).toEqual([
      [4, true],
      [3, true],
      [2, true],
      [1, false],
    ]);
    const settled = await memory.update(id, { text: "D", basedOnVersion: 2 });
    expect(settled).toMatchObject({ version: 5, conflicts: [] });
    const now = await memory.get(id);
    expect(now?.head.siblings).toEqual([]);
    expect(now?.versionRecord.supersedes).toEqual([2, 3, 4]);
  });

  test("manual: the first version can be a rival that stays open", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "one" });
    await memory.update(id, { text: "two", basedOnVersion: 9 });
    const third = await memory.update(id, { text: "three", basedOnVersion: 8 });
    expect(third.conflicts.map(({ text }) => text)).toEqual(["two", "one"]);
  });

  test("manual: without a version the conflict ends silently", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "base" });
    await memory.update(id, { text: "A" });
    await memory.update(id, { text: "B", basedOnVersion: 1 });
    await memory.updateHead(id, { tags: ["kept"] });
    expect((await memory.get(id))?.head).toMatchObject({ siblings: [2], tags: ["kept"] });
    const last = await memory.update(id, { text: "C" });
    expect(last.conflicts).toEqual([]);
    expect((await memory.get(id))?.head.siblings).toEqual([]);
  });

  test("concurrent updates all count, whoever asks first", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "base" });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) => memory.update(id, { text: `text ${at}` })),
    );
    expect(results.map(({ version }) => version)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 2),
    );
    expect(await memory.history(id)).toHaveLength(21);
  });
});

describe("updateHead", () => {
  test("changes what is given, keeps the rest and makes no version", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({
      type: "fact",
      text: "x",
      tags: ["a", "b"],
      frames: [{ verb: "find", object: "asset", ref: "r" }],
      kind: "k",
    });
    const result = await memory.updateHead(id, {
      tags: ["b", "c"],
      importance: 0,
      visibility: "scoped",
      status: "disputed",
      freshnessAt: 9,
      frames: [],
    });
    expect(result).toMatchObject({ id, version: 1, seq: 2 });
    const found = await memory.get(id);
    expect(found?.head).toMatchObject({
      tags: ["b", "c"],
      frames: [],
      importance: 0,
      visibility: "scoped",
      status: "disputed",
      freshnessAt: 9,
      kind: "k",
    });
    expect(found?.text).toBe("x");
    expect(await memory.history(id)).toHaveLength(1);
  });

  test("moves the memory between indexes, and the past keeps the old ones", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const frame = (ref: string) => ({ verb: "find", object: "asset", ref }) as const;
    const { id, seq } = await memory.write({
      type: "fact",
      text: "x",
      tags: ["old", "both"],
      kind: "before",
      frames: [frame("one")],
    });
    await memory.updateHead(id, { tags: ["new", "both"], kind: "after", frames: [frame("two")] });
    const ids = async (options: Parameters<typeof memory.list>[0]) =>
      (await memory.list(options)).memories.map((found) => found.id);
    expect(await ids({ tag: "old" })).toEqual([]);
    expect(await ids({ tag: "new" })).toEqual([id]);
    expect(await ids({ tag: "both" })).toEqual([id]);
    expect(await ids({ kind: "before" })).toEqual([]);
    expect(await ids({ kind: "after" })).toEqual([id]);
    expect(await ids({ frame: frame("one") })).toEqual([]);
    expect(await ids({ frame: frame("two") })).toEqual([id]);
    expect(await ids({ tag: "old", asOf: seq })).toEqual([id]);
    expect(await ids({ tag: "new", asOf: seq })).toEqual([]);
    expect(await ids({ tag: "both", asOf: seq })).toEqual([id]);
    expect(await ids({ kind: "before", asOf: seq })).toEqual([id]);
    expect(await ids({ frame: frame("one"), asOf: seq })).toEqual([id]);
    const past = await memory.get(id, { asOf: seq });
    expect(past?.head).toMatchObject({ tags: ["old", "both"], kind: "before" });
    await memory.updateHead(id, { tags: ["old"] });
    expect(await ids({ tag: "old" })).toEqual([id]);
    expect(await ids({ tag: "old", asOf: seq + 1 })).toEqual([]);
    expect(await ids({ tag: "old", asOf: seq })).toEqual([id]);
  });
});

describe("tombstone and restore", () => {
  test("hides from lists, stays readable, and comes back as it was", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "x", tags: ["t"] });
    const gone = await memory.tombstone(id, "no longer true", { by: "bob" });
    expect(gone).toMatchObject({ id, version: 1, seq: 2 });
    const hidden = await memory.get(id);
    expect(hidden?.head).toMatchObject({
      lifecycle: "tombstoned",
      tombstone: { reason: "no longer true", by: "bob", at: hidden?.head.updatedAt },
    });
    expect(hidden?.text).toBe("x");
    expect((await memory.list({ tag: "t" })).memories).toEqual([]);
    expect((await memory.list({ tag: "t", lifecycles: ["tombstoned"] })).memories).toHaveLength(1);
    expect((await memory.list({ tag: "t", asOf: 1 })).memories).toHaveLength(1);
    await memory.restore(id);
    const back = await memory.get(id);
    expect(back?.head.lifecycle).toBe("active");
    expect(back?.head).not.toHaveProperty("tombstone");
    expect((await memory.list({ tag: "t" })).memories).toHaveLength(1);
    expect((await memory.list({ tag: "t", asOf: 2 })).memories).toEqual([]);
  });

  test("doing it twice changes nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "x" });
    expect((await memory.restore(id)).seq).toBe(1);
    const gone = await memory.tombstone(id, "first");
    expect((await memory.tombstone(id, "second")).seq).toBe(gone.seq);
    expect((await memory.get(id))?.head.tombstone?.reason).toBe("first");
    const back = await memory.restore(id);
    expect((await memory.restore(id)).seq).toBe(back.seq);
    expect((await memory.stats()).entries).toBe(4);
  });

  test("a slot that has another value by now is not taken back", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", slot: "s", text: "a" });
    const b = await memory.write({ type: "fact", slot: "s", text: "b" });
    const error = await refusalOf(memory, () => memory.restore(a.id));
    expect(error).toMatchObject({ code: "ERR_CONFLICT", details: { subject: b.id } });
    await memory.tombstone(b.id, "wrong");
    await memory.restore(a.id);
    expect((await memory.list({ slot: "s" })).memories.map(({ id }) => id)).toEqual([a.id]);
    expect(await refusalOf(memory, () => memory.restore(b.id))).toMatchObject({
      code: "ERR_CONFLICT",
    });
  });

  test("an archived memory can be hidden and brought back", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "fact", text: "b", supersedes: [a.id] });
    await memory.tombstone(a.id, "not now");
    await memory.tombstone(b.id, "wrong");
    await memory.restore(a.id);
    expect((await memory.get(a.id))?.head.lifecycle).toBe("active");
  });
});

test("a replaced value that comes back holds again, and an update keeps how long a memory is to live", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const lyon = await memory.write({ type: "fact", slot: "home", text: "lives in Lyon" });
  const porto = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
  expect((await memory.get(lyon.id))?.versionRecord.validTo).toBeTypeOf("number");
  await memory.tombstone(porto.id, "wrong");
  const back = await memory.restore(lyon.id);
  const held = await memory.get(lyon.id);
  expect(back.version).toBe(3);
  expect(held?.head.lifecycle).toBe("active");
  expect(held?.versionRecord.validTo).toBeUndefined();
  const brief = await memory.write({ type: "fact", text: "a fact of one day", expiresAt: 99 });
  await memory.update(brief.id, { text: "a fact of a day" });
  expect((await memory.get(brief.id))?.versionRecord.expiresAt).toBe(99);
});

test("an end that its writer knew stays when the memory comes back", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const ended = await memory.write({ type: "fact", slot: "job", text: "a baker", validTo: 7 });
  const next = await memory.write({ type: "fact", slot: "job", text: "a pilot" });
  await memory.tombstone(next.id, "wrong");
  await memory.restore(ended.id);
  expect((await memory.get(ended.id))?.versionRecord.validTo).toBe(7);
});
