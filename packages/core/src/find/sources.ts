/**
 * Candidates of a query, newest first, page by page, from whichever path the planner chose.
 *
 * Every candidate comes with its mark: a seq and its id. The promise that holds for all paths, and on
 * which the order of answers rests: a memory did not enter its present state after the seq of its mark.
 * A memory enters an index when it enters its state, or later; an entry that changed it likewise. So
 * whatever has not been read yet entered its state no later than the frontier of what has.
 *
 * Marks are strings of one character a byte, so that they can be compared and kept in sets.
 */
import { CortexError } from "../errors.js";
import { type MemoryRow, sinceOf } from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { getU64, journalKey, keyBytes, keyString, seqValue } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { openMembers, type SeqBounds, type Term } from "../memory/members.js";
import type { Path } from "./find-plan.js";

/** A memory that may be a hit. */
export interface Candidate {
  readonly id: Bytes;
  readonly mark: string;
  /** Its row, where reading the path brought it. */
  readonly row?: MemoryRow;
}

/** A page of candidates. */
export interface CandidatePage {
  readonly candidates: readonly Candidate[];
  /** Whatever is still to come has a mark below this one; absent when nothing is. */
  readonly frontier: string | undefined;
  /** Rows along the path that were read for it, whatever they gave. */
  readonly rows: number;
}

/** Candidates, newest first. A memory may come more than once. */
export interface Stream {
  next(limit: number): Promise<CandidatePage>;
  /** Names the rows of the next page, so that they come with what is read of this one. */
  soon?(limit: number): void;
}

/** The mark of a seq and an id. */
export function markOf(seq: number, id: Bytes): string {
  return keyString(Buffer.concat([seqValue(seq), id]));
}

/** The smallest mark above every mark of a seq. */
export function markAfterSeq(seq: number): string {
  return keyString(Buffer.concat([seqValue(seq + 1), new Uint8Array(16)]));
}

/** The smallest mark above a mark. */
export function markAfter(mark: string): string {
  const bytes = Buffer.from(keyBytes(mark));
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    const next = ((bytes[at] ?? 0) + 1) & 0xff;
    bytes[at] = next;
    if (next !== 0) break;
  }
  return keyString(bytes);
}

/** The mark of the entry with which a memory entered its present state: made, archived, restored. */
export function arrivalOf(id: Bytes, row: MemoryRow): string {
  // The row of its type is the first of its terms, and it changes with the lifecycle alone.
  return markOf(sinceOf(row, 0), id);
}

/** How a path is read. */
export interface StreamOptions {
  readonly bounds: SeqBounds;
  /** About how many candidates a page will ask for. */
  readonly pageItems: number;
  /** Only candidates with a mark below this one are wanted. */
  readonly before?: string;
}

/** Opens a path over rows of the store. */
export async function openStream(
  reader: Reader,
  path: Exclude<Path, { readonly kind: "text" }>,
  how: StreamOptions,
): Promise<Stream> {
  const { bounds, pageItems, before } = how;
  switch (path.kind) {
    case "index":
      return indexStream(reader, path.terms, { bounds, pageItems, before });
    case "session":
      return idStream(reader, await sessionIds(reader, path.terms), before);
    case "journal":
      return journalStream(reader, path, before);
    default:
      return idStream(reader, path.ids, before);
  }
}

async function indexStream(
  reader: Reader,
  terms: readonly Term[],
  how: {
    readonly bounds: SeqBounds;
    readonly pageItems: number;
    readonly before: string | undefined;
  },
): Promise<Stream> {
  if (terms.length === 0) return NOTHING;
  const { before, pageItems, bounds } = how;
  const cursor = before === undefined ? undefined : keyBytes(before);
  const source = await openMembers(reader, { terms, pageItems, bounds, reverse: true, cursor });
  return {
    async next(limit) {
      const { members, more, end, rows } = await source.next(limit);
      const candidates = members.map((member) => ({
        id: member.subarray(member.length - 16),
        mark: keyString(member),
      }));
      const frontier = more && end !== undefined ? keyString(end) : undefined;
      return { candidates, frontier, rows };
    },
    soon: (limit) => source.soon(limit),
  };
}

