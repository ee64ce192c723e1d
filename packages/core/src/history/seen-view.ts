/**
 * What one caller other than the owner may see of a store: which memories, since when each, and when
 * anything of it last changed.
 *
 * Visibility is in no index, so the first look reads every head; the next one reads only the entries since
 * and looks at what they touched. It is kept from call to call, for each scope by itself. The position of a
 * caller is the time of the last change among what it sees: entries about anything else do not move it.
 *
 * Promise: a `Seen` answers for the very snapshot it was made for, however many entries come meanwhile.
 */
import { decodeEntry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { glanceAt, openPart } from "../journal/entry-part.js";
import { afterPrefix, historyKey, journalKey, KEYSPACE, keyString } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type KvSnapshot } from "../kv/kv.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { visibilityAt } from "../records/memory-record.js";
import { recordWithin } from "../records/plain-record.js";
import { type Access, grantsProofs, maySee, maySeeAtAGlance } from "../scope/access.js";
import { decodeHeadRow } from "./head-row.js";
import {
  adjacencySeq,
  decodeMemoryRow,
  type MemoryRow,
  missingEntry,
  readingEntry,
} from "./pointers.js";

/** A memory that is seen. */
interface SeenMemory {
  /** The entry that left it as it is, and its time. */
  readonly seq: number;
  readonly at: number;
}

/** Since when a memory is seen without a break, and the version that was current then. */
export interface SeenSince {
  readonly seq: number;
  readonly version: number;
}

/** What a caller sees in one snapshot. */
export interface Seen {
  /** The snapshot with everything in it. */
  readonly whole: KvSnapshot;
  /** The last entry that changed something that is seen; -1 when nothing is. */
  readonly lastSeq: number;
  /** Its time: the caller's position. */
  readonly position: number;
  /** Whether positions are given as times; a scope that grants proofs shows entries by number anyway. */
  readonly isOpaque: boolean;
  /** What is kept for this caller from call to call, for others to keep theirs with. */
  readonly keptWith: object;
  /** Changes that were counted; a later one of the same caller has a higher number. */
  readonly changes: number;
  get(name: string): SeenMemory | undefined;
  /** Names of the memories that changed after so many changes. */
  changedSince(changes: number): readonly string[];
  /** All that is seen, by the `keyString` of the id. */
  names(): Iterable<string>;
  /** Since when memories are seen, in order; `undefined` for those that are not. */
  since(ids: readonly Bytes[]): Promise<readonly (SeenSince | undefined)[]>;
}

interface Change {
  readonly name: string;
  readonly before: SeenMemory | undefined;
}

/** Rows read at a time. */
const PAGE_ROWS = 500;
/** Entries read at a time. */
const PAGE_ENTRIES = 256;
/** Changes that are remembered for snapshots that are still open. */
const CHANGES_KEPT = 20_000;

