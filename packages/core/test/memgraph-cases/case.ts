/**
 * What a case of the store contract is, and the small world each one runs in: an empty hub of its own.
 */
import type { Hub } from "../../src/hub/hub.js";
import type { GraphNode, Memgraph, NodeInput } from "../../src/memgraph/index.js";
import type { TestClock } from "../../src/testing/index.js";

/** The world of one case. */
export interface World {
  readonly hub: Hub;
  readonly store: Memgraph;
  readonly clock: TestClock;
}

/** One case, by its number in the contract. */
export interface Case {
  readonly number: number;
  readonly title: string;
  readonly run: (world: World) => Promise<void>;
}

/** Makes a graph and gives its id. */
export async function graphIn(
  { hub }: World,
  input: Partial<Parameters<Hub["createGraph"]>[0]> = {},
): Promise<string> {
  return (await hub.createGraph({ name: "notes", ...input })).id;
}

/** Writes a node of kind `fact`, unless told otherwise. */
export async function nodeIn(
  { store }: World,
  graph: string,
  input: Partial<NodeInput> = {},
): Promise<GraphNode> {
  return (await store.putNode(graph, { kind: "fact", content: "c", ...input })).node;
}

/** The contents of nodes, in order. */
export function contents(nodes: readonly { readonly content: string }[]): readonly string[] {
  return nodes.map(({ content }) => content);
}

/** The lineages of nodes, as a set. */
export function lineages(nodes: readonly { readonly lineageId: string }[]): ReadonlySet<string> {
  return new Set(nodes.map(({ lineageId }) => lineageId));
}
