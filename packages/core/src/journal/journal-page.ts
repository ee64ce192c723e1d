/**
 * A page of a journal on its way from one store to another: entries as their rows hold them, and what
 * is needed to check that they belong to the history that a checkpoint states.
 *
 * The document is plain JSON, so that every door can send it: rows in base64, hashes in hex. Reading is
 * strict about the form and believes nothing else; what the bytes say is judged by
 * `history/replica-writer.ts`.
 */
import { HASH_BYTES } from "../codec/hash.js";
import { fromHex, toHex } from "../codec/keys.js";
import { invalid } from "../errors.js";

/** A page as doors send it. */
export interface JournalPage {
  /** The first seq of the page; the end of the journal when it has no entries. */
  readonly from: number;
  /** The root of the journal before the page, in hex. */
  readonly fromRoot: string;
  /** Rows of entries, in base64; parts that were erased are not in them. Never half a batch. */
  readonly entries: readonly string[];
  /** Hashes in hex which show that the journal up to the end of the page extends to the checkpoint. */
  readonly consistency: readonly string[];
  /** The checkpoint of the present, as text. */
  readonly checkpoint: string;
  /** Grows when the store is restored from a backup. */
  readonly epoch: number;
  /** The last seq of the journal. */
  readonly seq: number;
}

/** A page as bytes. */
export interface PageBytes {
  readonly from: number;
  readonly fromRoot: Uint8Array;
  readonly rows: readonly Uint8Array[];
  readonly consistency: readonly Uint8Array[];
  readonly checkpoint: string;
  readonly epoch: number;
}

/** The document of a page. */
export function sealPage(page: PageBytes & { readonly seq: number }): JournalPage {
  return {
    from: page.from,
    fromRoot: toHex(page.fromRoot),
    entries: page.rows.map(toText),
    consistency: page.consistency.map(toHex),
    checkpoint: page.checkpoint,
    epoch: page.epoch,
    seq: page.seq,
  };
}

/** Reads the document of a page; anything else is `ERR_EXPORT_MALFORMED`. */
export function readPage(document: unknown): PageBytes {
  if (typeof document !== "object" || document === null) throw bad("page", "an object", document);
  const page = document as { readonly [name in keyof JournalPage]?: unknown };
  const { checkpoint } = page;
  if (typeof checkpoint !== "string") throw bad("page.checkpoint", "a text", checkpoint);
  return {
    from: count(page.from, "page.from"),
    fromRoot: hash(page.fromRoot, "page.fromRoot"),
    rows: texts(page.entries, "page.entries").map(fromText),
    consistency: texts(page.consistency, "page.consistency").map((one, at) =>
      hash(one, `page.consistency[${at}]`),
    ),
    checkpoint,
    epoch: count(page.epoch, "page.epoch"),
  };
}

/** The platform's own base64: pages are megabytes, and every byte of a row is checked afterwards. */
function toText(row: Uint8Array): string {
  return Buffer.from(row.buffer, row.byteOffset, row.length).toString("base64");
}

function fromText(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

function count(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw bad(field, "an integer of at least 0", value);
}

function hash(value: unknown, field: string): Uint8Array {
  const bytes = typeof value === "string" ? fromHex(value) : undefined;
  if (bytes?.length === HASH_BYTES) return bytes;
  throw bad(field, `${HASH_BYTES} bytes in hex`, value);
}

function texts(value: unknown, field: string): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw bad(field, "a list of texts", value);
}

function bad(field: string, expected: string, got: unknown) {
  return invalid(field, expected, got, "ERR_EXPORT_MALFORMED");
}
