/**
 * A hub: many graphs in one place, and the verbs that span them.
 *
 * Each graph is a Cortex of its own, with its own journal, root and erasures. The hub opens them when
 * they are needed and closes them when they are idle, finds which graph holds what, and speaks
 * memgraph's language: nodes, lineages, edges between graphs. Every other verb of a graph is reached
 * through `use`. What each access may do is in `hub-policies.ts`; the work is in the files beside
 * this one.
 */

import type { ConfigPatch } from "../contract/config.js";
import type { Cortex } from "../cortex.js";
import { CortexError } from "../errors.js";
import { type Access, admit, OWNER } from "../scope/access.js";
import {
  checkHub,
  type HubCheckOptions,
  type HubCheckReport,
  type HubRebuildReport,
  rebuildHub,
} from "./check.js";
import type { HubContext } from "./context.js";
import type { GraphEdgeInput, GraphEdgeResult } from "./edge-write.js";
import {
  deleteEdge,
  type EdgesOptions,
  type GraphEdges,
  type GraphTraverseOptions,
  incoming,
  outgoing,
  putEdge,
  traverse,
} from "./edges.js";
import { type HubSubscribeOptions, type HubSubscription, subscribe } from "./events.js";
import type { GraphFilter, GraphInfo, GraphInput, GraphList } from "./graph.js";
import { configureGraph, createGraph, getGraph, listGraphs, useGraph } from "./graphs.js";
import { HUB_POLICIES } from "./hub-policies.js";
import type { CompactNode, GraphNode } from "./node.js";
import type { NodeFilter, NodePage } from "./node-list.js";
import type { NodeInput, NodeResult } from "./node-write.js";
import {
  conflicts,
  type GetNodeOptions,
  getNode,
  history,
  type LineageOptions,
  listNodes,
  type NodeConflicts,
  putNode,
  type ResolveInput,
  resolve,
} from "./nodes.js";
import {
  type GraphSchema,
  type GraphTag,
  type GraphTagOptions,
  graphSchema,
  graphTags,
} from "./schema.js";
import {
  type NodeBatchOptions,
  type NodeBatchSearch,
  type NodeQuery,
  type NodeSearch,
  searchNodes,
  searchNodesBatch,
} from "./search.js";
import type { SubgraphInput, SubgraphOptions, SubgraphResult } from "./subgraph.js";
import { putSubgraphIn } from "./subgraphs.js";
import { type SymlinkManifest, type SymlinkOptions, symlinks } from "./symlinks.js";
import type { GraphWalk } from "./traverse.js";

interface AccessOption {
  readonly access?: Access;
}

/** An open hub. Close it, or let `await using` do so. */
export class Hub implements AsyncDisposable {
  readonly #hub: HubContext;
  readonly #end: () => Promise<void>;

  /** Use `openHub`. */
  constructor(hub: HubContext, end: () => Promise<void>) {
    this.#hub = hub;
    this.#end = end;
  }

  /** How many graphs are open at the moment. */
  get openGraphs(): number {
    return this.#hub.stores.openCount;
  }

  /** Whether a graph is open at the moment. */
  isOpen(graph: string): boolean {
    return this.#hub.stores.isOpen(graph);
  }

