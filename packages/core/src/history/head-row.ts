/**
 * The head row: where the journal stands, which format and fold wrote the store, how much it holds.
 *
 * Every commit compares it, so a writer of an older release can never write over a newer one, and no
 * commit can land on a state it has not seen. Counts are kept here because the row is rewritten by
 * every commit anyway.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import { CortexError } from "../errors.js";
import { sameBytes } from "../kv/kv.js";

/** The format of entries, parts and hashes this release writes. */
export const FORMAT = 1;

/** The version of the fold: exact keys are byte-identical per fold version. */
export const FOLD_VERSION = 1;

/** How much a store holds. */
export interface Counts {
  readonly active: number;
  readonly archived: number;
  readonly tombstoned: number;
  readonly erased: number;
  readonly edgesLive: number;
  readonly edgesRemoved: number;
  readonly openEdgeKinds: number;
}

/** The head row, read. */
export interface HeadRow {
  readonly format: number;
  readonly foldVersion: number;
  /** Number of entries; the seq of the next one. */
  readonly size: number;
  /** Time of the last entry. */
  readonly at: number;
  /** Grows when a store is restored from a backup. */
  readonly epoch: number;
  readonly counts: Counts;
}

/** The head of a store that is not born yet. */
export const UNBORN: HeadRow = {
  format: FORMAT,
  foldVersion: FOLD_VERSION,
  size: 0,
  at: 0,
  epoch: 0,
  counts: {
    active: 0,
    archived: 0,
    tombstoned: 0,
    erased: 0,
    edgesLive: 0,
    edgesRemoved: 0,
    openEdgeKinds: 0,
  },
};

/** The bytes of a head row. */
export function encodeHeadRow(head: HeadRow): Uint8Array {
  const c = head.counts;
  return encode([
    head.format,
    head.foldVersion,
    head.size,
    head.at,
    head.epoch,
    [c.active, c.archived, c.tombstoned, c.erased, c.edgesLive, c.edgesRemoved, c.openEdgeKinds],
  ]);
}

/**
 * Reads a head row. A store of a newer release, or of an older one that needs an upgrade, is refused
 * before anything else is looked at; `undefined` is a store not yet born.
 */
export function decodeHeadRow(bytes: Uint8Array | undefined): HeadRow {
  const head = decodeAnyHeadRow(bytes);
  const { format, foldVersion } = head;
  if (format === FORMAT && foldVersion === FOLD_VERSION) return head;
  throw new CortexError(
    "ERR_FORMAT_OLDER",
    `store format ${format}, fold ${foldVersion}: expected ${FORMAT} and ${FOLD_VERSION}; ` +
      "run `cortex upgrade`, which makes a backup first",
    { expected: `${FORMAT}/${FOLD_VERSION}`, got: `${format}/${foldVersion}` },
  );
}

/** Reads the head row of this release or an older one: for whoever upgrades a store. */
export function decodeAnyHeadRow(bytes: Uint8Array | undefined): HeadRow {
  if (bytes === undefined) return UNBORN;
  if (lastRead !== undefined && sameBytes(lastRead.bytes, bytes)) return lastRead.head;
  const head = readHeadRow(bytes);
  lastRead = { bytes: bytes.slice(), head };
  return head;
}

/** Entries that a head row counts; not a number where this release cannot read it. */
export function sizeIn(bytes: Uint8Array): number {
  try {
    return decodeAnyHeadRow(bytes).size;
  } catch {
    // Whoever reads the store is told why.
    return Number.NaN;
  }
}

/** The row read last: every read of a store starts with it, and mostly it has not changed. */
let lastRead: { readonly bytes: Uint8Array; readonly head: HeadRow } | undefined;

function readHeadRow(bytes: Uint8Array): HeadRow {
  const row = readList(decode(bytes));
  const format = readIntegerOr(row[0], 0);
  const foldVersion = readIntegerOr(row[1], 0);
  if (format > FORMAT || foldVersion > FOLD_VERSION) {
    throw new CortexError(
      "ERR_FORMAT_NEWER",
      `store format ${format}, fold ${foldVersion}: expected at most ${FORMAT} and ${FOLD_VERSION}; ` +
        "a newer release wrote this store, nothing was touched; open it with that release or a later one",
      { expected: `${FORMAT}/${FOLD_VERSION}`, got: `${format}/${foldVersion}` },
    );
  }
  const counts = readList(row[5]).map((count) => readIntegerOr(count, 0));
  const [active, archived, tombstoned, erased, edgesLive, edgesRemoved, openEdgeKinds] = counts;
  return {
    format,
    foldVersion,
    size: readIntegerOr(row[2], 0),
    at: readIntegerOr(row[3], 0),
    epoch: readIntegerOr(row[4], 0),
    counts: {
      active: active ?? 0,
      archived: archived ?? 0,
      tombstoned: tombstoned ?? 0,
      erased: erased ?? 0,
      edgesLive: edgesLive ?? 0,
      edgesRemoved: edgesRemoved ?? 0,
      openEdgeKinds: openEdgeKinds ?? 0,
    },
  };
}
