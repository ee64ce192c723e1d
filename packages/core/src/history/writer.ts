/**
 * The writer: one queue per process through which every change goes.
 *
 * All waiting operations are folded into one commit (group commit). An operation is a plain function
 * of the view; it may run more than once (when rows it needs were not loaded, or when another process
 * won the race), and only the last run counts. One that throws leaves nothing and does not disturb
 * its neighbours. A promise resolves after the commit that holds its entries is durable.
 *
 * Fairness between processes: a writer that lost a race before it won waits a moment after its
 * success, about as long as its commit took, so that the others get their turn.
 */

import type { Sha256 } from "../codec/hash.js";
import { equalBytes } from "../codec/keys.js";
import { cutBytes } from "../codec/slab.js";
import { CortexError } from "../errors.js";
import {
  type BatchSpan,
  type DraftPart,
  type Entry,
  type EntryDraft,
  encodeHeader,
  entryLeaf,
  firstContext,
  partHash,
  SALT_BYTES,
  SUBJECT,
} from "../journal/entry.js";
import { CONFIG_KEY, journalKey, REPLICA_KEY } from "../kv/keyspace.js";
import {
  type Bytes,
  HEAD_KEY,
  isStateGone,
  type Kv,
  type KvBegun,
  type KvCommit,
  type KvRange,
  type KvSnapshot,
} from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Json } from "../records/fields.js";
import type { Chance } from "./chance.js";
import { sealCommit } from "./commit.js";
import { EntryClock } from "./entry-clock.js";
import { foldEntry, putEntryRow } from "./fold.js";
import {
  beginFold,
  type Fold,
  type FoldEntry,
  type FoldPart,
  type KnownPart,
} from "./fold-state.js";
import type { CommitSignal } from "./growth.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";
import { decodePointer } from "./pointers.js";
import { NOTHING_READ, type Presumes, PresumptionPace, presumedAbsent } from "./presumption.js";
import { refuseReplica } from "./replica-mark.js";
import { RowCache } from "./row-cache.js";
import { type LeafRef, likelyPages } from "./trees.js";
import { loadUnread, rowsAtHand, Unread, WriteView } from "./write-view.js";

/** A part of a draft, with the decoded record so that the fold need not decode it again. */
export interface RecordDraft extends DraftPart {
  readonly decoded?: FoldPart["record"];
  /** An earlier part that is carried again with its salt, in an entry of kind `revert`. */
  readonly again?: KnownPart;
}

/** An entry an operation wants to append. */
export interface Draft extends EntryDraft {
  readonly parts: readonly RecordDraft[];
}

/** What an operation may use while it runs. */
export interface WriteTx {
  readonly fold: Fold;
  /** For reading; rows are changed by the fold alone. */
  readonly view: Pick<WriteView, "get" | "has" | "need" | "range" | "assumeAbsent" | "isNear">;
  /** The time every entry of this commit carries. */
  readonly at: number;
  readonly head: HeadRow;
  /** The seq the next appended entry will get. */
  nextSeq(): number;
  /** Folds one entry at once; returns its seq. */
  append(draft: Draft): number;
  /** Runs a step that may fail alone: its changes are taken back, the operation goes on. */
  attempt<T>(run: () => T): { readonly value: T } | { readonly error: CortexError };
}

/** One change, as a plain function of the view. */
export interface WriteOperation<T> {
  /** Rows it will want for sure: loaded in the first read. */
  readonly hints?: readonly Bytes[];
  /** Rows among them that are most likely not there: where no others are wanted, none need be read. */
  readonly fresh?: readonly Bytes[] | undefined;
  /** The same for a call that names what may be there or not: a wrong guess has to cost no more than one fold. */
  readonly perhapsFresh?: readonly Bytes[] | undefined;
  /** Ranges it will want for sure. */
  readonly ranges?: readonly KvRange[];
  /** Leaves it will touch: unless pages are cached, theirs are loaded in the first read. */
  readonly leaves?: () => readonly LeafRef[];
  /** True marks its entries as one batch, which reads of the past never split. */
  readonly batch?: boolean;
  /** About how many bytes it will write; closes a group in time. */
  readonly bytes?: number;
  /** How its value is told again to whoever repeats it under a key. */
  readonly again?: Again<T>;
  /** A record that goes into its first entry beside what it appends: what a repeated call is answered with. */
  answer?(value: T): Bytes | undefined;
  run(tx: WriteTx): T;
}

