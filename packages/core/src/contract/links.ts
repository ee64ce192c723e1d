/**
 * The verbs on links between memories: adding, removing and reading edges, and walking along them.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { jsonObjectField, patternOf } from "../records/fields.js";
import { SOURCES } from "../records/types.js";
import type { Salience } from "../salience/salience.js";
import {
  edgeIdField,
  listOf,
  listUpTo,
  noted,
  refField,
  type ShapeOf,
  textField,
  timeOf,
  whole,
  words,
} from "./fields.js";
import type { OnPlan } from "./hits.js";
import type { ImportedEdge } from "./imported.js";
import {
  asOf,
  by,
  type HistoryItem,
  historyItemShape,
  idempotencyKey,
  limitUpTo,
  memoryRef,
} from "./memory.js";
import {
  counterShape,
  type Edge,
  type EdgeResult,
  edgeResultShape,
  edgeShape,
  type Memory,
  memoryIdShape,
  memoryShape,
  positionShape,
  type Ref,
  salienceShape,
  seqShape,
} from "./shapes.js";
import { type, verb } from "./verb.js";

/** The name of a kind of edge. */
export const edgeKind = noted(
  z.string().meta({
    minLength: 1,
    maxLength: LIMITS.edgeKindBytes,
    pattern: patternOf({ maxBytes: LIMITS.edgeKindBytes }),
  }),
  { code: "ERR_EDGE_KIND" },
);

/** Which kinds of edges. */
export const edgeKinds = listUpTo(edgeKind, LIMITS.edgeKinds)
  .describe("only edges of this kind; may be repeated")
  .optional();

/** Whether removed edges are shown. */
export const includeTombstoned = z.boolean().describe("show removed edges as well").optional();

/** When edges must hold. */
const linksValidAt = timeOf("the edges that held in the world then; now when not given").optional();

/** Which way edges are followed. */
export const direction = z.enum(["out", "in", "both"]);

/** Most edges of one memory that one call returns. */
export const EDGES_MAX = 100_000;

const why = textField({ maxBytes: LIMITS.reasonBytes, control: true });

const ends = {
  from: refField("where the link starts: id, URI or external id"),
  kind: edgeKind.describe("the kind of link, built in or of your own"),
  to: refField("where the link ends: id, URI or external id"),
};

type Ends = [from: Ref, kind: string, to: Ref];

/** What an edge may carry. */
export const edgeFields = {
  reason: why.describe("why the link holds, in one line").optional(),
  strength: whole(1, LIMITS.edgeStrengthMax).describe("1 (weak) to 5 (strongly stated)").optional(),
  weight: z
    .number()
    .min(Number.MIN_SAFE_INTEGER)
    .max(Number.MAX_SAFE_INTEGER)
    .describe("a number of your own")
    .optional(),
  ordinal: z.int().describe("its place among its siblings").optional(),
  metadata: jsonObjectField.describe("anything else, as JSON").optional(),
  source: words(SOURCES).describe("where the link came from").optional(),
  validFrom: timeOf("from when on it holds in the world").optional(),
  validTo: timeOf("until when it holds in the world").optional(),
  by,
};

/** What an edge may carry, as callers give it. */
export type EdgeInput = z.input<z.ZodObject<typeof edgeFields>>;

/** What an edge may carry, checked. */
export type EdgeFields = z.output<z.ZodObject<typeof edgeFields>>;

/** An edge that two memories may have beside others, or that leads where no memory is. */
export interface LooseEnd {
  /** The other graph that the far end is in, by name. */
  readonly toGraph?: string | undefined;
  /** Set for an edge that another program made. */
  readonly imported?: ImportedEdge | undefined;
}

const adding = {
  kind: "write",
  policy: "write",
  standing: "claim",
  retry: "key",
  args: ends,
  labels: type<Ends>(),
  options: { ...edgeFields, idempotencyKey },
  local: ["loose"],
  locals: type<{
    /**
     * Adds an edge beside those that join the two already; a memory may be joined to itself, and the
     * far end may be a name that no memory of this graph has.
     */
    readonly loose?: LooseEnd | undefined;
  }>(),
  output: edgeResultShape,
  answer: type<EdgeResult>(),
} as const;

/** Joins two memories. */
export const addEdge = verb("addEdge", { ...adding, summary: "Link two memories" });

/** Joins two memories, by the friendly name. */
export const link = verb("link", {
  ...adding,
  summary: "Link two memories: addEdge, by its friendly name",
  path: "add-edge",
});

const edgeRemovedShape = z.object({
  changed: z.boolean(),
  edge: edgeShape.exactOptional(),
  seq: seqShape,
});

/** What removing an edge did. */
export interface EdgeRemoved extends ShapeOf<typeof edgeRemovedShape> {}

const removal = {
  reason: textField({ maxBytes: LIMITS.reasonBytes, blank: true, control: true })
    .describe("why, in one line")
    .optional(),
  by,
};

/** Removes an edge. */
export const removeEdge = verb("removeEdge", {
  summary: "Remove a link, softly",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: ends,
  labels: type<Ends>(),
  options: { ...removal, idempotencyKey },
  output: edgeRemovedShape,
  answer: type<EdgeRemoved>(),
});

