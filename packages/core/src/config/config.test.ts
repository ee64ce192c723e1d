/** The configuration of a graph. */
import { expect, test } from "vitest";
import { LIMITS } from "../limits.js";
import { openTestStore, refusalOf } from "../testing/index.js";

test("defaults, a patch, and what a patch leaves out; kept across reopening", async () => {
  await using store = await openTestStore({ backend: "lmdb" });
  const { memory } = store;
  expect(await memory.config()).toEqual({ conflictPolicy: "lww", kindWhitelist: [] });
  expect(await memory.configure({ conflictPolicy: "manual" }, { by: "root" })).toEqual({
    conflictPolicy: "manual",
    kindWhitelist: [],
    seq: 1,
  });
  await memory.configure({ kindWhitelist: ["a", "b", "a"] });
  const expected = { conflictPolicy: "manual", kindWhitelist: ["a", "b"] };
  expect(await memory.config()).toEqual(expected);
  expect(await (await store.reopen()).config()).toEqual(expected);
  expect((await store.memory.log({ from: 1 })).entries).toMatchObject([
    { kind: "config", by: "root" },
    { kind: "config", by: "ada" },
  ]);
});

test("name, metadata and archive change member by member, and null takes away", async () => {
  await using store = await openTestStore({ backend: "lmdb" });
  const { memory } = store;
  await memory.configure({ name: "Team", metadata: { a: 1, b: { c: [true] } }, archived: true });
  await memory.configure({ metadata: { a: null, d: "x" } });
  const expected = { name: "Team", metadata: { b: { c: [true] }, d: "x" }, archived: true };
  expect(await memory.config()).toMatchObject(expected);
  expect(await (await store.reopen()).config()).toMatchObject(expected);
  await store.memory.configure({ name: null, metadata: null, archived: false });
  expect(await store.memory.config()).toEqual({ conflictPolicy: "lww", kindWhitelist: [] });
  // Each patch is small enough, what they add up to is not.
  const half = "x".repeat(LIMITS.metadataBytes * 0.6);
  await store.memory.configure({ metadata: { first: half } });
  const error = await refusalOf(store.memory, () =>
    store.memory.configure({ metadata: { second: half } }),
  );
  expect(error).toMatchObject({ code: "ERR_TOO_LARGE" });
});

test("a whitelist bounds the kinds of writes and changes of the head, not turns nor memories without a kind", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { id } = await memory.write({ type: "note", text: "n", kind: "old" });
  await memory.configure({ kindWhitelist: ["memo"] });
  expect((await memory.write({ type: "note", text: "n", kind: "memo" })).version).toBe(1);
  const refused = [
    () => memory.write({ type: "note", text: "n", kind: "other" }),
    () => memory.updateHead(id, { kind: "other" }),
    () => memory.batch([{ write: { type: "note", text: "n", kind: "other" } }]),
  ];
  for (const call of refused) {
    const error = await refusalOf(memory, call);
    expect(error.code).toBe("ERR_KIND_NOT_ALLOWED");
    expect(error.message).toMatch(/kind: expected one of memo, got/);
  }
  expect((await memory.updateHead(id, { tags: ["t"] })).version).toBe(1);
  const kept = await memory.remember([{ role: "user", content: "c" }], { session: "s" });
  expect(kept.turns[0]?.added).toBe(true);
  expect((await memory.write({ type: "fact", text: "no kind" })).version).toBe(1);
  await memory.configure({ kindWhitelist: [] });
  expect((await memory.write({ type: "note", text: "n", kind: "other" })).version).toBe(1);
});

test("what is no configuration is refused", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const cases: readonly (readonly [unknown, string, string])[] = [
    [null, "ERR_INVALID", "options"],
    [[], "ERR_INVALID", "options"],
    [5, "ERR_INVALID", "options"],
    [{}, "ERR_NO_CHANGE", "config"],
    [{ policy: "lww" }, "ERR_UNKNOWN_FIELD", "policy"],
    [{ conflictPolicy: "best" }, "ERR_INVALID", "conflictPolicy"],
    [{ kindWhitelist: "memo" }, "ERR_INVALID", "kindWhitelist"],
    [{ language: "klingon" }, "ERR_INVALID", "language"],
    [{ trustedIssuers: ["nobody"] }, "ERR_INVALID", "trustedIssuers[0]"],
    [{ ttlDays: { scrap: 0 } }, "ERR_INVALID", "ttlDays.scrap"],
    [{ ttlDays: { " ": 1 } }, "ERR_INVALID", "ttlDays"],
    [{ name: "" }, "ERR_INVALID", "name"],
    [{ name: "x".repeat(LIMITS.labelBytes + 1) }, "ERR_TOO_LARGE", "name"],
    [{ metadata: [1] }, "ERR_INVALID", "metadata"],
    [{ archived: "yes" }, "ERR_INVALID", "archived"],
    [{ kindWhitelist: [" "] }, "ERR_INVALID", "kindWhitelist[0]"],
    [{ kindWhitelist: ["ok", "\ud800"] }, "ERR_ILL_FORMED", "kindWhitelist[1]"],
    [{ kindWhitelist: Array(LIMITS.listItems + 1).fill("k") }, "ERR_TOO_LARGE", "kindWhitelist"],
  ];
  for (const [patch, code, field] of cases) {
    const error = await refusalOf(memory, () => memory.configure(patch as never));
    expect(error).toMatchObject({ code, details: { field } });
  }
});