/** How the value of an operation is told again, from the entry that it wrote first. */
export interface Again<T> {
  /** What the entry keeps, where its records do not say it: ids and numbers, no word that anybody said. */
  keep?(value: T): Json;
  /** The value. */
  tell(tx: WriteTx, first: Entry, kept: Json | undefined): T;
}

/** What a write gives back: the operation's value and the position that holds it. */
export interface Written<T> {
  readonly value: T;
  /** The last seq of the journal that includes the operation. */
  readonly seq: number;
}

/** What a writer is made of. */
export interface WriterParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  readonly clock: () => number;
  /** Elapsed milliseconds that no clock setting changes; without it leaps go unnoticed. */
  readonly elapsed?: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** What `random` and the operations draw from; with it, runs that do not count draw nothing. */
  readonly chance?: Chance;
  readonly pause: (ms: number) => Promise<void>;
  /** A number that callers are not told; see `key-table.ts`. */
  readonly keySeed?: number;
  /** Which plain writes may begin without a read; see `presumption.ts`. */
  readonly presumes?: Presumes;
  /** Called after every commit of this process that brought entries. */
  readonly signal?: CommitSignal;
}

interface Waiting {
  readonly operation: WriteOperation<unknown>;
  readonly resolve: (written: Written<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

interface Prepared {
  readonly outcomes: readonly Outcome[];
  readonly seq: number;
  /** Entries there were before. */
  readonly size: number;
  readonly view: WriteView;
  readonly entries: readonly FoldEntry[];
  /** Absent when no operation appended anything. */
  readonly commit?: KvCommit;
}

interface Sealing {
  readonly entry: FoldEntry;
  readonly batch: boolean;
}

/** Rows that are taken to be absent from which on a commit begins before it is whole, and entries of each part of it. */
const BEGUN_ROWS = 256;
const BEGUN_ENTRIES = 128;

/** Rows that a single write takes to be absent where a read is no round trip: more are those of a batch. */
const ROWS_ALONE = 8;

/** How often a write starts over because the state that it read from was gone with a connection. */
const LOST_READS = 3;

/** The write queue of an open store. */
export class Writer {
  readonly #parts: WriterParts;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  readonly #cache = new RowCache();
  /** The head our own last commit left; the cache is true for it alone. */
  #lastHead: Bytes | undefined;
  /** The entry that held the configuration last: a write wants it, and it is read with the rest. */
  #configEntry: readonly Bytes[] = [];
  /** The rows that every write wants, as they were under that head. */
  #standing:
    | { readonly keys: readonly Bytes[]; readonly values: readonly (Bytes | undefined)[] }
    | undefined;
  readonly #pace = new PresumptionPace();
  /** Of guesses, which fail where versions are written more often than new names. */
  readonly #guessPace = new PresumptionPace();
  readonly #clock: EntryClock;
  #closed = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#clock = new EntryClock(parts.clock, parts.elapsed);
  }

  /** Queues an operation; resolves when it is durable. */
  submit<T>(operation: WriteOperation<T>): Promise<Written<T>> {
    if (this.#closed) return Promise.reject(new CortexError("ERR_CLOSED", "the store is closed"));
    return new Promise((resolve, reject) => {
      this.#queue.push({
        operation,
        resolve: resolve as (written: Written<unknown>) => void,
        reject,
      });
      this.#running ??= this.#drain();
    });
  }

  /** Waits for everything queued, then refuses more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Forgets cached rows, after the store was rebuilt or moved. */
  invalidate(): void {
    this.#cache.clear();
    this.#lastHead = undefined;
    this.#standing = undefined;
  }

