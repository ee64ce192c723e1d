/**
 * A proposal: a change that somebody wished for and had no standing to make, kept for the owner to say
 * yes or no to. Its bytes are a part attached to the memory it is about, so that they go when that is
 * forgotten.
 *
 * Of one speaker, one proposal for each memory and verb is open: its mark is made of the verb and the
 * speaker, so a later wish takes the place of the one before. The part that closes it names the mark too.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { CortexError } from "../errors.js";
import { nameOf, SOURCES, type Source } from "./types.js";

/** Bytes of a mark. */
export const MARK_BYTES = 16;

/** A wish, as it is kept. */
export interface Proposal {
  /** The verb that was called. */
  readonly verb: string;
  /** What it was called with. */
  readonly input: { readonly [field: string]: unknown };
  /** Whose wish it is: the standing that was not enough. */
  readonly source: Source;
  readonly mark: Uint8Array;
}

/** What opens the record of a proposal, and of what closes one. */
const OPENS = "propose";
const CLOSES = "settle";

/** The bytes of a proposal. */
export function encodeProposal({ verb, input, source, mark }: Proposal): Uint8Array {
  return encode([OPENS, mark, verb, JSON.stringify(input), SOURCES[source].code]);
}

/** Reads a proposal. */
export function decodeProposal(bytes: Uint8Array): Proposal {
  const [, mark, verb, json, code] = decode(bytes) as readonly CborValue[];
  const isWhole =
    mark instanceof Uint8Array && typeof verb === "string" && typeof json === "string";
  if (!isWhole) throw new CortexError("ERR_CORRUPT", "a proposal is not in its form");
  const source = nameOf(SOURCES, code, "source of a proposal");
  return { verb, input: JSON.parse(json) as Proposal["input"], source, mark };
}

/** The bytes of the part that closes a proposal. */
export function encodeClosing(decision: string, reason: string, mark: Uint8Array): Uint8Array {
  return encode([CLOSES, decision, reason, mark]);
}

/** The mark of the proposal that an attached part opens or closes; `undefined` for any other part. */
export function proposalMark(bytes: Uint8Array): Uint8Array | undefined {
  const members = decode(bytes);
  if (!Array.isArray(members)) return undefined;
  const [opens, second, , fourth] = members as readonly CborValue[];
  const mark = opens === OPENS ? second : opens === CLOSES ? fourth : undefined;
  return mark instanceof Uint8Array && mark.length === MARK_BYTES ? mark : undefined;
}

/** What an open proposal is known by: its memory and its mark. */
export function proposalName(id: Uint8Array, mark: Uint8Array): Uint8Array {
  const name = new Uint8Array(id.length + mark.length);
  name.set(id, 0);
  name.set(mark, id.length);
  return name;
}
