/**
 * `putSubgraph`: some nodes and edges in one call, with refs between them, as memgraph offers it.
 *
 * Best effort unless told otherwise: an item that fails says why and leaves nothing, the others stand.
 * Atomic on request: the first failure fails the call and nothing is written. Either way everything
 * that stands is one commit, and reads of the past never see half of it. Item errors are texts, in
 * memgraph's words. `batch` of a Cortex is the larger form.
 */

import { checkObject, checkOptions, type Engine } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { Unread } from "../history/write-view.js";
import type { WriteTx } from "../history/writer.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import {
  applyGraphEdge,
  type GraphEdgeInput,
  graphEdgeNeeds,
  type PreparedGraphEdge,
  prepareGraphEdge,
} from "./edge-write.js";
import { memgraphText } from "./memgraph-text.js";
import {
  applyNode,
  type NodeInput,
  type NodeResult,
  nodeNeeds,
  type PreparedNode,
  prepareNode,
} from "./node-write.js";

/** Most nodes of one call. */
export const SUBGRAPH_NODES_MAX = 50;
/** Most edges of one call. */
export const SUBGRAPH_EDGES_MAX = 100;

/** A node of a subgraph; edges of the same call may name it by its ref. */
export interface SubgraphNode extends NodeInput {
  readonly ref?: string;
}

/** An edge of a subgraph: each end is a ref or a lineage. */
export interface SubgraphEdge extends Omit<GraphEdgeInput, "fromLineage" | "toLineage"> {
  readonly fromRef?: string;
  readonly fromLineage?: string;
  readonly toRef?: string;
  readonly toLineage?: string;
}

/** What to write. */
export interface SubgraphInput {
  readonly nodes?: readonly SubgraphNode[];
  readonly edges?: readonly SubgraphEdge[];
}

/** How to write it. */
export interface SubgraphOptions {
  /** True lets one failure fail the whole call. */
  readonly atomic?: boolean;
}

/** What became of a node. */
export interface SubgraphNodeResult {
  readonly ref?: string;
  readonly lineageId?: string;
  readonly version?: number;
  /** True when no lineage was given and the node was written. */
  readonly created: boolean;
  readonly error?: string;
}

/** What became of an edge. */
export interface SubgraphEdgeResult {
  readonly edgeId?: string;
  readonly error?: string;
}

/** What became of a subgraph: results in the order of the items. */
export interface SubgraphResult {
  readonly nodes: readonly SubgraphNodeResult[];
  readonly edges: readonly SubgraphEdgeResult[];
  readonly seq: number;
}

/** Refuses a subgraph that has nothing, too much, or the wrong shape. */
export function checkSubgraph(input: SubgraphInput, options: SubgraphOptions): void {
  checkOptions(input, ["nodes", "edges"], "subgraph");
  checkOptions(options, ["atomic", "access"]);
  const { nodes = [], edges = [] } = input;
  if (!Array.isArray(nodes) || nodes.length > SUBGRAPH_NODES_MAX) {
    throw invalid("nodes", `a list of at most ${SUBGRAPH_NODES_MAX} nodes`, nodes);
  }
  if (!Array.isArray(edges) || edges.length > SUBGRAPH_EDGES_MAX) {
    throw invalid("edges", `a list of at most ${SUBGRAPH_EDGES_MAX} edges`, edges);
  }
  if (nodes.length + edges.length === 0) {
    throw invalid("nodes, edges", "at least one node or edge", 0);
  }
}

/** The lineages that the nodes of a subgraph name. */
export function namedLineages({ nodes = [] }: SubgraphInput): readonly string[] {
  return nodes.flatMap(({ lineageId }) => lineageId ?? []);
}

/** An item that was refused before anything was read. */
interface Refused {
  readonly refused: CortexError;
}

/** What a node or an edge needs before it can be written. */
interface Plan {
  readonly nodes: readonly (PreparedNode | Refused)[];
  readonly edges: readonly (EdgeItem | Refused)[];
}

