/** Cases 26 to 28, 53 and 54: listing nodes by tags, in full and compact. */
import { expect } from "vitest";
import { type Case, contents, graphIn, nodeIn, type World } from "./case.js";

async function tagged(world: World): Promise<string> {
  const graph = await graphIn(world);
  await nodeIn(world, graph, { content: "first", tags: ["bar"] });
  await nodeIn(world, graph, { content: "second", tags: ["barbecue"] });
  await nodeIn(world, graph, { content: "third", tags: ["bar", "barbecue"] });
  return graph;
}

async function complete(world: World): Promise<string> {
  const graph = await graphIn(world);
  await nodeIn(world, graph, {
    content: "long",
    summary: "short",
    tags: ["zeta", "alpha"],
    metadata: { n: 1 },
    freshnessAt: 5,
    createdBy: "ada",
  });
  return graph;
}

/** See the file header. */
export const LIST_CASES: readonly Case[] = [
  {
    number: 26,
    title: "a tag filters by the whole tag",
    run: async (world) => {
      const graph = await tagged(world);
      const { nodes } = await world.store.listNodes(graph, { tags: ["bar"] });
      expect(contents(nodes)).toEqual(["third", "first"]);
    },
  },
  {
    number: 27,
    title: "the beginning of a tag finds nothing",
    run: async (world) => {
      const graph = await tagged(world);
      expect(await world.store.listNodes(graph, { tags: ["barb"] })).toMatchObject({
        nodes: [],
        total: 0,
      });
    },
  },
  {
    number: 28,
    title: "two tags must both be there",
    run: async (world) => {
      const graph = await tagged(world);
      const { nodes } = await world.store.listNodes(graph, { tags: ["bar", "barbecue"] });
      expect(contents(nodes)).toEqual(["third"]);
    },
  },
  {
    number: 53,
    title: "a list shows content, metadata, freshness and author",
    run: async (world) => {
      const graph = await complete(world);
      const { nodes } = await world.store.listNodes(graph);
      expect(nodes[0]).toMatchObject({
        content: "long",
        metadata: { n: 1 },
        freshnessAt: 5,
        createdBy: "ada",
      });
    },
  },
  {
    number: 54,
    title: "a compact list leaves them out and keeps the rest, flags included",
    run: async (world) => {
      const graph = await complete(world);
      const { nodes } = await world.store.listNodes(graph, { compact: true });
      const [full] = (await world.store.listNodes(graph)).nodes;
      expect(Object.keys(nodes[0] ?? {}).sort()).toEqual([
        "createdAt",
        "graphId",
        "id",
        "isCurrent",
        "isStale",
        "kind",
        "lineageId",
        "summary",
        "tags",
        "version",
      ]);
      expect(full).toMatchObject(nodes[0] ?? {});
      expect(nodes[0]).toMatchObject({ tags: ["zeta", "alpha"], summary: "short", isStale: true });
    },
  },
];
