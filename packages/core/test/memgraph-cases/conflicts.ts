/** Cases 32 to 35 and 37 to 41: concurrent writes under both policies. */
import { expect } from "vitest";
import type { GraphNode } from "../../src/memgraph/index.js";
import { type Case, graphIn, nodeIn, type World } from "./case.js";

/** A lineage at version 1 under a policy, and two writers who both read it. */
async function fork(world: World, conflictPolicy: "lww" | "manual") {
  const graph = await graphIn(world, { conflictPolicy });
  const base = await nodeIn(world, graph, { content: "base" });
  const { lineageId } = base;
  const write = (content: string, basedOnVersion: number) =>
    world.store.putNode(graph, { kind: "fact", content, lineageId, basedOnVersion });
  const a = await write("aardvark", 1);
  const b = await write("badger", 1);
  return { graph, lineageId, base, a, b, write };
}

function read(world: World, node: GraphNode): Promise<GraphNode | undefined> {
  return world.store.getNode(node.id);
}

/** See the file header. */
export const CONFLICT_CASES: readonly Case[] = [
  {
    number: 32,
    title: "manual: the first writer makes version 2 without conflict",
    run: async (world) => {
      const { a } = await fork(world, "manual");
      expect(a.node).toMatchObject({ version: 2, conflicts: [] });
      expect(a.conflict).toBeUndefined();
    },
  },
  {
    number: 33,
    title: "manual: the late writer is told of the conflict and its node is written",
    run: async (world) => {
      const { a, b } = await fork(world, "manual");
      expect(b.conflict).toMatchObject({
        code: "ERR_CONFLICT",
        message: "memgraph: concurrent write under manual conflict policy; conflict recorded",
      });
      expect(b.node).toMatchObject({ version: 3, conflicts: [a.node.id] });
    },
  },
  {
    number: 34,
    title: "manual: neither rival is superseded and each lists the other",
    run: async (world) => {
      const { a, b } = await fork(world, "manual");
      const [first, second] = [await read(world, a.node), await read(world, b.node)];
      expect(first).toMatchObject({ isCurrent: true, conflicts: [b.node.id] });
      expect(second).toMatchObject({ isCurrent: true, conflicts: [a.node.id] });
      expect(first?.supersededBy ?? second?.supersededBy).toBeUndefined();
    },
  },
  {
    number: 35,
    title: "manual: the lineage reads as the higher rival",
    run: async (world) => {
      const { lineageId, a, b } = await fork(world, "manual");
      const head = await world.store.getNode(lineageId);
      expect(head).toMatchObject({ id: b.node.id, conflicts: [a.node.id] });
    },
  },
  {
    number: 37,
    title: "manual: a write based on either rival settles the conflict",
    run: async (world) => {
      const { a, b, write } = await fork(world, "manual");
      const c = await write("civet", a.node.version);
      expect(c.conflict).toBeUndefined();
      expect(c.node).toMatchObject({ version: b.node.version + 1, conflicts: [] });
    },
  },
  {
    number: 38,
    title: "manual: after the settlement the lineage reads as it",
    run: async (world) => {
      const { lineageId, a, write } = await fork(world, "manual");
      const c = await write("civet", a.node.version);
      expect(await world.store.getNode(lineageId)).toMatchObject({ id: c.node.id, conflicts: [] });
    },
  },
  {
    number: 39,
    title: "manual: after the settlement both rivals are superseded by it",
    run: async (world) => {
      const { a, b, write } = await fork(world, "manual");
      const c = await write("civet", a.node.version);
      for (const rival of [a.node, b.node]) {
        expect(await read(world, rival)).toMatchObject({ supersededBy: c.node.id });
      }
    },
  },
  {
    number: 40,
    title: "lww: the second of two writers succeeds without conflict",
    run: async (world) => {
      const { b } = await fork(world, "lww");
      expect(b.conflict).toBeUndefined();
      expect(b.node).toMatchObject({ version: 3, conflicts: [] });
    },
  },
  {
    number: 41,
    title: "lww: the second write supersedes the first and is the only head",
    run: async (world) => {
      const { lineageId, a, b } = await fork(world, "lww");
      expect(await read(world, a.node)).toMatchObject({ supersededBy: b.node.id });
      const current = (await world.store.history(lineageId)).filter((node) => node.isCurrent);
      expect(current.map(({ id }) => id)).toEqual([b.node.id]);
    },
  },
];
