/**
 * The record of a compacted context: which memories an agent kept in full at one step of a task, which
 * it kept in brief, and how much each of those mattered then.
 *
 * Promise: no content. Memories are named by URIs, the task and its step by a hash of their names, so
 * a record tells nothing of a memory that was forgotten since but that it was there. Pure.
 */
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { asFields, int, list, text } from "../records/memory-record.js";

/** A memory that was kept in brief. */
export interface CompactedUri {
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
  const { at } = asFields(decode(bytes), "context record");
  const name = at[1];
  if (!(name instanceof Uint8Array) || name.length !== NAME_BYTES) {
    throw new CortexError("ERR_CORRUPT", `context record: expected a name of ${NAME_BYTES} bytes`);
  }
  return {
    name,
    budgetTokens: int(at[2], 0),
    kept: list(at[3]).map(text),
    compacted: list(at[4]).map(decodeCompacted),
  };
}

function decodeCompacted(value: CborValue): CompactedUri {
  const [uri, salience] = list(value);
  if (typeof salience === "number") return { uri: text(uri), salience };
  throw new CortexError("ERR_CORRUPT", "context record: expected a salience");
}
