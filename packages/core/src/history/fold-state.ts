/**
 * What a fold carries from entry to entry, and the small rules all its files share: which index rows
 * a head stands in, how the counts move, which leaves change; and the records that it reads back from the journal: the
 * Head a memory had, the record of an edge.
 *
 * Within one commit a record is decoded once; entries that are folded but not sealed yet are known
 * already, so later entries of the same commit can build on them.
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import {
  decodeHeader,
  type EntryKind,
  type PartContext,
  type PartRef,
  partContext,
  partRecord,
  splitEntry,
} from "../journal/entry.js";
import {
  INDEX,
  type IndexTerm,
  idKey,
  journalKey,
  keyString,
  REVIEW_TERM,
} from "../kv/keyspace.js";
import { decodeEdgeRecord, type EdgeRecord } from "../records/edge-record.js";
import { isPinned, mayBePinned } from "../records/frames.js";
import {
  decodeMemoryRecord,
  type Head,
  type MemoryRecord,
  type Version,
} from "../records/memory-record.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  OBJECT_KINDS,
} from "../records/types.js";
import type { Counts } from "./head-row.js";
import { KeyTable } from "./key-table.js";
import { bodyPointer, type MemoryRow, type PartPointer } from "./pointers.js";
import type { WriteView } from "./write-view.js";

/** A part on its way through the fold. */
export interface FoldPart extends PartRef {
  /** salt ‖ record; `undefined` where erased, or where the leaf is removed. */
  readonly bytes: Uint8Array | undefined;
  /** The record, when the writer already has it decoded. */
  readonly record?: MemoryRecord | EdgeRecord | undefined;
}

/** An entry on its way through the fold; its header bytes may not be final yet. */
export interface FoldEntry {
  readonly seq: number;
  readonly kind: EntryKind;
  readonly at: number;
  readonly by: string;
  readonly parts: readonly FoldPart[];
  readonly request?: Uint8Array | undefined;
}

/** A leaf that a commit sets (or removes, with `undefined`) in a state tree. */
interface LeafChange {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** The two state trees. */
export type TreeName = "memories" | "edges";

/** A leaf and its change; absent when the change was taken back. */
interface ChangedLeaf {
  readonly key: Uint8Array;
  change: LeafChange | undefined;
}

/** The leaves a commit changes, each once; can be taken back to a mark like the view. */
export class LeafChanges {
  readonly #trees = {
    memories: new KeyTable<ChangedLeaf>(),
    edges: new KeyTable<ChangedLeaf>(),
  };
  /** What was set, and what stood there before. */
  readonly #undoLeaves: ChangedLeaf[] = [];
  readonly #undoChanges: (LeafChange | undefined)[] = [];

  /** Sets a leaf, or removes it with a value of `undefined`. */
  set(tree: TreeName, change: LeafChange): void {
    const leaves = this.#trees[tree];
    const { key } = change;
    const leaf = leaves.find(key) ?? leaves.add({ key, change: undefined });
    this.#undoLeaves.push(leaf);
    this.#undoChanges.push(leaf.change);
    leaf.change = change;
  }

  /** The changes of one tree. */
  of(tree: TreeName): readonly LeafChange[] {
    const changes: LeafChange[] = [];
    for (const { change } of this.#trees[tree].items) {
      if (change !== undefined) changes.push(change);
    }
    return changes;
  }

  /** A place to roll back to. */
  mark(): number {
    return this.#undoLeaves.length;
  }

  /** Takes back every change since `mark`. */
  rollback(mark: number): void {
    while (this.#undoLeaves.length > mark) {
      const leaf = this.#undoLeaves.pop();
      const before = this.#undoChanges.pop();
      if (leaf !== undefined) leaf.change = before;
    }
  }
}

/** Everything a fold accumulates besides the rows of its view. */
export interface Fold {
  readonly sha256: Sha256;
  readonly view: WriteView;
  readonly records: RecordReader;
  counts: Counts;
  readonly leaves: LeafChanges;
}

/** Starts a fold over a view. */
export function beginFold(sha256: Sha256, view: WriteView, counts: Counts): Fold {
  return {
    sha256,
    view,
    records: new RecordReader(view),
    counts,
    leaves: new LeafChanges(),
  };
}

/** Whether the Version behind a memory's row pins it. */
export function isRowPinned(fold: Fold, row: MemoryRow): boolean {
  if (!mayBePinned(row.type)) return false;
  const { version } = fold.records.memory(bodyPointer(row));
  return version !== undefined && isPinned(row.type, version.data);
}

