/** Cases 70 to 75: bulk writes with refs. */
import { expect } from "vitest";
import { type Case, graphIn, lineages, nodeIn } from "./case.js";

const NODE = { kind: "fact", content: "c" };

/** See the file header. */
export const SUBGRAPH_CASES: readonly Case[] = [
  {
    number: 70,
    title: "new nodes, an update, and edges by ref and by lineage",
    run: async (world) => {
      const graph = await graphIn(world);
      const old = await nodeIn(world, graph);
      const { nodes, edges } = await world.store.putSubgraph(graph, {
        nodes: [
          { ...NODE, ref: "a" },
          { ...NODE, ref: "b" },
          { ...NODE, lineageId: old.lineageId },
        ],
        edges: [
          { fromRef: "a", toRef: "b", kind: "cites" },
          { fromRef: "a", toLineage: old.lineageId, kind: "cites" },
        ],
      });
      expect(nodes.map(({ created, version }) => [created, version])).toEqual([
        [true, 1],
        [true, 1],
        [false, 2],
      ]);
      expect(edges.every(({ edgeId, error }) => edgeId !== undefined && error === undefined)).toBe(
        true,
      );
      const walk = await world.store.traverse(nodes[0]?.lineageId ?? "", { maxDepth: 1 });
      expect(lineages(walk.nodes)).toEqual(new Set(nodes.map(({ lineageId }) => lineageId)));
    },
  },
  {
    number: 71,
    title: "one refused node fails alone, with the edge that uses its ref",
    run: async (world) => {
      const graph = await graphIn(world, { kindWhitelist: ["fact"] });
      const { nodes, edges } = await world.store.putSubgraph(graph, {
        nodes: [
          { ...NODE, ref: "good" },
          { ...NODE, kind: "decision", ref: "bad" },
        ],
        edges: [
          { fromRef: "good", toRef: "good", kind: "is" },
          { fromRef: "good", toRef: "bad", kind: "cites" },
        ],
      });
      expect(nodes[0]).toMatchObject({ created: true, version: 1 });
      expect(nodes[1]?.error).toMatch(/^memgraph: kind not in graph whitelist: /);
      expect(edges[0]?.edgeId).toBeDefined();
      expect(edges[1]).toEqual({ error: "ref not found: bad" });
      expect((await world.store.listNodes(graph)).total).toBe(1);
    },
  },
  {
    number: 72,
    title: "a ref that nobody declared is not found",
    run: async (world) => {
      const graph = await graphIn(world);
      const { lineageId } = await nodeIn(world, graph);
      const { edges } = await world.store.putSubgraph(graph, {
        edges: [{ fromLineage: lineageId, toRef: "nope", kind: "cites" }],
      });
      expect(edges).toEqual([{ error: "ref not found: nope" }]);
    },
  },
  {
    number: 73,
    title: "nothing, too much, and an end given twice",
    run: async (world) => {
      const graph = await graphIn(world);
      const { lineageId } = await nodeIn(world, graph);
      const edge = { fromLineage: lineageId, toLineage: lineageId, kind: "is" };
      for (const input of [
        {},
        { nodes: [], edges: [] },
        { nodes: Array.from({ length: 51 }, () => NODE) },
        { edges: Array.from({ length: 101 }, () => edge) },
      ]) {
        await expect(world.store.putSubgraph(graph, input)).rejects.toMatchObject({
          code: "ERR_INVALID",
        });
      }
      const { edges } = await world.store.putSubgraph(graph, {
        edges: [
          { ...edge, fromRef: "a" },
          { toLineage: lineageId, kind: "is" },
          { ...edge, toRef: "a" },
          { fromLineage: lineageId, kind: "is" },
        ],
      });
      expect(edges.map(({ error }) => error)).toEqual([
        "only one of from_ref/from_lineage allowed",
        "one of from_ref/from_lineage required",
        "only one of to_ref/to_lineage allowed",
        "one of to_ref/to_lineage required",
      ]);
      expect((await world.store.outgoing(lineageId)).edges).toEqual([]);
    },
  },
  {
    number: 74,
    title: "a stale update under manual is reported, the others proceed",
    run: async (world) => {
      const graph = await graphIn(world, { conflictPolicy: "manual" });
      const { lineageId } = await nodeIn(world, graph);
      await nodeIn(world, graph, { lineageId, basedOnVersion: 1 });
      const { nodes, edges } = await world.store.putSubgraph(graph, {
        nodes: [
          { ...NODE, lineageId, basedOnVersion: 1, ref: "stale" },
          { ...NODE, ref: "new" },
        ],
        edges: [{ fromRef: "new", toRef: "stale", kind: "cites" }],
      });
      expect(nodes[0]).toEqual({
        ref: "stale",
        lineageId,
        version: 3,
        created: false,
        error: "memgraph: concurrent write under manual conflict policy; conflict recorded",
      });
      expect(nodes[1]).toMatchObject({ created: true, version: 1 });
      expect(edges).toEqual([{ error: "ref not found: stale" }]);
    },
  },
  {
    number: 75,
    title: "nodes alone and edges alone are written",
    run: async (world) => {
      const graph = await graphIn(world);
      const { nodes } = await world.store.putSubgraph(graph, { nodes: [NODE, NODE] });
      expect(nodes.map(({ created }) => created)).toEqual([true, true]);
      const [from = "", to = ""] = nodes.map(({ lineageId }) => lineageId ?? "");
      const { edges } = await world.store.putSubgraph(graph, {
        edges: [{ fromLineage: from, toLineage: to, kind: "cites" }],
      });
      expect((await world.store.outgoing(from)).edges.map(({ id }) => id)).toEqual([
        edges[0]?.edgeId,
      ]);
    },
  },
];
