/**
 * The end of the journal as the text index sees it: documents that began after the last segment was
 * written, gathered in memory by every process for itself, so that a write of any process is found at
 * once. A flush writes the very same drafts out as segments.
 *
 * A document begins with every entry that touches a memory's record and ends with the next one. So the entry
 * that a memory's row names is the begin of its one living document, which is how a search knows whether a hit
 * still holds.
 *
 * New memories that this process wrote itself are handed over by its writer. Other entries are read in pages, and what a
 * page needs beside itself in a few batched reads: what the memories were before, bodies that stand elsewhere, rival
 * versions. `TextTail` is one such stretch; `KeptTail` keeps it from one search to the next, with what was handed over for
 * it, and has everybody who works on it wait for the one before.
 */
import { CortexError } from "../errors.js";
import type { FoldEntry } from "../history/fold-state.js";
import { bodyPointer, decodeMemoryRow, type PartPointer } from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import { historyKey, journalKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { decodeMemoryRecord, type MemoryRecord } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { type DocumentSource, eachDocumentWord, Rivals } from "./document.js";
import type { ManifestAt } from "./manifest.js";
import { eventsOf, HandedEntries, isBirth, type MemoryEvent } from "./memory-events.js";
import { isMark } from "./names.js";
import { DraftSegment } from "./segment.js";
import { LENGTH_MAX } from "./segment-rows.js";

/** Entries of one page. */
const PAGE_ENTRIES = 512;

/** A memory that was forgotten, and by which entry. */
interface ForgottenMemory {
  readonly id: Bytes;
  readonly seq: number;
}

/** Where a memory stands before the entry that is looked at. */
interface KnownPlace {
  /** The code of its lifecycle. */
  readonly lifecycle: number;
  /** Its document in the draft of its lifecycle; `undefined` when it lies in a segment. */
  readonly document: number | undefined;
  readonly head: PartPointer;
  readonly body: PartPointer;
}

/** What a page needs beside its own entries. */
interface PageContext {
  readonly records: ReadonlyMap<number, MemoryRecord>;
  readonly rivals: Rivals;
  /** Where the bodies lie that are current again by a revert of the head alone, by its place. */
  readonly back: ReadonlyMap<number, PartPointer>;
}

const NOTHING: PageContext = { records: new Map(), rivals: new Rivals(), back: new Map() };

/** The documents of one stretch at the end of the journal. */
export class TextTail {
  readonly analyser: Analyser;
  /** The first seq it knows. */
  readonly base: number;
  /** The first seq it does not know yet. */
  end: number;
  /** By the code of the lifecycle. */
  readonly drafts = new Map<number, DraftSegment>();
  readonly forgotten: ForgottenMemory[] = [];
  readonly #standing = new Map<string, KnownPlace>();

  constructor(analyser: Analyser, base: number) {
    this.analyser = analyser;
    this.base = base;
    this.end = base;
  }

  /** Where the next entries stand: the journal has no gaps, so that their number says which. */
  nextPage(limit: number): KvRange {
    return { gte: journalKey(this.end), lt: journalKey(this.end + PAGE_ENTRIES), limit };
  }

  /**
   * Goes on up to but not including `to`, as far as the reader's snapshot goes: by what the writer of this process has
   * handed over, and where that is missing by the journal.
   */
  async extend(reader: Reader, to: number, handed?: HandedEntries): Promise<void> {
    const last = Math.min(to, reader.head.size);
    while (this.end < last) {
      const most = Math.min(this.end + PAGE_ENTRIES, last);
      const given = handed?.give(this.end, most) ?? [];
      const isAhead = handed !== undefined && handed.first > this.end;
      const until =
        given.length > 0 ? this.end + given.length : isAhead ? Math.min(most, handed.first) : most;
      const events = given.length > 0 ? given.flat() : await this.#read(reader, until);
      const context = await this.#prepare(reader, events);
      for (const event of events) this.#apply(event, context);
      this.end = until;
    }
  }

  /** Takes what was handed over, at most so many entries, and says how many: new memories, nothing is read for them. */
  follow(handed: HandedEntries, most: number): number {
    const given = handed.give(this.end, this.end + most);
    for (const events of given) for (const event of events) this.#apply(event, NOTHING);
    this.end += given.length;
    return given.length;
  }

  async #read(reader: Reader, until: number): Promise<readonly MemoryEvent[]> {
    const [rows = []] = await reader.ranges([this.nextPage(until - this.end)]);
    return rows.flatMap(({ value }) => eventsOf(value));
  }

  /** Learns where the memories of a page stood before it, and reads all that the page refers to. */
  async #prepare(reader: Reader, events: readonly MemoryEvent[]): Promise<PageContext> {
    // Most pages of a growing store hold nothing but new memories.
    if (events.every(isBirth)) return NOTHING;
    const records = new Map<number, MemoryRecord>();
    const unknown = new Map<string, MemoryEvent>();
    const met = new Set<string>();
    for (const event of events) {
      records.set(placeOf(event), event.record);
      if (!met.has(event.name) && !this.#standing.has(event.name) && !isBirth(event)) {
        unknown.set(event.name, event);
      }
      met.add(event.name);
    }
    const earlier = await this.#standBefore(reader, [...unknown.values()]);
    const back = await bodiesBack(reader, events);
    const pointers = [...met].flatMap((name) => {
      const before = this.#standing.get(name);
      if (before === undefined) return [];
      return before.document === undefined ? [before.head, before.body] : [before.body];
    });
    const missing = [...pointers, ...back.values()].filter(
      (pointer) => !records.has(placeOf(pointer)),
    );
    const read = await reader.records(missing, decodeMemoryRecord);
    for (const [at, pointer] of missing.entries()) {
      const record = read[at]?.record;
      if (record !== undefined) records.set(placeOf(pointer), record);
    }
    const heads = [
      ...events.map(({ id, record }) => ({ id, head: record.head })),
      ...earlier.flatMap(({ id, head }) => {
        const record = records.get(placeOf(head));
        return record === undefined ? [] : [{ id, head: record.head }];
      }),
    ];
    return { records, rivals: await Rivals.read(reader, heads), back };
  }

  /** Finds the documents in segments that the events will end. */
  async #standBefore(
    reader: Reader,
    events: readonly MemoryEvent[],
  ): Promise<readonly (KnownPlace & { readonly id: Bytes })[]> {
    const changes = events.filter(({ record }) => record.head.lifecycle !== "erased");
    const rows = await reader.ranges(
      changes.map(({ id, seq }) => {
        return { gte: historyKey(id, 0), lt: historyKey(id, seq), limit: 1, reverse: true };
      }),
    );
    return changes.map(({ id, name, seq }, at) => {
      const value = rows[at]?.[0]?.value;
      if (value === undefined) throw lost(seq);
      const row = decodeMemoryRow(value);
      const standing = {
        id,
        lifecycle: LIFECYCLES[row.lifecycle].code,
        document: undefined,
        head: { seq: row.seq, part: row.part },
        body: bodyPointer(row),
      };
      this.#standing.set(name, standing);
      return standing;
    });
  }

  #apply(event: MemoryEvent, context: PageContext): void {
    const { id, name, record, seq, part } = event;
    if (record.head.lifecycle === "erased") {
      for (const draft of this.drafts.values()) draft.forget(id);
      this.#standing.delete(name);
      this.forgotten.push({ id, seq });
      return;
    }
    const before = this.#standing.get(name);
    if (before !== undefined) this.#end(event, before, context);
    const here = { seq, part };
    const elsewhere = context.back.get(placeOf(here)) ?? before?.body ?? here;
    const body = record.version === undefined ? elsewhere : here;
    const lifecycle = LIFECYCLES[record.head.lifecycle].code;
    const source = sourceOf(id, record, body, context);
    const document = this.#draft(lifecycle).begin({ id, begin: seq }, (take) =>
      eachDocumentWord(this.analyser, source, take),
    );
    this.#standing.set(name, { lifecycle, document, head: here, body });
  }

  #end({ id, seq: end }: MemoryEvent, before: KnownPlace, context: PageContext): void {
    const draft = this.#draft(before.lifecycle);
    if (before.document !== undefined) {
      draft.ends[before.document] = end;
      return;
    }
    const record = context.records.get(placeOf(before.head));
    if (record === undefined) throw lost(end);
    const words = new Set<string>();
    let length = 0;
    eachDocumentWord(this.analyser, sourceOf(id, record, before.body, context), (word) => {
      words.add(word);
      if (!isMark(word)) length += 1;
    });
    length = Math.min(length, LENGTH_MAX);
    draft.olderEnds.push({ id, begin: before.head.seq, end, length, words });
  }

  #draft(lifecycle: number): DraftSegment {
    const draft = this.drafts.get(lifecycle) ?? new DraftSegment();
    this.drafts.set(lifecycle, draft);
    return draft;
  }
}

