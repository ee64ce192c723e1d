/**
 * The vectors of one model as a process has them in memory: loaded from the rows at the first question, and kept
 * up with them, whichever process wrote. How they are searched is left to `vector-set.ts`.
 */
import { scanPages } from "../history/reader.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { journalKey, keyString, vectorKey } from "../kv/keyspace.js";
import { type Bytes, type KvSnapshot, sameBytes } from "../kv/kv.js";
import {
  decodeEmbedCursor,
  decodeVector,
  decodeVectorMemory,
  embedCursorKey,
  idOfKey,
} from "../records/vector-rows.js";
import { type Found, VectorSet } from "./vector-set.js";

/** What loading needs. */
export interface LoadedParts {
  readonly tag: Bytes;
  readonly dimensions: number;
  /** Lets everybody else have a turn. */
  readonly turn: () => Promise<void>;
}

/** What a process has in memory. */
export interface LoadedStatus {
  readonly memories: number;
  /** Distinct texts. */
  readonly texts: number;
}

/** Entries beyond the cursor that are looked at as well: a pass that failed half-way left rows. */
export const PAGE_ENTRIES = 256;
/** Entries after which loading anew is quicker than following. */
const FOLLOWED_ENTRIES = 50_000;
/** Rows read at once. */
const ROWS = 500;
/** Slots without owners from which on a set is loaded anew: so many, and so large a share. */
const HOLES = 1000;
const HOLES_SHARE = 0.3;

interface State {
  readonly set: VectorSet;
  /** The first entry that was not followed yet. */
  position: number;
  /** The cursor row that was followed last. */
  row: Bytes;
}

const NOTHING_FOUND: Found = { texts: [], all: true, comparedAll: true };

/** See the file header. */
export class LoadedVectors {
  readonly #parts: LoadedParts;
  #state: State | undefined;
  /** One follower at a time. */
  #following: Promise<void> = Promise.resolve();

  constructor(parts: LoadedParts) {
    this.#parts = parts;
  }

  status(): LoadedStatus | undefined {
    const set = this.#state?.set;
    if (set === undefined) return undefined;
    return { memories: set.memories, texts: set.slots - set.holes };
  }

  /** About the `most` nearest texts; `each` compares every vector. */
  search(query: Float32Array, most: number, each: boolean): Found {
    return this.#state?.set.search(query, most, each) ?? NOTHING_FOUND;
  }

  usualCosine(query: Float32Array): number | undefined {
    return this.#state?.set.usualCosine(query);
  }

  /** Catches up with a snapshot whose journal has `size` entries; gives the cursor row that it has. */
  follow(snapshot: KvSnapshot, size: number): Promise<Bytes | undefined> {
    const next = this.#following.then(() => this.#follow(snapshot, size));
    // The next follower must not fail because this one did.
    this.#following = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  /**
   * Whether this is what the rows say in every snapshot with that cursor row: whoever changes a row of a model changes
   * its cursor row as well. Another follower may have gone on since.
   */
  isAt(row: Bytes | undefined): boolean {
    const known = this.#state?.row;
    return row !== undefined && known !== undefined && sameBytes(known, row);
  }

  async #follow(snapshot: KvSnapshot, size: number): Promise<Bytes | undefined> {
    const [row] = await snapshot.getMany([embedCursorKey(this.#parts.tag)]);
    if (row === undefined) {
      this.#state = undefined;
      return row;
    }
    const known = this.#state;
    if (known !== undefined && sameBytes(known.row, row)) return row;
    const cursor = decodeEmbedCursor(row);
    const isBehind = known !== undefined && cursor.seq < known.position;
    const isFar = known !== undefined && cursor.seq - known.position > FOLLOWED_ENTRIES;
    if (known === undefined || isBehind || isFar || isHollow(known.set)) {
      this.#state = await this.#load(snapshot, row, cursor.seq);
    } else {
      const end = Math.min(size, cursor.seq + PAGE_ENTRIES);
      await this.#update(snapshot, known.set, known.position, end);
      known.position = cursor.seq;
      known.row = row;
    }
    return row;
  }

  async #load(snapshot: KvSnapshot, row: Bytes, position: number): Promise<State> {
    const { tag, dimensions } = this.#parts;
    const set = new VectorSet(dimensions);
    for await (const rows of this.#pages(snapshot, vectorKey("vector", tag))) {
      for (const { key, value } of rows) {
        set.add(keyString(key.subarray(9)), decodeVector(value, dimensions));
      }
    }
    for await (const rows of this.#pages(snapshot, vectorKey("vectorMemory", tag))) {
      await this.#link(
        snapshot,
        set,
        rows.map(({ key, value }) => linkOf(idOfKey(key), value)),
      );
    }
    return { set, position, row };
  }

  /** The rows of a prefix by the page, with turns for everybody else in between. */
  async *#pages(snapshot: KvSnapshot, prefix: Bytes): ReturnType<typeof scanPages> {
    for await (const rows of scanPages(snapshot, prefix, ROWS)) {
      yield rows;
      await this.#parts.turn();
    }
  }

