/**
 * `putSubgraph`: some nodes and edges in one call, with refs between them, as memgraph offers it.
 *
 * Best effort unless told otherwise: an item that fails says why and leaves nothing, the others stand.
 * Atomic on request: the first failure fails the call and nothing is written. Either way everything
 * that stands is one `batch`, and reads of the past never see half of it. Item errors are texts, in
 * memgraph's words. `batch` of a Cortex is the larger form.
 */

import * as z from "zod";
import type { BatchItem, BatchItemResult } from "../contract/batch.js";
import { listOf } from "../contract/fields.js";
import { checkInput, renamed } from "../contract/refusal.js";
import type { Cortex } from "../cortex.js";
import { checkObject, checkOptions } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import type { Access } from "../scope/access.js";
import { EDGE_WORDS, type GraphEdgeInput, linkOf } from "./edges.js";
import { leaveOne, type Move, moveOf } from "./moves.js";
import { NODE_WORDS, type NodeInput, noteOf } from "./nodes.js";
import { type AccessOption, admitted, CONFLICT_TEXT, memgraphText, worded } from "./policies.js";

/** Most nodes of one call. */
export const SUBGRAPH_NODES_MAX = 50;
/** Most edges of one call. */
export const SUBGRAPH_EDGES_MAX = 100;

/** A node of a subgraph; edges of the same call may name it by its ref. */
export interface SubgraphNode extends NodeInput {
  readonly ref?: string | undefined;
}

/** An edge of a subgraph: each end is a ref or a lineage. */
export interface SubgraphEdge extends Omit<GraphEdgeInput, "fromLineage" | "toLineage"> {
  readonly fromRef?: string | undefined;
  readonly fromLineage?: string | undefined;
  readonly toRef?: string | undefined;
  readonly toLineage?: string | undefined;
}

const subgraphSchema = z.strictObject({
  // What is wrong with an item is said of that item.
  nodes: listOf(z.custom<SubgraphNode>()).optional(),
  edges: listOf(z.custom<SubgraphEdge>()).optional(),
});

/** What to write. */
export interface SubgraphInput extends z.input<typeof subgraphSchema> {}

