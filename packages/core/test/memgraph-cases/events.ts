/** Cases 42 to 45: events after commit, and silence after the end. */
import { expect } from "vitest";
import type { MemgraphEvent, MemgraphSubscription } from "../../src/memgraph/index.js";
import { type Case, graphIn, nodeIn } from "./case.js";

/** The next so many events. */
async function take(
  subscription: MemgraphSubscription,
  count: number,
): Promise<readonly MemgraphEvent[]> {
  const events: MemgraphEvent[] = [];
  while (events.length < count) {
    const { value, done } = await subscription.next();
    if (done === true) break;
    events.push(value);
  }
  return events;
}

/** See the file header. */
export const EVENT_CASES: readonly Case[] = [
  {
    number: 42,
    title: "a node and an edge of a lineage to itself are one event each",
    run: async (world) => {
      const graph = await graphIn(world);
      await using events = await world.store.subscribe();
      const { lineageId } = await nodeIn(world, graph);
      await world.store.putEdge(graph, {
        fromLineage: lineageId,
        toLineage: lineageId,
        kind: "is",
      });
      const seen = await take(events, 2);
      expect(seen.map(({ type, graphId }) => [type, graphId])).toEqual([
        ["node", graph],
        ["edge", graph],
      ]);
      expect(seen[0]).toMatchObject({ node: { lineageId } });
      expect(seen[1]).toMatchObject({ edge: { fromLineage: lineageId, toLineage: lineageId } });
    },
  },
  {
    number: 43,
    title: "after the end there are no further events",
    run: async (world) => {
      const graph = await graphIn(world);
      const ended = await world.store.subscribe();
      await using witness = await world.store.subscribe();
      await nodeIn(world, graph);
      expect(await take(ended, 1)).toHaveLength(1);
      await ended.return();
      await nodeIn(world, graph);
      expect(await take(witness, 2)).toHaveLength(2);
      expect(await ended.next()).toEqual({ value: undefined, done: true });
    },
  },
  {
    number: 44,
    title: "making a graph and renaming it are two graph events",
    run: async (world) => {
      await using events = await world.store.subscribe();
      const graph = await graphIn(world, { name: "before" });
      const [made] = await take(events, 1);
      await world.hub.configureGraph(graph, { name: "after" });
      const [renamed] = await take(events, 1);
      expect(made).toMatchObject({ type: "graph", graph: { id: graph, name: "before" } });
      expect(renamed).toMatchObject({ type: "graph", graph: { id: graph, name: "after" } });
    },
  },
  {
    number: 45,
    title: "after the end another graph is no event",
    run: async (world) => {
      const ended = await world.store.subscribe();
      await using witness = await world.store.subscribe();
      await graphIn(world, { name: "first" });
      expect(await take(ended, 1)).toHaveLength(1);
      await ended.return();
      await graphIn(world, { name: "second" });
      expect(await take(witness, 2)).toHaveLength(2);
      expect(await ended.next()).toEqual({ value: undefined, done: true });
    },
  },
];
