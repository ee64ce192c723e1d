/**
 * A checkpoint: what a store commits to at one size of its journal, as text that people can pin,
 * mail or publish. The form is C2SP's tlog-checkpoint inside a signed note, so that witnesses and
 * verifiers of transparency logs can read the first three lines; the state roots follow as
 * extension lines:
 *
 *     cortex/<actor>/<store id, 32 hex digits>      origin: which log this is
 *     42                                            size: number of entries
 *     <base64>                                      root of the journal tree (RFC 9162)
 *     genesis <base64>                              leaf hash of entry 0
 *     edges <base64>                                root of the tree of edges
 *     memories <base64>                             root of the tree of memories
 *     overall <base64>                              the one root over all of the above
 *     at 1767225600000                              time of the last entry, in milliseconds
 *     sum <base64>                                  SHA-256 of every byte before this line
 *
 * and, when signed, an empty line and one line `— <key name> <base64(key hint ‖ signature)>` per
 * signature. The signed bytes are the lines above, with their line ends.
 *
 * Promises: one statement has one text. Reading is strict to the last byte; `overall` must follow
 * from the other roots and `sum` from the text, so a slip in copying is found, with its line. The
 * sum guards against accidents only: who wants to deceive computes a new one. Against deceit stand
 * the signature and the checkpoint that the reader trusted before.
 *
 * Pure: verifiers import this file. Signing, and checking signatures, is left to whoever owns keys.
 */

import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { concatBytes, equalBytes } from "../codec/keys.js";
import { fromBase64, isWellFormed, toBase64, utf8, utf8Length } from "../codec/text.js";
import { CortexError, describe, invalid } from "../errors.js";
import { INTEGER_MAX } from "../limits.js";
import { overallRoot, type Roots } from "../merkle/state-keys.js";

/** Longest text that is read as a checkpoint; a hundred signatures of usual size fit. */
export const CHECKPOINT_CHARS_MAX = 256 * 1024;

/** Most signatures on one checkpoint. */
const SIGNATURES_MAX = 100;

/** Longest name of a key, in bytes. */
const KEY_NAME_BYTES_MAX = 256;

/** Length of the hint that opens every signature. */
const KEY_HINT_BYTES = 4;

/** Longest signature; the largest in common use, of the hash-based kind, have about 50,000. */
const SIGNATURE_BYTES_MAX = 64 * 1024;

/** What a checkpoint states. */
export interface Statement {
  readonly actor: string;
  /** 16 random bytes in hex, from entry 0. */
  readonly storeId: string;
  /** Number of entries; at least 1. */
  readonly size: number;
  readonly roots: Roots;
  /** Time of the last entry, in milliseconds. */
  readonly at: number;
}

/** One signature line. */
export interface NoteSignature {
  /** The name of the key. */
  readonly name: string;
  /** Four bytes that hint at the key, then the signature. */
  readonly bytes: Uint8Array;
}

/** A checkpoint as read. */
export interface Checkpoint extends Statement {
  readonly origin: string;
  readonly overall: Uint8Array;
  /** The nine lines without signatures: the same statement has the same note. */
  readonly note: string;
  /** Not checked: only who knows the keys can do that. */
  readonly signatures: readonly NoteSignature[];
}

