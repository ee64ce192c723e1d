/**
 * Reading by meaning: which memories have vectors near a given one.
 *
 * The rows decide (`records/vector-rows.ts`); what is kept in memory is loaded from them at the first question
 * and follows them from there on, whichever process wrote: the cursor row says how far the journal was embedded,
 * and the entries since the last look name the memories that may have changed.
 *
 * Promises: an answer is about the reader's own position. Every memory in it is there, not hidden, and
 * has the vector its distance was computed from, whatever the copy in memory says. Only the present is
 * known: a reader of the past is refused. Nothing is asked of an embedder but by `embedQuery`.
 *
 * Left to others: filling the rows (`embedding/embed.ts`), what a caller may see (`accept`).
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError, describe, invalid } from "../errors.js";
import { withSnapshot } from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { decodeHeadRow } from "../history/head-row.js";
import type { MemoryRow } from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import { keyBytes, keyString, vectorKey } from "../kv/keyspace.js";
import { type Bytes, compareBytes, type Kv, type KvSnapshot } from "../kv/kv.js";
import {
  decodeEmbedCursor,
  decodeVector,
  decodeVectorMemory,
  embedCursorKey,
  modelTag,
  readVector,
} from "../records/vector-rows.js";
import { type Calibration, calibrate, distance, unitVector } from "./distance.js";
import type { CheckedEmbedder } from "./embedder.js";
import { type LoadedParts, type LoadedStatus, LoadedVectors } from "./loaded-vectors.js";
import { purgeVectors } from "./vector-changes.js";
import type { NearText } from "./vector-set.js";

/** Says of memories whether they may be in the answer, in the order of their ids. */
export type Accept = (ids: readonly Bytes[]) => Promise<readonly boolean[]>;

/** A memory and how far it is: 1 - cosine, from 0 to 2. */
interface NearMemory {
  readonly id: Bytes;
  readonly distance: number;
  /** Its row at the reader's position, so that nobody reads it again. */
  readonly row: MemoryRow;
}

/** What an index is made of. */
interface VectorIndexParts extends Omit<LoadedParts, "tag" | "dimensions"> {
  readonly kv: Kv;
  readonly sha256: Sha256;
  /** Without one nothing can be asked; vectors of forgotten memories are still taken away. */
  readonly embedder?: CheckedEmbedder;
}

/** How far the journal was embedded. */
interface EmbedProgress {
  /** Memories that have a vector. */
  readonly memories: number;
  /** The first entry that was not looked at yet. */
  readonly cursor: number;
  /** Entries that were not looked at yet. */
  readonly lag: number;
}

/** Where the vectors of the configured model stand. */
interface VectorStatus extends EmbedProgress {
  readonly model: string;
  readonly dimensions: number;
  /** What this process has in memory; absent until something was asked. */
  readonly loaded?: LoadedStatus;
}

/** Questions whose vectors are kept. */
const QUERIES_KEPT = 64;
/** Texts looked at first for each memory wanted, and how much wider every further look is. */
const WIDTH_FIRST = 4;
const WIDTH_LEAST = 32;
const WIDER = 4;
/** Candidates judged at once beyond those that are wanted. */
const JUDGED_MORE = 8;
/** More than the distances that are searched by are off: numbers of 8 bits by .0006 as a rule, for 384 of them. */
const ROUNDED = 4e-3;

/** See the file header. */
export class VectorIndex {
  readonly #parts: VectorIndexParts;
  readonly #tag: Bytes | undefined;
  readonly #loaded: LoadedVectors | undefined;
  readonly #queries = new Map<string, Float32Array>();
  #calibration: Promise<Calibration> | undefined;

  constructor(parts: VectorIndexParts) {
    const { embedder } = parts;
    this.#parts = parts;
    if (embedder === undefined) return;
    this.#tag = modelTag(parts.sha256, embedder);
    const { dimensions } = embedder;
    this.#loaded = new LoadedVectors({ ...parts, tag: this.#tag, dimensions });
  }

