/**
 * The catalogue of a hub: which graphs there are and what they are called, which graph holds a
 * lineage, which edges lead from one graph into another. A cache, in a small store of its own.
 *
 * Promises: an answer knows everything that was committed to any graph before it was asked for, by
 * whichever process, through a hub or not, alive or killed since. Nobody has to announce anything: a
 * graph's files say whether it has changed (`kv/lmdb-stamp.ts`), and what changed is read from its
 * journal, from where the catalogue stopped. The stamp is always taken before the graph is read, so
 * what is recorded is at least as new as its stamp. Two processes that catch up at once compare and
 * commit on the graph's row; the loser starts over.
 *
 * Two depths: `graphs` brings what a list shows up to date, reads no journal and commits nothing for graphs that
 * have a row; `caughtUp` brings lineages and symlinks up to date as well. Losing the whole store costs time and
 * nothing else.
 */
import { encode } from "../codec/cbor.js";
import { readConfig } from "../config/config.js";
import type { GraphConfig } from "../contract/config.js";
import { type CortexError, isCortexError } from "../errors.js";
import { Reader, scan } from "../history/reader.js";
import { decodeEntry, type Entry, genesisOf } from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvSnapshot, sameBytes } from "../kv/kv.js";
import { type CatalogueKv, eraseGone, foldCatalogue } from "./catalogue-fold.js";
import {
  allRows,
  CATALOGUE,
  decodeCount,
  decodeGraphRow,
  encodeCount,
  encodeGraphRow,
  type GraphRow,
  graphKey,
  NEXT_NUMBER_KEY,
  numberKey,
  textInKey,
} from "./catalogue-rows.js";
import type { GraphStores, Places } from "./stores.js";

/** The form of the rows; a catalogue of another form is thrown away and built again. */
const CATALOGUE_FORM = encode(["cortex catalogue", 5]);

/** Journal entries read at once. */
const READ_ENTRIES = 500;
/** Journal entries folded into one commit of the catalogue; a commit waits for the disk. */
const CHUNK_ENTRIES = 16 * READ_ENTRIES;
/** Once their bytes are this many, the commit is due whatever their number. */
const CHUNK_BYTES = 8 * 1024 * 1024;
/** Graphs brought up to date at the same time. */
const REFRESH_WIDTH = 4;
/** For how long the pages of a list are read from one sweep. */
const LAST_MS = 60_000;
/** Rows removed in one commit. */
const CLEAR_ROWS = 10_000;

const EMPTY = new Uint8Array(0);

/** What is known of all graphs of the hub. */
export interface Graphs {
  /** By name, in order of names. */
  readonly rows: ReadonlyMap<string, GraphRow>;
  /** Folders that look like graphs and cannot be read. */
  readonly problems: readonly UnreadGraph[];
}

/** Why a graph cannot be read. */
export interface GraphProblem {
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** A graph that could not be read, and why. */
interface UnreadGraph extends GraphProblem {
  readonly code: CortexError["code"];
}

/** What a catalogue is made of. */
export interface CatalogueParts {
  readonly kv: CatalogueKv;
  readonly places: Places;
  readonly stores: GraphStores;
  /** Whether a name belongs to a graph of this hub. */
  readonly isOurs: (name: string) => boolean;
  readonly clock: () => number;
}

/** See the file header. */
export class Catalogue {
  readonly kv: CatalogueKv;
  readonly #parts: CatalogueParts;
  /** What is newer than the row that stands: known here alone, since a look is not worth a commit. */
  readonly #seen = new Map<string, { readonly over: Bytes; readonly row: GraphRow }>();
  #last: (Graphs & { readonly sinceMs: number }) | undefined;
  /** Rows as they were read last: most have not changed when they are read again. */
  readonly #decoded = new Map<string, { readonly bytes: Bytes; readonly row: GraphRow }>();

  private constructor(parts: CatalogueParts) {
    this.kv = parts.kv;
    this.#parts = parts;
  }

  /** Opens the catalogue over its store; an empty one is furnished, an old one emptied. */
  static async open(parts: CatalogueParts): Promise<Catalogue> {
    const { kv } = parts;
    const catalogue = new Catalogue(parts);
    for (;;) {
      const [head] = await catalogue.read((snapshot) => snapshot.getMany([HEAD_KEY]));
      if (sameBytes(head, CATALOGUE_FORM)) return catalogue;
      if (head !== undefined) await catalogue.clear();
      await kv.commit({ expectHead: head, head: CATALOGUE_FORM, puts: [], deletes: [] });
    }
  }

  /** A catalogue over a store that is furnished before it answers; see `open-hub.ts`. */
  static over(parts: CatalogueParts): Catalogue {
    return new Catalogue(parts);
  }

