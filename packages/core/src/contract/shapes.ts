/**
 * The shapes that answers share: memories, versions, edges, what a write did. Members may be added,
 * never taken away. Times are integer milliseconds; ids and URIs are text; what is absent is not there.
 */
import * as z from "zod";
import type { DataOf } from "../records/data.js";
import { frameSchema } from "../records/frames.js";
import {
  LIFECYCLES,
  MEMORY_TYPES,
  type MemoryType,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "../records/types.js";
import { anyObject, listOf, type ShapeOf, words } from "./fields.js";

/** A memory's id as the API shows it: 26 characters. */
export type MemoryId = string & { readonly __brand: "MemoryId" };

/** An edge's id as the API shows it. */
export type EdgeId = string & { readonly __brand: "EdgeId" };

/** A caller's reference: id, URI or external id. */
export type Ref = string;

/** A memory's id in an answer. */
export const memoryIdShape = z.string() as unknown as z.ZodType<MemoryId, MemoryId>;
/** An edge's id in an answer. */
const edgeIdShape = z.string() as unknown as z.ZodType<EdgeId, EdgeId>;
/** A time in an answer. */
export const timeShape = z.int();
/** A position of the journal in an answer. */
export const seqShape = z.int();
/**
 * The position that a whole answer is of: the last entry it sees. To whoever does not see everything it is
 * a time, as every seq is that is given to them.
 */
export const positionShape = z.int();

const tombstoneShape = z.object({ reason: z.string(), at: timeShape, by: z.string() });

/** Where a version came from, in an answer. */
export const provenanceShape = z.object({
  source: words(SOURCES),
  derivedFrom: listOf(z.string()),
  attestations: listOf(z.string()),
  session: z.string().exactOptional(),
  turn: z.int().exactOptional(),
});

const headShape = z.object({
  lifecycle: words(LIFECYCLES),
  status: words(STATUSES),
  visibility: words(VISIBILITIES),
  importance: z.int(),
  source: words(SOURCES),
  tags: listOf(z.string()),
  frames: listOf(frameSchema),
  createdAt: timeShape,
  updatedAt: timeShape,
  version: z.int(),
  /** Version numbers of rivals that an unsettled conflict left open. */
  siblings: listOf(z.int()),
  slot: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  externalId: z.string().exactOptional(),
  freshnessAt: timeShape.exactOptional(),
  tombstone: tombstoneShape.exactOptional(),
  /** Set for a value that was given to its slot for a time to come. */
  waits: z.boolean().exactOptional(),
});

/** The mutable side of a memory, as callers see it. */
export interface MemoryHead extends ShapeOf<typeof headShape> {}

/** What another program knew an imported version or edge by. */
const originShape = z.object({
  id: z.string(),
  /** The graph it was in. */
  graph: z.string(),
  /** Of an edge, the graph of its far end. */
  toGraph: z.string().exactOptional(),
  /** Billionths of a second that `createdAt` had beyond its milliseconds. */
  nanos: z.int().exactOptional(),
  /** The same of `freshnessAt`. */
  freshnessNanos: z.int().exactOptional(),
});

/** One version in an answer. */
export const versionRecordShape = z.object({
  number: z.int(),
  createdAt: timeShape,
  createdBy: z.string(),
  confidence: z.number(),
  provenance: provenanceShape,
  forms: z.object({ short: z.string(), medium: z.string() }),
  supersedes: listOf(z.int()),
  /** The entry that brought it. */
  seq: seqShape,
  validFrom: timeShape.exactOptional(),
  validTo: timeShape.exactOptional(),
  expiresAt: timeShape.exactOptional(),
  /** Threats that the scanner saw in its text: shown with care, never as an instruction. */
  flags: listOf(z.string()).exactOptional(),
  /** Where an imported version came from; its times are those of then. */
  origin: originShape.exactOptional(),
});

/** One immutable body, as callers see it. */
export interface VersionRecord extends ShapeOf<typeof versionRecordShape> {}

/** A memory in an answer. */
export const memoryShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  type: words(MEMORY_TYPES),
  version: z.int(),
  /** Its sentence or content in full. */
  text: z.string(),
  data: anyObject,
  head: headShape,
  versionRecord: versionRecordShape,
  /** The last entry that touched it, at the position read. */
  seq: seqShape,
});

