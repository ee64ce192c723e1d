/**
 * The vectors of one model as a process has them in memory: loaded from the rows, kept up with them,
 * grown into a graph, and kept in a file for the next process.
 *
 * A file is a shortcut, never a truth. It names the texts of its graph by their hashes, so one that is
 * behind is still right as far as it goes. It must not outlive a forget: it carries the number of
 * memories that had been forgotten when its graph was begun, and one that carries another number than
 * the store has now is thrown away. A graph that saw a forget is not written any more; the next
 * process grows a new one from the rows.
 *
 * Growing happens in slices between which everybody else gets a turn; failures of the graph library
 * end the growing, and from then on every vector is looked at.
 */
import { withSnapshot } from "../history/build-beside.js";
import { scan } from "../history/reader.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { journalKey, keyString, vectorKey } from "../kv/keyspace.js";
import { type Bytes, type Kv, type KvSnapshot, sameBytes } from "../kv/kv.js";
import {
  decodeEmbedCursor,
  decodeVector,
  decodeVectorMemory,
  embedCursorKey,
  idOfKey,
} from "../records/vector-rows.js";
import type { GraphMaker } from "./usearch-graph.js";
import { type Found, type KeptGraph, NO_HASH, VectorSet } from "./vector-set.js";

/** What identifies a kept graph. */
export interface KeptGraphName {
  readonly tag: Bytes;
  readonly dimensions: number;
  /** Memories that had been forgotten when it was begun. */
  readonly purged: number;
}

/** Keeps graphs in files beside a store; everything in them can be made again. */
export interface VectorFiles {
  /** The file of a graph that is whole and still allowed, with the texts of its slots. */
  find(
    name: KeptGraphName,
  ): Promise<{ readonly path: string; readonly hashes: readonly string[] } | undefined>;
  /** Keeps a graph instead of the one before; `write` writes it to the path it is given. */
  keep(
    name: KeptGraphName,
    hashes: readonly string[],
    write: (path: string) => void,
  ): Promise<void>;
  /** Removes every file, of every model. */
  removeAll(): Promise<void>;
}

/** What loading needs. */
export interface LoadedParts {
  readonly kv: Kv;
  readonly tag: Bytes;
  readonly dimensions: number;
  /** Lets everybody else have a turn. */
  readonly turn: () => Promise<void>;
  /** The graph library, if there is one; asked for when a graph is due. */
  readonly graphs: () => Promise<GraphMaker | undefined>;
  readonly files?: VectorFiles;
  /** Texts up to which every vector is looked at. */
  readonly exactUpTo?: number;
}

/** What a process has in memory. */
export interface LoadedStatus {
  readonly memories: number;
  /** Distinct texts. */
  readonly texts: number;
  /** Of them, those that the graph holds. */
  readonly graphed: number;
}

/** Up to here looking at every vector takes a few milliseconds. */
const EXACT_UP_TO = 10_000;
/** Texts outside a graph that are worth growing it for. */
const TAIL = 1024;
/** Vectors that a graph is given between two turns of everybody else: some twenty milliseconds. */
const SLICE = 64;
/** Entries beyond the cursor that are looked at as well: a pass that failed half-way left rows. */
export const PAGE_ENTRIES = 256;
/** Entries after which loading anew is quicker than following. */
const FOLLOWED_ENTRIES = 50_000;
/** Rows read at once. */
const ROWS = 500;
/** Slots without owners from which on a set is loaded anew: so many, and so large a share. */
const HOLES = 1000;
const HOLES_SHARE = 0.3;
/** A graph is written again when it has grown by this share. */
const GROWN_SHARE = 0.05;

interface State {
  readonly set: VectorSet;
  /** The first entry that was not followed yet. */
  position: number;
  /** The cursor row that was followed last. */
  row: Bytes;
  /** Memories that had been forgotten when the set was loaded. */
  readonly purged: number;
  /** Slots that the kept file has. */
  written: number;
}

