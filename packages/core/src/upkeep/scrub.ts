/**
 * A scrub: everything that is stored, read once and compared with its hashes, at a pace that the caller sets.
 *
 * First the pages of the file, without the engine, as `check` does. Then every entry of the journal: that
 * it is there, that its parts have the hashes that its header names, that the header is the leaf which the
 * journal's tree has for it, that the tree fits together, that the memory it is about has a row. Then every
 * row of a memory against the version that it names and the rows by which it is found, and every link
 * against its record and the rows at both of its ends.
 *
 * Promises: nothing is written, and others go on meanwhile: each page of rows is read from a snapshot of its
 * own, after which the event loop has its turn. Everything that does not agree is counted, the first hundred
 * named. What only a replay can find (rows that should not be there) is left to `check`, mending to `rebuild`
 * and `repair`.
 */
import { HASH_BYTES } from "../codec/hash.js";
import { equalBytes, toHex } from "../codec/keys.js";
import { ulidText } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { ScrubProblem, ScrubReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { type ErrorCode, isCortexError } from "../errors.js";
import { headOf, withSnapshot } from "../history/build-beside.js";
import { indexTerms, splitIds } from "../history/fold-state.js";
import {
  bodyPointer,
  decodeEdgeRow,
  decodeMemoryRow,
  type MemoryRow,
  sinceOf,
} from "../history/pointers.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { checkedEntry } from "../history/replay.js";
import { entryLeaf, SUBJECT, splitEntry } from "../journal/entry.js";
import {
  afterPrefix,
  edgeKey,
  getU64,
  idKey,
  indexRow,
  journalKey,
  KEYSPACE,
  textKey,
  tileKey,
} from "../kv/keyspace.js";
import type { Bytes, KvRow, KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { appendLeaves, TILE_HASHES, type Tile, type TileReader } from "../merkle/log-tree.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { isPinned } from "../records/frames.js";

/** Rows read from one snapshot; whole tiles of the journal's tree. */
const PAGE_ROWS = 16 * TILE_HASHES;

/** Reads everything that is stored and says what does not agree. */
export async function scrub(engine: Engine, asked: Asked<"scrub">): Promise<ScrubReport> {
  const work = new Scrub(engine, asked);
  return work.run();
}

/** One scrub on its way. */
class Scrub {
  readonly #engine: Engine;
  readonly #asked: Asked<"scrub">;
  readonly #problems: ScrubProblem[] = [];
  /** Entries that were named already: what points at them need not be told again. */
  readonly #bad = new Set<number>();
  readonly #done = { entries: 0, memories: 0, edges: 0 };
  #more = 0;
  #total = 0;

  constructor(engine: Engine, asked: Asked<"scrub">) {
    this.#engine = engine;
    this.#asked = asked;
  }

  async run(): Promise<ScrubReport> {
    const below = (await this.#engine.kv.examine?.()) ?? [];
    for (const message of below) this.#tell({ code: "ERR_CORRUPT", message });
    // The engine may end the process on pages that make no sense: they are not read through it.
    if (below.length > 0) return this.#report(-1, false);
    const { size, counts } = await headOf(this.#engine.kv);
    const { active, archived, tombstoned, erased, edgesLive, edgesRemoved } = counts;
    this.#total = size + active + archived + tombstoned + erased + edgesLive + edgesRemoved;
    const isWhole =
      (await this.#entries(size)) &&
      (await this.#rows("memory", (rows) => this.#memories(rows))) &&
      (await this.#rows("edge", (rows) => this.#edges(rows)));
    return this.#report(size - 1, isWhole);
  }

  #report(seq: number, complete: boolean): ScrubReport {
    const problems = this.#problems;
    const ok = problems.length === 0;
    return { ok, ...this.#done, problems, more: this.#more, complete, seq };
  }

  #tell(problem: ScrubProblem): void {
    if (this.#problems.length < LIMITS.scrubProblems) this.#problems.push(problem);
    else this.#more += 1;
    if (problem.seq !== undefined) this.#bad.add(problem.seq);
  }

  /**
   * Tells what reading refused, unless its entry was named before; what says nothing about the bytes that
   * are stored, a lost connection, ends the scrub.
   */
  #tellRefusal(error: unknown, where: string, at: number | undefined): void {
    if (!isDamage(error)) throw error;
    const details = isCortexError(error) ? error.details : {};
    const seq = details.seq ?? at;
    if (seq !== undefined && this.#bad.has(seq)) return;
    const { expected, got: found } = details;
    this.#tell({
      code: isCortexError(error) ? error.code : "ERR_CORRUPT",
      message: `${where}${error.message}`,
      ...(seq === undefined ? {} : { seq }),
      ...(expected === undefined ? {} : { expected }),
      ...(found === undefined ? {} : { found }),
    });
  }

  /** After each page: tells how far it is and waits as the rate asks; false where it is to end. */
  async #turn(rows: number): Promise<boolean> {
    const { entriesPerSecond, onProgress, signal } = this.#asked;
    const { entries, memories, edges } = this.#done;
    const done = entries + memories + edges;
    onProgress?.(done, Math.max(done, this.#total));
    await this.#engine.pause(
      entriesPerSecond === undefined ? 0 : (rows * 1000) / entriesPerSecond,
      signal,
    );
    return signal?.aborted !== true;
  }

  /** Rows of a page: fewer where few are to be read in a second, so that it never rests for long. */
  #pageRows(): number {
    const { entriesPerSecond } = this.#asked;
    if (entriesPerSecond === undefined || entriesPerSecond >= PAGE_ROWS) return PAGE_ROWS;
    return Math.max(TILE_HASHES, Math.floor(entriesPerSecond / TILE_HASHES) * TILE_HASHES);
  }

  async #entries(size: number): Promise<boolean> {
    const step = this.#pageRows();
    let last = { at: -1, tiles: [] as readonly Tile[] };
    for (let from = 0; from < size; from += step) {
      const to = Math.min(from + step, size);
      // Entries are looked at here, one by one: a read that refuses one would refuse the page.
      const options = { onEntry: () => {} };
      last = await withSnapshot(
        this.#engine.kv,
        (snapshot) => this.#entryPage(snapshot, from, to, last),
        options,
      );
      this.#done.entries = to;
      if (!(await this.#turn(to - from))) return false;
    }
    return true;
  }

  async #entryPage(
    snapshot: KvSnapshot,
    from: number,
    to: number,
    last: { readonly at: number; readonly tiles: readonly Tile[] },
  ): Promise<{ at: number; tiles: readonly Tile[] }> {
    const { sha256 } = this.#engine;
    const range = { gte: journalKey(from), lt: journalKey(to), limit: to - from };
    const first = Math.floor(from / TILE_HASHES);
    const places = Array.from(
      { length: Math.ceil(to / TILE_HASHES) - first },
      (_, at) => first + at,
    );
    const [[found = []], leafTiles] = await Promise.all([
      snapshot.ranges([range]),
      snapshot.getMany(places.map((index) => tileKey(0, index))),
    ]);
    const rows = new Map(found.map(({ key, value }) => [getU64(key, 1), value]));
    let { at } = last;
    const subjects: Subject[] = [];
    const leaves: Bytes[] = [];
    for (let seq = from; seq < to; seq += 1) {
      const tile = leafTiles[Math.floor(seq / TILE_HASHES) - first];
      const start = (seq % TILE_HASHES) * HASH_BYTES;
      const inTree = tile?.subarray(start, start + HASH_BYTES);
      const leaf = inTree?.length === HASH_BYTES ? inTree : undefined;
      const entry = this.#entry(seq, rows.get(seq), leaf, at);
      at = entry.at;
      subjects.push(...entry.subjects);
      leaves.push(leaf ?? entry.leaf ?? new Uint8Array(HASH_BYTES));
    }
    await this.#memoriesOf(snapshot, subjects);
    const { tiles } = appendLeaves(sha256, from, readerOf(last.tiles), leaves);
    await this.#tiles(snapshot, tiles);
    return { at, tiles: newestOf([...last.tiles, ...tiles]) };
  }

  /** Looks at one entry; gives its time, its leaf, and the memories that it is about. */
  #entry(seq: number, row: Bytes | undefined, inTree: Bytes | undefined, lastAt: number): Seen {
    const none = { at: lastAt, leaf: undefined, subjects: [] };
    if (row === undefined) {
      this.#tell({ code: "ERR_JOURNAL_GAP", message: `journal entry ${seq} is missing`, seq });
      return none;
    }
    try {
      const { sha256 } = this.#engine;
      const leaf = entryLeaf(sha256, splitEntry(row).headerBytes);
      if (inTree === undefined || !equalBytes(leaf, inTree)) {
        const expected = inTree === undefined ? {} : { expected: toHex(inTree) };
        const has = inTree === undefined ? "has no leaf for it" : "has another hash for its header";
        const message = `journal entry ${seq}: the tree of the journal ${has}`;
        this.#tell({ code: "ERR_CORRUPT", message, seq, ...expected, found: toHex(leaf) });
        return { ...none, leaf };
      }
      const { header, parts } = checkedEntry(sha256, row, seq, lastAt);
      const subjects = header.parts.flatMap(({ subject }, at) =>
        subject[0] === SUBJECT.memory && parts[at] !== undefined
          ? [{ seq, id: subject.subarray(1) }]
          : [],
      );
      return { at: header.at, leaf, subjects };
    } catch (error) {
      this.#tellRefusal(error, "", seq);
      return none;
    }
  }

  async #memoriesOf(snapshot: KvSnapshot, subjects: readonly Subject[]): Promise<void> {
    if (subjects.length === 0) return;
    const rows = await snapshot.getMany(subjects.map(({ id }) => idKey("memory", id)));
    for (const [at, { id, seq }] of subjects.entries()) {
      if (rows[at] === undefined) this.#tellLost("the row", id, seq);
    }
  }

  #tellLost(what: string, id: Bytes, seq: number): void {
    const message = `${what} of memory ${ulidText(id)} is missing`;
    this.#tell({ code: "ERR_CORRUPT", message, seq });
  }

  /** The upper levels of the journal's tree; a tile that is open may have grown meanwhile. */
  async #tiles(snapshot: KvSnapshot, tiles: readonly Tile[]): Promise<void> {
    const upper = tiles.filter(({ level }) => level > 0);
    if (upper.length === 0) return;
    const stored = await snapshot.getMany(upper.map(({ level, index }) => tileKey(level, index)));
    for (const [at, { level, index, bytes }] of upper.entries()) {
      const found = stored[at]?.subarray(0, bytes.length);
      if (found !== undefined && equalBytes(found, bytes)) continue;
      const what = found === undefined ? "is missing" : "does not fit the tiles below it";
      this.#tell({ code: "ERR_CORRUPT", message: `log tile ${level}/${index} ${what}` });
    }
  }

  /** Goes over the rows of a prefix. */
  async #rows(
    name: "memory" | "edge",
    look: (rows: readonly KvRow[]) => Promise<void>,
  ): Promise<boolean> {
    const prefix = Uint8Array.of(KEYSPACE[name].byte);
    const limit = this.#pageRows();
    for (let gte: Bytes = prefix; ; ) {
      const range = { gte, lt: afterPrefix(prefix), limit };
      const [rows = []] = await withSnapshot(this.#engine.kv, (s) => s.ranges([range]));
      await look(rows);
      if (!(await this.#turn(rows.length))) return false;
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return true;
      gte = Buffer.concat([last.key, Uint8Array.of(0)]);
    }
  }

  async #memories(rows: readonly KvRow[]): Promise<void> {
    this.#done.memories += rows.length;
    const ids = rows.map(({ key }) => key.subarray(1));
    await Reader.with(this.#engine.kv, undefined, async (reader) => {
      const values = await reader.getMany(ids.map((id) => idKey("memory", id)));
      const found: FoundMemory[] = [];
      for (const [at, id] of ids.entries()) {
        const value = values[at];
        // Rows of memories never go; one that went since was found lost by its entry.
        const memory = value === undefined ? undefined : await this.#memory(reader, id, value);
        if (memory !== undefined) found.push(memory);
      }
      await this.#waysTo(reader, found);
    });
  }

  async #memory(reader: Reader, id: Bytes, value: Bytes): Promise<FoundMemory | undefined> {
    let row: MemoryRow | undefined;
    try {
      row = decodeMemoryRow(value);
      const isNamed = this.#bad.has(row.seq) || this.#bad.has(bodyPointer(row).seq);
      if (row.lifecycle === "erased" || isNamed) return undefined;
      const found = await reader.memory(id, row);
      if (found === undefined) this.#tellLost("what the row points at", id, row.seq);
      return found;
    } catch (error) {
      this.#tellRefusal(error, `the row of memory ${ulidText(id)}: `, row?.seq);
      return undefined;
    }
  }

  /** The rows by which memories are found: indexes, external ids, and what says the same. */
  async #waysTo(reader: Reader, found: readonly FoundMemory[]): Promise<void> {
    const ways = found.flatMap((memory) => waysTo(memory));
    const values = await reader.getMany(ways.map(({ key }) => key));
    for (const [at, { what, id, seq, holds }] of ways.entries()) {
      const value = values[at];
      if (value === undefined || !holds(value)) this.#tellLost(what, id, seq);
    }
  }

  async #edges(rows: readonly KvRow[]): Promise<void> {
    this.#done.edges += rows.length;
    await Reader.with(this.#engine.kv, undefined, async (reader) => {
      // Read again: what is compared must come from one snapshot.
      const values = await reader.getMany(rows.map(({ key }) => key));
      for (const [at, { key }] of rows.entries()) {
        const value = values[at];
        // The link went with a memory that was forgotten meanwhile.
        if (value !== undefined) await this.#edge(reader, key.subarray(1), value);
      }
    });
  }

  async #edge(reader: Reader, id: Bytes, value: Bytes): Promise<void> {
    const name = `link ${ulidText(id)}`;
    let seq: number | undefined;
    try {
      const row = decodeEdgeRow(value);
      seq = row.seq;
      if (this.#bad.has(seq)) return;
      const keys = (["out", "in"] as const).map((side) => edgeKey(side, row, row.state));
      const [[record], ends] = await Promise.all([
        reader.records([row], decodeEdgeRecord),
        reader.getMany(keys),
      ]);
      const isSame = record !== undefined && equalBytes(record.record.id, id);
      const message = isSame
        ? "a row at one of its ends is missing"
        : "its row says something else";
      if (isSame && ends.every((end) => end !== undefined)) return;
      this.#tell({ code: "ERR_CORRUPT", message: `${name}: ${message}`, seq });
    } catch (error) {
      this.#tellRefusal(error, `${name}: `, seq);
    }
  }
}

