/**
 * Which parts of a journal are erased, as a list: (seq, part) in ascending order, each once.
 *
 * It opens every export and backup, and stands as a small JSON document of its own, so that whoever
 * restores an old backup can erase again what was forgotten since. It names places and no content.
 * Kept as one flat array, eight bytes a part, because a store may have forgotten millions.
 *
 * Pure.
 */
import { isCount } from "../codec/cbor-value.js";
import { describe, invalid } from "../errors.js";
import { decodeHeader, splitEntry } from "./entry.js";

/** A place in the journal. */
interface ErasedPart {
  readonly seq: number;
  readonly part: number;
}

/** A list of erased parts. */
export interface ErasureList extends Iterable<ErasedPart> {
  readonly length: number;
  has(seq: number, part: number): boolean;
}

/** A list being gathered. */
export interface ErasureListBuilder {
  /** Adds a place behind all others; false, and nothing added, when it is not behind them. */
  add(seq: number, part: number): boolean;
  end(): ErasureList;
}

/** The list as a document: what `erasures` gives and `restore` takes. */
export interface ErasureDocument {
  readonly cortex: "erasures";
  readonly format: 1;
  readonly actor: string;
  readonly storeId: string;
  /** Number of entries of the journal when it was made. */
  readonly size: number;
  /** Seq and number of each part. */
  readonly erased: readonly (readonly [number, number])[];
}

/** Parts that an entry can have: attachments keep the number in two bytes. */
const PARTS = 2 ** 16;
/** Entries whose parts have a place that is still an exact number. */
const SEQS = 2 ** 37;

/** Starts a list. */
export function gatherErasures(): ErasureListBuilder {
  let places = new Float64Array(16);
  let length = 0;
  return {
    add(seq, part) {
      const place = seq * PARTS + part;
      const last = length === 0 ? -1 : (places[length - 1] ?? -1);
      if (!isPlace(seq, part) || place <= last) return false;
      if (length === places.length) {
        const grown = new Float64Array(length * 2);
        grown.set(places);
        places = grown;
      }
      places[length] = place;
      length += 1;
      return true;
    },
    end: () => listOver(places.slice(0, length)),
  };
}

/** A list without anything. */
export const NO_ERASURES: ErasureList = listOver(new Float64Array(0));

/** Everything that is on one of the lists. */
export function unionErasures(lists: readonly ErasureList[]): ErasureList {
  return lists.reduce((a, b) => (b.length === 0 ? a : a.length === 0 ? b : merged(a, b)));
}

function merged(a: ErasureList, b: ErasureList): ErasureList {
  const places = new Float64Array(a.length + b.length);
  let length = 0;
  for (const { seq, part } of a) places[length++] = seq * PARTS + part;
  for (const { seq, part } of b) places[length++] = seq * PARTS + part;
  places.sort();
  return listOver(places.filter((place, at) => at === 0 || place !== places[at - 1]));
}

function listOver(places: Float64Array): ErasureList {
  return {
    length: places.length,
    has(seq, part) {
      const wanted = seq * PARTS + part;
      let low = 0;
      let high = places.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((places[middle] ?? 0) < wanted) low = middle + 1;
        else high = middle;
      }
      return places[low] === wanted;
    },
    *[Symbol.iterator]() {
      for (const place of places) yield { seq: Math.floor(place / PARTS), part: place % PARTS };
    },
  };
}

/** Numbers of the parts of an entry that are erased: the header names a hash, the row has nothing. */
export function erasedParts(row: Uint8Array): readonly number[] {
  const { headerBytes, parts } = splitEntry(row);
  if (!parts.includes(undefined)) return [];
  const refs = decodeHeader(headerBytes).parts;
  return parts.flatMap((part, at) => (part === undefined && refs[at]?.hash !== null ? [at] : []));
}

/** Reads a list from the document, or the JSON text of one. */
export function parseErasures(input: unknown): ErasureDocument & { readonly list: ErasureList } {
  const value = typeof input === "string" ? parsedJson(input) : input;
  const document = (
    typeof value === "object" && value !== null ? value : {}
  ) as Partial<ErasureDocument>;
  const { cortex, format, actor, storeId, size, erased } = document;
  if (cortex !== "erasures" || format !== 1) {
    throw invalid("erasures", "a list of erasures, format 1", describe(input));
  }
  if (typeof actor !== "string" || typeof storeId !== "string" || !isCount(size)) {
    throw invalid("erasures", "the actor, the store id and the size", describe(input));
  }
  if (!Array.isArray(erased)) throw invalid("erasures.erased", "a list of pairs", erased);
  const list = gatherErasures();
  for (const [at, pair] of (erased as readonly unknown[]).entries()) {
    const [seq, part] = Array.isArray(pair) && pair.length === 2 ? (pair as unknown[]) : [];
    if (isCount(seq) && isCount(part) && seq < size && list.add(seq, part)) continue;
    throw invalid(`erasures.erased[${at}]`, "the seq and the part, in ascending order", pair);
  }
  return { cortex, format, actor, storeId, size, erased, list: list.end() };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPlace(seq: number, part: number): boolean {
  return isCount(seq) && seq < SEQS && isCount(part) && part < PARTS;
}