/** See the file header. */
export class LoadedVectors {
  readonly #parts: LoadedParts;
  #state: State | undefined;
  /** One follower at a time. */
  #following: Promise<void> = Promise.resolve();
  #growing: Promise<void> | undefined;
  #graphs: Promise<GraphMaker | undefined> | undefined;
  #isClosed = false;

  constructor(parts: LoadedParts) {
    this.#parts = parts;
  }

  /** Whether part of the vectors is searched by a graph, so that a wider search costs more. */
  get hasGraph(): boolean {
    return (this.#state?.set.graphed ?? 0) > 0;
  }

  status(): LoadedStatus | undefined {
    const set = this.#state?.set;
    if (set === undefined) return undefined;
    return { memories: set.memories, texts: set.slots - set.holes, graphed: set.graphed };
  }

  search(query: Float32Array, most: number): Found {
    return this.#state?.set.search(query, most) ?? { texts: [], all: true };
  }

  usualCosine(query: Float32Array): number | undefined {
    return this.#state?.set.usualCosine(query);
  }

  /** Catches up with a snapshot whose journal has `size` entries. */
  follow(snapshot: KvSnapshot, size: number): Promise<void> {
    const next = this.#following.then(() => this.#follow(snapshot, size));
    // The next follower must not fail because this one did.
    this.#following = next.catch(() => {});
    return next;
  }

  /** Resolves when nothing is left to grow. */
  async grown(): Promise<void> {
    while (this.#growing !== undefined) await this.#growing;
  }

  /** Ends the growing and keeps what there is. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#growing;
    await this.#tryToKeep();
  }

  async #follow(snapshot: KvSnapshot, size: number): Promise<void> {
    const [row] = await snapshot.getMany([embedCursorKey(this.#parts.tag)]);
    if (row === undefined) {
      this.#state = undefined;
      return;
    }
    const known = this.#state;
    if (known !== undefined && sameBytes(known.row, row)) return;
    const cursor = decodeEmbedCursor(row);
    const isBehind = known !== undefined && cursor.seq < known.position;
    const isFar = known !== undefined && cursor.seq - known.position > FOLLOWED_ENTRIES;
    if (known === undefined || isBehind || isFar || isHollow(known.set)) {
      this.#state = await this.#load(snapshot, cursor.purged, row, cursor.seq);
    } else {
      const end = Math.min(size, cursor.seq + PAGE_ENTRIES);
      await this.#update(snapshot, known.set, known.position, end);
      known.position = cursor.seq;
      known.row = row;
    }
    this.#growInBackground();
  }

  async #load(snapshot: KvSnapshot, purged: number, row: Bytes, position: number): Promise<State> {
    const { tag, dimensions } = this.#parts;
    const kept = await this.#find(purged);
    const set = new VectorSet(dimensions, kept);
    if (kept === undefined) {
      for await (const { key, value } of this.#rows(snapshot, vectorKey("vector", tag))) {
        set.add(keyString(key.subarray(9)), decodeVector(value, dimensions));
      }
    }
    let links: Link[] = [];
    for await (const { key, value } of this.#rows(snapshot, vectorKey("vectorMemory", tag))) {
      links.push({ id: keyString(idOfKey(key)), hash: decodeVectorMemory(value).hash });
      if (links.length < ROWS) continue;
      await this.#link(snapshot, set, links);
      links = [];
    }
    await this.#link(snapshot, set, links);
    return { set, position, row, purged, written: kept?.hashes.length ?? 0 };
  }

  /** The rows of a prefix, with turns for everybody else in between. */
  async *#rows(snapshot: KvSnapshot, prefix: Bytes): ReturnType<typeof scan> {
    let count = 0;
    for await (const row of scan(snapshot, prefix, ROWS)) {
      yield row;
      count += 1;
      if (count % ROWS === 0) await this.#parts.turn();
    }
  }

  /** Links memories to their texts, reading the vectors that are not here yet. */
  async #link(snapshot: KvSnapshot, set: VectorSet, links: readonly Link[]): Promise<void> {
    const { tag, dimensions } = this.#parts;
    const missing = new Map<string, Bytes>();
    for (const { hash } of links) {
      if (!set.has(keyString(hash))) missing.set(keyString(hash), hash);
    }
    const hashes = [...missing.values()];
    const rows = await snapshot.getMany(hashes.map((hash) => vectorKey("vector", tag, hash)));
    for (const [at, hash] of hashes.entries()) {
      const vector = rows[at];
      if (vector !== undefined) set.add(keyString(hash), decodeVector(vector, dimensions));
    }
    for (const { id, hash } of links) {
      if (set.has(keyString(hash))) set.link(id, keyString(hash));
      else set.unlink(id);
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
      else links.push({ id: keyString(id), hash: decodeVectorMemory(row).hash });
    }
    await this.#link(snapshot, set, links);
  }