/** How to write it. */
export interface SubgraphOptions extends AccessOption {
  /** True lets one failure fail the whole call. */
  readonly atomic?: boolean;
  /** What the fields of nodes and edges are called in the texts of failures; as they are here unless told otherwise. */
  readonly nameOf?: (field: string) => string;
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

/** An item as it goes into the batch, or why it does not. */
interface Step {
  /** What it is called in the failure of an atomic call. */
  readonly label: string;
  readonly item: BatchItem | CortexError;
}

/** Writes a subgraph into a graph. */
export async function putSubgraph(
  hub: Hub,
  graph: string,
  subgraph: SubgraphInput,
  options: SubgraphOptions = {},
): Promise<SubgraphResult> {
  admitted("putSubgraph", options);
  checkOptions(options, ["atomic", "access", "nameOf"]);
  const { nodes = [], edges = [] } = checkInput(subgraphSchema, subgraph);
  const isTooMuch = nodes.length > SUBGRAPH_NODES_MAX || edges.length > SUBGRAPH_EDGES_MAX;
  if (isTooMuch || nodes.length + edges.length === 0) {
    const most = `${SUBGRAPH_NODES_MAX} nodes and ${SUBGRAPH_EDGES_MAX} edges`;
    const got = `${nodes.length} and ${edges.length}`;
    throw invalid("nodes, edges", `at least one of them, and at most ${most}`, got);
  }
  const named = nodes.filter(isNamed).map(({ lineageId }) => lineageId);
  return hub.use(graph, (memory) => {
    const isHere = named.every((lineage) => hub.lineages.wasIn(memory.actor, lineage));
    const work = () => writeAll(hub, memory, { nodes, edges }, options);
    return hub.lineages.writing(named, isHere ? memory.actor : undefined, work);
  });
}

/** Whether a node says its lineage; what is wrong with it otherwise, its own result tells. */
function isNamed(node: SubgraphNode): node is SubgraphNode & { readonly lineageId: string } {
  const { lineageId } = (node ?? {}) as Partial<SubgraphNode>;
  return typeof lineageId === "string" && lineageId !== "";
}

/** Writes what of a subgraph can be written, in one batch. */
async function writeAll(
  hub: Hub,
  memory: Cortex,
  {
    nodes,
    edges,
  }: { readonly nodes: readonly SubgraphNode[]; readonly edges: readonly SubgraphEdge[] },
  options: SubgraphOptions,
): Promise<SubgraphResult> {
  const { atomic = false, nameOf = (field: string) => field } = options;
  const place: Place = { hub, graph: memory.actor, access: options.access, moves: new Map() };
  const notes = await Promise.all(
    nodes.map(async (node, at): Promise<Step> => {
      const item = await attempt(() => noteItem(place, node, at));
      return { label: `nodes[${at}]`, item };
    }),
  );
  const links = await Promise.all(
    edges.map(async (edge, at): Promise<Step> => {
      const item = await attempt(async () => linkItem(hub, edge, options.access));
      return { label: `edges[${at}]`, item };
    }),
  );
  const { results, seq } = await run(memory, [...notes, ...links], {
    atomic,
    access: options.access,
  });
  const called = results.map(
    (result): BatchItemResult =>
      result.ok ? result : { ...result, error: renamed(result.error, nameOf) },
  );
  const told = nodes.map((node, at) => nodeResult(node, called[at]));
  for (const [at, node] of nodes.entries()) {
    const result = results[at];
    if (result?.ok !== true || !isNamed(node)) continue;
    const move = place.moves.get(at);
    if (move !== undefined) await move.leave();
    else if ("version" in result && result.version === 1) {
      await leaveOne(hub, memory.actor, node.lineageId);
    }
  }
  for (const { lineageId } of told) {
    if (lineageId !== undefined) hub.lineages.note(lineageId, memory.actor);
  }
  const made = edges.map((edge, at) => edgeResult(memory.actor, edge, called[nodes.length + at]));
  return { nodes: told, edges: made, seq };
}

async function attempt<T>(work: () => Promise<T>): Promise<T | CortexError> {
  try {
    return await work();
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
}

/** A node as an item; where its lineage comes from another graph, `moves` learns what is left behind. */
async function noteItem(
  { hub, graph, access, moves }: Place,
  node: SubgraphNode,
  at: number,
): Promise<BatchItem> {
  const { ref = "", ...rest } = checkObject(node, "node");
  const note = noteOf(rest, access);
  const named = ref === "" ? {} : { ref };
  const { lineageId } = rest;
  if (lineageId === undefined) return { ...note, ...named };
  if (await isStill(hub, graph, lineageId)) return { ...note, ...named };
  const move = await moveOf(hub, graph, note, { access });
  if (move === undefined) return { ...note, ...named };
  moves.set(at, move);
  return { ...note, ...named, upsert: { ...note.upsert, ...move.upsert } };
}

/** Whether a lineage was here when this process last heard of it, and still is: items of a batch cannot be asked twice. */
async function isStill({ lineages }: Hub, graph: string, lineage: string): Promise<boolean> {
  if (!lineages.wasIn(graph, lineage)) return false;
  return lineages.only() !== undefined || (await lineages.graphOf(lineage)) === graph;
}

/** Where a subgraph goes. */
interface Place {
  readonly hub: Hub;
  readonly graph: string;
  readonly access: Access | undefined;
  readonly moves: Map<number, Move>;
}

/** Stands for a lineage that is not known yet. */
const SOME_LINEAGE = "a ref";

function linkItem(hub: Hub, edge: SubgraphEdge, access: Access | undefined): BatchItem {
  const { fromRef, fromLineage, toRef, toLineage, ...rest } = checkObject(edge, "edge");
  const from = givenEnd("from", fromRef, fromLineage);
  const to = givenEnd("to", toRef, toLineage);
  const ends = {
    fromLineage: typeof from === "string" ? from : SOME_LINEAGE,
    toLineage: typeof to === "string" ? to : SOME_LINEAGE,
  };
  const link = linkOf(hub, { ...rest, ...ends }, access);
  return { link: { ...link, from, to } };
}

/** An end as it was given: by exactly one of ref and lineage. */
function givenEnd(
  side: "from" | "to",
  ref: string | undefined = "",
  lineage: string | undefined = "",
): string | { readonly ref: string } {
  const names = `${side}_ref/${side}_lineage`;
  if (ref !== "" && lineage !== "") throw endError(`only one of ${names} allowed`);
  if (ref === "" && lineage === "") throw endError(`one of ${names} required`);
  return ref === "" ? lineage : { ref };
}

/** A failure whose text is fixed by memgraph. */
function endError(text: string): CortexError {
  return new CortexError("ERR_REF", text, { field: "edges" });
}

/** Runs what can be run, in one batch; results in the order of the steps. */
async function run(
  memory: Cortex,
  steps: readonly Step[],
  how: { readonly atomic: boolean; readonly access?: Access | undefined },
): Promise<{ readonly results: readonly BatchItemResult[]; readonly seq: number }> {
  const fit = steps.flatMap(({ item }, at) => (item instanceof CortexError ? [] : [{ item, at }]));
  const refused = steps.find(({ item }) => item instanceof CortexError);
  if (how.atomic && refused?.item instanceof CortexError) throw atItem(refused.label, refused.item);
  const items = fit.map(({ item }) => item);
  const done =
    items.length === 0
      ? { results: [], seq: (await memory.stats()).seq }
      : await memory.batch(items, { ...how, loose: true }).catch((error: unknown) => {
          const place = isCortexError(error) ? itemIn(error) : undefined;
          const step = place === undefined ? undefined : steps[fit[place]?.at ?? -1];
          if (step === undefined || !isCortexError(error)) throw error;
          throw atItem(step.label, plainError(error, step.item));
        });
  const results: BatchItemResult[] = steps.map(({ item }) => ({
    ok: false,
    error: item instanceof CortexError ? item : new CortexError("ERR_CONTENDED", "not done"),
  }));
  for (const [index, { at, item }] of fit.entries()) {
    const result = done.results[index];
    if (result === undefined) continue;
    results[at] = result.ok ? result : { ...result, error: plainError(result.error, item) };
  }
  return { results, seq: done.seq };
}

/** The number of the item that a failed batch names. */
function itemIn(error: CortexError): number | undefined {
  const [, number] = /^items\[(\d+)\]/.exec(error.details.field ?? "") ?? [];
  return number === undefined ? undefined : Number(number);
}

/** What failed, without the place in the batch, which the caller never saw. */
function plainError(error: CortexError, item: BatchItem | CortexError): CortexError {
  const own = isCortexError(error.cause) ? error.cause : error;
  if ("link" in item && own.code === "ERR_REF") {
    const end = own.details.field === "from" ? item.link.from : item.link.to;
    return endError(`ref not found: ${typeof end === "string" ? end : end.ref}`);
  }
  const words: { readonly [field: string]: string } = "link" in item ? EDGE_WORDS : NODE_WORDS;
  return worded(own, words);
}

/** The same failure, naming the item it happened in. */
function atItem(label: string, error: CortexError): CortexError {
  return new CortexError(error.code, `${label}: ${error.message}`, error.details, error);
}

function nodeResult(
  node: SubgraphNode | undefined,
  result: BatchItemResult | undefined,
): SubgraphNodeResult {
  const { ref, lineageId } = node ?? {};
  const named = ref === undefined ? {} : { ref };
  if (result?.ok === true && "version" in result) {
    const { id, version } = result;
    return { ...named, lineageId: lineageId ?? id, version, created: lineageId === undefined };
  }
  if (result?.ok !== false) throw new Error("a node of a subgraph was not written as one");
  const { error, written } = result;
  if (written === undefined) return { ...named, created: false, error: memgraphText(error) };
  const { id, version } = written;
  return { ...named, lineageId: lineageId ?? id, version, created: false, error: CONFLICT_TEXT };
}

function edgeResult(
  graph: string,
  edge: SubgraphEdge,
  result: BatchItemResult | undefined,
): SubgraphEdgeResult {
  if (result?.ok === true) return { edgeId: `${result.id}@${graph}` };
  if (result === undefined) throw new Error(`an edge of kind ${edge.kind} has no result`);
  // Errors about ends are memgraph's own texts to the letter.
  const { error } = result;
  return { error: error.code === "ERR_REF" ? error.message : memgraphText(error) };
}
