/** Searching nodes beyond the numbered cases: several graphs, several texts, limits. */
import { describe, expect, test } from "vitest";
import { openTestHub, type TestHub } from "../testing/index.js";

async function library(backend: "memory" | "lmdb"): Promise<TestHub> {
  const world = await openTestHub({ backend });
  for (const id of ["g", "h"]) await world.hub.createGraph({ name: id, id });
  return world;
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("any text is legal, and a text without words finds nothing", async () => {
    await using world = await library(backend);
    await world.store.putNode("g", { kind: "n", content: "the auth-service runs" });
    const texts = ["auth-service", "topic:auth", "what runs?", '"auth', "auth OR NOT (", "auth*"];
    for (const text of texts) {
      const { hits } = await world.store.search("g", { text });
      expect(hits, text).toHaveLength(1);
    }
    for (const text of ["", "   ", "?!"]) {
      expect((await world.store.search("g", { text })).hits).toEqual([]);
    }
    expect((await world.store.search("nobody", { text: "auth" })).hits).toEqual([]);
  });

  test("several graphs are searched together, best ranks first", async () => {
    await using world = await library(backend);
    const { store } = world;
    for (const content of ["tea", "tea and milk and sugar and much more"]) {
      await store.putNode("g", { kind: "n", content });
      await store.putNode("h", { kind: "n", content: `${content} in h` });
    }
    const { hits, positions } = await store.search(["g", "h", "nobody"], { text: "tea", limit: 3 });
    expect(hits.map(({ node }) => node.content)).toEqual([
      "tea",
      "tea in h",
      "tea and milk and sugar and much more",
    ]);
    expect(positions).toEqual({ g: 3, h: 3 });
    const alone = await store.search("g", { text: "tea" });
    expect(alone.hits.map(({ node }) => node.graphId)).toEqual(["g", "g"]);
  });

  test("several texts rank what they share above what only one finds", async () => {
    await using world = await library(backend);
    const { store } = world;
    for (const content of ["alpha bravo", "alpha", "bravo"]) {
      await store.putNode("g", { kind: "n", content, lineageId: content });
    }
    const result = await store.searchBatch("g", [{ text: "alpha" }, { text: "bravo" }]);
    expect(result).toMatchObject({ queryCount: 2, uniqueHits: 3, perQueryHits: [2, 2] });
    const [first, ...others] = result.hits;
    expect(first).toMatchObject({ node: { lineageId: "alpha bravo" }, queriesMatched: [0, 1] });
    for (const { rrfScore, queriesMatched } of others) {
      expect(rrfScore).toBeLessThan(first?.rrfScore ?? 0);
      expect(queriesMatched).toHaveLength(1);
    }
    const none = await store.searchBatch("g", [{ text: "x" }, { text: "y" }, { text: "z" }]);
    expect(none).toMatchObject({ hits: [], uniqueHits: 0, perQueryHits: [0, 0, 0] });
  });

  test("limits have defaults, and more is less", async () => {
    await using world = await library(backend);
    const { store } = world;
    const nodes = Array.from({ length: 50 }, (_, at) => ({ kind: "n", content: `word ${at}` }));
    await store.putSubgraph("g", { nodes });
    await store.putSubgraph("g", { nodes: nodes.slice(0, 10) });
    expect((await store.search("g", { text: "word" })).hits).toHaveLength(20);
    expect((await store.search("g", { text: "word", limit: 0 })).hits).toHaveLength(20);
    expect((await store.search("g", { text: "word", limit: 60 })).hits).toHaveLength(60);
    const each = await store.searchBatch("g", [{ text: "word", limit: 500 }], { limit: 500 });
    expect(each).toMatchObject({ perQueryHits: [50], uniqueHits: 50 });
    expect(each.hits).toHaveLength(50);
    const few = await store.searchBatch("g", [{ text: "word" }], { limit: 5 });
    expect(few).toMatchObject({ uniqueHits: 20 });
    expect(few.hits).toHaveLength(5);
  });

  test("two rivals found by one text both count", async () => {
    await using world = await library(backend);
    const { hub, store } = world;
    await hub.configureGraph("g", { conflictPolicy: "manual" });
    await store.putNode("g", { kind: "n", lineageId: "a", content: "base" });
    for (const content of ["moose left", "moose right"]) {
      await store.putNode("g", { kind: "n", lineageId: "a", content, basedOnVersion: 1 });
    }
    const { hits, uniqueHits, perQueryHits } = await store.searchBatch("g", [{ text: "moose" }]);
    expect({ uniqueHits, perQueryHits }).toEqual({ uniqueHits: 1, perQueryHits: [2] });
    expect(hits[0]).toMatchObject({ queriesMatched: [0, 0], rrfScore: 1 / 61 + 1 / 62 });
  });

  test("what is no search is refused", async () => {
    await using world = await library(backend);
    const { store } = world;
    const nine = Array.from({ length: 9 }, () => ({ text: "x" }));
    for (const call of [
      () => store.search("g", { text: 5 } as never),
      () => store.search([], { text: "x" }),
      () => store.search("g", { text: "x", limit: 1.5 }),
      () => store.search("g", { text: "x", tags: "t" } as never),
      () => store.searchBatch("g", []),
      () => store.searchBatch("g", nine),
      () => store.searchBatch("g", [{ text: "x", freshOnly: 1 }] as never),
      () => store.listTags("g", { limit: 1.5 }),
      () => store.listTags("g", { prefix: 5 } as never),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "ERR_INVALID" });
    }
    await expect(store.searchBatch("", [{ text: "x" }])).rejects.toMatchObject({
      code: "ERR_BAD_NAME",
    });
  });
});
