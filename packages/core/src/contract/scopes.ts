/**
 * The verbs on scopes, which let others in: taking one in, looking at one, taking one back. Signing one
 * needs no store: see `scope/scope.ts`.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { frameSchema } from "../records/frames.js";
import { MEMORY_TYPES, SOURCES } from "../records/types.js";
import { listOf, type ShapeOf, textField, words } from "./fields.js";
import { by, idempotencyKey } from "./memory.js";
import { seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** A text around which lines may have been broken; what it spells is judged where it is read. */
function scopeText(description: string) {
  return z
    .string()
    .trim()
    .meta({ description, maxLength: 2 * LIMITS.scopeBytes });
}

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

const scopeReportShape = z.object({
  hash,
  handle: z.string(),
  actor: z.string(),
  include: selectorShape,
  exclude: selectorShape,
  issuedAt: timeShape,
  expiresAt: timeShape,
  grantedBy: z.string(),
  grantedTo: z.string(),
  /** Whether it serves whoever has it. */
  bearer: z.boolean(),
  writable: z.boolean(),
  /** Whether the holder may have proofs. */
  proofs: z.boolean(),
  maxSource: words(SOURCES),
  budgetTokens: z.int().exactOptional(),
  snapshotRoot: z.string().exactOptional(),
  /** Whether a holder who signs with the right key would be let in. */
  holds: z.boolean(),
  /** Why not. */
  because: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  seq: seqShape,
});

/** A scope in plain words, and whether it holds here and now. */
export interface ScopeReport extends ShapeOf<typeof scopeReportShape> {}

/** Looks at a scope. */
export const showScope = verb("showScope", {
  summary: "Show what a scope grants, and whether it holds here and now",
  kind: "read",
  policy: "owner",
  args: { scope: scopeText("the scope, or its handle") },
  labels: type<[scope: string]>(),
  options: {},
  output: scopeReportShape,
  answer: type<ScopeReport>(),
});

const postedShape = z.object({
  handle: z.string().describe("what to present from now on"),
  hash,
  expiresAt: timeShape,
  seq: seqShape.describe("where the journal stood; 0 for whoever is not the owner"),
});

/** A scope that was taken in. */
export interface PostedScope extends ShapeOf<typeof postedShape> {}

/** Takes a scope in. */
export const postScope = verb("postScope", {
  summary: "Hand a scope in once, to present its handle from then on",
  kind: "write",
  policy: "open",
  standing: "none",
  retry: "natural",
  args: { scope: scopeText("the scope") },
  labels: type<[scope: string]>(),
  options: { idempotencyKey },
  output: postedShape,
  answer: type<PostedScope>(),
});

const revokedShape = z.object({
  hash,
  /** False when it had been revoked before: nothing was written. */
  revoked: z.boolean(),
  seq: seqShape,
});

/** A scope that was taken back. */
export interface RevokedScope extends ShapeOf<typeof revokedShape> {}

/** Takes a scope back. */
export const revokeScope = verb("revokeScope", {
  summary: "Take a scope back, for good",
  kind: "write",
  policy: "owner",
  standing: "owner",
  retry: "key",
  args: { scope: scopeText("the scope, its handle or its hash") },
  labels: type<[scope: string]>(),
  options: {
    reason: textField({ maxBytes: LIMITS.reasonBytes, control: true, blank: true })
      .describe("why, for the journal")
      .optional(),
    by,
    idempotencyKey,
  },
  output: revokedShape,
  answer: type<RevokedScope>(),
});
