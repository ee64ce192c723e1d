/**
 * An edge in memgraph's shape: it joins lineages, its kind is any text, and it may lead into another
 * graph or to a lineage that is not there.
 *
 * The id of an edge is its own id and the name of its graph, `<ulid>@<graph>`, so it is found without
 * looking anything up.
 *
 * Kinds are kept as they were given. A built-in name that the store would read as another one (an
 * inverse such as `causes`, an alias such as `relates_to`), that only the store may mint, or that
 * differs from a built-in name in case alone is stored as a kind of the graph's own with a `=` before
 * it, and shown without.
 */
import { parseUlid } from "../codec/ulid.js";
import { edgeId } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { EdgeRecord } from "../records/edge-record.js";
import { checkGraphId } from "./names.js";

/** An edge between two lineages. */
export interface GraphEdge {
  /** `<ulid>@<graph>`. */
  readonly id: string;
  readonly graphId: string;
  readonly fromLineage: string;
  readonly toGraph: string;
  readonly toLineage: string;
  readonly kind: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly ordinal?: number;
  readonly createdAt: number;
  readonly createdBy: string;
}

/** Shapes an edge of a graph. */
export function shapeGraphEdge(
  graph: string,
  edge: EdgeRecord,
  ends: { readonly fromLineage: string; readonly toLineage: string },
): GraphEdge {
  const { to } = edge;
  const toGraph = to instanceof Uint8Array || to.graph === "" ? graph : to.graph;
  return {
    id: `${edgeId(edge.id)}@${graph}`,
    graphId: graph,
    fromLineage: ends.fromLineage,
    toGraph,
    toLineage: ends.toLineage,
    kind: shownKind(edge.kind),
    ...(edge.metadata === undefined ? {} : { metadata: edge.metadata }),
    ...(edge.ordinal === undefined ? {} : { ordinal: edge.ordinal }),
    createdAt: edge.createdAt,
    createdBy: edge.createdBy,
  };
}

/** Takes the id of an edge apart. */
export function parseGraphEdgeId(
  text: unknown,
  prefix: string,
): { readonly graph: string; readonly ulid: string } {
  const [, ulid = "", graph = ""] = typeof text === "string" ? (EDGE_ID.exec(text) ?? []) : [];
  if (parseUlid(ulid) === undefined) {
    throw invalid("edgeId", "the id of an edge, <ulid>@<graph>", text, "ERR_BAD_ID");
  }
  return { graph: checkGraphId(graph, prefix, "edgeId"), ulid };
}

const EDGE_ID = /^([0-9A-Za-z]{26})@(.+)$/;

/** Before a kind that is kept as it was given although the store knows it as another. */
const VERBATIM = "=";

/** The name under which a kind is stored. */
export function storedKind(kind: string): string {
  const builtIn = canonicalKind(kind);
  const isPlain = builtIn?.kind.name === kind && builtIn.kind.mint === "anyone";
  if (isPlain) return kind;
  const isTaken = canonicalKind(kind.trim().toLowerCase()) !== undefined;
  return isTaken || kind.startsWith(VERBATIM) ? `${VERBATIM}${kind}` : kind;
}

/** The kind as it was given. */
export function shownKind(stored: string): string {
  return stored.startsWith(VERBATIM) ? stored.slice(VERBATIM.length) : stored;
}