  async #drain(): Promise<void> {
    // Let callers of the same turn join the first group.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#takeGroup();
      try {
        await this.#commitGroup(group);
      } catch (error) {
        this.invalidate();
        for (const waiting of group) waiting.reject(error);
      }
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { operation } of this.#queue) {
      bytes += operation.bytes ?? 1024;
      if (count > 0 && (bytes > LIMITS.groupBytes || count >= LIMITS.groupOperations)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #commitGroup(group: readonly Waiting[]): Promise<void> {
    const { kv, clock, pause } = this.#parts;
    const started = clock();
    if (await this.#presume(group)) return;
    for (let attempt = 1; attempt <= LIMITS.commitAttempts; attempt += 1) {
      const prepared = await this.#prepare(group).catch((error: unknown) => {
        // Nothing was written: a state that was gone while rows were read is no reason to give up.
        if (!isStateGone(error) || attempt > LOST_READS) throw error;
        return undefined;
      });
      if (prepared === undefined) {
        this.invalidate();
        continue;
      }
      const result =
        prepared.commit === undefined ? { ok: true as const } : await kv.commit(prepared.commit);
      if (!result.ok) {
        this.invalidate();
        // Lost: start over at once; the winner is the one that waits.
        continue;
      }
      const contended = attempt > 1;
      await this.#finish(group, prepared);
      if (contended && this.#queue.length > 0) {
        await pause(1 + Math.min(20, (clock() - started) / attempt));
      }
      return;
    }
    throw new CortexError(
      "ERR_CONTENDED",
      `other writers won the race ${LIMITS.commitAttempts} times in a row; nothing was written`,
    );
  }

  /** Commits a group without having read anything; false where that cannot be, or came to nothing. */
  async #presume(group: readonly Waiting[]): Promise<boolean> {
    const { kv, presumes = "nothing" } = this.#parts;
    const lastHead = this.#lastHead;
    const standing = this.#standing;
    if (presumes === "nothing" || lastHead === undefined || standing === undefined) return false;
    if (presumes === "alone" && group.length > 1) return false;
    const guess = presumes === "alone" ? group[0]?.operation.perhapsFresh : undefined;
    const absent = guess ?? presumedAbsent(group);
    if (absent === undefined || (presumes === "alone" && absent.length > ROWS_ALONE)) return false;
    const pace = guess === undefined ? this.#pace : this.#guessPace;
    if (!pace.mayPresume()) return false;
    const view = new WriteView(this.#cache, undefined, this.#parts.keySeed);
    view.load([HEAD_KEY, ...standing.keys, ...absent], [lastHead, ...standing.values]);
    const begun = absent.length < BEGUN_ROWS ? undefined : await kv.begin?.(lastHead);
    try {
      const prepared = await this.#fold(group, NOTHING_READ, view, lastHead, begun).catch(
        (error: unknown) => {
          if (error instanceof Unread) return undefined;
          throw error;
        },
      );
      // A refusal may be the presumption's fault: only what was read is refused.
      if (prepared?.commit !== undefined && prepared.outcomes.every((one) => "value" in one)) {
        const whole = { ...prepared.commit, absent };
        const result = await kv.commit(begun === undefined ? whole : { ...whole, begun });
        if (result.ok) {
          pace.held();
          await this.#finish(group, prepared);
          return true;
        }
      }
    } finally {
      await begun?.end();
    }
    pace.failed();
    return false;
  }

  /** What follows a commit, or a group that had nothing to commit. */
  async #finish(group: readonly Waiting[], prepared: Prepared): Promise<void> {
    this.#keep(prepared);
    answerAll(group, prepared);
    if (prepared.commit !== undefined) {
      await this.#parts.signal?.fire(prepared.seq + 1, prepared.size, prepared.entries);
    }
  }

  #keep(prepared: Prepared): void {
    if (prepared.commit === undefined) return;
    this.#lastHead = prepared.commit.head;
    const keys = [REPLICA_KEY, CONFIG_KEY, ...this.#configEntry];
    const isKnown = keys.every((key) => prepared.view.has(key) && !prepared.view.isChanged(key));
    const values = isKnown ? keys.map((key) => prepared.view.get(key)) : [];
    this.#standing = isKnown ? { keys, values } : undefined;
    // Pages keep the slabs they were cut from, 20 MB at the worst; copying them cost more.
    prepared.view.keepRows(this.#cache);
  }

  async #prepare(group: readonly Waiting[]): Promise<Prepared> {
    const snapshot = await this.#parts.kv.snapshot();
    try {
      const view = new WriteView(this.#cache, rowsAtHand(snapshot), this.#parts.keySeed);
      const hints = [HEAD_KEY, REPLICA_KEY, CONFIG_KEY, ...this.#configEntry];
      for (const { operation } of group) for (const key of operation.hints ?? []) hints.push(key);
      if (this.#cache.isEmpty && !view.isNear) {
        const leaves = group.flatMap(({ operation }) => operation.leaves?.() ?? []);
        for (const key of likelyPages(leaves, view)) hints.push(key);
      }
      const ranges = group.flatMap(({ operation }) => operation.ranges ?? []);
      const [values, rows] = await Promise.all([
        snapshot.getMany(hints),
        ranges.length === 0 ? [] : snapshot.ranges(ranges),
      ]);
      const [headBytes, mark, config] = values;
      refuseReplica(mark);
      this.#configEntry = config === undefined ? [] : [journalKey(decodePointer(config).seq)];
      if (this.#lastHead !== undefined && !equalBytes(headBytes, this.#lastHead)) {
        this.invalidate();
        // A snapshot may be a connection: not one while another is held.
        snapshot.close();
        return await this.#prepare(group);
      }
      view.load(hints, values);
      view.loadRanges(ranges, rows);
      return await this.#fold(group, snapshot, view, headBytes);
    } finally {
      snapshot.close();
    }
  }

  async #fold(
    group: readonly Waiting[],
    snapshot: KvSnapshot,
    view: WriteView,
    headBytes: Bytes | undefined,
    begun?: KvBegun,
  ): Promise<Prepared> {
    const head = decodeHeadRow(headBytes);
    const run = new GroupRun(this.#parts, view, head, this.#clock.timeAfter(head.at), begun);
    for (;;) {
      const unread = run.step(group);
      if (unread === undefined) break;
      await loadUnread(snapshot, view, unread);
    }
    begun?.add(view.takeNew());
    const { size } = head;
    const { outcomes, entries } = run;
    if (run.size === size) return { outcomes, seq: size - 1, size, view, entries };
    const commit = await sealCommit(this.#parts.sha256, snapshot, {
      view,
      fold: run.fold,
      headBytes,
      head,
      at: run.at,
      leafHashes: run.leafHashes,
    });
    return { outcomes, seq: run.size - 1, size, view, entries, commit };
  }
}

