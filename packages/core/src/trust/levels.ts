/**
 * How far a source is trusted: one number for ranking and one line for who may replace whom.
 *
 * Promise: every source of `records/types.ts` has a level (complete by type). What the owner said is
 * never outranked by what a document says merely because the document repeats the question better;
 * the levels are factors of a rank, so they travel through every lane and every walk.
 *
 * Left to others: who may write what (the write verbs), how untrusted text is shown (`recall/`).
 */
import type { Source } from "../records/types.js";

/** What a source's word is worth. */
export interface TrustLevel {
  /** Factor of a rank, 0 to 1. */
  readonly rank: number;
  /** Whether it speaks for the owner: only such a source may replace the owner's words. */
  readonly owner: boolean;
  /** Whether its text is shown as a quotation of somebody else. */
  readonly quoted: boolean;
}

/** The level of every source. */
export const TRUST: { readonly [source in Source]: TrustLevel } = {
  user_input: { rank: 1, owner: true, quoted: false },
  agent: { rank: 0.95, owner: false, quoted: false },
  observed: { rank: 0.95, owner: false, quoted: false },
  extraction: { rank: 0.9, owner: false, quoted: false },
  derived: { rank: 0.85, owner: false, quoted: false },
  dream: { rank: 0.85, owner: false, quoted: false },
  imported: { rank: 0.9, owner: false, quoted: false },
  channel: { rank: 0.8, owner: false, quoted: true },
  tool_output: { rank: 0.65, owner: false, quoted: true },
  document: { rank: 0.6, owner: false, quoted: true },
};