/** Where the bodies of reverts lie that hold a head alone: not always where they lay before. */
async function bodiesBack(
  reader: Reader,
  events: readonly MemoryEvent[],
): Promise<ReadonlyMap<number, PartPointer>> {
  const alone = events.filter(
    ({ kind, record }) => kind === "revert" && record.version === undefined,
  );
  const rows = await Promise.all(alone.map(({ id, seq }) => reader.before(seq).memoryRows([id])));
  return new Map(
    alone.flatMap((event, at) => {
      const row = rows[at]?.[0];
      return row === undefined ? [] : [[placeOf(event), bodyPointer(row)] as const];
    }),
  );
}

function sourceOf(
  id: Bytes,
  record: MemoryRecord,
  body: PartPointer,
  { records, rivals }: PageContext,
): DocumentSource {
  const { head } = record;
  const version = record.version ?? records.get(placeOf(body))?.version;
  if (version === undefined) throw lost(body.seq);
  return { head, bodies: rivals.bodies({ id, head }, version) };
}

/** One number for a place in the journal; the limits keep entries far below so many parts. */
function placeOf({ seq, part }: PartPointer): number {
  return seq * 2 ** 20 + part;
}

function lost(seq: number): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `text index: what a memory was before entry ${seq} cannot be found`,
    { seq },
  );
}

