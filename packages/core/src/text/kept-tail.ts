/**
 * The tail that a process keeps from one search to the next, and what its writer has handed over for it. Whoever works
 * on the tail waits for the one before.
 */
import type { FoldEntry } from "../history/fold-state.js";
import type { Reader } from "../history/reader.js";
import type { KvRange } from "../kv/kv.js";
import { HandedEntries } from "./handed-entries.js";
import type { ManifestAt } from "./manifest-reader.js";
import { TextTail } from "./text-tail.js";

/** So many entries that the writer has handed over are taken into the tail, before they fill memory. */
const FOLLOW_ENTRIES = 512;

/** See the file header. */
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
