/**
 * Adding edges in memgraph's way, as a step of a commit: every call adds one, also where the same two
 * lineages are joined so already; a lineage may be joined to itself; the far end may be in another
 * graph, and need not exist. The near end must exist: an edge is stored with the memory it leaves.
 */

import { edgeLeaf, mintEdge } from "../engine/drafts.js";
import { checkOptions, type Engine, type Located, locateAll, refKeys } from "../engine/engine.js";
import { ask } from "../engine/read-ahead.js";
import { invalid } from "../errors.js";
import { kindCode } from "../history/fold-edges.js";
import type { Operation, WriteTx } from "../history/writer.js";
import { EDGE_STATE, edgePrefix, prefixRange, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { endpoint, type PreparedEdge, prepareEdge, registerKind } from "../links/edges.js";
import type { FarName } from "../records/edge-record.js";
import { farKey } from "../records/edge-record.js";
import { checkMetadata } from "../records/fields.js";
import { checkExternalId } from "../records/frames.js";
import { type GraphEdge, shapeGraphEdge, storedKind } from "./edge.js";
import { checkGraphId } from "./names.js";

/** What an edge is to be. */
export interface GraphEdgeInput {
  readonly fromLineage: string;
  readonly toLineage: string;
  readonly kind: string;
  /** The graph of the far end; the edge's own when not given. */
  readonly toGraph?: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly ordinal?: number;
  readonly createdBy?: string;
}

/** What adding an edge did. */
export interface GraphEdgeResult {
  readonly edge: GraphEdge;
  readonly seq: number;
}

/** An edge to be, checked. */
export interface PreparedGraphEdge extends PreparedEdge {
  readonly fromLineage: string;
  readonly toLineage: string;
  /** The other graph, for a symlink. */
  readonly toGraph: string | undefined;
}

const EDGE_FIELDS = [
  "fromLineage",
  "toLineage",
  "kind",
  "toGraph",
  "metadata",
  "ordinal",
  "createdBy",
];

/** Checks what a caller says about an edge. */
export function prepareGraphEdge(
  engine: Engine,
  input: GraphEdgeInput,
  prefix: string,
): PreparedGraphEdge {
  checkOptions(input, EDGE_FIELDS, "edge");
  const { kind, ordinal, metadata, createdBy, toGraph } = input;
  if (typeof kind !== "string" || kind === "") throw invalid("kind", "a text", kind);
  const fromLineage = checkExternalId(input.fromLineage, "fromLineage");
  const toLineage = checkExternalId(input.toLineage, "toLineage");
  const prepared = prepareEdge(engine, {
    from: fromLineage,
    to: toLineage,
    kind: storedKind(kind),
    input: {
      ...(ordinal === undefined ? {} : { ordinal }),
      ...(metadata === undefined ? {} : { metadata: checkMetadata(metadata, "metadata") }),
      ...(createdBy === undefined || createdBy === "" ? {} : { by: createdBy }),
    },
  });
  const other = toGraph === undefined ? engine.actor : checkGraphId(toGraph, prefix, "toGraph");
  const isSymlink = other !== engine.actor;
  return { ...prepared, fromLineage, toLineage, toGraph: isSymlink ? other : undefined };
}

/** What adding an edge will surely read. */
export function graphEdgeNeeds(edge: PreparedGraphEdge): Pick<Operation<unknown>, "hints"> {
  const { from, to, toGraph, open, kind } = edge;
  return {
    hints: [
      ...refKeys(from),
      ...(toGraph === undefined ? refKeys(to) : []),
      ...(open ? [textKey("edgeKind", kind)] : []),
    ],
  };
}

/** Adds an edge inside a commit. */
export function applyGraphEdge(
  engine: Engine,
  tx: WriteTx,
  edge: PreparedGraphEdge,
): GraphEdgeResult {
  const { kind, by, toGraph } = edge;
  const refs = toGraph === undefined ? [edge.from, edge.to] : [edge.from];
  const [near, far] = locateAll(tx, refs, () => ({ keys: [], leaves: [] }));
  const from = endpoint(near, edge.from, "fromLineage");
  const to = farEnd(edge, far);
  const isNewKind = edge.open && registerKind(tx, by, kind);
  const n = isNewKind ? 0 : nextN(tx, from, kind, to);
  const draft = { from, kind, to, n, ...edge.attributes };
  const minted = mintEdge(tx, engine, by, draft, { fresh: true });
  if (!("part" in minted.outcome)) throw new Error("a new edge has no part");
  const seq = tx.append({ kind: "add_edge", by, parts: [minted.outcome.part] });
  return { edge: shapeGraphEdge(engine.actor, minted.edge, edge), seq };
}

/** The operation that adds one edge. */
export function graphEdgeOperation(
  engine: Engine,
  edge: PreparedGraphEdge,
): Operation<GraphEdgeResult> {
  return { ...graphEdgeNeeds(edge), run: (tx) => applyGraphEdge(engine, tx, edge) };
}

/** The far end: a memory of this graph, or a name, in another graph or for what is not there yet. */
function farEnd(edge: PreparedGraphEdge, found: Located | undefined): Bytes | FarName {
  const { toGraph = "", toLineage } = edge;
  if (found !== undefined && found.row.lifecycle !== "erased") return found.id;
  return { graph: toGraph, name: toLineage };
}

/** The number of the next edge of a kind between two ends, removed ones counted. */
function nextN(tx: WriteTx, from: Bytes, kind: string, to: Bytes | FarName): number {
  const code = kindCode(tx.view, kind);
  if (code === undefined) return 0;
  const far = farKey(tx.fold.sha256, to);
  const ranges = [EDGE_STATE.live, EDGE_STATE.removed].map((state): KvRange => {
    const prefix = Buffer.concat([edgePrefix("edgeOut", from, state, code), far]);
    return prefixRange(prefix, 1, true);
  });
  ask(tx, [], { ranges, leaves: [edgeLeaf(tx, { from, kind, to })] });
  const last = ranges.flatMap((range) =>
    tx.view.range(range).map(({ key }) => Buffer.from(key).readUInt32BE(key.length - 4)),
  );
  return last.length === 0 ? 0 : Math.max(...last) + 1;
}