/** So many entries that the writer has handed over are taken into the tail, before they fill memory. */
const FOLLOW_ENTRIES = 512;

/** The tail of a process, kept from one search to the next. */
export class KeptTail {
  readonly #handed = new HandedEntries();
  #tail: TextTail | undefined;
  /** The one that was written out last, for readers that began before. */
  #flushed: TextTail | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** Takes the entries of a commit of this process, after which the journal has `size`. */
  hand(size: number, entries: readonly FoldEntry[]): void {
    this.#handed.take(size, entries);
  }

  /** Whether enough was handed over that `follow` is worth it. */
  get mayFollow(): boolean {
    return this.#handed.size >= FOLLOW_ENTRIES && this.#tail?.end === this.#handed.first;
  }

  /** Where the entries stand that a search reads next. */
  nextPages(limit: number): readonly KvRange[] {
    return this.#tail === undefined ? [] : [this.#tail.nextPage(limit)];
  }

  /** The tail that goes with a manifest, read up to `to`, or to the reader's position. */
  at(reader: Reader, at: ManifestAt, to = reader.seq + 1): Promise<TextTail> {
    return this.#inTurn(async () => {
      const { manifest, analyser } = at;
      const held = this.#tail;
      const known = [held, this.#flushed].find(
        (one) => one?.base === manifest.cursor && one.analyser === analyser,
      );
      const tail = known ?? new TextTail(analyser, manifest.cursor);
      // A reader older than a flush gets a tail of its own: the newer one is for those who follow.
      const isOlder = held !== undefined && (tail === this.#flushed || reader.head.size < held.end);
      if (!isOlder) this.#tail = tail;
      try {
        await tail.extend(reader, to, isOlder ? undefined : this.#handed);
      } catch (error) {
        if (this.#tail === tail) this.#tail = undefined;
        throw error;
      }
      return tail;
    });
  }

  /** Takes some entries that were handed over, without a look at the store; says whether there were so many. */
  follow(most: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const tail = this.#tail;
      // Not kept if it fails in the middle.
      this.#tail = undefined;
      const taken = tail?.follow(this.#handed, most);
      this.#tail = tail;
      return taken === most;
    });
  }

  /** The index was written out up to `to`: the next tail begins there. What was read beyond is read again. */
  flushed(to: number): void {
    const tail = this.#tail;
    if (tail === undefined || tail.base >= to) return;
    this.#tail = new TextTail(tail.analyser, to);
    this.#flushed = tail;
  }

  /** Lets go of the tail that was written out. */
  letGo(): void {
    this.#flushed = undefined;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
