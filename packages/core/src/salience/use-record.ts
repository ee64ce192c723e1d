/**
 * What entries say about the use of a memory, and how that counts.
 *
 * An `attest` entry holds one part for every memory that was cited; the part belongs to that memory,
 * so that forgetting the memory takes the words with it: which task it was, and why it ended so. The
 * part names what it adds to the counters; the fold only adds. Pure.
 *
 * The record of a compacted context: which memories an agent kept in full at one step of a task, which
 * it kept in brief, and how much each of those mattered then.
 *
 * Promise: no content. Memories are named by URIs, the task and its step by a hash of their names, so
 * a record tells nothing of a memory that was forgotten since but that it was there. Pure.
 */
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { readIntegerOr, readList, readMap, readText, readTexts } from "../codec/cbor-value.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { CortexError, unreachable } from "../errors.js";
import { type EntryKind, partRecord } from "../journal/entry.js";
import { type AttestOutcome, directionOf } from "./salience.js";

/** What use has made of a memory. */
export interface Counter {
  readonly reinforced: number;
  readonly accessed: number;
  readonly cited: number;
  readonly lastUsedAt: number;
}

/** The counters of a memory that nobody used yet. */
export const UNUSED: Counter = { reinforced: 0, accessed: 0, cited: 0, lastUsedAt: 0 };

/** What an attestation says about one memory. */
export interface AttestRecord {
  readonly outcome: AttestOutcome;
  /** Added to the citations, which never fall below 0. */
  readonly cited: number;
  readonly accessed: number;
  readonly intentId: string;
  readonly reason?: string;
}

const OUTCOMES: readonly AttestOutcome[] = ["success", "failure"];

/** What an outcome adds to the counters of each memory cited. */
export function attestRecord(
  outcome: AttestOutcome,
  intentId: string,
  reason: string | undefined,
): AttestRecord {
  const direction = directionOf(outcome, reason);
  const cited = direction === "toward" ? 1 : direction === "away" ? -1 : 0;
  const accessed = outcome === "success" ? 1 : 0;
  return { outcome, cited, accessed, intentId, ...(reason === undefined ? {} : { reason }) };
}

/** The bytes of an attestation's part. */
export function encodeAttestRecord(record: AttestRecord): Uint8Array {
  const { outcome, cited, accessed, intentId, reason } = record;
  return encode(fields([undefined, OUTCOMES.indexOf(outcome), cited, accessed, intentId, reason]));
}

/** Reads an attestation's part. */
export function decodeAttestRecord(bytes: Uint8Array): AttestRecord {
  const at = readMap(decode(bytes), "attestation");
  const outcome = OUTCOMES[readIntegerOr(at[1], 0)];
  if (outcome === undefined) {
    throw new CortexError("ERR_CORRUPT", "attestation: expected the outcome 0 or 1");
  }
  return {
    outcome,
    cited: readIntegerOr(at[2], 0),
    accessed: readIntegerOr(at[3], 0),
    intentId: readText(at[4]),
    ...(at[5] === undefined ? {} : { reason: readText(at[5]) }),
  };
}

/** The kinds of entries whose attached parts count as use of a memory. */
type UseKind = "reinforce" | "find_late" | "attest";

/** An entry whose attached parts count. */
interface UseEntry {
  readonly kind: UseKind;
  readonly at: number;
}

/** Whether the attached parts of an entry count as use. */
export function isUse<E extends { readonly kind: EntryKind }>(
  entry: E,
): entry is E & { readonly kind: UseKind } {
  return entry.kind === "reinforce" || entry.kind === "find_late" || entry.kind === "attest";
}

/** A memory's counters after one of its attached parts. */
export function countUse(counter: Counter, entry: UseEntry, part: Uint8Array): Counter {
  const used = { ...counter, lastUsedAt: entry.at };
  switch (entry.kind) {
    case "reinforce":
      return { ...used, reinforced: counter.reinforced + 1 };
    case "find_late":
      return { ...used, accessed: counter.accessed + 1 };
    case "attest": {
      const { cited, accessed } = decodeAttestRecord(partRecord(part));
      return {
        ...used,
        cited: Math.max(0, counter.cited + cited),
        accessed: counter.accessed + accessed,
      };
    }
    default:
      return unreachable(entry.kind);
  }
}

/** A memory that was kept in brief. */
interface CompactedUri {
  readonly uri: string;
  /** Its score when the context was compacted. */
  readonly salience: number;
}

/** What a `context` entry says. */
export interface ContextRecord {
  /** Hash of the names of task and step: 16 bytes. */
  readonly name: Uint8Array;
  readonly budgetTokens: number;
  readonly kept: readonly string[];
  readonly compacted: readonly CompactedUri[];
}

const NAME_BYTES = 16;

/** What a task and its step are known by. */
export function contextName(sha256: Sha256, intentId: string, stepId: string): Uint8Array {
  return domainHash(sha256, "contextRecord", encode([intentId, stepId])).slice(0, NAME_BYTES);
}

/** The bytes of a context record. */
export function encodeContextRecord(record: ContextRecord): Uint8Array {
  const { name, budgetTokens, kept, compacted } = record;
  const brief = compacted.map(({ uri, salience }) => [uri, salience]);
  return encode(fields([undefined, name, budgetTokens, kept, brief]));
}

/** Reads a context record. */
export function decodeContextRecord(bytes: Uint8Array): ContextRecord {
  const at = readMap(decode(bytes), "context record");
  const name = at[1];
  if (!(name instanceof Uint8Array) || name.length !== NAME_BYTES) {
    throw new CortexError("ERR_CORRUPT", `context record: expected a name of ${NAME_BYTES} bytes`);
  }
  return {
    name,
    budgetTokens: readIntegerOr(at[2], 0),
    kept: readTexts(at[3]),
    compacted: readList(at[4]).map(decodeCompacted),
  };
}

function decodeCompacted(value: CborValue): CompactedUri {
  const [uri, salience] = readList(value);
  if (typeof salience === "number") return { uri: readText(uri), salience };
  throw new CortexError("ERR_CORRUPT", "context record: expected a salience");
}
