/**
 * The members of index terms at a reader's position, in the order in which they came there, page by
 * page. `list` and `find` both read indexes through this file.
 *
 * The present is one range per term. The past is the same range without what came later, together
 * with what has left it since: rows closed after the position asked for. What was closed before is
 * never read.
 *
 * A member is a seq and an id; the turns of a session are a place and an id instead. Who may see a
 * memory, and what it says, is left to the callers.
 */
import type { Reader } from "../history/reader.js";
import {
  afterPrefix,
  getU64,
  INDEX,
  indexPrefix,
  keyBytes,
  keyString,
  memberOffset,
  memberSince,
  seqValue,
} from "../kv/keyspace.js";
import type { Bytes, KvRange, KvRow } from "../kv/kv.js";

/** One index, in one lifecycle, under one term. */
export interface Term {
  readonly index: number;
  readonly lifecycle: number;
  readonly term: Bytes;
}

/** Seqs between which members must have come; sessions, which stand in another order, ignore them. */
export interface SeqBounds {
  readonly fromSeq?: number;
  readonly toSeq?: number;
}

/** Which page to read. */
export interface PageRequest {
  /** The member after which to go on, itself excluded. */
  readonly cursor: Bytes | undefined;
  readonly reverse: boolean;
  readonly limit: number;
}

/** A page of members. */
export interface Members {
  /** In order: a seq and an id, or a place and an id for turns. */
  readonly members: readonly Bytes[];
  readonly more: boolean;
  /** How far the page reaches, when there is more. */
  readonly end: Bytes | undefined;
}

/** Reads pages of members; see the file header. */
export interface MemberSource {
  page(request: PageRequest): Promise<Members>;
}

/** Most rows closed since a past position that one list of a session may have to look at. */
const CLOSED_ROWS = 1_000_000;

const EMPTY = new Uint8Array(0);

/** Opens the members of terms; `pageItems` is about how many a page will have. */
export async function openMembers(
  reader: Reader,
  terms: readonly Term[],
  pageItems: number,
  bounds: SeqBounds = {},
): Promise<MemberSource> {
  const past = reader.live ? PRESENT : await closedMembers(reader, terms, pageItems, bounds);
  const sources = [...terms.map((term) => ({ term, name: "index" as const })), ...past.paged];
  return {
    page: (request) => nextMembers(reader, sources, past.members, { ...request, bounds }),
  };
}

/** The range of live rows of a term as far as the reader and the bounds reach. */
export function liveRange(
  reader: Reader,
  term: Term,
  bounds: SeqBounds,
): Pick<KvRange, "gte" | "lt"> {
  const prefix = indexPrefix("index", term.index, term.lifecycle, term.term);
  return seqRange(reader, term, prefix, bounds);
}

/** A range that members are read from, page by page: live rows, or closed ones by their begin. */
interface RowSource {
  readonly term: Term;
  readonly name: "index" | "indexBegun";
}

interface BoundPage extends PageRequest {
  readonly bounds: SeqBounds;
}

async function nextMembers(
  reader: Reader,
  sources: readonly RowSource[],
  closed: readonly Bytes[],
  page: BoundPage,
): Promise<Members> {
  const { cursor, reverse } = page;
  const rows = await reader.ranges(sources.map((source) => pageRange(source, page, reader)));
  const full = rows.some((found) => found.length === page.limit);
  const merged = new Map<string, Bytes>();
  for (const [at, found] of rows.entries()) {
    const source = sources[at];
    if (source === undefined) continue;
    for (const row of found) {
      if (!wasThere(source, row, reader)) continue;
      const member = memberOf(source, row.key);
      merged.set(keyString(member), member);
    }
  }
  for (const member of closed) {
    const name = keyString(member);
    const after =
      cursor === undefined || (reverse ? name < keyString(cursor) : name > keyString(cursor));
    if (after) merged.set(name, member);
  }
  const names = [...merged.keys()].sort();
  if (reverse) names.reverse();
  const end = full ? earliestEnd(rows, sources, page) : undefined;
  const shown = names.filter((name) => end === undefined || (reverse ? name >= end : name <= end));
  const members = shown.flatMap((name) => merged.get(name) ?? []);
  return { members, more: full, end: end === undefined ? undefined : keyBytes(end) };
}

/** Bytes of a member that begins with the seq at which it came: seq 8, id 16. */
const BEGUN_MEMBER_BYTES = 24;

function memberOf({ term, name }: RowSource, key: Bytes): Bytes {
  const at = memberOffset(term.term);
  return name === "index" ? key.subarray(at) : key.subarray(at, at + BEGUN_MEMBER_BYTES);
}

