/**
 * Upkeep of vectors: after a change of the embedder those of the model before are never read again,
 * and they take more room than anything else.
 */
import type { Bytes, Kv } from "../kv/kv.js";
import { dropOtherModels } from "../vector/vector-changes.js";
import type { MaintainStep } from "./steps.js";

/** Rows that one piece takes away; they are counted after each, so a piece is not too small. */
const PIECE_ROWS = 10_000;

/** Removes the vectors of every model but the one in use; counts rows. */
export function dropModels(kv: Kv, keep: Bytes): MaintainStep {
  return {
    step: "vectors of other models",
    left: async () => (await dropOtherModels(kv, keep, { limit: PIECE_ROWS, dryRun: true })).left,
    work: async () => (await dropOtherModels(kv, keep, { limit: PIECE_ROWS })).done,
  };
}
