/**
 * From candidates to hits: reading a stream until a page is full, or to its end.
 *
 * `newestPage` gives hits in the order in which they arrived, whatever path they are read from. A path
 * may yield a memory earlier than its arrival says (a tag that was added later), never later; so a hit
 * waits until nothing that is still unread can stand before it. With tags given at birth, as nearly all
 * are, no hit ever waits.
 *
 * Promise: the work goes with what is read. No more hits wait than the page has room for, whatever is
 * found, and pages of the stream grow while nothing comes of them. `LIMITS.findCandidates` and
 * `LIMITS.findRows` bound what one call reads: then a page ends short, and where that would be no help
 * the query is refused.
 *
 * What makes a candidate a hit is left to the matcher.
 */
import type { CortexError } from "../errors.js";
import type { FoundMemory, Read } from "../history/reader.js";
import { getU64, keyBytes, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import type { MemoryRecord } from "../records/memory-record.js";
import {
  type Candidate,
  type CandidatePage,
  markAfter,
  markAfterSeq,
  type Stream,
  tooManyCandidates,
  tooManyRows,
} from "./sources.js";

/** A memory that satisfies the query. */
export interface Match {
  readonly found: FoundMemory;
  /** The version that the query looked at. */
  readonly body: Read<MemoryRecord>;
  /** The mark of its arrival. */
  readonly arrival: string;
}

/** Tests candidates, in order. */
export type Matcher = (candidates: readonly Candidate[]) => Promise<readonly (Match | undefined)[]>;

/** Which page is wanted. */
export interface PageWish {
  readonly offset: number;
  readonly limit: number;
  /** The mark of the last hit of the pages before. */
  readonly emitted?: string;
  /** Whether the stream starts where another page ended. */
  readonly resumed: boolean;
  /** Read on to the end, to count. */
  readonly countTotal: boolean;
}

/** A page of hits. */
interface NewestPage {
  readonly matches: readonly Match[];
  /** How to go on; absent at the end. */
  readonly next?: { readonly emitted?: string; readonly before?: string };
  /** Hits there are, when all candidates were read. */
  readonly total?: number;
  readonly candidates: number;
}

/** A page in the order of arrival; see the file header. */
export async function newestPage(
  stream: Stream,
  match: Matcher,
  wish: PageWish,
): Promise<NewestPage> {
  const desk = new HitDesk(wish.offset, wish.limit);
  const spent = new Spending();
  let total = 0;
  let frontier: string | undefined;
  let size = firstSize(desk.room);
  let isLater = false;
  do {
    const page = await stream.next(size);
    ({ frontier } = page);
    // Whoever needed a second page will need a third: it is read along.
    if (isLater && frontier !== undefined) stream.soon?.(Math.min(GROWTH * size, PAGE_MOST));
    isLater = true;
    const fresh = spent.add(page);
    const matches = await match(fresh);
    const hits: WaitingHit[] = [];
    for (const [at, { mark }] of fresh.entries()) {
      const found = matches[at];
      if (found === undefined) continue;
      total += 1;
      const isPast = wish.emitted !== undefined && found.arrival >= wish.emitted;
      if (!isPast) hits.push({ match: found, mark });
    }
    desk.add(hits, frontier);
    const { candidates } = spent;
    if (spent.isOver && frontier !== undefined && (wish.countTotal || desk.room > 0)) {
      // A short page is no help where hits wait: the next page would have to read all of it again.
      if (wish.countTotal || desk.isWaiting) throw spent.refusal();
      break;
    }
    const missing = wish.countTotal ? undefined : desk.room;
    size = nextSize(size, missing, candidates === 0 ? 0 : desk.taken / candidates);
  } while (frontier !== undefined && (wish.countTotal || desk.room > 0));
  const isEnd = frontier === undefined && !desk.isWaiting;
  const isWhole = frontier === undefined && !wish.resumed;
  const last = desk.last ?? wish.emitted;
  const unread = desk.room > 0 ? frontier : undefined;
  return {
    matches: desk.ready,
    candidates: spent.candidates,
    ...(isWhole ? { total } : {}),
    ...(isEnd ? {} : { next: resume(last, desk.waitingMark(), unread) }),
  };
}

/** A hit that waits for its turn, and the mark under which it was read. */
interface WaitingHit {
  readonly match: Match;
  readonly mark: string;
}

/**
 * The hits of one page: those whose turn it is, and those that wait. Of the waiting ones only as many
 * are kept as the page still has room for; of the others nothing is needed but where to read them again.
 * Those before the offset are counted and let go: there may be a hundred thousand.
 */
class HitDesk {
  /** In the order of the answer, from the offset on. */
  readonly ready: Match[] = [];
  /** Hits whose turn has come, the passed over included. */
  taken = 0;
  /** The arrival of the last of them. */
  last: string | undefined;
  readonly #offset: number;
  readonly #wanted: number;
  /** The newest arrival first. */
  #waiting: WaitingHit[] = [];
  /** The highest mark of the hits that there was no room for. */
  #leftMark: string | undefined;

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#wanted = offset + limit;
  }

  /** Hits that the page still lacks. */
  get room(): number {
    return this.#wanted - this.taken;
  }

  /** Whether a hit was read whose turn has not come. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0 || this.#leftMark !== undefined;
  }

  /** The highest mark of all hits that wait. */
  waitingMark(): string | undefined {
    return this.#waiting.reduce((mark, one) => higher(mark, one.mark), this.#leftMark);
  }

  /** Takes hits in, and out all those that nothing unread can stand before. */
  add(hits: readonly WaitingHit[], frontier: string | undefined): void {
    if (hits.length > 0) {
      // What waits is in order already, so putting the new ones in is a merge.
      this.#waiting = this.#waiting.concat(hits);
      this.#waiting.sort((a, b) => (a.match.arrival < b.match.arrival ? 1 : -1));
    }
    let due = 0;
    for (const { match } of this.#waiting) {
      if (this.room === 0 || (frontier !== undefined && match.arrival < frontier)) break;
      if (this.taken >= this.#offset) this.ready.push(match);
      this.last = match.arrival;
      this.taken += 1;
      due += 1;
    }
    for (const { mark } of this.#waiting.slice(due + this.room)) {
      this.#leftMark = higher(this.#leftMark, mark);
    }
    this.#waiting = this.#waiting.slice(due, due + this.room);
  }
}

function higher(a: string | undefined, b: string): string {
  return a === undefined || a < b ? b : a;
}

/** What a query has read so far, and whether that is all it may. */
class Spending {
  /** Memories that were looked at, each once. */
  candidates = 0;
  #rows = 0;
  readonly #seen = new Set<string>();

  /** Counts a page; gives the candidates that were not met before. */
  add(page: CandidatePage): readonly Candidate[] {
    const fresh = page.candidates.filter(({ id }) => {
      const name = keyString(id);
      if (this.#seen.has(name)) return false;
      this.#seen.add(name);
      return true;
    });
    this.candidates += fresh.length;
    this.#rows += page.rows;
    return fresh;
  }

  get isOver(): boolean {
    return this.candidates > LIMITS.findCandidates || this.#rows > LIMITS.findRows;
  }

  refusal(): CortexError {
    return this.candidates > LIMITS.findCandidates ? tooManyCandidates() : tooManyRows();
  }
}

/** Candidates that the first read asks for, where so many hits are wanted; all are without a number. */
export function firstSize(wanted: number | undefined): number {
  if (wanted === undefined) return PAGE_MOST;
  return Math.min(PAGE_SPARE + wanted + (wanted >> 2), PAGE_MOST);
}

/** Candidates that one read asks for at most, and how many more than it seems to need. */
const PAGE_MOST = 1024;
const PAGE_SPARE = 4;
/** How much larger than the last a page may be. */
const GROWTH = 4;

/** As many candidates as should give the hits that are missing, going by those seen so far. */
function nextSize(size: number, missing: number | undefined, hitShare: number): number {
  const likely =
    missing === undefined || hitShare === 0
      ? PAGE_MOST
      : PAGE_SPARE + Math.ceil((1.25 * missing) / hitShare);
  // Where hits are rare the share says little: pages grow, but no faster than four times.
  return Math.min(likely, GROWTH * size, PAGE_MOST);
}

/**
 * Where the next page starts to read. Everything unread lies below the last hit, and what was read but
 * still waits must be read again. A page that was cut short goes on at its frontier, rounded to the seq:
 * a cursor must not name a memory that the caller may not see.
 */
function resume(
  last: string | undefined,
  waitingMark: string | undefined,
  frontier: string | undefined,
): { readonly emitted?: string; readonly before?: string } {
  const emitted = last === undefined ? {} : { emitted: last };
  const unread = frontier === undefined ? last : markAfterSeq(getU64(keyBytes(frontier), 0));
  const waits = waitingMark === undefined ? undefined : markAfter(waitingMark);
  const before = waits === undefined ? unread : higher(unread, waits);
  return before === last || before === undefined ? emitted : { ...emitted, before };
}

/** Every hit, in no particular order; more candidates than allowed are refused. */
export async function allMatches(
  stream: Stream,
  match: Matcher,
  use: (matches: readonly Match[]) => Promise<void>,
): Promise<number> {
  const spent = new Spending();
  for (;;) {
    const page = await stream.next(PAGE_MOST);
    const fresh = spent.add(page);
    if (spent.isOver) throw spent.refusal();
    await use((await match(fresh)).flatMap((one) => one ?? []));
    if (page.frontier === undefined) return spent.candidates;
  }
}