/** Every index row that a live head stands in; `pinned` is what its Version says. */
export function indexTerms(id: Uint8Array, head: Head, pinned: boolean): IndexTerm[] {
  if (head.lifecycle === "erased") return [];
  const lifecycle = LIFECYCLES[head.lifecycle].code;
  const term = (index: number, bytes: Uint8Array): IndexTerm => ({
    index,
    lifecycle,
    term: bytes,
    id,
  });
  const terms = [term(INDEX.type, Uint8Array.of(MEMORY_TYPES[head.type].code))];
  for (const tag of head.tags) terms.push(term(INDEX.tag, Buffer.from(tag, "utf8")));
  if (head.kind !== undefined) terms.push(term(INDEX.kind, Buffer.from(head.kind, "utf8")));
  for (const frame of head.frames) {
    terms.push(term(INDEX.frame, frameTerm(frame.verb, frame.object, frame.ref)));
  }
  if (head.slot !== undefined) terms.push(term(INDEX.slot, Buffer.from(head.slot, "utf8")));
  if (head.turn !== undefined) {
    const { session, index, chunk } = head.turn;
    const place = Buffer.alloc(6);
    place.writeUInt32BE(index, 0);
    place.writeUInt16BE(chunk, 4);
    terms.push({ ...term(INDEX.session, Buffer.from(session, "utf8")), place });
  }
  if (pinned) terms.push(term(INDEX.pinned, Uint8Array.of(MEMORY_TYPES[head.type].code)));
  for (const open of openQuestions(head)) terms.push(term(INDEX.review, Uint8Array.of(open)));
  if (head.waits === true) terms.push(term(INDEX.waiting, WAITING_TERM));
  return terms;
}

/** The one term of the index of values that wait. */
export const WAITING_TERM: Uint8Array = Uint8Array.of(1);

const NOTHING_OPEN: readonly number[] = [];

/** What about a live memory waits for a decision. */
function openQuestions(head: Head): readonly number[] {
  const { status, siblings } = head;
  const unsure = status === "disputed" || status === "provisional" ? status : undefined;
  // Most memories are settled: nothing to allocate for them.
  if (head.lifecycle !== "active" || (unsure === undefined && siblings.length === 0)) {
    return NOTHING_OPEN;
  }
  return [
    ...(siblings.length === 0 ? [] : [REVIEW_TERM.siblings]),
    ...(unsure === undefined ? [] : [REVIEW_TERM[unsure]]),
  ];
}

/** What tells the terms of one memory apart. */
export function termName(term: IndexTerm): string {
  return `${term.index} ${term.lifecycle} ${keyString(term.term)}`;
}

/** The index term of a frame. */
export function frameTerm(
  verb: keyof typeof FRAME_VERBS,
  object: keyof typeof OBJECT_KINDS,
  ref: string,
): Uint8Array {
  return Buffer.concat([
    Uint8Array.of(FRAME_VERBS[verb].code, OBJECT_KINDS[object].code),
    Buffer.from(ref, "utf8"),
  ]);
}

/** Moves one memory between the counts of the head row. */
export function count(
  fold: Fold,
  before: Lifecycle | undefined,
  after: Lifecycle | undefined,
): void {
  if (before === after) return;
  const counts = { ...fold.counts };
  if (before !== undefined) counts[before] -= 1;
  if (after !== undefined) counts[after] += 1;
  fold.counts = counts;
}

/** Notes one more live memory that says this; usually the only one. Ids stand in order. */
export function addFingerprint(fold: Fold, fingerprint: Uint8Array, id: Uint8Array): void {
  const key = idKey("fingerprint", fingerprint);
  const row = fold.view.get(key);
  if (row === undefined) fold.view.put(key, id);
  else fold.view.put(key, Buffer.concat([...splitIds(row), id].sort(Buffer.compare)));
}

/** Takes a memory out of those that say this. */
export function removeFingerprint(fold: Fold, fingerprint: Uint8Array, id: Uint8Array): void {
  const key = idKey("fingerprint", fingerprint);
  const ids = splitIds(fold.view.get(key));
  const left = ids.filter((other) => Buffer.compare(other, id) !== 0);
  if (left.length === 0) fold.view.delete(key);
  else fold.view.put(key, Buffer.concat(left));
}

/** The ids in the row of a fingerprint. */
export function splitIds(row: Uint8Array | undefined): Uint8Array[] {
  const ids: Uint8Array[] = [];
  for (let at = 0; row !== undefined && at < row.length; at += 16) {
    ids.push(row.subarray(at, at + 16));
  }
  return ids;
}