/** A memory of one type. */
interface MemoryOf<T extends MemoryType> {
  readonly id: MemoryId;
  readonly uri: string;
  readonly type: T;
  readonly version: number;
  /** Its sentence or content in full. */
  readonly text: string;
  readonly data: DataOf[T];
  readonly head: MemoryHead;
  readonly versionRecord: VersionRecord;
  /** The last entry that touched it, at the position read. */
  readonly seq: number;
}

/** A memory: who it is, what it says, and the state it is in. Its `type` tells what its data holds. */
export type Memory = { readonly [T in MemoryType]: MemoryOf<T> }[MemoryType];

/** A memory in brief, in an answer. */
export const memoryRefShape = z.object({ id: memoryIdShape, uri: z.string(), text: z.string() });

/** A memory in brief. */
export interface MemoryRef extends ShapeOf<typeof memoryRefShape> {}

/** What a write did, in an answer. */
export const writtenShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  version: z.int(),
  seq: seqShape,
  /** Memories that this one archived. */
  replaced: listOf(memoryRefShape),
  /** Rival versions that a stale write under policy `manual` left open. */
  conflicts: listOf(memoryRefShape),
  /** Live memories that say nearly the same. */
  similar: listOf(memoryRefShape),
  /** True when the text was known already and only its standing grew. */
  reinforced: z.boolean(),
});

/** What a write did. */
export interface WriteResult extends ShapeOf<typeof writtenShape> {
  /** The memory as it was written, where the library was asked for it. */
  readonly memory?: Memory;
}

/** An edge in an answer. */
export const edgeShape = z.object({
  id: edgeIdShape,
  from: memoryIdShape,
  kind: z.string(),
  /** The far end: a memory of this graph, or the name of a symlink's target. */
  to: z.string(),
  /** The other graph, for a symlink. */
  toGraph: z.string().exactOptional(),
  n: z.int(),
  source: words(SOURCES),
  createdAt: timeShape,
  createdBy: z.string(),
  weight: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  strength: z.int().exactOptional(),
  ordinal: z.number().exactOptional(),
  metadata: anyObject.exactOptional(),
  validFrom: timeShape.exactOptional(),
  validTo: timeShape.exactOptional(),
  tombstone: tombstoneShape.exactOptional(),
  /** Set in a walk that met the edge at an end where its kind has the inverse name. */
  inverse: z.boolean().exactOptional(),
  /** Where an imported edge came from; its times are those of then. */
  origin: originShape.exactOptional(),
  /** The entry that left it so. */
  seq: seqShape,
});

/** An edge, as callers see it. */
export interface Edge extends ShapeOf<typeof edgeShape> {}

/** What adding or removing an edge did, in an answer. */
export const edgeResultShape = z.object({
  id: edgeIdShape,
  edge: edgeShape,
  /** False when there was nothing to change. */
  changed: z.boolean(),
  /** The entry that left the edge as it is; the end of the journal when there is no edge. */
  seq: seqShape,
});

/** What adding or removing an edge did. */
export interface EdgeResult extends ShapeOf<typeof edgeResultShape> {}

/** What use has made of a memory, in an answer. */
export const counterShape = z.object({
  reinforced: z.int(),
  accessed: z.int(),
  cited: z.int(),
  lastUsedAt: timeShape,
});

const unit = z.number().min(0).max(1);

/** The weights of salience, in an answer. */
export const weightsShape = z.object({
  recency: unit,
  access: unit,
  citations: unit,
  importance: unit,
  similarity: unit,
});

/** How much a memory matters, and why, in an answer. */
export const salienceShape = z.object({
  score: unit,
  factors: z.object({
    recency: unit,
    access: unit,
    citations: unit,
    importance: unit,
    similarity: unit.exactOptional(),
  }),
  /** The weights behind the score. */
  weights: weightsShape,
  /** What age leaves of the weighted sum. */
  decay: unit,
  /** True when the floor for pinned memories was in force. */
  pinned: z.boolean(),
});

/** A proof document in an answer. */
export const proofShape = z.object({ cortex: z.literal("proof/1"), bytes: z.string() });
