/** A write that goes on from a memory that is there: versions, policies, and what is refused. */
import { describe, expect, test } from "vitest";
import type { WriteInput } from "../contract/memory.js";
import { openTestStore, refusalOf } from "../testing/index.js";

const NOTE = { type: "note", kind: "fact", externalId: "a", text: "one", tags: ["x"] } as const;

describe("a write with upsert", () => {
  test("makes the memory, then its next version with kind, tags and freshness of its own", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ ...NOTE, freshnessAt: 9 }, { upsert: {} });
    expect(first).toMatchObject({ version: 1, conflicts: [] });
    await memory.updateHead("a", { importance: 9 });
    const { tags: _, ...rest } = NOTE;
    const next = await memory.write({ ...rest, kind: "rule", text: "two" }, { upsert: {} });
    expect(next).toMatchObject({ id: first.id, version: 2 });
    const now = await memory.get("a");
    expect(now).toMatchObject({ text: "two", head: { kind: "rule", tags: [], importance: 9 } });
    expect(now?.head.freshnessAt).toBeUndefined();
    expect(now?.versionRecord.supersedes).toEqual([1]);
    const { entries } = await memory.log({ from: 1 });
    expect(entries.map(({ kind }) => kind)).toEqual(["write", "update_head", "update"]);
  });

  test("a stale one wins under lww, and is kept as a rival under manual", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const write = (text: string, basedOnVersion?: number | readonly number[]) =>
      memory.write({ ...NOTE, text }, { upsert: { basedOnVersion } });
    for (const text of ["one", "two"]) await write(text);
    expect(await write("three", 1)).toMatchObject({ version: 3, conflicts: [] });
    await memory.configure({ conflictPolicy: "manual" });
    expect(await write("four", 1)).toMatchObject({ version: 4, conflicts: [{ text: "three" }] });
    expect((await memory.get("a"))?.head.siblings).toEqual([3]);
    // A list names what is open, all of it and nothing else.
    for (const seen of [[4], [3], [3, 4, 1], []]) {
      const error = await refusalOf(memory, () => write("five", seen));
      expect([error.code, error.details.field]).toEqual(["ERR_CONFLICT", "basedOnVersion"]);
    }
    expect(await write("five", [3, 4, 4])).toMatchObject({ version: 5, conflicts: [] });
    expect((await memory.get("a"))?.versionRecord.supersedes).toEqual([3, 4]);
  });

  test("a retry with the same key gives the first result, and the memory when asked", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write(NOTE, { upsert: {} });
    const again = { ...NOTE, text: "two", idempotencyKey: "k" };
    const first = await memory.write(again, { upsert: {}, memory: true });
    const second = await memory.write(again, { upsert: {}, memory: true });
    expect(second).toEqual(first);
    expect(first.memory).toEqual(await memory.get("a"));
    expect((await memory.history("a"))?.length).toBe(2);
  });

  test("is refused where it cannot be", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "a fact", externalId: "fact" });
    await memory.write({ ...NOTE, externalId: "hidden" });
    await memory.tombstone("hidden", "wrong");
    const gone = await memory.write(NOTE);
    await memory.forget("a", "asked");
    const refused: readonly (readonly [object, string, string])[] = [
      [{ externalId: "fact" }, "ERR_INVALID", "externalId"],
      [{ externalId: "hidden" }, "ERR_TOMBSTONED", "externalId"],
      [{ externalId: gone.id }, "ERR_ERASED", "externalId"],
      [{ externalId: undefined }, "ERR_BAD_ID", "externalId"],
      [{ slot: "city" }, "ERR_INVALID", "slot"],
      [{ supersedes: ["fact"] }, "ERR_INVALID", "supersedes"],
    ];
    for (const [more, code, field] of refused) {
      const input = { ...NOTE, ...more } as WriteInput;
      const error = await refusalOf(memory, () => memory.write(input, { upsert: {} }));
      expect([error.code, error.details.field]).toEqual([code, field]);
    }
    const wrong = { upsert: { basedOnVersion: 1.5 } };
    expect((await refusalOf(memory, () => memory.write(NOTE, wrong))).code).toBe("ERR_INVALID");
  });
});

test("a version that a whitelist does not allow is refused, whoever wrote the first", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  await memory.write(NOTE);
  await memory.configure({ kindWhitelist: ["other"] });
  const error = await refusalOf(memory, () => memory.write(NOTE, { upsert: {} }));
  expect(error.code).toBe("ERR_KIND_NOT_ALLOWED");
});