  /**
   * Runs `body` with the memory of a graph, which stays open meanwhile and no longer. `ERR_NOT_FOUND`
   * when there is no such graph, unless `create` says to make it.
   */
  async use<T>(
    graph: string,
    body: (memory: Cortex) => Promise<T>,
    options: { readonly create?: boolean } = {},
  ): Promise<T> {
    return useGraph(this.#hub, graph, body, options);
  }

  /** Runs `body` with every graph that is open now; it opens none, and none stays open for it. */
  async eachOpen<T>(body: (memory: Cortex) => Promise<T>): Promise<readonly T[]> {
    return this.#hub.stores.eachOpen(({ memory }) => body(memory));
  }

  /** Makes a graph. */
  async createGraph(input: GraphInput, options: AccessOption = {}): Promise<GraphInfo> {
    return createGraph(this.#admit("createGraph", options), input);
  }

  /** One graph; `undefined` when there is none of this id. */
  async getGraph(id: string, options: AccessOption = {}): Promise<GraphInfo | undefined> {
    return getGraph(this.#admit("getGraph", options), id);
  }

  /** Every graph, oldest first. */
  async listGraphs(filter: GraphFilter = {}): Promise<GraphList> {
    return listGraphs(this.#admit("listGraphs", filter), filter);
  }

  /** Changes the configuration of a graph; `archived: true` takes it off the list. */
  async configureGraph(
    id: string,
    patch: ConfigPatch,
    options: { readonly by?: string } & AccessOption = {},
  ): Promise<GraphInfo> {
    return configureGraph(this.#admit("configureGraph", options), id, patch, options);
  }

  /** Writes a node: a new lineage, or the next version of one. */
  async putNode(graph: string, node: NodeInput, options: AccessOption = {}): Promise<NodeResult> {
    return putNode(this.#admit("putNode", options), graph, node);
  }

  /** A node of a lineage, now, at a version or at a time; or a node by its own id. */
  async getNode(ref: string, options: GetNodeOptions = {}): Promise<GraphNode | undefined> {
    return getNode(this.#admit("getNode", options), ref, options);
  }

  /** Every node of a lineage, the highest version first. */
  async history(lineage: string, options: LineageOptions = {}): Promise<readonly GraphNode[]> {
    return history(this.#admit("history", options), lineage, options);
  }

  /** The current nodes of a graph, newest first, with only what a list needs. */
  async listNodes(
    graph: string,
    filter: NodeFilter & { readonly compact: true },
  ): Promise<NodePage<CompactNode>>;
  /** The current nodes of a graph, newest first. */
  async listNodes(graph: string, filter?: NodeFilter): Promise<NodePage>;
  async listNodes(
    graph: string,
    filter: NodeFilter = {},
  ): Promise<NodePage<GraphNode | CompactNode>> {
    return listNodes(this.#admit("listNodes", filter), graph, filter);
  }

  /** The lineages of a graph that have rival nodes. */
  async conflicts(graph: string, options: AccessOption = {}): Promise<NodeConflicts> {
    return conflicts(this.#admit("conflicts", options), graph, options);
  }

  /** Settles a conflict by one of the rivals, or by a node that takes the place of all. */
  async resolve(
    lineage: string,
    resolution: ResolveInput,
    options: AccessOption = {},
  ): Promise<NodeResult> {
    return resolve(this.#admit("resolve", options), lineage, resolution);
  }

  /** Adds an edge; every call adds one, into another graph as well. */
  async putEdge(
    graph: string,
    edge: GraphEdgeInput,
    options: AccessOption = {},
  ): Promise<GraphEdgeResult> {
    return putEdge(this.#admit("putEdge", options), graph, edge);
  }

  /** Removes an edge, softly. */
  async deleteEdge(
    edgeId: string,
    options: { readonly reason?: string; readonly by?: string } & AccessOption = {},
  ): Promise<{ readonly ok: true; readonly seq: number }> {
    const { access: _, ...rest } = options;
    return deleteEdge(this.#admit("deleteEdge", options), edgeId, rest);
  }

  /** The edges that leave a lineage. */
  async outgoing(lineage: string, options: EdgesOptions = {}): Promise<GraphEdges> {
    return outgoing(this.#admit("outgoing", options), lineage, options);
  }

  /** The edges that reach a lineage, from any graph. */
  async incoming(lineage: string, options: EdgesOptions = {}): Promise<GraphEdges> {
    return incoming(this.#admit("incoming", options), lineage, options);
  }

  /** A bounded walk along edges, across graphs on request. */
  async traverse(lineage: string, options: GraphTraverseOptions = {}): Promise<GraphWalk> {
    return traverse(this.#admit("traverse", options), lineage, options);
  }

  /** Into which graphs the edges of a graph lead, and from which graphs edges lead into it. */
  async symlinks(
    graph: string,
    options: SymlinkOptions & AccessOption = {},
  ): Promise<SymlinkManifest> {
    return symlinks(this.#admit("symlinks", options), graph, options);
  }

  /** Some nodes and edges in one commit, with refs between them. */
  async putSubgraph(
    graph: string,
    subgraph: SubgraphInput,
    options: SubgraphOptions & AccessOption = {},
  ): Promise<SubgraphResult> {
    return putSubgraphIn(this.#admit("putSubgraph", options), graph, subgraph, options);
  }

  /** Nodes by words, in one graph or in several. */
  async search(
    graphs: string | readonly string[],
    query: NodeQuery,
    options: AccessOption = {},
  ): Promise<NodeSearch> {
    return searchNodes(this.#admit("search", options), graphs, query, options);
  }

  /** Nodes by several texts at once, ranked by all of them together. */
  async searchBatch(
    graph: string,
    queries: readonly NodeQuery[],
    options: NodeBatchOptions = {},
  ): Promise<NodeBatchSearch> {
    return searchNodesBatch(this.#admit("searchBatch", options), graph, queries, options);
  }

  /** The kinds and tags in use in a graph, with counts and examples. */
  async describeSchema(graph: string, options: AccessOption = {}): Promise<GraphSchema> {
    return graphSchema(this.#admit("describeSchema", options), graph, options);
  }

  /** The tags in use in a graph, the most frequent first. */
  async listTags(
    graph: string,
    options: GraphTagOptions = {},
  ): Promise<{ readonly tags: readonly GraphTag[]; readonly seq: number }> {
    return graphTags(this.#admit("listTags", options), graph, options);
  }

  /** What happens in the graphs, as it happens; see `events.ts`. */
  async subscribe(options: HubSubscribeOptions & AccessOption = {}): Promise<HubSubscription> {
    return subscribe(this.#admit("subscribe", options), options);
  }

  /** Checks the catalogue against the graphs, and the graphs if asked to; repairs nothing. */
  async check(options: HubCheckOptions & AccessOption = {}): Promise<HubCheckReport> {
    return checkHub(this.#admit("check", options), options);
  }

  /** Builds the catalogue again from the graphs. */
  async rebuild(options: AccessOption = {}): Promise<HubRebuildReport> {
    return rebuildHub(this.#admit("rebuild", options), options);
  }

  /** Finishes what is queued and closes every graph; idempotent. */
  async close(): Promise<void> {
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #admit(verb: keyof typeof HUB_POLICIES, options: AccessOption): HubContext {
    // Options that are no object are refused by the verb, which can say so.
    const access = options?.access;
    admit(access === undefined ? OWNER : access, HUB_POLICIES[verb], verb);
    if (access?.kind === "scope") {
      const message = `${verb}: expected no scope, as a scope is honoured by its own graph alone`;
      throw new CortexError("ERR_DENIED", message, { field: "access" });
    }
    return this.#hub;
  }
}