/** A part as its entry holds it, to be carried again. */
export interface KnownPart {
  /** salt ‖ record */
  readonly bytes: Uint8Array;
  /** What the entry says that first held it. */
  readonly first: PartContext;
}

/** Reads records back from the journal for a fold. */
class RecordReader {
  readonly #view: WriteView;
  /** What was read back. */
  readonly #known = new Map<number, MemoryRecord | EdgeRecord>();
  /** What was folded, side by side, ascending by name: most of it is never asked for, so no table is made of it. */
  readonly #names: number[] = [];
  readonly #records: (MemoryRecord | EdgeRecord)[] = [];
  readonly #hashes: (Uint8Array | null)[] = [];

  constructor(view: WriteView) {
    this.#view = view;
  }

  /** Keeps a record that was just folded. */
  remember(pointer: PartPointer, record: MemoryRecord | EdgeRecord, hash: Uint8Array | null): void {
    this.#names.push(pointerName(pointer));
    this.#records.push(record);
    this.#hashes.push(hash);
  }

  /** Forgets what an operation folded, when the operation is rolled back. */
  drop(fromSeq: number): void {
    const bound = pointerName({ seq: fromSeq, part: 0 });
    let { length } = this.#names;
    while (length > 0 && (this.#names[length - 1] as number) >= bound) length -= 1;
    this.#names.length = length;
    this.#records.length = length;
    this.#hashes.length = length;
  }

  /** The place of a pointer among what was folded; -1 where it was not. */
  #placeOf(name: number): number {
    const names = this.#names;
    let [from, to] = [0, names.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((names[middle] as number) < name) from = middle + 1;
      else to = middle;
    }
    return names[from] === name ? from : -1;
  }

  /** The Head at a memory's row. */
  head(row: MemoryRow): Head {
    return this.memory(row).head;
  }

  /** The current Version of a memory. */
  version(row: MemoryRow): Version {
    const { version } = this.memory(bodyPointer(row));
    if (version === undefined) throw lost(bodyPointer(row), "holds no version");
    return version;
  }

  /** The hash of the part that holds the current Version of a memory. */
  versionPart(row: MemoryRow): Uint8Array {
    const pointer = bodyPointer(row);
    const place = this.#placeOf(pointerName(pointer));
    const known = place < 0 ? null : this.#hashes[place];
    if (known !== null && known !== undefined) return known;
    const entry = this.#view.get(journalKey(pointer.seq));
    if (entry === undefined) throw lost(pointer, "is missing");
    const hash = decodeHeader(splitEntry(entry).headerBytes).parts[pointer.part]?.hash;
    if (hash === undefined || hash === null) throw lost(pointer, "has no hash");
    return hash;
  }

  /** The record of a memory at a pointer. */
  memory(pointer: PartPointer): MemoryRecord {
    return this.#read(pointer, decodeMemoryRecord) as MemoryRecord;
  }

  /** The record of an edge at a pointer. */
  edge(pointer: PartPointer): EdgeRecord {
    return this.#read(pointer, decodeEdgeRecord) as EdgeRecord;
  }

  /** The part at a pointer, of an entry that is sealed. */
  part(pointer: PartPointer): KnownPart {
    const row = this.#view.get(journalKey(pointer.seq));
    if (row === undefined) throw lost(pointer, "is missing");
    const { headerBytes, parts } = splitEntry(row);
    const bytes = parts[pointer.part];
    if (bytes === undefined) throw lost(pointer, "was erased");
    return { bytes, first: partContext(decodeHeader(headerBytes), pointer.part) };
  }

  #read(
    pointer: PartPointer,
    decodeRecord: (bytes: Uint8Array, context: PartContext) => MemoryRecord | EdgeRecord,
  ): MemoryRecord | EdgeRecord {
    const name = pointerName(pointer);
    const place = this.#placeOf(name);
    const known = place < 0 ? this.#known.get(name) : this.#records[place];
    if (known !== undefined) return known;
    const { bytes, first } = this.part(pointer);
    const record = decodeRecord(partRecord(bytes), first);
    this.#known.set(name, record);
    return record;
  }
}

/** Parts of one entry that a number has room for; the limits keep an entry far below. */
const PARTS_MAX = 2 ** 20;

/** One number for a pointer: cheaper to make and to look up than a text. */
function pointerName(pointer: PartPointer): number {
  return pointer.seq * PARTS_MAX + pointer.part;
}

function lost(pointer: PartPointer, what: string): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `journal entry ${pointer.seq}, part ${pointer.part} ${what}, but a row points at it`,
    { seq: pointer.seq },
  );
}
