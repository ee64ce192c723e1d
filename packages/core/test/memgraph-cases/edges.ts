/** Cases 14 to 22, 30 and 31: edges, walks and the manifest of symlinks. */
import { expect } from "vitest";
import { type Case, graphIn, lineages, nodeIn, type World } from "./case.js";

/** a→b `cites`, a→b `mentions`, a→x `cites` into another graph, b→c. */
async function web(world: World) {
  const { store } = world;
  const graph = await graphIn(world);
  const other = await graphIn(world, { name: "other" });
  const [a, b, c] = await Promise.all(
    ["a", "b", "c"].map((lineageId) => nodeIn(world, graph, { lineageId })),
  );
  const x = await nodeIn(world, other, { lineageId: "x" });
  await store.putEdge(graph, { fromLineage: "a", toLineage: "b", kind: "cites" });
  await store.putEdge(graph, { fromLineage: "a", toLineage: "b", kind: "mentions" });
  await store.putEdge(graph, { fromLineage: "a", toLineage: "x", toGraph: other, kind: "cites" });
  await store.putEdge(graph, { fromLineage: "b", toLineage: "c", kind: "cites" });
  return { graph, other, a, b, c, x };
}

/** a→b→c, and d on its own. */
async function chain(world: World): Promise<void> {
  const graph = await graphIn(world);
  for (const lineageId of ["a", "b", "c", "d"]) await nodeIn(world, graph, { lineageId });
  await world.store.putEdge(graph, { fromLineage: "a", toLineage: "b", kind: "next" });
  await world.store.putEdge(graph, { fromLineage: "b", toLineage: "c", kind: "next" });
}

/** Two edges from g1 to g2 that say the same, and one to g3. */
async function tied(world: World) {
  const [g1, g2, g3] = [
    await graphIn(world, { name: "one" }),
    await graphIn(world, { name: "two" }),
    await graphIn(world, { name: "three" }),
  ];
  await nodeIn(world, g1, { lineageId: "a" });
  const into = (toGraph: string) =>
    world.store.putEdge(g1, { fromLineage: "a", toLineage: "z", toGraph, kind: "cites" });
  await into(g2);
  await into(g2);
  await into(g3);
  return { g1, g2, g3 };
}

/** See the file header. */
export const EDGE_CASES: readonly Case[] = [
  {
    number: 14,
    title: "outgoing edges of one kind include the symlink",
    run: async (world) => {
      const { graph, other } = await web(world);
      const { edges } = await world.store.outgoing("a", { edgeKinds: ["cites"] });
      expect(edges.map(({ toGraph, toLineage }) => [toGraph, toLineage])).toEqual([
        [graph, "b"],
        [other, "x"],
      ]);
    },
  },
  {
    number: 15,
    title: "incoming edges without a filter are both",
    run: async (world) => {
      await web(world);
      const { edges } = await world.store.incoming("b");
      expect(edges.map(({ kind }) => kind)).toEqual(["cites", "mentions"]);
    },
  },
  {
    number: 16,
    title: "depth 1 reaches the neighbour and no further",
    run: async (world) => {
      await web(world);
      const { nodes } = await world.store.traverse("a", { maxDepth: 1 });
      expect(lineages(nodes)).toEqual(new Set(["a", "b"]));
    },
  },
  {
    number: 17,
    title: "depth 3 without symlinks stays in the graph",
    run: async (world) => {
      await web(world);
      const { nodes, edges } = await world.store.traverse("a", { maxDepth: 3 });
      expect(lineages(nodes)).toEqual(new Set(["a", "b", "c"]));
      expect(edges).toHaveLength(3);
    },
  },
  {
    number: 18,
    title: "symlinks are followed on request",
    run: async (world) => {
      const { other } = await web(world);
      const walk = await world.store.traverse("a", { maxDepth: 3, followSymlinks: true });
      expect(lineages(walk.nodes)).toEqual(new Set(["a", "b", "c", "x"]));
      expect(Object.keys(walk.positions)).toContain(other);
    },
  },
  {
    number: 19,
    title: "incoming from the end of a chain reaches its start over two edges",
    run: async (world) => {
      await chain(world);
      const walk = await world.store.traverse("c", { direction: "incoming", maxDepth: 3 });
      expect(lineages(walk.nodes)).toEqual(new Set(["a", "b", "c"]));
      expect(walk.edges).toHaveLength(2);
    },
  },
  {
    number: 20,
    title: "both directions from the middle, each edge once",
    run: async (world) => {
      await chain(world);
      const walk = await world.store.traverse("b", { direction: "both", maxDepth: 3 });
      expect(lineages(walk.nodes)).toEqual(new Set(["a", "b", "c"]));
      expect(new Set(walk.edges.map(({ id }) => id)).size).toBe(2);
      expect(walk.edges).toHaveLength(2);
    },
  },
  {
    number: 21,
    title: "without a direction a walk goes along the edges",
    run: async (world) => {
      await chain(world);
      const { nodes } = await world.store.traverse("a", { maxDepth: 3 });
      expect(nodes.map(({ lineageId }) => lineageId)).toEqual(["a", "b", "c"]);
    },
  },
  {
    number: 22,
    title: "without a direction a walk from the end stays there",
    run: async (world) => {
      await chain(world);
      const { nodes, edges } = await world.store.traverse("c", { maxDepth: 3 });
      expect(nodes.map(({ lineageId }) => lineageId)).toEqual(["c"]);
      expect(edges).toEqual([]);
    },
  },
  {
    number: 30,
    title: "the manifest names two outbound graphs and three edges",
    run: async (world) => {
      const { g1, g2, g3 } = await tied(world);
      const { outbound, inbound } = await world.hub.symlinks(g1);
      const counted = Object.fromEntries(outbound.map((ref) => [ref.graphId, ref.edgeCount]));
      expect(counted).toEqual({ [g2]: 2, [g3]: 1 });
      expect(inbound).toEqual([]);
    },
  },
  {
    number: 31,
    title: "the manifest counts identical inbound edges one by one",
    run: async (world) => {
      const { g1, g2 } = await tied(world);
      const { outbound, inbound } = await world.hub.symlinks(g2);
      expect(inbound).toEqual([{ graphId: g1, edgeCount: 2, exists: true }]);
      expect(outbound).toEqual([]);
    },
  },
];