/** An edge with its ends as they were given. */
interface EdgeItem {
  readonly prefix: string;
  readonly input: SubgraphEdge;
  /** The same edge with any lineage in place of a ref: checked, and good for reading ahead. */
  readonly sample: PreparedGraphEdge;
}

/** Writes a subgraph; `denied` names lineages that other graphs have, with the failure of each. */
export async function putSubgraph(
  engine: Engine,
  input: SubgraphInput,
  how: {
    readonly atomic: boolean;
    readonly prefix: string;
    readonly denied: ReadonlyMap<string, CortexError>;
  },
): Promise<SubgraphResult & { readonly written: readonly NodeResult[] }> {
  const nodes = (input.nodes ?? []).map((node): PreparedNode | Refused =>
    attempt(() => {
      const { ref: _, ...rest } = checkObject(node, "node");
      const refused = rest.lineageId === undefined ? undefined : how.denied.get(rest.lineageId);
      if (refused !== undefined) throw refused;
      return prepareNode(engine, rest);
    }),
  );
  const edges = (input.edges ?? []).map((edge): EdgeItem | Refused =>
    attempt(() => prepareItem(engine, checkObject(edge, "edge"), how.prefix)),
  );
  const { value, seq } = await engine.writer.submit({
    batch: true,
    ...planNeeds(engine, { nodes, edges }),
    run: (tx) => applyPlan(engine, tx, input, { nodes, edges }, how.atomic),
  });
  return { ...value, seq };
}

function attempt<T extends object>(run: () => T): T | Refused {
  try {
    return run();
  } catch (error) {
    if (isCortexError(error)) return { refused: error };
    throw error;
  }
}

/** Stands for a lineage that is not known yet. */
const SOME_LINEAGE = "00000000000000000000000001";

function prepareItem(engine: Engine, input: SubgraphEdge, prefix: string): EdgeItem {
  const sample = prepareGraphEdge(
    engine,
    edgeInput(input, (end) => end.lineage ?? SOME_LINEAGE),
    prefix,
  );
  return { prefix, input, sample };
}

/** An end as it was given: by exactly one of ref and lineage. */
interface GivenEnd {
  readonly ref?: string;
  readonly lineage?: string;
}

function edgeInput(input: SubgraphEdge, resolve: (end: GivenEnd) => string): GraphEdgeInput {
  const { fromRef, fromLineage, toRef, toLineage, ...rest } = input;
  const from = resolve(givenEnd("from", fromRef, fromLineage));
  const to = resolve(givenEnd("to", toRef, toLineage));
  return { ...rest, fromLineage: from, toLineage: to };
}

function givenEnd(
  side: "from" | "to",
  ref: string | undefined,
  lineage: string | undefined,
): GivenEnd {
  const names = `${side}_ref/${side}_lineage`;
  const given = [ref, lineage].filter((end) => end !== undefined && end !== "");
  if (given.length === 2) throw endError(`only one of ${names} allowed`);
  if (given.length === 0) throw endError(`one of ${names} required`);
  return ref === undefined || ref === "" ? { lineage: lineage ?? "" } : { ref };
}

/** A failure whose text is fixed by memgraph. */
function endError(text: string): CortexError {
  return new CortexError("ERR_REF", text, { field: "edges" });
}

function planNeeds(
  engine: Engine,
  { nodes, edges }: Plan,
): { readonly hints: readonly Bytes[]; readonly bytes: number } {
  const needs = nodes.flatMap((node) => ("refused" in node ? [] : [nodeNeeds(engine, node)]));
  const links = edges.flatMap((edge) => ("refused" in edge ? [] : [graphEdgeNeeds(edge.sample)]));
  return {
    hints: [...needs, ...links].flatMap(({ hints = [] }) => hints),
    bytes: needs.reduce((sum, { bytes }) => sum + bytes, 512 * links.length),
  };
}