  /** Reads from one state of the catalogue. */
  async read<T>(use: (snapshot: KvSnapshot) => Promise<T>): Promise<T> {
    const snapshot = await this.kv.snapshot();
    try {
      return await use(snapshot);
    } finally {
      snapshot.close();
    }
  }

  /** Every graph, with its configuration as it is now. */
  async graphs(): Promise<Graphs> {
    this.#last = undefined;
    const found = await this.#sweep("stamp");
    this.#last = { ...found, sinceMs: this.#parts.clock() };
    return found;
  }

  /** What `graphs` gave a short while ago: for who reads on in it, and asks whether `haveChanged`. */
  lastGraphs(): Graphs | undefined {
    const last = this.#last;
    if (last === undefined) return undefined;
    const ageMs = this.#parts.clock() - last.sinceMs;
    // A clock that was set back says nothing of the age.
    if (ageMs < 0 || ageMs > LAST_MS) this.#last = undefined;
    return this.#last;
  }

  /** Whether any of some graphs is another one than its row says, or is gone. */
  async haveChanged(rows: ReadonlyMap<string, GraphRow>): Promise<boolean> {
    const stamps = new Map([...rows].map(([name, { stamp }]) => [name, stamp]));
    return (await this.#parts.places.changed(stamps)).length > 0;
  }

  /** Every graph, with lineages and symlinks up to date as well. */
  caughtUp(): Promise<Graphs> {
    return this.#sweep("cursorStamp");
  }

  /** One graph as it is now; `undefined` when there is none of this name. */
  async graph(name: string): Promise<GraphRow | undefined> {
    const { places } = this.#parts;
    const { row } = await this.#rowOf(name);
    if (row !== undefined) {
      const changed = await places.changed(new Map([[name, row.stamp]]));
      if (changed.length === 0) return row;
    }
    return this.refresh(name, "stamp");
  }

  /** One graph with its lineages and symlinks up to date. */
  async caughtUpGraph(name: string): Promise<GraphRow | undefined> {
    const { row } = await this.#rowOf(name);
    if (row !== undefined) {
      const changed = await this.#parts.places.changed(new Map([[name, row.cursorStamp]]));
      if (changed.length === 0) return row;
    }
    return this.refresh(name, "cursorStamp");
  }

  /** The names of all graphs that there are now. */
  async names(): Promise<readonly string[]> {
    return (await this.#parts.places.names()).filter(this.#parts.isOurs);
  }

  /** Of graphs, those whose journals hold entries that are not in the rows: lineages must be looked for in them. */
  async unread(names: readonly string[]): Promise<readonly string[]> {
    const { places } = this.#parts;
    const known = await this.#allRows();
    const stamps = names.flatMap((name): (readonly [string, string])[] => {
      const row = known.get(name);
      return row === undefined ? [] : [[name, row.cursorStamp]];
    });
    const changed = await places.changed(new Map(stamps));
    return [...names.filter((name) => !known.has(name)), ...changed];
  }

  /** The row of a graph as it stands, however old. */
  async knownRow(name: string): Promise<GraphRow | undefined> {
    return (await this.#rowOf(name)).row;
  }

  /** The names behind numbers; `undefined` for one that was given up, or of another tenant. */
  async namesOf(snapshot: KvSnapshot, numbers: readonly number[]): Promise<(string | undefined)[]> {
    const named = await snapshot.getMany(numbers.map(numberKey));
    const names = named.map((bytes) => Buffer.from(bytes ?? EMPTY).toString("utf8"));
    const rows = await snapshot.getMany(names.map(graphKey));
    return names.map((name, at) => {
      const bytes = rows[at];
      if (bytes === undefined || !this.#parts.isOurs(name)) return undefined;
      return this.#decode(name, bytes).number === numbers[at] ? name : undefined;
    });
  }

  /** Removes every row but the next number: a number is never given twice. */
  async clear(): Promise<void> {
    const found = await this.read(async (snapshot) => {
      const keys: Bytes[] = [];
      for await (const { key } of allRows(snapshot)) keys.push(key);
      return keys.filter((key) => !sameBytes(key, NEXT_NUMBER_KEY));
    });
    // Rows of graphs come first and so go first: whoever catches up meanwhile loses and starts over.
    for (let at = 0; at < found.length; at += CLEAR_ROWS) {
      const deletes = found.slice(at, at + CLEAR_ROWS);
      await this.kv.commitCaches({ expect: [], puts: [], deletes });
    }
    this.#decoded.clear();
    this.#seen.clear();
  }

  async #sweep(depth: Depth): Promise<Graphs> {
    const { places } = this.#parts;
    const now = await places.stamps?.();
    const names =
      now === undefined ? await this.names() : [...now.keys()].filter(this.#parts.isOurs);
    const known = await this.#allRows();
    const present = new Set(names);
    const stamps = new Map<string, string>();
    const unknown: string[] = [];
    for (const name of names) {
      const row = known.get(name);
      if (row === undefined) unknown.push(name);
      else if (now?.get(name) !== row[depth]) stamps.set(name, row[depth]);
    }
    const changed = now === undefined ? await places.changed(stamps) : stamps.keys();
    const stale = [...unknown, ...changed];
    const problems: UnreadGraph[] = [];
    await inParallel(stale, REFRESH_WIDTH, async (name) => {
      try {
        const row = await this.refresh(name, depth);
        if (row === undefined) known.delete(name);
        else known.set(name, row);
      } catch (error) {
        // One graph that cannot be read must not hide the others.
        if (!isCortexError(error) || error.code === "ERR_CLOSED") throw error;
        known.delete(name);
        problems.push({ id: name, code: error.code, message: error.message });
      }
    });
    const gone = [...known.keys()].filter((name) => !present.has(name));
    for (const name of gone) {
      await this.#drop(name);
      known.delete(name);
    }
    if (gone.length > 0) await eraseGone(this.kv);
    return { rows: new Map([...known].sort(([a], [b]) => (a < b ? -1 : 1))), problems };
  }

  /** Reads a graph and records what it says; `undefined` when it is not there. */
  async refresh(name: string, depth: Depth): Promise<GraphRow | undefined> {
    for (;;) {
      const stamp = await this.#parts.places.stamp(name);
      const done =
        stamp === undefined
          ? undefined
          : await this.#parts.stores.use(name, ({ engine }) =>
              this.#record(name, engine.kv, stamp, depth),
            );
      if (done === undefined) {
        if (await this.#drop(name)) await eraseGone(this.kv);
        return undefined;
      }
      if (done !== "lost") return done;
    }
  }

  /**
   * Brings a graph up to date that is about to close and still open: later it would have to be opened
   * for it. Does nothing where nothing was written.
   */
  async settle(name: string, graph: Kv): Promise<void> {
    const { places } = this.#parts;
    for (;;) {
      const { row } = await this.#rowOf(name);
      const known = new Map(row === undefined ? [] : [[name, row.cursorStamp]]);
      const isSettled = row !== undefined && (await places.changed(known)).length === 0;
      const stamp = isSettled ? undefined : await places.stamp(name);
      if (stamp === undefined) return;
      if ((await this.#record(name, graph, stamp, "cursorStamp")) !== "lost") return;
    }
  }

  async #record(name: string, graph: Kv, stamp: string, depth: Depth): Promise<GraphRow | "lost"> {
    // The row before the graph: what others have recorded is then never newer than what is read here.
    const before = await this.#rowOf(name);
    const facts = await factsOf(graph);
    const isSame = before.row?.store === facts.store && before.row.size <= facts.size;
    let { bytes: over } = before;
    let row: GraphRow;
    if (before.row !== undefined && isSame) {
      row = { ...before.row, ...facts, stamp };
      // Kept here alone where it was only looked at.
      if (depth === "stamp" && over !== undefined) this.#seen.set(name, { over, row });
    } else {
      const made = await this.#putNew(name, over, { ...facts, stamp });
      if (made === "lost") return "lost";
      row = made;
      over = encodeGraphRow(row);
    }
    if (depth === "stamp") return row;
    // What the graph says now goes into the commit of what its entries say.
    do {
      const entries = await entriesOf(graph, row.cursor, facts.size);
      const cursor = row.cursor + entries.length;
      const { number } = row;
      const changes = await this.read((snapshot) =>
        foldCatalogue(number, entries, (keys) => snapshot.getMany(keys)),
      );
      row = { ...row, cursor, cursorStamp: cursor === facts.size ? stamp : row.cursorStamp };
      if ((await this.#put(name, over, row, changes)) === "lost") return "lost";
      over = encodeGraphRow(row);
    } while (row.cursorStamp !== stamp);
    return row;
  }

  async #put(
    name: string,
    before: Bytes | undefined,
    row: GraphRow,
    more: Awaited<ReturnType<typeof foldCatalogue>> = { puts: [], deletes: [] },
  ): Promise<GraphRow | "lost"> {
    const value = encodeGraphRow(row);
    if (sameBytes(before, value)) return row;
    const done = await this.kv.commitCaches({
      expect: [{ key: graphKey(name), value: before }],
      puts: [{ key: graphKey(name), value }, ...more.puts],
      deletes: more.deletes,
    });
    return done ? row : "lost";
  }

  /** Records a graph for the first time, under a number that no graph ever had. */
  async #putNew(
    name: string,
    before: Bytes | undefined,
    facts: GraphFacts & { readonly stamp: string },
  ): Promise<GraphRow | "lost"> {
    const [next] = await this.read((snapshot) => snapshot.getMany([NEXT_NUMBER_KEY]));
    const number = decodeCount(next);
    const row: GraphRow = { ...facts, number, cursor: 0, cursorStamp: "" };
    // Number and row in one commit: a number without a row is one that was given up.
    const done = await this.kv.commitCaches({
      expect: [
        { key: NEXT_NUMBER_KEY, value: next },
        { key: graphKey(name), value: before },
      ],
      puts: [
        { key: NEXT_NUMBER_KEY, value: encodeCount(number + 1) },
        { key: numberKey(number), value: Buffer.from(name, "utf8") },
        { key: graphKey(name), value: encodeGraphRow(row) },
      ],
      deletes: [],
    });
    return done ? row : "lost";
  }

  /** Forgets the row of a graph that is gone; what else was known of it goes with `eraseGone`. */
  async #drop(name: string): Promise<boolean> {
    const { bytes, row } = await this.#rowOf(name);
    if (row === undefined) return false;
    this.#decoded.delete(name);
    return this.kv.commitCaches({
      expect: [{ key: graphKey(name), value: bytes }],
      puts: [],
      deletes: [graphKey(name)],
    });
  }

  /** Erases everything that is known of a graph that is gone, down to the free pages of the file. */
  async erase(name: string): Promise<void> {
    await this.#drop(name);
    await eraseGone(this.kv);
  }

  async #rowOf(
    name: string,
  ): Promise<{ readonly bytes: Bytes | undefined; readonly row: GraphRow | undefined }> {
    const [bytes] = await this.read((snapshot) => snapshot.getMany([graphKey(name)]));
    return { bytes, row: bytes === undefined ? undefined : this.#latest(name, bytes) };
  }

  async #allRows(): Promise<Map<string, GraphRow>> {
    return this.read(async (snapshot) => {
      const rows = new Map<string, GraphRow>();
      for await (const { key, value } of scan(snapshot, Uint8Array.of(CATALOGUE.graph))) {
        const name = textInKey(key.subarray(1));
        if (this.#parts.isOurs(name)) rows.set(name, this.#latest(name, value));
      }
      return rows;
    });
  }

  #latest(name: string, bytes: Bytes): GraphRow {
    const seen = this.#seen.get(name);
    return seen !== undefined && sameBytes(seen.over, bytes) ? seen.row : this.#decode(name, bytes);
  }

  #decode(name: string, bytes: Bytes): GraphRow {
    const known = this.#decoded.get(name);
    if (known !== undefined && sameBytes(known.bytes, bytes)) return known.row;
    const row = decodeGraphRow(bytes);
    this.#decoded.set(name, { bytes, row });
    return row;
  }
}

/** The stamp that must hold: that of the configuration, or that of the journal as a whole. */
type Depth = "stamp" | "cursorStamp";

interface GraphFacts {
  readonly store: string;
  readonly createdAt: number;
  readonly size: number;
  readonly config: GraphConfig;
}

/** What a list of graphs shows of one. */
function factsOf(graph: Kv): Promise<GraphFacts> {
  return Reader.with(graph, undefined, async (reader) => {
    const [first] = await reader.getMany([journalKey(0)]);
    if (first === undefined) throw new Error("an open store has no entry 0");
    const entry = decodeEntry(first);
    return {
      store: `${genesisOf(entry).storeId}.${reader.head.epoch}`,
      createdAt: entry.header.at,
      size: reader.head.size,
      config: await readConfig(reader),
    };
  });
}

/** The next entries of a graph's journal, as many as one commit takes. */
async function entriesOf(graph: Kv, from: number, to: number): Promise<Entry[]> {
  return Reader.with(graph, undefined, async (reader) => {
    const end = Math.min(to, from + CHUNK_ENTRIES);
    const entries: Entry[] = [];
    let bytes = 0;
    while (from + entries.length < end && bytes < CHUNK_BYTES) {
      const gte = journalKey(from + entries.length);
      const [rows = []] = await reader.ranges([{ gte, lt: journalKey(end), limit: READ_ENTRIES }]);
      if (rows.length === 0) break;
      for (const { value } of rows) {
        entries.push(decodeEntry(value));
        bytes += value.length;
      }
    }
    return entries;
  });
}

/** Does something for each item, a few at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  body: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items].reverse();
  const run = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await body(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, run));
}
