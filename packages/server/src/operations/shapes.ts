/**
 * The answers of operations as schemas: what documentation shows, what later doors will announce,
 * and what the tests hold every answer against. Members may be added, never taken away.
 */
import {
  frameSchema,
  LIFECYCLES,
  MEMORY_TYPES,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "@cortex-memory/core";
import { VERBS } from "@cortex-memory/core/contract";
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

/** Settings of the door and configuration of the graph. */
export const configShape = z.object({
  settings: listOf(setting),
  ...VERBS.config.output.shape,
  seq: seq.exactOptional(),
});

/** How much a store holds, and where. */
export const statsShape = z.object({ data: z.string(), ...VERBS.stats.output.shape });

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