/** One run of a group over a view; see `step`. */
class GroupRun {
  readonly fold: Fold;
  readonly at: number;
  readonly outcomes: Outcome[] = [];
  readonly leafHashes: Uint8Array[] = [];
  /** What was sealed, in order. */
  readonly entries: FoldEntry[] = [];
  size: number;
  readonly #parts: WriterParts;
  readonly #view: WriteView;
  readonly #head: HeadRow;
  #open: Sealing[] = [];
  readonly #begun: KvBegun | undefined;

  constructor(parts: WriterParts, view: WriteView, head: HeadRow, at: number, begun?: KvBegun) {
    this.#begun = begun;
    this.#parts = parts;
    this.#view = view;
    this.#head = head;
    this.fold = beginFold(parts.sha256, view, head.counts);
    this.at = at;
    this.size = head.size;
  }

  /**
   * Runs the operations not run yet, in order. Stops at the first that needs unread rows, tries the
   * rest only to learn what they need as well, and returns all of it; `undefined` when all are done.
   */
  step(group: readonly Waiting[]): Unread | undefined {
    const keys: Bytes[] = [];
    const ranges: Unread["ranges"][number][] = [];
    let stuck = false;
    for (let at = this.outcomes.length; at < group.length; at += 1) {
      const waiting = group[at];
      if (waiting === undefined) break;
      const result = this.#runAgain(waiting.operation, stuck);
      if (result instanceof Unread) {
        stuck = true;
        // One by one: a large batch asks for more rows than a call may have arguments.
        for (const key of result.keys) keys.push(key);
        for (const range of result.ranges) ranges.push(range);
      } else if (!stuck) {
        this.outcomes.push(result);
      }
    }
    return stuck ? new Unread(keys, ranges) : undefined;
  }