/** Whether a row's interval holds the reader's position. */
function wasThere(source: RowSource, { key, value }: KvRow, reader: Reader): boolean {
  if (source.name === "indexBegun") return getU64(key, key.length - 8) > reader.seq;
  return reader.live || memberSince(memberOf(source, key), value) <= reader.seq;
}

/** How far every range that was cut has been read: up to there the merge is complete. */
function earliestEnd(
  rows: readonly (readonly KvRow[])[],
  sources: readonly RowSource[],
  page: PageRequest,
): string | undefined {
  let end: string | undefined;
  for (const [at, found] of rows.entries()) {
    const [last, source] = [found.at(-1), sources[at]];
    if (found.length < page.limit || last === undefined || source === undefined) continue;
    const name = keyString(memberOf(source, last.key));
    if (end === undefined || (page.reverse ? name > end : name < end)) end = name;
  }
  return end;
}

/** Above every end that a closed row may have. */
const LAST_END = new Uint8Array(9).fill(0xff);

function pageRange({ term, name }: RowSource, page: BoundPage, reader: Reader): KvRange {
  const prefix = indexPrefix(name, term.index, term.lifecycle, term.term);
  const { cursor, reverse, limit } = page;
  const whole = seqRange(reader, term, prefix, page.bounds);
  if (cursor === undefined) return { ...whole, reverse, limit };
  const after = name === "index" ? Uint8Array.of(0) : LAST_END;
  const gte = reverse ? whole.gte : Buffer.concat([prefix, cursor, after]);
  const lt = reverse ? Buffer.concat([prefix, cursor]) : whole.lt;
  return {
    gte: larger(gte, whole.gte),
    lt: Buffer.compare(lt, whole.lt) < 0 ? lt : whole.lt,
    reverse,
    limit,
  };
}

function larger(a: Bytes, b: Bytes): Bytes {
  return Buffer.compare(a, b) < 0 ? b : a;
}

/** Rows stand in the order in which they came: what came later than the position is not read. */
function seqRange(
  reader: Reader,
  term: Term,
  prefix: Bytes,
  { fromSeq, toSeq }: SeqBounds,
): Pick<KvRange, "gte" | "lt"> {
  if (term.index === INDEX.session) return { gte: prefix, lt: afterPrefix(prefix) };
  const last = Math.min(reader.seq, toSeq ?? reader.seq);
  return {
    gte: fromSeq === undefined ? prefix : Buffer.concat([prefix, seqValue(fromSeq)]),
    lt:
      reader.live && toSeq === undefined
        ? afterPrefix(prefix)
        : Buffer.concat([prefix, seqValue(last + 1)]),
  };
}

/** What a page of the past needs beside the live rows. */
interface ClosedRows {
  /** Members that have left since, of terms that few have left. */
  readonly members: readonly Bytes[];
  /** Terms that many have left since: their closed rows are read by begin, a page at a time. */
  readonly paged: readonly RowSource[];
}

const PRESENT: ClosedRows = { members: [], paged: [] };

/** Members that stood in the terms at the position but have left since, or how to page to them. */
async function closedMembers(
  reader: Reader,
  terms: readonly Term[],
  pageItems: number,
  bounds: SeqBounds,
): Promise<ClosedRows> {
  const few = 2 * pageItems;
  const rows = await reader.ranges(
    terms.map((term) => {
      const prefix = indexPrefix("indexClosed", term.index, term.lifecycle, term.term);
      const gte = Buffer.concat([prefix, seqValue(reader.seq + 1)]);
      const most = term.index === INDEX.session ? CLOSED_ROWS : few;
      return { gte, lt: afterPrefix(prefix), limit: most };
    }),
  );
  const isPaged = (at: number): boolean =>
    rows[at]?.length === few && terms[at]?.index !== INDEX.session;
  const members = rows.flatMap((found, at) =>
    found.flatMap(({ key, value }) => {
      const term = terms[at];
      const member = key.subarray(memberOffset(term?.term ?? EMPTY) + 8);
      const since = memberSince(member, value);
      if (isPaged(at) || since > reader.seq) return [];
      return term?.index === INDEX.session || isWithin(since, bounds) ? [member] : [];
    }),
  );
  const paged = terms.flatMap((term, at) =>
    isPaged(at) ? [{ term, name: "indexBegun" as const }] : [],
  );
  return { members, paged };
}

function isWithin(seq: number, { fromSeq, toSeq }: SeqBounds): boolean {
  return (fromSeq === undefined || seq >= fromSeq) && (toSeq === undefined || seq <= toSeq);
}