/** Signs on behalf of whoever owns the key; Cortex never holds one. */
export interface Signer {
  /** The name of the key: no spaces, no plus sign. */
  readonly name: string;
  /** Four bytes, by the rules of the signed note. */
  readonly keyHint: Uint8Array;
  /** Signs the note's text, its last line end included. */
  sign(noteText: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/** The origin of a store's checkpoints. */
export function originOf(store: { readonly actor: string; readonly storeId: string }): string {
  return `cortex/${store.actor}/${store.storeId}`;
}

/** The text of a checkpoint: its note, and below it the signatures. */
export function formatCheckpoint(
  sha256: Sha256,
  statement: Statement,
  signatures: readonly NoteSignature[] = [],
): string {
  const { roots } = statement;
  const lines = [
    originOf(statement),
    String(statement.size),
    toBase64(roots.journal),
    `genesis ${toBase64(roots.genesis)}`,
    `edges ${toBase64(roots.trees.edges)}`,
    `memories ${toBase64(roots.trees.memories)}`,
    `overall ${toBase64(overallRoot(sha256, roots))}`,
    `at ${statement.at}`,
  ];
  const body = `${lines.join("\n")}\n`;
  const note = `${body}sum ${toBase64(sha256(utf8(body)))}\n`;
  if (signatures.length === 0) return note;
  const signed = signatures.map(({ name, bytes }) => `${DASH}${name} ${toBase64(bytes)}\n`);
  return `${note}\n${signed.join("")}`;
}

/** Lets a signer sign a note; what it gives is checked as far as that needs no key. */
export async function signNote(note: string, signer: Signer): Promise<NoteSignature> {
  const { name, keyHint } = signer;
  const trouble = typeof name === "string" ? nameTrouble(name) : "is not a string";
  if (trouble !== undefined) throw invalid("signer.name", "the name of a key", name);
  if (!(keyHint instanceof Uint8Array) || keyHint.length !== KEY_HINT_BYTES) {
    throw invalid("signer.keyHint", `${KEY_HINT_BYTES} bytes`, keyHint);
  }
  const signature = await signer.sign(utf8(note));
  if (
    !(signature instanceof Uint8Array) ||
    signature.length < 1 ||
    signature.length > SIGNATURE_BYTES_MAX
  ) {
    throw invalid("signer.sign", `1 to ${SIGNATURE_BYTES_MAX} bytes of signature`, signature);
  }
  return { name, bytes: concatBytes(keyHint, signature) };
}

/** Reads a checkpoint; `ERR_CHECKPOINT_MALFORMED` names the line and what is wrong with it. */
export function parseCheckpoint(sha256: Sha256, text: unknown): Checkpoint {
  if (typeof text !== "string") throw malformed(1, `expected text, got ${describe(text)}`);
  if (text.length > CHECKPOINT_CHARS_MAX) {
    throw malformed(1, `expected at most ${CHECKPOINT_CHARS_MAX} characters, got ${text.length}`);
  }
  const blank = text.indexOf("\n\n");
  const note = blank < 0 ? text : text.slice(0, blank + 1);
  if (!note.endsWith("\n")) {
    const last = note.split("\n").length;
    throw malformed(last, "a line end is missing at the end of the text");
  }
  const lines = note.slice(0, -1).split("\n");
  const { actor, storeId } = readOrigin(lineAt(lines, 1));
  const size = readNumber(2, lineAt(lines, 2));
  if (size === 0) throw malformed(2, "a store has at least one entry, got size 0");
  const roots: Roots = {
    journal: readHash(3, lineAt(lines, 3)),
    genesis: readHash(4, labelled(lines, 4, "genesis")),
    trees: {
      edges: readHash(5, labelled(lines, 5, "edges")),
      memories: readHash(6, labelled(lines, 6, "memories")),
    },
  };
  if (size === 1 && !equalBytes(roots.journal, roots.genesis)) {
    throw malformed(4, "the journal of one entry is its genesis, but the hashes differ");
  }
  const overall = readHash(7, labelled(lines, 7, "overall"));
  const at = readNumber(8, labelled(lines, 8, "at"));
  const sum = readHash(9, labelled(lines, 9, "sum"));
  if (lines.length > 9) throw malformed(10, "nothing but signatures may follow the sum");
  // All lines are plain ASCII by now, so their bytes are beyond doubt.
  const body = note.slice(0, note.lastIndexOf("\n", note.length - 2) + 1);
  if (!equalBytes(sha256(utf8(body)), sum)) {
    throw malformed(9, "the lines above have another sum; the text was changed or miscopied");
  }
  if (!equalBytes(overallRoot(sha256, roots), overall)) {
    throw malformed(7, "the roots above have another overall root");
  }
  const signatures = blank < 0 ? [] : readSignatures(text.slice(blank + 2));
  const origin = originOf({ actor, storeId });
  return { actor, storeId, size, roots, at, origin, overall, note, signatures };
}

/** How far a checkpoint can be believed. */
export interface Anchor {
  /** True when a trusted checkpoint backs this one. */
  readonly anchored: boolean;
  /**
   * How: it *is* the trusted checkpoint; or its journal extends the trusted one's, and then its
   * state roots are still the word of whoever made it.
   */
  readonly anchoredBy?: "checkpoint" | "consistency";
}

/** What a checkpoint is compared with. */
interface Backing {
  /** The text of the checkpoint that the reader trusts, if there is one. */
  readonly trusted: string | undefined;
  /** An older journal that this one was *shown* to extend: its size and its root. */
  readonly since: { readonly size: number; readonly root: Uint8Array } | undefined;
}

/**
 * How a checkpoint stands to the one the reader trusts. `ERR_CHECKPOINT_STALE` when it is neither
 * that one nor shown to extend it. Checking the proof behind `since` is left to the caller.
 */
export function anchorOf(sha256: Sha256, checkpoint: Checkpoint, backing: Backing): Anchor {
  if (backing.trusted === undefined) return { anchored: false };
  const trusted = parseCheckpoint(sha256, backing.trusted);
  if (trusted.note === checkpoint.note) return { anchored: true, anchoredBy: "checkpoint" };
  if (trusted.origin !== checkpoint.origin) {
    throw stale(`it is of ${checkpoint.origin}, the trusted one of ${trusted.origin}`);
  }
  if (!equalBytes(trusted.roots.genesis, checkpoint.roots.genesis)) {
    throw stale("it names another genesis than the trusted one");
  }
  if (trusted.size === checkpoint.size) {
    throw stale(`it states something else at size ${trusted.size} than the trusted one`);
  }
  if (trusted.size > checkpoint.size) {
    throw stale(`it covers ${checkpoint.size} entries, the trusted one ${trusted.size} already`);
  }
  const { since } = backing;
  if (since === undefined) {
    throw stale(
      `it covers ${checkpoint.size} entries, the trusted one ${trusted.size}, and nothing shows ` +
        "that it extends that; ask for a proof since the trusted one",
    );
  }
  if (since.size !== trusted.size || !equalBytes(since.root, trusted.roots.journal)) {
    throw stale("it is shown to extend another journal than the trusted one");
  }
  return { anchored: true, anchoredBy: "consistency" };
}

/** The failure of a checkpoint that the trusted one does not back. */
export function stale(what: string): CortexError {
  return new CortexError("ERR_CHECKPOINT_STALE", `checkpoint: ${what}`);
}

const DASH = "\u2014 ";

/** What `checkActorName` allows, as far as telling the parts of an origin apart needs it. */
const ORIGIN = /^cortex\/([a-z0-9][a-z0-9._-]{0,63})\/([0-9a-f]{32})$/;

function readOrigin(line: string): { readonly actor: string; readonly storeId: string } {
  const [, actor, storeId] = ORIGIN.exec(line) ?? [];
  if (actor !== undefined && storeId !== undefined) return { actor, storeId };
  throw malformed(1, `expected cortex/<actor>/<store id of 32 hex digits>, got ${describe(line)}`);
}

function readNumber(number: number, digits: string): number {
  const value = /^(0|[1-9][0-9]{0,15})$/.test(digits) ? Number(digits) : INTEGER_MAX + 1;
  if (value <= INTEGER_MAX) return value;
  throw malformed(number, `expected an integer from 0 to 2^53-1, got ${describe(digits)}`);
}

function readHash(number: number, text: string): Uint8Array {
  const bytes = text.length === 44 ? fromBase64(text) : undefined;
  if (bytes?.length === HASH_BYTES) return bytes;
  throw malformed(number, `expected ${HASH_BYTES} bytes in base64, got ${describe(text)}`);
}

function lineAt(lines: readonly string[], number: number): string {
  const line = lines[number - 1];
  if (line === undefined) throw malformed(number, "the line is missing");
  return line;
}

function labelled(lines: readonly string[], number: number, label: string): string {
  const line = lineAt(lines, number);
  if (line.startsWith(`${label} `)) return line.slice(label.length + 1);
  throw malformed(number, `expected ${label} and its value, got ${describe(line)}`);
}

/** The first signature stands on line 11: nine of the note, and the empty one. */
const FIRST_SIGNATURE_LINE = 11;

function readSignatures(text: string): readonly NoteSignature[] {
  const lines = text.split("\n");
  const end = FIRST_SIGNATURE_LINE + lines.length - 1;
  if (lines.length < 2) throw malformed(end, "an empty line must be followed by signatures");
  if (lines.pop() !== "") throw malformed(end, "a line end is missing at the end of the text");
  if (lines.length > SIGNATURES_MAX) {
    throw malformed(
      FIRST_SIGNATURE_LINE + SIGNATURES_MAX,
      `more than ${SIGNATURES_MAX} signatures`,
    );
  }
  return lines.map((line, index) => readSignature(FIRST_SIGNATURE_LINE + index, line));
}

function readSignature(number: number, line: string): NoteSignature {
  const [name = "", encoded, ...rest] = line.startsWith(DASH)
    ? line.slice(DASH.length).split(" ")
    : [];
  if (encoded === undefined || rest.length > 0) {
    throw malformed(number, "expected a dash, the name of a key and a signature, single-spaced");
  }
  const trouble = nameTrouble(name);
  if (trouble !== undefined) throw malformed(number, `the name of the key ${trouble}`);
  const bytes = fromBase64(encoded);
  if (bytes === undefined || bytes.length <= KEY_HINT_BYTES) {
    throw malformed(number, `expected a key hint and a signature in base64`);
  }
  if (bytes.length > KEY_HINT_BYTES + SIGNATURE_BYTES_MAX) {
    throw malformed(number, `a signature has at most ${SIGNATURE_BYTES_MAX} bytes`);
  }
  return { name, bytes };
}

function nameTrouble(name: string): string | undefined {
  if (name === "") return "is empty";
  if (!isWellFormed(name)) return "holds a lone surrogate";
  if (utf8Length(name) > KEY_NAME_BYTES_MAX) return `is longer than ${KEY_NAME_BYTES_MAX} bytes`;
  // The signed note separates its fields by a space and its lines by a line end.
  if (/[\s\p{Z}\p{Cc}+]/u.test(name)) return "holds a space, a control character or a plus sign";
  return undefined;
}

function malformed(line: number, what: string): CortexError {
  return new CortexError("ERR_CHECKPOINT_MALFORMED", `checkpoint, line ${line}: ${what}`, {
    field: `line ${line}`,
  });
}