  /** Runs an operation that may have to run once more: what it drew then is drawn again. */
  #runAgain(operation: WriteOperation<unknown>, dry: boolean): Outcome | Unread {
    // Where rows are at hand, once is enough.
    const chance = this.#view.isNear ? undefined : this.#parts.chance;
    chance?.begin();
    const result = this.#runOne(operation, dry);
    chance?.end(dry || result instanceof Unread);
    return result;
  }

  #runOne(operation: WriteOperation<unknown>, dry: boolean): Outcome | Unread {
    const undo = this.#mark();
    this.#open = [];
    try {
      const changes = this.#view.mark();
      const value = operation.run(this.#tx(operation.batch === true));
      if (this.#open.length === 0 && this.#view.mark() > changes) throw withoutEntry();
      this.#addAnswer(operation.answer?.(value));
      if (dry) undo();
      else this.#seal();
      return { value };
    } catch (error) {
      undo();
      if (error instanceof Unread) return error;
      return { error };
    }
  }

  /** Adds an answer to the first entry of an operation. The fold has nothing to do with it. */
  #addAnswer(record: Bytes | undefined): void {
    const [first] = this.#open;
    if (record === undefined || first === undefined) return;
    const bytes = saltedPart(this.#parts.random(SALT_BYTES), 0, record);
    const hash = partHash(this.#parts.sha256, bytes);
    const part = { subject: Uint8Array.of(SUBJECT.store), hash, bytes };
    const entry = { ...first.entry, parts: [...first.entry.parts, part] };
    this.#open[0] = { ...first, entry };
  }

  /** Remembers where the run stands; the returned function goes back there. */
  #mark(): () => void {
    const { size } = this;
    const { counts } = this.fold;
    const view = this.#view.mark();
    const leaves = this.fold.leaves.mark();
    const open = this.#open.length;
    return () => {
      this.#view.rollback(view);
      this.fold.leaves.rollback(leaves);
      this.fold.records.drop(size);
      this.fold.counts = counts;
      this.size = size;
      this.#open.length = open;
    };
  }

  #tx(batch: boolean): WriteTx {
    return {
      fold: this.fold,
      view: this.#view,
      at: this.at,
      head: this.#head,
      nextSeq: () => this.size,
      append: (draft) => this.#append(draft, batch),
      attempt: (run) => {
        const undo = this.#mark();
        try {
          return { value: run() };
        } catch (error) {
          undo();
          if (error instanceof CortexError) return { error };
          throw error;
        }
      },
    };
  }

  #append(draft: Draft, batch: boolean): number {
    const seq = this.size;
    const salts = this.#parts.random(draft.parts.length * SALT_BYTES);
    const parts = draft.parts.map((part, at): FoldPart => {
      const { subject, record, decoded, again } = part;
      if (record === null) return { subject, hash: null, bytes: undefined };
      const bytes = again?.bytes ?? saltedPart(salts, at * SALT_BYTES, record);
      const hash = partHash(this.#parts.sha256, bytes);
      if (again === undefined) return { subject, hash, bytes, record: decoded };
      const first = firstContext(again.first, { at: this.at, by: draft.by });
      return { subject, hash, bytes, record: decoded, ...first };
    });
    const { kind, by, request } = draft;
    const entry: FoldEntry = { seq, kind, at: this.at, by, parts, request };
    foldEntry(this.fold, entry);
    this.#open.push({ entry, batch });
    this.size += 1;
    if (this.size % BEGUN_ENTRIES === 0) this.#begun?.add(this.#view.takeNew());
    return seq;
  }

  /** Gives the entries of one operation their header bytes, now that its length is known. */
  #seal(): void {
    const first = this.#open[0]?.entry.seq ?? 0;
    for (const { entry, batch } of this.#open) {
      const span: BatchSpan | undefined =
        batch && this.#open.length > 1 ? { first, length: this.#open.length } : undefined;
      const headerBytes = encodeHeader(entry, span);
      putEntryRow(this.fold, entry.seq, headerBytes, entry.parts);
      this.entries.push(entry);
      this.leafHashes.push(entryLeaf(this.#parts.sha256, headerBytes));
    }
    this.#open = [];
  }
}

function saltedPart(salts: Bytes, from: number, record: Bytes): Bytes {
  const bytes = cutBytes(SALT_BYTES + record.length);
  for (let at = 0; at < SALT_BYTES; at += 1) bytes[at] = salts[from + at] as number;
  bytes.set(record, SALT_BYTES);
  return bytes;
}

/** Refused alone: in a group, its rows would pass as those of its neighbours' entries. */
function withoutEntry(): CortexError {
  return new CortexError(
    "ERR_BATCH_NO_JOURNAL",
    "an operation changes rows without a journal entry",
  );
}

function answerAll(group: readonly Waiting[], prepared: Prepared): void {
  for (const [at, waiting] of group.entries()) {
    const outcome = prepared.outcomes[at];
    if (outcome === undefined) waiting.reject(new Error("an operation has no outcome"));
    else if ("error" in outcome) waiting.reject(outcome.error);
    else waiting.resolve({ value: outcome.value, seq: prepared.seq });
  }
}