  #growInBackground(): void {
    const set = this.#state?.set;
    const { exactUpTo = EXACT_UP_TO } = this.#parts;
    if (set === undefined || this.#growing !== undefined || this.#isClosed) return;
    if (set.waiting <= (set.graphed > 0 ? TAIL : exactUpTo)) return;
    this.#growing = this.#grow(set)
      .catch(() => {
        // Without a graph every vector is looked at: load them all again, and ask for no other.
        this.#graphs = Promise.resolve(undefined);
        this.#state = undefined;
      })
      .finally(() => {
        this.#growing = undefined;
      });
  }

  async #grow(set: VectorSet): Promise<void> {
    const maker = await this.#maker();
    if (maker === undefined) return;
    while (set.waiting > 0 && !this.#isClosed && this.#state?.set === set) {
      set.grow(SLICE, () => maker.create(set.dimensions));
      await this.#parts.turn();
    }
    if (!this.#isClosed && this.#state?.set === set) await this.#tryToKeep();
  }

  #maker(): Promise<GraphMaker | undefined> {
    this.#graphs ??= this.#parts.graphs();
    return this.#graphs;
  }

  /** The graph that an earlier process kept, if there is one that may be used. */
  async #find(purged: number): Promise<KeptGraph | undefined> {
    const { files, tag, dimensions } = this.#parts;
    const file = await files?.find({ tag, dimensions, purged });
    const maker = file === undefined ? undefined : await this.#maker();
    if (file === undefined || maker === undefined) return undefined;
    try {
      const graph = maker.load(dimensions, file.path);
      const given = file.hashes.filter((hash) => hash !== NO_HASH).length;
      return graph.size === given ? { graph, hashes: file.hashes } : undefined;
    } catch {
      // Another process may have removed it at this moment; the rows have everything.
      return undefined;
    }
  }

  /** Keeps the graph if that is possible: whoever comes next can grow it again. */
  async #tryToKeep(): Promise<void> {
    try {
      await this.#keep();
    } catch {
      // The store may be closed, or the library may refuse: nothing that anybody waits for.
    }
  }

  /** Writes the graph, unless the file is about as good, or something in it was forgotten. */
  async #keep(): Promise<void> {
    const { files, tag, dimensions, kv } = this.#parts;
    const state = this.#state;
    const kept = state?.set.kept();
    if (files === undefined || state === undefined || kept === undefined) return;
    if (kept.hashes.length - state.written <= GROWN_SHARE * state.written) return;
    const name = { tag, dimensions, purged: state.purged };
    const isAllowed = async (): Promise<boolean> => (await purgedNow(kv, tag)) === state.purged;
    if (!(await isAllowed())) return;
    await files.keep(name, kept.hashes, (path) => kept.graph.save(path));
    state.written = kept.hashes.length;
    // Somebody may have forgotten a memory while the file was written.
    if (!(await isAllowed())) await files.removeAll();
  }
}

interface Link {
  readonly id: string;
  readonly hash: Bytes;
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

async function purgedNow(kv: Kv, tag: Bytes): Promise<number | undefined> {
  const row = await withSnapshot(
    kv,
    async (snapshot) => (await snapshot.getMany([embedCursorKey(tag)]))[0],
  );
  return row === undefined ? undefined : decodeEmbedCursor(row).purged;
}
