/** Cases 1 to 13: graphs, versions and time, the whitelist of kinds. */
import { expect } from "vitest";
import { type Case, graphIn, nodeIn, type World } from "./case.js";

const GRAPH = { name: "Recipes", kindWhitelist: ["fact"], metadata: { owner: "ada", n: 1 } };

/** A lineage with two versions, and an instant between the two writes. */
async function twoVersions(world: World) {
  const graph = await graphIn(world);
  const first = await nodeIn(world, graph, { content: "one" });
  world.clock.advance(10);
  const between = world.clock.last();
  world.clock.advance(10);
  const second = await nodeIn(world, graph, { content: "two", lineageId: first.lineageId });
  return { graph, first, second, between };
}

/** See the file header. */
export const GRAPH_CASES: readonly Case[] = [
  {
    number: 1,
    title: "a graph made without a policy has lww",
    run: async ({ hub }) => {
      expect(await hub.createGraph(GRAPH)).toMatchObject({ conflictPolicy: "lww" });
    },
  },
  {
    number: 2,
    title: "a graph reads back with name, metadata and whitelist unchanged",
    run: async ({ hub }) => {
      const { id } = await hub.createGraph(GRAPH);
      expect(await hub.getGraph(id)).toMatchObject(GRAPH);
    },
  },
  {
    number: 3,
    title: "the list has exactly the graph that was made",
    run: async ({ hub }) => {
      const { id } = await hub.createGraph(GRAPH);
      const { graphs, problems } = await hub.listGraphs();
      expect(graphs.map((graph) => graph.id)).toEqual([id]);
      expect(problems).toEqual([]);
    },
  },
  {
    number: 4,
    title: "an unknown graph is not found: a value to readers, a failure to writers",
    run: async ({ hub, store }) => {
      expect(await hub.getGraph("nobody")).toBeUndefined();
      await expect(store.putNode("nobody", { kind: "fact" })).rejects.toMatchObject({
        code: "ERR_NOT_FOUND",
      });
    },
  },
  {
    number: 5,
    title: "a node without a lineage is version 1 and gets one",
    run: async (world) => {
      const node = await nodeIn(world, await graphIn(world));
      expect(node.version).toBe(1);
      expect(node.lineageId).toMatch(/^[0-9A-Z]{26}$/);
    },
  },
  {
    number: 6,
    title: "a node of a known lineage is version 2 of it",
    run: async (world) => {
      const { first, second } = await twoVersions(world);
      expect(second).toMatchObject({ version: 2, lineageId: first.lineageId });
      expect(second.id).not.toBe(first.id);
    },
  },
  {
    number: 7,
    title: "the lineage reads as its last version",
    run: async (world) => {
      const { first, second } = await twoVersions(world);
      expect(await world.store.getNode(first.lineageId)).toEqual(second);
    },
  },
  {
    number: 8,
    title: "a replaced node names its successor",
    run: async (world) => {
      const { first, second } = await twoVersions(world);
      const read = await world.store.getNode(first.id);
      expect(read).toMatchObject({ content: "one", supersededBy: second.id, isCurrent: false });
    },
  },
  {
    number: 9,
    title: "at-version 1 gives the first version",
    run: async (world) => {
      const { first } = await twoVersions(world);
      const read = await world.store.getNode(first.lineageId, { atVersion: 1 });
      expect(read).toMatchObject({ id: first.id, content: "one" });
      expect(await world.store.getNode(first.lineageId, { atVersion: 3 })).toBeUndefined();
    },
  },
  {
    number: 10,
    title: "an instant between the writes gives the first version, one before both nothing",
    run: async (world) => {
      const { first, between } = await twoVersions(world);
      const read = await world.store.getNode(first.lineageId, { atTime: between });
      expect(read).toMatchObject({ id: first.id });
      const before = { atTime: first.createdAt - 1 };
      expect(await world.store.getNode(first.lineageId, before)).toBeUndefined();
    },
  },
  {
    number: 11,
    title: "the history is newest first; of an unknown lineage it is empty",
    run: async (world) => {
      const { first, second } = await twoVersions(world);
      const versions = await world.store.history(first.lineageId);
      expect(versions.map(({ id }) => id)).toEqual([second.id, first.id]);
      expect(await world.store.history("nobody")).toEqual([]);
    },
  },
  {
    number: 12,
    title: "a kind outside the whitelist is refused",
    run: async (world) => {
      const graph = await graphIn(world, { kindWhitelist: ["fact"] });
      await expect(nodeIn(world, graph, { kind: "decision" })).rejects.toMatchObject({
        code: "ERR_KIND_NOT_ALLOWED",
      });
      expect((await world.store.listNodes(graph)).total).toBe(0);
    },
  },
  {
    number: 13,
    title: "a kind inside the whitelist is written",
    run: async (world) => {
      const graph = await graphIn(world, { kindWhitelist: ["fact"] });
      expect(await nodeIn(world, graph, { kind: "fact" })).toMatchObject({ kind: "fact" });
    },
  },
];
