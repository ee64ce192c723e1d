/**
 * The answers about context and learning as schemas: salience and its factors, weights,
 * attestations, compacted contexts. Members may be added, never taken away.
 */
import { LIFECYCLES } from "@cortex-memory/core";
import * as z from "zod";
import { listOf, words } from "./fields.js";

const unit = z.number().min(0).max(1);
const seq = z.int();

const weights = z.object({
  recency: unit,
  access: unit,
  citations: unit,
  importance: unit,
  similarity: unit,
});

/** How much a memory matters, and why. */
export const salienceShape = z.object({
  score: unit,
  factors: z.object({
    recency: unit,
    access: unit,
    citations: unit,
    importance: unit,
    similarity: unit.exactOptional(),
  }),
  weights,
  decay: unit,
  pinned: z.boolean(),
});

/** The weights at a position. */
export const weightsShape = z.object({ weights, learned: z.boolean(), seq });

/** What an attestation did. */
export const attestedShape = z.object({
  seq,
  learnSeq: seq,
  affected: listOf(z.string()),
  skipped: listOf(z.string()),
  citationsDelta: z.int(),
  previousWeights: weights,
  weights,
  weightsUpdated: z.boolean(),
});

const compactItem = z.object({ uri: z.string(), text: z.string(), salience: unit });

/** A compacted context. */
export const compactedShape = z.object({
  kept: listOf(compactItem),
  compacted: listOf(compactItem),
  skipped: listOf(z.string()),
  tokens: z.int(),
  recordUri: z.string(),
  seq,
});

const recordedItem = z.object({
  uri: z.string(),
  text: z.string().exactOptional(),
  lifecycle: words(LIFECYCLES),
});

/** What was in a context at one step of a task. */
export const contextRecordShape = z.object({
  recordUri: z.string(),
  kept: listOf(recordedItem),
  compacted: listOf(recordedItem.extend({ salience: unit })),
  budgetTokens: z.int(),
  at: z.int(),
  by: z.string(),
  recordSeq: seq,
  seq,
});