/** Failures that say something about what is stored. */
const DAMAGE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "ERR_CORRUPT",
  "ERR_JOURNAL_GAP",
  "ERR_NOT_CANONICAL",
  "ERR_ILL_FORMED",
  "ERR_INVALID",
]);

/** Bytes that are not what they were taken for may also fail as a plain mistake of types. */
function isDamage(error: unknown): error is Error {
  if (isCortexError(error)) return DAMAGE.has(error.code);
  return error instanceof TypeError || error instanceof RangeError;
}

/** A memory that an entry is about. */
interface Subject {
  readonly seq: number;
  readonly id: Bytes;
}

/** What looking at an entry gave. */
interface Seen {
  readonly at: number;
  readonly leaf: Bytes | undefined;
  readonly subjects: readonly Subject[];
}

/** The newest tile of each level: what the next page goes on from. */
function newestOf(tiles: readonly Tile[]): readonly Tile[] {
  return [...new Map(tiles.map((tile) => [tile.level, tile])).values()];
}

function readerOf(tiles: readonly Tile[]): TileReader {
  return (level, index) =>
    tiles.find((tile) => tile.level === level && tile.index === index)?.bytes;
}

/** A row by which a memory is found. */
interface Way {
  readonly what: string;
  readonly key: Bytes;
  readonly id: Bytes;
  readonly seq: number;
  readonly holds: (value: Bytes) => boolean;
}

function waysTo({ id, row, head, body }: FoundMemory): readonly Way[] {
  const { seq } = row;
  const known = head.record.head;
  const data = body.record.version?.data;
  const isOnTop = data !== undefined && isPinned(row.type, data);
  const ways: Way[] = indexTerms(id, known, isOnTop).map((term, at) => {
    const { key } = indexRow(term, sinceOf(row, at));
    return { what: `an index row (index ${term.index})`, key, id, seq, holds: () => true };
  });
  if (known.externalId !== undefined) {
    const key = textKey("externalId", known.externalId);
    const holds = (value: Bytes): boolean => equalBytes(value, id);
    ways.push({ what: "the row of the external id", key, id, seq, holds });
  }
  if (known.lifecycle === "active" && known.fingerprint !== undefined) {
    const key = idKey("fingerprint", known.fingerprint);
    const holds = (value: Bytes): boolean => splitIds(value).some((one) => equalBytes(one, id));
    ways.push({ what: "the row of its fingerprint", key, id, seq, holds });
  }
  return ways;
}