interface Applied extends Pick<SubgraphResult, "nodes" | "edges"> {
  readonly written: readonly NodeResult[];
}

function applyPlan(
  engine: Engine,
  tx: WriteTx,
  input: SubgraphInput,
  plan: Plan,
  atomic: boolean,
): Applied {
  const refs = new Map<string, string>();
  const written: NodeResult[] = [];
  const run = lockstep(tx, atomic);
  const nodes = plan.nodes.map((node, at): SubgraphNodeResult => {
    const { ref, lineageId } = input.nodes?.[at] ?? {};
    const named = ref === undefined ? {} : { ref };
    const done = run.item(`nodes[${at}]`, node, (one) => {
      const result = applyNode(engine, tx, one);
      // Nothing may stay of a call that fails, not even a rival.
      if (atomic && result.conflict !== undefined) throw result.conflict;
      return result;
    });
    if ("error" in done) return { ...named, created: false, error: memgraphText(done.error) };
    const { node: made, conflict } = done.value;
    written.push(done.value);
    const told = { ...named, lineageId: made.lineageId, version: made.version };
    if (conflict !== undefined) return { ...told, created: false, error: memgraphText(conflict) };
    if (ref !== undefined && ref !== "") refs.set(ref, made.lineageId);
    return { ...told, created: lineageId === undefined };
  });
  const edges = plan.edges.map((edge, at): SubgraphEdgeResult => {
    const done = run.item(`edges[${at}]`, edge, (one) => {
      const resolved = edgeInput(one.input, (end) => lineageOf(end, refs));
      return applyGraphEdge(engine, tx, prepareGraphEdge(engine, resolved, one.prefix));
    });
    return "error" in done ? { error: itemText(done.error) } : { edgeId: done.value.edge.id };
  });
  run.finish();
  return { nodes, edges, written };
}

function lineageOf(end: GivenEnd, refs: ReadonlyMap<string, string>): string {
  if (end.ref === undefined) return end.lineage ?? "";
  const lineage = refs.get(end.ref);
  if (lineage === undefined) throw endError(`ref not found: ${end.ref}`);
  return lineage;
}

/** Errors about ends are memgraph's own texts to the letter. */
function itemText(error: CortexError): string {
  return error.code === "ERR_REF" ? error.message : memgraphText(error);
}

interface Lockstep {
  /** Runs one item; `label` names it in the failure of an atomic call. */
  item<P extends object, T>(
    label: string,
    item: P | Refused,
    apply: (item: P) => T,
  ): { readonly value: T } | { readonly error: CortexError };
  /** Asks for what items turned out to need, if any did. */
  finish(): void;
}

/**
 * Runs items one after the other. One that needs unread rows is not done, but the rest is tried all
 * the same, only to learn what it needs: the call takes as many reads as its deepest item.
 */
function lockstep(tx: WriteTx, atomic: boolean): Lockstep {
  const keys: Bytes[] = [];
  const ranges: KvRange[] = [];
  let stuck = false;
  return {
    item(label, item, apply) {
      try {
        const outcome = isRefused(item) ? { error: item.refused } : tx.attempt(() => apply(item));
        if ("error" in outcome && atomic && !stuck) throw atItem(label, outcome.error);
        return outcome;
      } catch (error) {
        if (!(error instanceof Unread)) throw error;
        stuck = true;
        keys.push(...error.keys);
        ranges.push(...error.ranges);
        // Nobody sees it: the call is run again once the rows are read.
        return { error: new CortexError("ERR_CONTENDED", `${label}: not read yet`) };
      }
    },
    finish() {
      if (stuck) throw new Unread(keys, ranges);
    },
  };
}

function isRefused(item: object): item is Refused {
  return "refused" in item;
}

/** The same failure, naming the item it happened in. */
function atItem(label: string, error: CortexError): CortexError {
  return new CortexError(error.code, `${label}: ${error.message}`, error.details, error);
}
