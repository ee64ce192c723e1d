/**
 * memgraph's store over a hub: nodes, lineages and edges between graphs, in the words and with the
 * decisions of memgraph, for the programs that know them.
 *
 * An adapter and nothing more: every call is made of the hub and of the ordinary verbs of a graph, and
 * what it writes are ordinary memories and edges. What the two name differently, and what memgraph
 * decides otherwise, is in the files beside this one.
 */
import type { HubEvent, HubSubscribeOptions } from "../hub/events.js";
import type { Hub } from "../hub/hub.js";
import { conflicts, resolve } from "./conflicts.js";
import {
  deleteEdge,
  edgesOf,
  type GraphEdge,
  incoming,
  outgoing,
  putEdge,
  symlinks,
  traverse,
} from "./edges.js";
import { type GraphNode, nodesOf } from "./node.js";
import { getNode, history, listNodes, type NodeFilter, putNode } from "./nodes.js";
import { type AccessOption, admitted } from "./policies.js";
import { describeSchema, listTags, search, searchBatch } from "./search.js";
import { putSubgraph } from "./subgraph.js";

export { graphName, importedName } from "../hub/context.js";
export type { NodeConflict, NodeConflicts, ResolveInput } from "./conflicts.js";
export type {
  EdgesOptions,
  GraphEdge,
  GraphEdgeInput,
  GraphEdgeResult,
  GraphEdges,
  GraphTies,
  GraphTraverseOptions,
  GraphWalk,
} from "./edges.js";
export { linkOf } from "./edges.js";
export type { CompactNode, GraphNode } from "./node.js";
export type {
  GetNodeOptions,
  LineageOptions,
  NodeFilter,
  NodeInput,
  NodePage,
  NodeResult,
} from "./nodes.js";
export { MEMGRAPH_POLICIES, memgraphText } from "./policies.js";
export type {
  GraphSchema,
  GraphTag,
  GraphTagOptions,
  NodeBatchHit,
  NodeBatchOptions,
  NodeBatchSearch,
  NodeHit,
  NodeQuery,
  NodeSearch,
} from "./search.js";
export {
  SUBGRAPH_EDGES_MAX,
  SUBGRAPH_NODES_MAX,
  type SubgraphEdge,
  type SubgraphEdgeResult,
  type SubgraphInput,
  type SubgraphNode,
  type SubgraphNodeResult,
  type SubgraphOptions,
  type SubgraphResult,
} from "./subgraph.js";

/** Something that happened in a graph, as memgraph tells it. */
export type MemgraphEvent =
  | Exclude<HubEvent, { readonly type: "memory" | "edge" | "edgeRemoved" }>
  | (EventPlace & { readonly type: "node"; readonly node: GraphNode })
  | (EventPlace & { readonly type: "edge" | "edgeRemoved"; readonly edge: GraphEdge });

type EventPlace = Pick<HubEvent, "graphId" | "seq" | "at">;

/** Events as they come; see `HubSubscription`. */
export interface MemgraphSubscription
  extends AsyncIterableIterator<MemgraphEvent>,
    AsyncDisposable {
  /** Where each graph stands: give it to `from` to go on later. */
  positions(): { readonly [graphId: string]: number };
  /** Ends it, also while `next` waits. */
  return(): Promise<IteratorResult<MemgraphEvent>>;
}

/** memgraph's store over a hub. */
export type Memgraph = ReturnType<typeof memgraph>;

/** memgraph's store over an open hub, which stays the caller's to close. */
export function memgraph(hub: Hub) {
  const on =
    <A extends readonly unknown[], R>(call: (hub: Hub, ...args: A) => R) =>
    (...args: A): R =>
      call(hub, ...args);
  return {
    putNode: on(putNode),
    getNode: on(getNode),
    history: on(history),
    listNodes: <C extends boolean = false>(graph: string, filter?: NodeFilter<C>) =>
      listNodes(hub, graph, filter),
    conflicts: on(conflicts),
    resolve: on(resolve),
    putEdge: on(putEdge),
    deleteEdge: on(deleteEdge),
    outgoing: on(outgoing),
    incoming: on(incoming),
    traverse: on(traverse),
    symlinks: on(symlinks),
    putSubgraph: on(putSubgraph),
    search: on(search),
    searchBatch: on(searchBatch),
    describeSchema: on(describeSchema),
    listTags: on(listTags),
    subscribe: on(subscribe),
  } as const;
}

/** What happens in the graphs, as it happens: `subscribe` of the hub, in nodes and edges. */
async function subscribe(
  hub: Hub,
  options: HubSubscribeOptions & AccessOption = {},
): Promise<MemgraphSubscription> {
  admitted("subscribe", options);
  const events = await hub.subscribe(options);
  const told = async ({
    value,
    done,
  }: IteratorResult<HubEvent>): Promise<IteratorResult<MemgraphEvent>> =>
    done === true ? { value, done } : { value: await eventOf(hub, value), done: false };
  const subscription: MemgraphSubscription = {
    next: async () => told(await events.next()),
    return: async () => told(await events.return()),
    positions: () => events.positions(),
    [Symbol.asyncIterator]: () => subscription,
    [Symbol.asyncDispose]: () => events[Symbol.asyncDispose](),
  };
  return subscription;
}

async function eventOf(hub: Hub, event: HubEvent): Promise<MemgraphEvent> {
  const { graphId, seq, at } = event;
  switch (event.type) {
    case "graph":
      return event;
    case "memory": {
      const [node] = await nodesOf(hub, [event.memory]);
      if (node === undefined) throw new Error("a memory is no node");
      return { graphId, seq, at, type: "node", node };
    }
    case "edge":
    case "edgeRemoved": {
      const [edge] = await edgesOf(hub, [event.edge]);
      if (edge === undefined) throw new Error("an edge is none");
      return { graphId, seq, at, type: event.type, edge };
    }
  }
}
