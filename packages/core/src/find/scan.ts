/**
 * From candidates to hits: reading a stream until a page is full, or to its end.
 *
 * `newestPage` gives hits in the order in which they arrived, whatever path they are read from. A path
 * may yield a memory earlier than its arrival says (a tag that was added later), never later; so a hit
 * waits until nothing that is still unread can stand before it. With tags given at birth, as nearly all
 * are, no hit ever waits.
 *
 * What makes a candidate a hit is left to the matcher.
 */
import type { FoundMemory, Read } from "../history/reader.js";
import { getU64, keyBytes, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import type { MemoryRecord } from "../records/memory-record.js";
import {
  type Candidate,
  markAfter,
  markAfterSeq,
  type Stream,
  tooManyCandidates,
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
export interface NewestPage {
  readonly matches: readonly Match[];
  /** How to go on; absent at the end. */
  readonly next?: { readonly emitted?: string; readonly before?: string };
  /** Hits there are, when all candidates were read. */
  readonly total?: number;
  readonly candidates: number;
}

/** A hit that waits for its turn, and the mark under which it was read. */
interface Waiting {
  readonly match: Match;
  readonly mark: string;
}

/** A page in the order of arrival; see the file header. */
export async function newestPage(
  stream: Stream,
  match: Matcher,
  wish: PageWish,
): Promise<NewestPage> {
  const wanted = wish.offset + wish.limit;
  const seen = new Set<string>();
  const ready: Match[] = [];
  let waiting: Waiting[] = [];
  let candidates = 0;
  let total = 0;
  let frontier: string | undefined;
  let size = Math.min(PAGE_SPARE + wanted + (wanted >> 2), PAGE_MOST);
  do {
    const page = await stream.next(size);
    ({ frontier } = page);
    const fresh = firstSeen(page.candidates, seen);
    candidates += fresh.length;
    const matches = await match(fresh);
    for (const [at, { mark }] of fresh.entries()) {
      const found = matches[at];
      if (found === undefined) continue;
      total += 1;
      const isPast = wish.emitted !== undefined && found.arrival >= wish.emitted;
      if (!isPast) waiting.push({ match: found, mark });
    }
    const due = waiting.filter((one) => isDue(one, frontier));
    if (due.length > 0) {
      due.sort((a, b) => (a.match.arrival < b.match.arrival ? 1 : -1));
      const taken = due.slice(0, wanted - ready.length);
      for (const one of taken) ready.push(one.match);
      const gone = new Set(taken);
      waiting = waiting.filter((one) => !gone.has(one));
    }
    if (
      candidates > LIMITS.findCandidates &&
      frontier !== undefined &&
      (wish.countTotal || ready.length < wanted)
    ) {
      // A short page is no help where hits wait: the next page would have to read all of it again.
      if (wish.countTotal || waiting.length > 0) throw tooManyCandidates();
      break;
    }
    const missing = wish.countTotal ? undefined : wanted - ready.length;
    size = nextSize(size, missing, total === 0 ? 0 : total / candidates);
  } while (frontier !== undefined && (wish.countTotal || ready.length < wanted));
  const matches = ready.slice(wish.offset);
  const isEnd = frontier === undefined && waiting.length === 0;
  const isWhole = frontier === undefined && !wish.resumed;
  const last = ready.at(-1)?.arrival ?? wish.emitted;
  return {
    matches,
    candidates,
    ...(isWhole ? { total } : {}),
    ...(isEnd ? {} : { next: resume(last, waiting, ready.length < wanted ? frontier : undefined) }),
  };
}

/** Candidates that one read asks for at most, and how many more than it seems to need. */
const PAGE_MOST = 1024;
const PAGE_SPARE = 4;

/** As many candidates as should give the hits that are missing, going by those seen so far. */
function nextSize(size: number, missing: number | undefined, hitShare: number): number {
  const likely =
    missing === undefined || hitShare === 0
      ? PAGE_MOST
      : PAGE_SPARE + Math.ceil((1.25 * missing) / hitShare);
  // Where hits are rare the share says little: pages grow, but no faster than four times.
  return Math.min(likely, 4 * size, PAGE_MOST);
}

function firstSeen(candidates: readonly Candidate[], seen: Set<string>): readonly Candidate[] {
  return candidates.filter(({ id }) => {
    const name = keyString(id);
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

/** Whether nothing that is still unread can stand before a hit. */
function isDue({ match }: Waiting, frontier: string | undefined): boolean {
  return frontier === undefined || match.arrival >= frontier;
}

/**
 * Where the next page starts to read. Everything unread lies below the last hit, and what was read but
 * still waits must be read again. A page that was cut short goes on at its frontier, rounded to the seq:
 * a cursor must not name a memory that the caller may not see.
 */
function resume(
  last: string | undefined,
  waiting: readonly Waiting[],
  frontier: string | undefined,
): { readonly emitted?: string; readonly before?: string } {
  const emitted = last === undefined ? {} : { emitted: last };
  const starts = waiting.map(({ mark }) => markAfter(mark));
  if (frontier !== undefined) starts.push(markAfterSeq(getU64(keyBytes(frontier), 0)));
  else if (last !== undefined) starts.push(last);
  const before = starts.sort().at(-1);
  return before === last || before === undefined ? emitted : { ...emitted, before };
}

/** Every hit, in no particular order; more candidates than allowed are refused. */
export async function allMatches(
  stream: Stream,
  match: Matcher,
  use: (matches: readonly Match[]) => Promise<void>,
): Promise<number> {
  const seen = new Set<string>();
  let candidates = 0;
  for (;;) {
    const page = await stream.next(PAGE_MOST);
    const fresh = firstSeen(page.candidates, seen);
    candidates += fresh.length;
    if (candidates > LIMITS.findCandidates) throw tooManyCandidates();
    await use((await match(fresh)).flatMap((one) => one ?? []));
    if (page.frontier === undefined) return candidates;
  }
}
