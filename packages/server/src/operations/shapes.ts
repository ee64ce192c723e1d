/**
 * The answers of operations as schemas: what documentation shows, what later doors will announce,
 * and what the tests hold every answer against. Members may be added, never taken away.
 */
import {
  frameSchema,
  LANGUAGES,
  LIFECYCLES,
  MEMORY_TYPES,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "@cortex-memory/core";
import * as z from "zod";
import { anyObject, listOf, words } from "./fields.js";

const timeMs = z.int();
const seq = z.int();

const tombstone = z.object({ reason: z.string(), at: timeMs, by: z.string() });

const brief = z.object({ id: z.string(), uri: z.string(), text: z.string() });

/** What a write did. */
export const writtenShape = z.object({
  id: z.string(),
  uri: z.string(),
  version: z.int(),
  seq,
  replaced: listOf(brief),
  conflicts: listOf(brief),
  similar: listOf(brief),
  reinforced: z.boolean(),
});

const provenance = z.object({
  source: words(SOURCES),
  derivedFrom: listOf(z.string()),
  attestations: listOf(z.string()),
  session: z.string().exactOptional(),
  turn: z.int().exactOptional(),
});

const versionRecord = z.object({
  number: z.int(),
  createdAt: timeMs,
  createdBy: z.string(),
  confidence: z.number(),
  provenance,
  forms: z.object({ short: z.string(), medium: z.string() }),
  supersedes: listOf(z.int()),
  seq,
  validFrom: timeMs.exactOptional(),
  validTo: timeMs.exactOptional(),
  expiresAt: timeMs.exactOptional(),
  flags: listOf(z.string()).exactOptional(),
});

const head = z.object({
  lifecycle: words(LIFECYCLES),
  status: words(STATUSES),
  visibility: words(VISIBILITIES),
  importance: z.int(),
  source: words(SOURCES),
  tags: listOf(z.string()),
  frames: listOf(frameSchema),
  createdAt: timeMs,
  updatedAt: timeMs,
  version: z.int(),
  siblings: listOf(z.int()),
  slot: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  externalId: z.string().exactOptional(),
  freshnessAt: timeMs.exactOptional(),
  tombstone: tombstone.exactOptional(),
});

/** A memory. */
export const memoryShape = z.object({
  id: z.string(),
  uri: z.string(),
  type: words(MEMORY_TYPES),
  version: z.int(),
  text: z.string(),
  data: anyObject,
  head,
  versionRecord,
  seq,
});

/** An edge. */
export const edgeShape = z.object({
  id: z.string(),
  from: z.string(),
  kind: z.string(),
  to: z.string(),
  toGraph: z.string().exactOptional(),
  n: z.int(),
  source: words(SOURCES),
  createdAt: timeMs,
  createdBy: z.string(),
  weight: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  strength: z.int().exactOptional(),
  ordinal: z.int().exactOptional(),
  metadata: anyObject.exactOptional(),
  validFrom: timeMs.exactOptional(),
  validTo: timeMs.exactOptional(),
  tombstone: tombstone.exactOptional(),
  seq,
});

const setting = z.object({
  name: z.string(),
  value: z.string(),
  from: z.string(),
  flag: z.string(),
  variable: z.string(),
});

const graphConfig = z.object({
  conflictPolicy: z.enum(["lww", "manual"]),
  kindWhitelist: listOf(z.string()),
  name: z.string().exactOptional(),
  metadata: anyObject.exactOptional(),
  archived: z.literal(true).exactOptional(),
  language: z.enum(LANGUAGES).exactOptional(),
  trustedIssuers: listOf(z.string()).exactOptional(),
  ttlDays: z.record(z.string(), z.int()).exactOptional(),
});

/** Settings of the door and configuration of the graph. */
export const configShape = z.object({
  settings: listOf(setting),
  graph: graphConfig,
  seq: seq.exactOptional(),
});

const entryShape = z.object({
  seq,
  kind: z.string(),
  at: timeMs,
  by: z.string(),
  parts: listOf(
    z.object({ subject: z.string(), hash: z.string().exactOptional(), erased: z.boolean() }),
  ),
  batch: z.object({ first: z.int(), length: z.int() }).exactOptional(),
});

/** An entry as it is committed. */
export const eventShape = entryShape.extend({
  memories: listOf(
    z.object({
      id: z.string(),
      type: words(MEMORY_TYPES).exactOptional(),
      erased: z.boolean(),
    }),
  ),
});

/** A page of the journal. */
export const logShape = z.object({
  entries: listOf(entryShape),
  next: z.int().exactOptional(),
  seq,
});

/** A page of the journal with its bytes. */
export const journalPageShape = z.object({
  from: seq,
  fromRoot: z.string(),
  entries: listOf(z.string()),
  consistency: listOf(z.string()),
  checkpoint: z.string(),
  epoch: z.int(),
  seq,
});

/** What happened between two positions. */
export const changesShape = z.object({
  changes: listOf(
    z.object({
      seq,
      kind: z.string(),
      at: timeMs,
      by: z.string(),
      memories: listOf(
        z.object({
          id: z.string(),
          erased: z.boolean(),
          type: words(MEMORY_TYPES).exactOptional(),
          uri: z.string().exactOptional(),
          version: z.int().exactOptional(),
          lifecycle: words(LIFECYCLES).exactOptional(),
          text: z.string().exactOptional(),
        }),
      ),
      edges: listOf(edgeShape),
    }),
  ),
  from: seq,
  to: seq,
  next: seq.exactOptional(),
  seq,
});

/** What undoing an entry did. */
export const revertedShape = z.object({
  reverted: seq,
  seq,
  memories: listOf(z.string()),
  edges: z.int(),
});

/** Where a background job stands. */
const jobShape = z.object({
  name: z.string(),
  owner: z.string(),
  leased: z.boolean(),
  expiresAt: timeMs,
  cursor: z.int(),
  lag: z.int(),
  done: z.int(),
  lastRunAt: timeMs.exactOptional(),
  lastError: z
    .object({ at: timeMs, code: z.string(), message: z.string(), count: z.int() })
    .exactOptional(),
});

/** How much a store holds, and where. */
export const statsShape = z.object({
  data: z.string(),
  actor: z.string(),
  backend: z.string(),
  durable: z.boolean(),
  syncMode: z.string(),
  entries: z.int(),
  seq,
  lastAt: timeMs,
  epoch: z.int(),
  format: z.int(),
  foldVersion: z.int(),
  memories: z.object({
    active: z.int(),
    archived: z.int(),
    tombstoned: z.int(),
    erased: z.int(),
  }),
  types: listOf(z.object({ type: words(MEMORY_TYPES), count: z.int() })),
  edges: z.object({ live: z.int(), removed: z.int(), openKinds: z.int() }),
  text: z.object({
    analyser: z.string(),
    cursor: z.int(),
    segments: z.int(),
    documents: z.int(),
    tail: z.int(),
    lag: z.int(),
    failure: z.string().exactOptional(),
  }),
  vectors: z
    .object({
      model: z.string(),
      dimensions: z.int(),
      memories: z.int(),
      cursor: z.int(),
      lag: z.int(),
    })
    .exactOptional(),
  jobs: listOf(jobShape),
  replica: z
    .object({
      source: z.string(),
      lag: z.int(),
      heardAt: timeMs.exactOptional(),
      lastError: z.object({ code: z.string(), message: z.string(), at: timeMs }).exactOptional(),
    })
    .exactOptional(),
  sizeBytes: z.int(),
});

/** The root over everything, in hex. */
export const rootShape = z.object({ root: z.string(), seq });

const checkpointFields = { root: z.string(), seq, checkpoint: z.string() };

/** The roots of a position, as text to trust. */
export const checkpointShape = z.object(checkpointFields);

/** A sealed snapshot. */
export const snapshotShape = z.object({
  ...checkpointFields,
  number: z.int(),
  reason: z.string(),
  by: z.string(),
  at: timeMs,
});

/** Snapshots, newest first. */
export const snapshotsShape = z.object({ snapshots: listOf(snapshotShape) });

/** A proof document. */
export const proofShape = z.object({ cortex: z.literal("proof/1"), bytes: z.string() });

/** Memories with their proof. */
export const sliceShape = z.object({
  memories: listOf(memoryShape),
  proof: proofShape,
  checkpoint: z.string(),
  seq,
});

/** What a proof or checkpoint shows. */
export const verifiedShape = z.object({
  ok: z.boolean(),
  anchored: z.boolean(),
  anchoredBy: z.enum(["checkpoint", "consistency"]).exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  checkpoint: z
    .object({ origin: z.string(), size: z.int(), root: z.string(), at: timeMs })
    .exactOptional(),
  memories: listOf(
    z.looseObject({
      id: z.string(),
      status: z.enum(["present", "absent", "erased"]),
      text: z.string().exactOptional(),
    }),
  ).exactOptional(),
  edges: listOf(
    z.looseObject({ key: z.string(), status: z.enum(["present", "absent"]), from: z.string() }),
  ).exactOptional(),
  entries: listOf(z.looseObject({ seq, kind: z.string() })).exactOptional(),
  since: z.object({ size: z.int(), root: z.string() }).exactOptional(),
  signatures: listOf(z.object({ name: z.string(), keyHint: z.string() })).exactOptional(),
});
