/** Cases 23 to 25, 29, 36 and 46 to 52: search, and the words in use. */
import { expect } from "vitest";
import type { NodeSearch } from "../../src/memgraph/index.js";
import { type Case, contents, graphIn, nodeIn, type World } from "./case.js";

function found({ hits }: NodeSearch): readonly string[] {
  return contents(hits.map(({ node }) => node));
}

/** A lineage that said zebra and says moose. */
async function changedAnimal(world: World): Promise<string> {
  const graph = await graphIn(world);
  const { lineageId } = await nodeIn(world, graph, { content: "a zebra in the garden" });
  await nodeIn(world, graph, { content: "a moose in the garden", lineageId });
  return graph;
}

/** Eight nodes: recipes five times, a fact, a person, a preference. */
async function kitchen(world: World): Promise<string> {
  const graph = await graphIn(world);
  const proteins = ["beef", "beef", "beef", "chicken", "chicken"];
  for (const [at, protein] of proteins.entries()) {
    const tags = [`protein:${protein}`, "cuisine:french", ...(at < 4 ? ["weeknight"] : [])];
    await nodeIn(world, graph, { kind: "recipe", content: `recipe ${at}`, tags });
  }
  await nodeIn(world, graph, { kind: "fact", tags: ["protein:fish"] });
  await nodeIn(world, graph, { kind: "person", tags: ["protein:veg"] });
  await nodeIn(world, graph, { kind: "preference" });
  return graph;
}

async function shelf(world: World): Promise<string> {
  const graph = await graphIn(world);
  await nodeIn(world, graph, { tags: ["protein:beef", "cuisine:french"] });
  await nodeIn(world, graph, { tags: ["protein:beef"] });
  await nodeIn(world, graph, { tags: ["protein:fish"] });
  return graph;
}

/** See the file header. */
export const SEARCH_CASES: readonly Case[] = [
  {
    number: 23,
    title: "a word of the content finds the node, with a snippet",
    run: async (world) => {
      const graph = await graphIn(world);
      await nodeIn(world, graph, { content: "a zebra in the garden" });
      const result = await world.store.search(graph, { text: "zebra" });
      expect(result.hits).toHaveLength(1);
      expect(result.hits[0]?.snippet).toContain("[zebra]");
    },
  },
  {
    number: 24,
    title: "a word of a replaced version finds nothing",
    run: async (world) => {
      const graph = await changedAnimal(world);
      expect(found(await world.store.search(graph, { text: "zebra" }))).toEqual([]);
    },
  },
  {
    number: 25,
    title: "a word of the new version finds version 2",
    run: async (world) => {
      const graph = await changedAnimal(world);
      const { hits } = await world.store.search(graph, { text: "moose" });
      expect(hits.map(({ node }) => node.version)).toEqual([2]);
    },
  },
  {
    number: 29,
    title: "search filters by the whole tag",
    run: async (world) => {
      const graph = await graphIn(world);
      await nodeIn(world, graph, { content: "smokey", tags: ["barbecue"] });
      const search = (tag: string) => world.store.search(graph, { text: "smokey", tags: [tag] });
      expect(found(await search("barb"))).toEqual([]);
      expect(found(await search("barbecue"))).toEqual(["smokey"]);
    },
  },
  {
    number: 36,
    title: "each rival of a conflict is found by its own words alone",
    run: async (world) => {
      const graph = await graphIn(world, { conflictPolicy: "manual" });
      const { lineageId } = await nodeIn(world, graph, { content: "base" });
      const a = await nodeIn(world, graph, { content: "aardvark", lineageId, basedOnVersion: 1 });
      const b = await nodeIn(world, graph, { content: "badger", lineageId, basedOnVersion: 1 });
      for (const node of [a, b]) {
        const { hits } = await world.store.search(graph, { text: node.content });
        expect(hits.map((hit) => hit.node.id)).toEqual([node.id]);
      }
    },
  },
  {
    number: 46,
    title: "the schema counts nodes and kinds, the most frequent first, with examples",
    run: async (world) => {
      const graph = await kitchen(world);
      const { nodeCount, kinds } = await world.store.describeSchema(graph);
      expect(nodeCount).toBe(8);
      expect(kinds).toHaveLength(4);
      expect(kinds[0]).toMatchObject({ kind: "recipe", count: 5 });
      expect(kinds[0]?.examples.length).toBeGreaterThanOrEqual(1);
      expect(kinds[0]?.examples.length).toBeLessThanOrEqual(3);
    },
  },
  {
    number: 47,
    title: "prefixes of tags are counted over all their values",
    run: async (world) => {
      const { tagPrefixes } = await world.store.describeSchema(await kitchen(world));
      const protein = tagPrefixes.find(({ prefix }) => prefix === "protein");
      expect(protein).toEqual({
        prefix: "protein",
        count: 7,
        values: ["beef", "chicken", "fish", "veg"],
      });
    },
  },
  {
    number: 48,
    title: "a prefix with one value lists it",
    run: async (world) => {
      const { tagPrefixes } = await world.store.describeSchema(await kitchen(world));
      expect(tagPrefixes).toContainEqual({ prefix: "cuisine", count: 5, values: ["french"] });
    },
  },
  {
    number: 49,
    title: "bare and prefixed tags are counted alike",
    run: async (world) => {
      const { tags } = await world.store.describeSchema(await kitchen(world));
      expect(tags).toContainEqual({ tag: "weeknight", count: 4 });
      expect(tags).toContainEqual({ tag: "protein:beef", count: 3 });
    },
  },
  {
    number: 50,
    title: "the most used tag comes first",
    run: async (world) => {
      const { tags } = await world.store.listTags(await shelf(world), { limit: 0 });
      expect(tags[0]).toEqual({ tag: "protein:beef", count: 2 });
      expect(tags).toHaveLength(3);
    },
  },
  {
    number: 51,
    title: "a prefix narrows the tags, one that fits none leaves none",
    run: async (world) => {
      const graph = await shelf(world);
      const { tags } = await world.store.listTags(graph, { prefix: "protein:" });
      expect(tags.map(({ tag }) => tag)).toEqual(["protein:beef", "protein:fish"]);
      expect((await world.store.listTags(graph, { prefix: "nothing" })).tags).toEqual([]);
    },
  },
  {
    number: 52,
    title: "a limit of one gives one tag",
    run: async (world) => {
      expect((await world.store.listTags(await shelf(world), { limit: 1 })).tags).toHaveLength(1);
    },
  },
];
