/**
 * The shapes of what the operations on scopes and keys answer, and of what a scope is about.
 */
import { frameSchema, MEMORY_TYPES, SOURCES } from "@cortex-memory/core";
import * as z from "zod";
import { listOf, words } from "./fields.js";

const timeMs = z.int().describe("milliseconds since 1970");
const seq = z.int().describe("the position of the journal");
const hash = z.string().describe("what the scope is known by, in hex");

/** Lists of what matches; any one of them is enough. */
const selectorShape = z.object({
  types: listOf(words(MEMORY_TYPES)).exactOptional(),
  kinds: listOf(z.string()).exactOptional(),
  tags: listOf(z.string()).exactOptional(),
  slots: listOf(z.string()).exactOptional(),
  frames: listOf(frameSchema).exactOptional(),
  ids: listOf(z.string()).exactOptional(),
});

/** A key that was made; the secret half is in the file alone. */
export const keyShape = z.object({ file: z.string(), publicKey: z.string() });

/** A scope that was signed. */
export const issuedShape = z.object({
  scope: z.string().describe("the text to hand over"),
  grantedTo: z.string(),
  expiresAt: timeMs,
  bytes: z.int(),
});

/** A scope in plain words. */
export const scopeShape = z.object({
  hash,
  handle: z.string(),
  actor: z.string(),
  include: selectorShape,
  exclude: selectorShape,
  issuedAt: timeMs,
  expiresAt: timeMs,
  grantedBy: z.string(),
  grantedTo: z.string(),
  bearer: z.boolean(),
  writable: z.boolean(),
  maxSource: words(SOURCES),
  budgetTokens: z.int().exactOptional(),
  snapshotRoot: z.string().exactOptional(),
  holds: z.boolean(),
  because: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  seq,
});

/** A scope that was taken in. */
export const postedShape = z.object({ handle: z.string(), hash, expiresAt: timeMs, seq });

/** A scope that was taken back. */
export const revokedShape = z.object({ hash, revoked: z.boolean(), seq });
