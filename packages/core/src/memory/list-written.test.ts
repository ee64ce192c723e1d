/** Lists by the latest version: order, filters, totals, and open versions one by one. */
import { describe, expect, test } from "vitest";
import type { WrittenQuery } from "../contract/memory.js";
import type { Cortex } from "../cortex.js";
import { openTestStore, refusalOf, seededRandom } from "../testing/index.js";

async function written(memory: Cortex, query: WrittenQuery = {}): Promise<readonly string[]> {
  const page = await memory.list({ written: query });
  return [...page.memories.map(({ text }) => text), `of ${page.total}`];
}

describe("a list by the latest version", () => {
  test("goes by versions, whatever else changed, and pages by offset", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const text of ["a", "b", "c"])
      await memory.write({ type: "note", text, externalId: text });
    await memory.update("a", { text: "a again" });
    await memory.updateHead("b", { tags: ["t"] });
    expect(await written(memory)).toEqual(["a again", "c", "b", "of 3"]);
    expect(await written(memory, { offset: 1, limit: 1 })).toEqual(["c", "of 3"]);
    expect(await written(memory, { offset: 5 })).toEqual(["of 3"]);
    await memory.tombstone("c", "wrong");
    expect(await written(memory)).toEqual(["a again", "b", "of 2"]);
  });

  test("keeps its order while memories change in every way, as if it were made anew", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const ids: string[] = [];
    const random = seededRandom(20_261_116);
    const next = (most: number): number => random.below(most);
    const some = (): string => ids[next(ids.length)] ?? "";
    // All have one kind: a list by it looks at every row.
    const made = async (): Promise<void> => {
      ids.push((await memory.write({ type: "note", kind: "k", text: `${ids.length}` })).id);
    };
    const changes: readonly (() => Promise<unknown>)[] = [
      made,
      () => memory.update(some(), { text: `again ${next(1000)}` }),
      () => memory.updateHead(some(), { tags: [`t${next(5)}`] }),
      () => memory.tombstone(some(), "wrong"),
      () => memory.restore(some()),
      () => memory.forget(some(), "asked for"),
      () => memory.addEdge(some(), "supports", some()),
      async () => memory.revert((await memory.root()).seq),
    ];
    for (let at = 0; at < 8; at += 1) await made();
    for (let round = 0; round < 60; round += 1) {
      for (let at = next(4); at >= 0; at -= 1) {
        // Some are hidden, forgotten or cannot be taken back: then nothing changes, and that is fine too.
        await changes[round % 5 === 0 ? 0 : next(changes.length)]?.().catch(() => undefined);
      }
      expect(await written(memory), `round ${round}`).toEqual(
        await written(memory, { kinds: ["k"] }),
      );
    }
    const both = await Promise.all([written(memory), made().then(() => written(memory))]);
    expect(both[1]).toEqual(await written(memory, { kinds: ["k"] }));
  });

  test("has any of the kinds and all of the tags; without a kind the type counts", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", kind: "idea", text: "one", tags: ["x", "y"] });
    await memory.write({ type: "note", kind: "plan", text: "two", tags: ["x"] });
    await memory.write({ type: "fact", text: "three", tags: ["x"] });
    await memory.write({ type: "fact", kind: "idea", text: "four" });
    expect(await written(memory, { kinds: ["idea"] })).toEqual(["four", "one", "of 2"]);
    expect(await written(memory, { kinds: ["fact", "plan"] })).toEqual(["three", "two", "of 2"]);
    expect(await written(memory, { tags: ["x"] })).toEqual(["three", "two", "one", "of 3"]);
    expect(await written(memory, { tags: ["x", "y"] })).toEqual(["one", "of 1"]);
    expect(await written(memory, { kinds: ["plan"], tags: ["x"] })).toEqual(["two", "of 1"]);
    expect(await written(memory, { kinds: ["nobody's"] })).toEqual(["of 0"]);
  });

  test("shows open versions by themselves when asked to, each under its own kind and tags", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const note = { type: "note", externalId: "a" } as const;
    for (const [text, kind] of [
      ["base", "old"],
      ["left", "l"],
      ["right", "r"],
    ] as const) {
      const upsert = { basedOnVersion: 1 };
      await memory.write({ ...note, text, kind, tags: [kind] }, { upsert });
    }
    await memory.write({ type: "note", text: "other" });
    expect(await written(memory)).toEqual(["other", "right", "of 2"]);
    const siblings = true;
    expect(await written(memory, { siblings })).toEqual(["other", "right", "left", "of 3"]);
    expect(await written(memory, { siblings, kinds: ["l"] })).toEqual(["left", "of 1"]);
    expect(await written(memory, { siblings, tags: ["r"] })).toEqual(["right", "of 1"]);
    expect(await written(memory, { siblings, offset: 1, limit: 1 })).toEqual(["right", "of 3"]);
    const { memories } = await memory.list({ written: { siblings, kinds: ["l"] } });
    expect(memories[0]).toMatchObject({ version: 2, head: { version: 3, kind: "l", tags: ["l"] } });
    // Of the versions that the history has, each is told as it was written.
    const items = await memory.history("a", { memories: true });
    expect(items?.map((item) => item.memory?.head.kind)).toEqual(["r", "l", "old"]);
  });

  test("stands alone, and says what is wrong with it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const refused: readonly (readonly [object, string])[] = [
      [{ written: {}, type: "note" }, "type"],
      [{ written: {}, limit: 5 }, "limit"],
      [{ written: { kinds: "a" } }, "kinds"],
      [{ written: { tags: [5] } }, "tags[0]"],
      [{ written: { offset: -1 } }, "offset"],
      [{ written: { limit: 1.5 } }, "limit"],
    ];
    for (const [options, field] of refused) {
      const error = await refusalOf(memory, () => memory.list(options));
      expect([error.code, error.details.field]).toEqual(["ERR_INVALID", field]);
    }
  });
});