/** Removes an edge by its id. */
export const removeEdgeById = verb("removeEdgeById", {
  summary: "Remove a link by its own id",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: { id: edgeIdField.describe("the id of the edge") },
  labels: type<[id: string]>(),
  options: { ...removal, idempotencyKey },
  output: edgeRemovedShape,
  answer: type<EdgeRemoved>(),
});

/** Reads one edge. */
export const getEdge = verb("getEdge", {
  summary: "Read one link, a removed one as well",
  kind: "read",
  policy: "filtered",
  args: ends,
  labels: type<Ends>(),
  options: { asOf },
  output: edgeShape,
  answer: type<Edge | undefined>(),
  mayMiss: true,
});

/** Edges of one memory, in an answer. */
const edgeListShape = z.object({ edges: listOf(edgeShape), seq: positionShape });

/** Edges of one memory. */
export interface EdgeList extends ShapeOf<typeof edgeListShape> {}

/** Which edges of a memory to read. */
const edgeListFields = {
  kinds: edgeKinds,
  includeTombstoned,
  order: z.enum(["kind", "ordinal"]).describe("by kind when not given").optional(),
  limit: limitUpTo(EDGES_MAX),
  asOf,
  validAt: linksValidAt,
};

const listing = {
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: edgeListFields,
  output: edgeListShape,
  answer: type<EdgeList>(),
  path: "list-edges",
} as const;

/** Lists the edges that leave a memory. */
export const edgesOut = verb("edgesOut", {
  ...listing,
  summary: "List the edges that leave a memory",
  sent: { direction: "out" },
});

/** Lists the edges that reach a memory. */
export const edgesIn = verb("edgesIn", {
  ...listing,
  summary: "List the edges that reach a memory",
  sent: { direction: "in" },
});

/** What a walk follows, in `traverse` and in `find`. */
export const walkFields = {
  direction: direction.describe("out when not given").optional(),
  kinds: edgeKinds,
  minHops: whole(1).describe("leave out what is nearer").optional(),
  maxHops: whole(1).describe("1 when not given").optional(),
};

const traversalShape = z.object({
  hits: listOf(z.object({ id: memoryIdShape, hop: z.int(), memory: memoryShape })),
  edges: listOf(edgeShape),
  /** The hop limit that applied. */
  maxHops: z.int(),
  /** True when more hops were asked for than are allowed. */
  clamped: z.boolean(),
  /** True when the node limit ended the walk. */
  truncated: z.boolean(),
  seq: positionShape,
});

/** What a walk found. */
export interface Traversal extends Omit<ShapeOf<typeof traversalShape>, "hits"> {
  readonly hits: readonly {
    readonly id: Memory["id"];
    readonly hop: number;
    readonly memory: Memory;
  }[];
}

/** Walks along edges. */
export const traverse = verb("traverse", {
  summary: "Walk the links from a memory",
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: {
    ...walkFields,
    maxNodes: whole(1, LIMITS.traverseNodes).describe("most memories to return").optional(),
    includeTombstoned,
    asOf,
    validAt: linksValidAt,
  },
  local: ["onPlan"],
  locals: type<{ readonly onPlan?: OnPlan | undefined }>(),
  output: traversalShape,
  answer: type<Traversal>(),
});

const linkShape = z.object({
  kind: z.string(),
  to: z.string(),
  from: z.string(),
  group: z.string(),
  reason: z.string().exactOptional(),
  strength: z.int().exactOptional(),
  /** Set where the kind is the inverse name of the relation, read from its other end. */
  inverse: z.boolean().exactOptional(),
});

/** An edge in brief and in the words of its end, as `linksFrom` and `backlinksTo` list it. */
export interface Link extends ShapeOf<typeof linkShape> {}

const brief = {
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: { kinds: edgeKinds, asOf, validAt: linksValidAt },
  output: z.object({ links: listOf(linkShape) }),
  member: "links",
  answer: type<readonly Link[]>(),
} as const;

/** Lists what a memory points at. */
export const linksFrom = verb("linksFrom", {
  ...brief,
  summary: "What a memory points at, without repeats",
});

/** Lists what points at a memory. */
export const backlinksTo = verb("backlinksTo", {
  ...brief,
  summary: "What points at a memory, without repeats",
});

const inspectionShape = z.object({
  memory: memoryShape,
  links: listOf(linkShape),
  backlinks: listOf(linkShape),
  versions: listOf(historyItemShape),
  /** What use has made of it by now; left out when the past is asked for. */
  counters: counterShape.exactOptional(),
  /** How much it matters, and why; for the past, at the time of the position. For the owner alone. */
  salience: salienceShape.exactOptional(),
  seq: positionShape,
});

/** Everything about one memory. */
export interface Inspection
  extends Omit<ShapeOf<typeof inspectionShape>, "memory" | "versions" | "salience"> {
  readonly memory: Memory;
  readonly versions: readonly HistoryItem[];
  readonly salience?: Salience;
}

/** Reads everything about a memory. */
export const inspect = verb("inspect", {
  summary: "Show a memory with its links, versions and counters",
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: { asOf, validAt: linksValidAt },
  output: inspectionShape,
  answer: type<Inspection | undefined>(),
  mayMiss: true,
});
