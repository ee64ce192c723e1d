/**
 * What is known of a memory while it is considered for an answer: where it stands, who speaks, how far it is
 * trusted. Read from the memory itself; pure.
 */
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { primaryText, type TurnData } from "../records/data.js";
import { TRUST } from "../trust/levels.js";

/** An assistant mostly repeats what it was told or offers what was not taken up. */
const ASSISTANT_VOICE = 2 / 3;

/** What a memory says, in full. */
export function fullText({ head, body }: FoundMemory): string {
  return primaryText(head.record.head.type, bodyOf(body).data);
}

/** The data of a turn; `undefined` for other memories. */
export function turnOf({ head, body }: FoundMemory): TurnData | undefined {
  return head.record.head.turn === undefined ? undefined : (bodyOf(body).data as TurnData);
}

/** How much a memory's own words count: those of whoever the memory is about count whole. */
export function voiceOf(memory: FoundMemory): number {
  const turn = turnOf(memory);
  return turn === undefined || turn.role === "user" ? 1 : ASSISTANT_VOICE;
}

/** The time in the world that a memory speaks of, as far as it says. */
export function worldTimeOf(memory: FoundMemory): number {
  const { validFrom, createdAt } = bodyOf(memory.body);
  return turnOf(memory)?.at ?? validFrom ?? createdAt;
}

/** Trust in what a memory says: of its source, and of whoever gave the version its confidence. */
export function trustOf({ head, body }: FoundMemory): number {
  const { confidence, provenance, flags } = bodyOf(body);
  const { source, status } = head.record.head;
  const rank = Math.min(TRUST[source].rank, TRUST[provenance.source].rank);
  const flagged = flags === undefined ? 1 : FLAGGED_FACTOR;
  return rank * (0.5 + 0.5 * confidence) * STATUS_FACTOR[status] * flagged;
}

/** Text that looks like an order to its reader is worth as little as text that was taken back. */
const FLAGGED_FACTOR = 0.3;

const STATUS_FACTOR = {
  asserted: 1,
  confirmed: 1,
  provisional: 0.9,
  disputed: 0.8,
  retracted: 0.3,
} as const;