const NOTHING: Stream = {
  next: () => Promise.resolve({ candidates: [], frontier: undefined, rows: 0 }),
};

/** Turns stand in the order of their places, so a session is read whole and then put in order. */
async function sessionIds(reader: Reader, terms: readonly Term[]): Promise<readonly Bytes[]> {
  const limit = LIMITS.findCandidates + 1;
  const query = { terms, pageItems: limit, reverse: true, cursor: undefined };
  const { members } = await (await openMembers(reader, query)).next(limit);
  return members.map((member) => member.subarray(member.length - 16));
}

/** Rows that one read of a list of ids asks for. */
const ROWS_AT_ONCE = 4096;

/** Candidates that are known by id alone: their rows say where they stand. */
async function idStream(
  reader: Reader,
  ids: readonly Bytes[],
  before: string | undefined,
): Promise<Stream> {
  const distinct = [...new Map(ids.map((id) => [keyString(id), id])).values()];
  if (distinct.length > LIMITS.findCandidates) throw tooManyCandidates();
  const found: (Candidate & { readonly row: MemoryRow })[] = [];
  for (let from = 0; from < distinct.length; from += ROWS_AT_ONCE) {
    const some = distinct.slice(from, from + ROWS_AT_ONCE);
    const rows = await reader.memoryRows(some);
    for (const [at, id] of some.entries()) {
      const row = rows[at];
      if (row === undefined || row.lifecycle === "erased") continue;
      const mark = arrivalOf(id, row);
      if (before === undefined || mark < before) found.push({ id, mark, row });
    }
  }
  found.sort((a, b) => (a.mark < b.mark ? 1 : -1));
  let from = 0;
  return {
    next(limit) {
      const candidates = found.slice(from, from + limit);
      from += limit;
      const frontier = from < found.length ? candidates.at(-1)?.mark : undefined;
      return Promise.resolve({ candidates, frontier, rows: candidates.length });
    },
  };
}

/** Memories by the entries that changed them, the last entry first. */
function journalStream(
  reader: Reader,
  { first, last }: { readonly first: number; readonly last: number },
  before: string | undefined,
): Stream {
  const seen = new Set<string>();
  let top = before === undefined ? last : Math.min(last, getU64(keyBytes(before), 0));
  return {
    async next(limit) {
      if (top < first) return { candidates: [], frontier: undefined, rows: 0 };
      const gte = journalKey(Math.max(first, top - limit + 1));
      const [rows = []] = await reader.ranges([
        { gte, lt: journalKey(top + 1), limit, reverse: true },
      ]);
      const candidates: Candidate[] = [];
      for (const { value } of rows) {
        const { seq, parts } = decodeHeader(splitEntry(value).headerBytes);
        for (const { subject } of parts) {
          if (subject[0] !== SUBJECT.memory) continue;
          const id = subject.subarray(1);
          const name = keyString(id);
          if (seen.has(name)) continue;
          seen.add(name);
          candidates.push({ id, mark: markOf(seq, id) });
        }
      }
      top -= limit;
      const frontier = top < first ? undefined : markAfterSeq(top);
      return { candidates, frontier, rows: rows.length };
    },
  };
}

/** What is said when an order needs more candidates than one query may read. */
export function tooManyCandidates(): CortexError {
  return tooMuch(`at most ${LIMITS.findCandidates} memories to put in order`);
}

/** What is said when the way to the candidates of an order is longer than one query may go. */
export function tooManyRows(): CortexError {
  return tooMuch(`at most ${LIMITS.findRows} rows on the way to what is put in order`);
}

function tooMuch(expected: string): CortexError {
  return new CortexError(
    "ERR_TOO_BROAD",
    `orderBy: expected ${expected}, got more: add a type, a tag, a kind, a slot or a later ` +
      "head.createdAt, or leave out orderBy, countTotal and the commonest words",
    { field: "orderBy", expected, got: "more" },
  );
}