  /** Links memories to their texts, reading the vectors that are not here yet. */
  async #link(snapshot: KvSnapshot, set: VectorSet, links: readonly Link[]): Promise<void> {
    const { tag, dimensions } = this.#parts;
    const missing = new Map<string, Bytes>();
    for (const { name, hash } of links) if (!set.has(name)) missing.set(name, hash);
    const hashes = [...missing];
    const rows =
      hashes.length === 0
        ? []
        : await snapshot.getMany(hashes.map(([, hash]) => vectorKey("vector", tag, hash)));
    for (const [at, [name]] of hashes.entries()) {
      const vector = rows[at];
      if (vector === undefined) continue;
      set.add(name, decodeVector(vector, dimensions));
      missing.delete(name);
    }
    for (const { id, name } of links) {
      if (missing.has(name)) set.unlink(id);
      else set.link(id, name);
    }
  }

  /** Looks again at the memories that entries touched. */
  async #update(snapshot: KvSnapshot, set: VectorSet, from: number, to: number): Promise<void> {
    for (let seq = from; seq < to; seq += ROWS) {
      const end = Math.min(seq + ROWS, to);
      const range = { gte: journalKey(seq), lt: journalKey(end), limit: ROWS };
      const [entries = []] = await snapshot.ranges([range]);
      const ids = new Map(entries.flatMap(({ value }) => memoriesOf(value)).map(named));
      await this.#relink(snapshot, set, [...ids.values()]);
      await this.#parts.turn();
    }
  }

  async #relink(snapshot: KvSnapshot, set: VectorSet, ids: readonly Bytes[]): Promise<void> {
    const { tag } = this.#parts;
    const rows = await snapshot.getMany(ids.map((id) => vectorKey("vectorMemory", tag, id)));
    const links: Link[] = [];
    for (const [at, id] of ids.entries()) {
      const row = rows[at];
      if (row === undefined) set.unlink(keyString(id));
      else links.push(linkOf(id, row));
    }
    await this.#link(snapshot, set, links);
  }
}

/** Which text a memory has; both are named by key strings. */
interface Link {
  readonly id: string;
  readonly name: string;
  readonly hash: Bytes;
}

function linkOf(id: Bytes, row: Bytes): Link {
  const { hash } = decodeVectorMemory(row);
  return { id: keyString(id), name: keyString(hash), hash };
}

function isHollow(set: VectorSet): boolean {
  return set.holes > HOLES && set.holes > HOLES_SHARE * set.slots;
}

function named(id: Bytes): readonly [string, Bytes] {
  return [keyString(id), id];
}

/** The memories that an entry speaks of. */
export function memoriesOf(entry: Bytes): readonly Bytes[] {
  const { parts } = decodeHeader(splitEntry(entry).headerBytes);
  return parts.flatMap(({ subject }) => (subject[0] === SUBJECT.memory ? [subject.slice(1)] : []));
}