  /** Whether an embedder is configured: without one `near` and `embedQuery` are `ERR_NO_EMBEDDER`. */
  get isConfigured(): boolean {
    return this.#loaded !== undefined;
  }

  /** The tag of the configured model's rows. */
  get tag(): Bytes | undefined {
    return this.#tag;
  }

  /** What the model's cosines mean; measured when first asked, and again if that failed. */
  calibration(): Promise<Calibration> {
    const { embedder } = this.#configured();
    this.#calibration ??= calibrate(embedder).catch((error: unknown) => {
      this.#calibration = undefined;
      throw error;
    });
    return this.#calibration;
  }

  /** How many texts there are, and the cosine that is usual between them and a vector. */
  among(vector: Float32Array): { readonly texts: number; readonly usual?: number } {
    const usual = this.#loaded?.usualCosine(vector);
    const texts = this.#loaded?.status()?.texts ?? 0;
    return usual === undefined ? { texts } : { texts, usual };
  }

  /**
   * The `k` memories nearest to a vector, nearest first, ties by id. Without `accept` they are active
   * ones; with it, archived ones are put before `accept` as well. Erased and hidden ones never are.
   */
  async near(
    reader: Reader,
    vector: Float32Array,
    k: number,
    accept?: Accept,
  ): Promise<readonly NearMemory[]> {
    const { embedder, tag, loaded } = this.#configured();
    if (!reader.live) throw presentOnly();
    const query = checkQuery(vector, embedder.dimensions);
    const row = await loaded.follow(reader.whole.snapshot, reader.head.size);
    const judge = new Judge({ reader, tag, query, accept, k });
    // A look at sketches finds nearly all, and how near it comes would depend on memories that are not seen.
    // So whoever does not see everything has every vector compared.
    const each = reader.seen !== undefined;
    for (let width = Math.max(WIDTH_LEAST, WIDTH_FIRST * k); ; width *= WIDER) {
      const { texts, all, comparedAll } = loaded.search(query, width, each);
      // What sketches found is nearly exact at best: no need to tell ties apart by further rows.
      const isCurrent = (): boolean => !each && loaded.isAt(row);
      const isSettled = await judge.lookInOrder(texts, comparedAll ? ROUNDED : 0, isCurrent);
      if (isSettled || all) return judge.nearest;
    }
  }

  /** The vector of a memory, if it has one of the configured model at the reader's position. */
  async vectorOf(reader: Reader, id: Bytes): Promise<Float32Array | undefined> {
    const tag = this.#tag;
    const dimensions = this.#parts.embedder?.dimensions;
    if (tag === undefined || dimensions === undefined) return undefined;
    const [row] = await reader.getMany([vectorKey("vectorMemory", tag, id)]);
    if (row === undefined) return undefined;
    const { hash } = decodeVectorMemory(row);
    const [vector] = await reader.getMany([vectorKey("vector", tag, hash)]);
    return vector === undefined ? undefined : decodeVector(vector, dimensions);
  }

  /** The vector of a question; the last few are kept. */
  async embedQuery(text: string, signal?: AbortSignal): Promise<Float32Array> {
    const { embedder } = this.#configured();
    const known = this.#queries.get(text);
    const vector = known ?? (await embedder.embedQuery(text, signal));
    // Put back at the end: the one that was asked for longest ago goes first.
    this.#queries.delete(text);
    this.#queries.set(text, vector);
    const [oldest] = this.#queries.keys();
    if (this.#queries.size > QUERIES_KEPT && oldest !== undefined) this.#queries.delete(oldest);
    return vector;
  }

  /** Where the configured model stands; `undefined` when none is configured. */
  async status(): Promise<VectorStatus | undefined> {
    const { embedder } = this.#parts;
    if (embedder === undefined) return undefined;
    const { model, dimensions } = embedder;
    const loaded = this.#loaded?.status();
    const progress = await this.progress();
    return { model, dimensions, ...progress, ...(loaded === undefined ? {} : { loaded }) };
  }

  /** How far the journal was embedded. */
  progress(): Promise<EmbedProgress> {
    return withSnapshot(this.#parts.kv, async (snapshot) =>
      this.progressAt(snapshot, decodeHeadRow(await headBytesAt(snapshot)).size),
    );
  }

  /** The same in a snapshot whose journal has `size` entries. */
  async progressAt(snapshot: KvSnapshot, size: number): Promise<EmbedProgress> {
    const [row] = await snapshot.getMany([embedCursorKey(this.#configured().tag)]);
    const known = row === undefined ? undefined : decodeEmbedCursor(row);
    const cursor = Math.min(known?.seq ?? 0, size);
    return { memories: known?.memories ?? 0, cursor, lag: size - cursor };
  }

  /** Takes away the vectors of memories that were forgotten, of every model the store has. */
  async purge(ids: readonly Bytes[]): Promise<number> {
    return (await purgeVectors(this.#parts.kv, ids)).memories;
  }

  #configured(): {
    readonly embedder: CheckedEmbedder;
    readonly tag: Bytes;
    readonly loaded: LoadedVectors;
  } {
    const { embedder } = this.#parts;
    if (embedder === undefined || this.#tag === undefined || this.#loaded === undefined) {
      throw noEmbedder();
    }
    return { embedder, tag: this.#tag, loaded: this.#loaded };
  }
}

/** The failure of whoever needs an embedder where none is configured. */
export function noEmbedder(): CortexError {
  return new CortexError(
    "ERR_NO_EMBEDDER",
    "embedder: expected one, got none; give open() an embedder, or set embedder.endpoint",
    { field: "embedder" },
  );
}

function presentOnly(): CortexError {
  return new CortexError("ERR_AS_OF", "near: vectors know the present only; leave asOf out", {
    field: "asOf",
  });
}

function checkQuery(vector: unknown, dimensions: number): Float32Array {
  if (!(vector instanceof Float32Array) || vector.length !== dimensions) {
    const got = vector instanceof Float32Array ? `${vector.length} numbers` : describe(vector);
    throw invalid("vector", `a Float32Array of ${dimensions} numbers`, got);
  }
  const unit = unitVector(vector);
  if (unit === undefined) throw invalid("vector", "finite numbers that are not all zero", vector);
  return unit;
}

/** What candidates are judged by. */
interface JudgeParts {
  readonly reader: Reader;
  readonly tag: Bytes;
  readonly query: Float32Array;
  readonly accept: Accept | undefined;
  /** How many are wanted. */
  readonly k: number;
}

/** A memory that may be near, and the hash of its text where that is sure; both are key strings. */
interface Candidate {
  readonly id: string;
  readonly hash: string | undefined;
}

/** Looks candidates up at the reader's position and keeps the nearest that may be in the answer. */
class Judge {
  readonly #about: JudgeParts;
  readonly #seen = new Set<string>();
  #nearest: NearMemory[] = [];

  constructor(about: JudgeParts) {
    this.#about = about;
  }

  /** The `k` nearest so far, nearest first; ties by id. */
  get nearest(): readonly NearMemory[] {
    return this.#nearest;
  }

  /**
   * Judges candidates, nearest first, until nothing that follows can be among the `k` nearest; false
   * when it may. Distances in memory are rounded, and equals are ordered by id, so the last place is
   * settled only when the next candidate is farther by more than they are `rounded` by. `isCurrent` says whether
   * memories have the texts that the copy in memory says now; it may go on while rows are read.
   */
  async lookInOrder(
    texts: Iterable<NearText>,
    rounded: number,
    isCurrent: () => boolean,
  ): Promise<boolean> {
    const { k } = this.#about;
    const step = k + JUDGED_MORE;
    let some: Candidate[] = [];
    let isSure = isCurrent();
    for (const { ids, hash, distance: far } of texts) {
      for (const id of ids) {
        if (some.length === step) {
          await this.#look(some);
          const last = this.#nearest[k - 1];
          if (last !== undefined && far > last.distance + rounded) return true;
          some = [];
          isSure = isCurrent();
        }
        some.push({ id, hash: isSure ? hash : undefined });
      }
    }
    await this.#look(some);
    return false;
  }

  /** Judges those that were not judged before. */
  async #look(candidates: readonly Candidate[]): Promise<void> {
    const { reader, accept, k } = this.#about;
    const fresh = candidates.filter(({ id }) => !this.#seen.has(id));
    for (const { id } of fresh) this.#seen.add(id);
    if (fresh.length === 0) return;
    const ids = fresh.map(({ id }) => keyBytes(id));
    const rows = reader.isAtHand
      ? ids.map((id) => reader.rowNow(id))
      : await reader.memoryRows(ids);
    const there: (Candidate & Pick<NearMemory, "row"> & { readonly bytes: Bytes })[] = [];
    for (const [at, { id, hash }] of fresh.entries()) {
      const row = rows[at];
      const isThere =
        row?.lifecycle === "active" || (row?.lifecycle === "archived" && accept !== undefined);
      if (row !== undefined && isThere) there.push({ id, hash, row, bytes: ids[at] as Bytes });
    }
    const verdicts = await accept?.(there.map(({ bytes }) => bytes));
    const judged = verdicts === undefined ? there : there.filter((_, at) => verdicts[at] === true);
    const distances = await this.#distancesOf(judged);
    for (const [at, { bytes: id, row }] of judged.entries()) {
      const far = distances[at];
      if (far !== undefined) this.#nearest.push({ id, row, distance: far });
    }
    // No more are kept than are wanted: many may say the same, and all of them are judged.
    this.#nearest = this.#nearest
      .sort((a, b) => a.distance - b.distance || compareBytes(a.id, b.id))
      .slice(0, k);
  }

  /** How far candidates are, the vector of each text read once; `undefined` where there is none. */
  async #distancesOf(
    candidates: readonly (Candidate & { readonly bytes: Bytes })[],
  ): Promise<readonly (number | undefined)[]> {
    const { reader, tag } = this.#about;
    const unsure = candidates.filter(({ hash }) => hash === undefined);
    const own = await reader.getMany(
      unsure.map(({ bytes }) => vectorKey("vectorMemory", tag, bytes)),
    );
    let next = 0;
    const hashes = candidates.map(({ hash }) => {
      if (hash !== undefined) return hash;
      const row = own[next++];
      return row === undefined ? undefined : keyString(decodeVectorMemory(row).hash);
    });
    const places = new Map<string, number>();
    for (const hash of hashes) {
      if (hash !== undefined && !places.has(hash)) places.set(hash, places.size);
    }
    const keys = [...places.keys()].map((hash) => vectorKey("vector", tag, keyBytes(hash)));
    const distances = await this.#distancesAt(keys);
    return hashes.map((hash) => (hash === undefined ? hash : distances[places.get(hash) ?? -1]));
  }

  /** How far the vectors in rows are; where one can be seen where it stands, it is not copied. */
  async #distancesAt(keys: readonly Bytes[]): Promise<readonly (number | undefined)[]> {
    const { reader, query } = this.#about;
    const { snapshot } = reader;
    const vector = new Float32Array(query.length);
    const far = (row: Bytes): number => {
      readVector(row, vector);
      return distance(query, vector);
    };
    if (snapshot.lookNow !== undefined) return keys.map((key) => snapshot.lookNow?.(key, far));
    const rows = await reader.getMany(keys);
    return rows.map((row) => (row === undefined ? undefined : far(row)));
  }
}