/** See the file header. One for each caller and store; calls take turns. */
export class SeenView {
  readonly #access: Access;
  readonly #seen = new Map<string, SeenMemory>();
  readonly #since = new Map<string, SeenSince>();
  #size = 0;
  #last: SeenMemory = NOTHING;
  #edge: SeenMemory = NOTHING;
  /** Changes after the first look; the first of them has the number `#dropped`. */
  #log: Change[] = [];
  #dropped = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(access: Access) {
    this.#access = access;
  }

  /** What is seen in a snapshot; `undefined` when it is older than what is remembered. */
  at(whole: KvSnapshot): Promise<Seen | undefined> {
    const work = async (): Promise<Seen | undefined> => {
      const [row] = await whole.getMany([HEAD_KEY]);
      const { size } = decodeHeadRow(row);
      if (size < this.#size) return undefined;
      if (this.#size === 0) await this.#lookAtAll(whole);
      else if (size > this.#size) await this.#lookAtNew(whole, size);
      this.#size = size;
      return this.#state(whole);
    };
    const mine = this.#turn.then(work, work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  #state(whole: KvSnapshot): Seen {
    const last = this.#edge.seq > this.#last.seq ? this.#edge : this.#last;
    const changes = this.#dropped + this.#log.length;
    return {
      whole,
      lastSeq: last.seq,
      position: last.at,
      isOpaque: !grantsProofs(this.#access),
      keptWith: this,
      changes,
      get: (name) => this.#getAt(changes, name),
      changedSince: (from) => {
        const log = this.#log.slice(Math.max(0, from - this.#dropped), changes - this.#dropped);
        return log.map(({ name }) => name);
      },
      names: () => [...this.#seen.keys()].filter((name) => this.#getAt(changes, name)),
      since: (ids) => this.#sinceOf(whole, changes, ids),
    };
  }

  /** A memory as it was after so many changes. */
  #getAt(changes: number, name: string): SeenMemory | undefined {
    for (let at = changes - this.#dropped; at < this.#log.length; at += 1) {
      const change = this.#log[at];
      if (change?.name === name) return change.before;
    }
    return this.#seen.get(name);
  }

  async #lookAtAll(whole: KvSnapshot): Promise<void> {
    for await (const rows of pages(whole, Uint8Array.of(KEYSPACE.memory.byte))) {
      const ids = rows.map(({ key }) => key.subarray(1));
      const looked = await this.#look(
        whole,
        ids,
        rows.map(({ value }) => value),
      );
      for (const [at, memory] of looked.entries()) {
        if (memory === undefined) continue;
        this.#seen.set(keyString(ids[at] as Bytes), memory);
        if (memory.seq > this.#last.seq) this.#last = memory;
      }
    }
    await this.#lookAtEdges(whole);
  }

  /** The last change of an edge between two memories that are seen. */
  async #lookAtEdges(whole: KvSnapshot): Promise<void> {
    let seq = -1;
    for await (const rows of pages(whole, Uint8Array.of(KEYSPACE.edgeOut.byte))) {
      for (const { key, value } of rows) {
        const ends = [key.subarray(1, 17), key.subarray(20, 36)].map(keyString);
        if (ends.every((end) => this.#seen.has(end))) seq = Math.max(seq, adjacencySeq(value));
      }
    }
    this.#edge = seq < 0 ? NOTHING : { seq, at: await timeOf(whole, seq) };
  }

  /** Brings what is seen up to a size: what the entries since touched is looked at again. */
  async #lookAtNew(whole: KvSnapshot, size: number): Promise<void> {
    const touched = new Map<string, Bytes>();
    const edges: { readonly ends: readonly string[]; readonly change: SeenMemory }[] = [];
    for (let from = this.#size; from < size; from += PAGE_ENTRIES) {
      const lt = journalKey(Math.min(from + PAGE_ENTRIES, size));
      const [rows = []] = await whole.ranges([{ gte: journalKey(from), lt, limit: PAGE_ENTRIES }]);
      for (const { header, parts } of rows.map(({ value }) => decodeEntry(value))) {
        for (const [at, { subject }] of header.parts.entries()) {
          const bytes = parts[at];
          if (subject[0] === SUBJECT.memory) {
            touched.set(keyString(subject.subarray(1)), subject.slice(1));
          } else if (subject[0] === SUBJECT.edge && bytes !== undefined) {
            const { from, to } = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
            if (!(to instanceof Uint8Array)) continue;
            const change = { seq: header.seq, at: header.at };
            edges.push({ ends: [keyString(from), keyString(to)], change });
          }
        }
      }
    }
    const hid = await this.#lookAgain(whole, touched);
    for (const { ends, change } of edges) {
      if (ends.every((end) => this.#seen.has(end)) && change.seq > this.#edge.seq) {
        this.#edge = change;
      }
    }
    // An edge that was the last to change may have gone with one of its ends.
    if (hid) await this.#lookAtEdges(whole);
    if (this.#log.length > 2 * CHANGES_KEPT) {
      this.#dropped += this.#log.length - CHANGES_KEPT;
      this.#log = this.#log.slice(-CHANGES_KEPT);
    }
  }

  /** Looks at some memories again; whether one of them is seen no longer. */
  async #lookAgain(whole: KvSnapshot, touched: ReadonlyMap<string, Bytes>): Promise<boolean> {
    const ids = [...touched.values()];
    const names = [...touched.keys()];
    const values = await whole.getMany(ids.map(memoryKey));
    const looked = await this.#look(whole, ids, values);
    let hid = false;
    for (const [at, name] of names.entries()) {
      const before = this.#seen.get(name);
      const memory = looked[at];
      if (before === undefined && memory === undefined) continue;
      this.#log.push({ name, before });
      this.#since.delete(name);
      if (memory === undefined) {
        hid = true;
        this.#seen.delete(name);
      } else {
        this.#seen.set(name, memory);
        if (memory.seq > this.#last.seq) this.#last = memory;
      }
    }
    if (hid) {
      this.#last = NOTHING;
      for (const one of this.#seen.values()) if (one.seq > this.#last.seq) this.#last = one;
    }
    return hid;
  }

  /** Of memories by their rows, those that the caller may see. */
  async #look(
    whole: KvSnapshot,
    ids: readonly Bytes[],
    values: readonly (Bytes | undefined)[],
  ): Promise<readonly (SeenMemory | undefined)[]> {
    const rows = values.map((value) => (value === undefined ? undefined : decodeMemoryRow(value)));
    return this.#lookAtRows(whole, ids, rows);
  }

  async #lookAtRows(
    whole: KvSnapshot,
    ids: readonly Bytes[],
    rows: readonly (MemoryRow | undefined)[],
  ): Promise<readonly (SeenMemory | undefined)[]> {
    const there = rows.filter((row) => row !== undefined && row.lifecycle !== "erased");
    const seqs = [...new Set(there.map((row) => row?.seq ?? 0))];
    const read = seqs.length === 0 ? [] : await whole.getMany(seqs.map(journalKey));
    const entries = new Map(seqs.map((seq, at) => [seq, read[at]] as const));
    return rows.map((row, at) => {
      const id = ids[at];
      if (row === undefined || row.lifecycle === "erased" || id === undefined) return undefined;
      const entry = entries.get(row.seq);
      if (entry === undefined) throw missingEntry(row.seq);
      return this.#lookAt(entry, id, row);
    });
  }

  /** A memory, if the caller may see it; most are told at a glance, which is a third of the work. */
  #lookAt(entry: Bytes, id: Bytes, row: MemoryRow): SeenMemory | undefined {
    const { seq, part } = row;
    const glance = glanceAt(entry, part);
    const visibility = glance === undefined ? undefined : visibilityAt(entry, glance.recordAt);
    const isShown = maySeeAtAGlance(visibility, row.lifecycle);
    if (isShown === false) return undefined;
    if (isShown === true && glance !== undefined) return { seq, at: glance.at };
    const { header, record } = readingEntry(seq, () => openPart(entry, part, recordWithin));
    if (record === undefined) return undefined;
    return maySee(this.#access, record.head, id) ? { seq, at: header.at } : undefined;
  }

  async #sinceOf(
    whole: KvSnapshot,
    changes: number,
    ids: readonly Bytes[],
  ): Promise<readonly (SeenSince | undefined)[]> {
    return Promise.all(
      ids.map(async (id) => {
        const name = keyString(id);
        if (this.#getAt(changes, name) === undefined) return undefined;
        const isNewest = changes === this.#dropped + this.#log.length;
        const known = isNewest ? this.#since.get(name) : undefined;
        if (known !== undefined) return known;
        const found = await this.#findSince(whole, id);
        if (isNewest && found !== undefined) this.#since.set(name, found);
        return found;
      }),
    );
  }

  /** Goes back through the states of a memory, as far as each of them may be seen. */
  async #findSince(whole: KvSnapshot, id: Bytes): Promise<SeenSince | undefined> {
    const [value] = await whole.getMany([memoryKey(id)]);
    if (value === undefined) return undefined;
    const row = decodeMemoryRow(value);
    let since = { seq: row.seq, version: row.version };
    for (;;) {
      const range = { gte: historyKey(id, 0), lt: historyKey(id, since.seq), reverse: true };
      const [rows = []] = await whole.ranges([{ ...range, limit: 32 }]);
      const former = rows.map((one) => decodeMemoryRow(one.value));
      const looked = await this.#lookAtRows(
        whole,
        former.map(() => id),
        former,
      );
      for (const [at, { seq, version }] of former.entries()) {
        if (looked[at] === undefined) return since;
        since = { seq, version };
      }
      if (former.length < 32) return since;
    }
  }
}

/** Nothing was ever seen to change. */
const NOTHING: SeenMemory = { seq: -1, at: 0 };

function memoryKey(id: Bytes): Bytes {
  return Buffer.concat([Uint8Array.of(KEYSPACE.memory.byte), id]);
}

async function timeOf(whole: KvSnapshot, seq: number): Promise<number> {
  const [row] = await whole.getMany([journalKey(seq)]);
  if (row === undefined) throw new Error(`journal entry ${seq} is missing`);
  return decodeEntry(row).header.at;
}

/** Every row of a prefix, page by page. */
async function* pages(whole: KvSnapshot, prefix: Bytes) {
  const lt = afterPrefix(prefix);
  for (let gte = prefix; ; ) {
    const [rows = []] = await whole.ranges([{ gte, lt, limit: PAGE_ROWS }]);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    gte = Buffer.concat([last.key, Uint8Array.of(0)]);
  }
}
