/**
 * The members of index terms at a reader's position, in the order in which they came there, page by
 * page, and which member of a slot answers at a time. `list` and `find` both read indexes through this file.
 *
 * The present is one range per term. The past is the same range without what came later, together
 * with what has left it since: rows closed after the position asked for. What was closed before is
 * never read.
 *
 * Promise: whoever reads on to the end reads every row once, however many terms there are. A page is
 * merged from all of them as far as all of them are known; what was read beyond that waits for the next.
 *
 * A member is a seq and an id; the turns of a session are a place and an id instead. Who may see a
 * memory, and what it says, is left to the callers.
 *
 * Slots. A value that was given for a time to come waits beside the value of today:
 * both are active, and the time of the read decides which of them answers. Nothing has to happen at that
 * time, and no read changes anything.
 *
 * Promise: of the memories in one slot, the one that began last by the time answers; a value that has not
 * begun does not, nor does one whose turn has passed to a later one. Only what `show` leaves counts.
 * A store where nothing waits pays one empty range.
 */

import { WAITING_TERM } from "../history/fold-state.js";
import { openEntry } from "../history/pointers.js";
import { bodyOf, type FoundMemory, lastSeqAt, type Read, type Reader } from "../history/reader.js";
import {
  afterPrefix,
  getU64,
  INDEX,
  indexPrefix,
  journalKey,
  keyBytes,
  keyString,
  memberOffset,
  memberSince,
  seqValue,
} from "../kv/keyspace.js";
import { ALL_ROWS, type Bytes, type KvRange, type KvRow } from "../kv/kv.js";
import type { MemoryRecord, Version } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";

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

/** What to read, and from where. */
export interface MembersQuery {
  readonly terms: readonly Term[];
  /** About how many members a page will have. */
  readonly pageItems: number;
  readonly bounds?: SeqBounds;
  readonly reverse: boolean;
  /** The member after which to go on, itself excluded. */
  readonly cursor: Bytes | undefined;
}

/** A page of members. */
interface Members {
  /** In order: a seq and an id, or a place and an id for turns. */
  readonly members: readonly Bytes[];
  readonly more: boolean;
  /** How far the page reaches, when there is more. */
  readonly end: Bytes | undefined;
  /** Rows that were read for it. */
  readonly rows: number;
}

/** Reads pages of members; see the file header. */
interface MemberPages {
  /** The next page: about `limit` members, some more where several terms have them. */
  next(limit: number): Promise<Members>;
  /** Names the rows of the next page, so that they come along with what is read before it. */
  soon(limit: number): void;
}

const EMPTY = new Uint8Array(0);

/** Opens the members of terms. */
export async function openMembers(reader: Reader, query: MembersQuery): Promise<MemberPages> {
  const { terms, pageItems, bounds = {} } = query;
  const past = reader.live ? PRESENT : await closedMembers(reader, terms, pageItems, bounds);
  const live = terms.map((term) => ({ term, name: "index" as const }));
  const lanes = [...live, ...past.paged].map((source): Lane => {
    const range = firstRange(source, query, reader);
    return { source, range, found: [], at: 0, end: undefined, isCut: true };
  });
  const closed = inOrder(past.members, query);
  let unasked = past.rows;
  return {
    async next(limit) {
      const rows = await fill(reader, lanes, query.reverse, limit);
      const end = earliestEnd(lanes, query.reverse);
      const members = take(lanes, closed, end, query.reverse);
      const page = { members, more: end !== undefined, rows: rows + unasked };
      unasked = 0;
      return { ...page, end: end === undefined ? undefined : keyBytes(end) };
    },
    soon: (limit) =>
      reader.soon(() => ({
        ranges: dryRanges(lanes, query.reverse, limit).map(({ range }) => range),
      })),
  };
}

/** The first rows of terms, as a look at the whole of the present reads them. */
export function firstPages(
  terms: readonly Term[],
  how: Pick<KvRange, "limit" | "reverse" | "keysOnly">,
): readonly KvRange[] {
  // Of many terms a read asks less of each, and nobody reads that much before it is wanted.
  if (terms.length > WIDE) return [];
  return terms.map(({ index, lifecycle, term }) => {
    const prefix = indexPrefix("index", index, lifecycle, term);
    return { gte: prefix, lt: afterPrefix(prefix), ...how };
  });
}

/** The entries by which members came to an index: mostly those that hold them. Turns do not tell. */
export function entriesOf(terms: readonly Term[], members: readonly Bytes[]): readonly Bytes[] {
  if (terms.some(({ index }) => index === INDEX.session)) return [];
  return members.map((member) => journalKey(getU64(member, 0)));
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

/** How far one range was read. */
interface Lane {
  readonly source: RowSource;
  /** What of the range is still unread. */
  range: Pick<KvRange, "gte" | "lt">;
  /** Members that were read, in order; those before `at` were given. */
  found: readonly Bytes[];
  at: number;
  /** The member that was read last, whether or not it was there at the position. */
  end: string | undefined;
  /** Whether there may be more than was read. */
  isCut: boolean;
}

/** Terms from which on a read asks less of each: all of them together for so many pages. */
const WIDE = 16;

/** Reads on in every range of which nothing is left; gives the number of rows. */
async function fill(
  reader: Reader,
  lanes: readonly Lane[],
  reverse: boolean,
  limit: number,
): Promise<number> {
  const dry = dryRanges(lanes, reverse, limit);
  if (dry.length === 0) return 0;
  // In the present the key says all. From afar the range is as it was named before it was read.
  const keysOnly = reader.live && !reader.isFar;
  const read = await reader.ranges(
    dry.map(({ range }) => (keysOnly ? { ...range, keysOnly } : range)),
  );
  let rows = 0;
  for (const [at, { lane, range }] of dry.entries()) {
    const found = read[at] ?? [];
    rows += found.length;
    addRows(reader, lane, found, reverse);
    lane.isCut = found.length === range.limit;
  }
  return rows;
}

/** Where reading on continues in every range of which nothing is left. */
function dryRanges(
  lanes: readonly Lane[],
  reverse: boolean,
  limit: number,
): readonly { readonly lane: Lane; readonly range: KvRange }[] {
  const most =
    lanes.length <= WIDE ? limit : Math.min(limit, WIDE + Math.ceil((WIDE * limit) / lanes.length));
  return lanes
    .filter((lane) => lane.isCut && lane.at >= lane.found.length)
    .map((lane) => ({ lane, range: { ...lane.range, reverse, limit: most } }));
}

function addRows(reader: Reader, lane: Lane, rows: readonly KvRow[], reverse: boolean): void {
  const { source } = lane;
  lane.at = 0;
  const found: Bytes[] = [];
  for (const row of rows) {
    if (wasThere(source, row, reader)) found.push(memberOf(source, row.key));
  }
  lane.found = found;
  const last = rows.at(-1)?.key;
  if (last === undefined) return;
  lane.end = keyString(memberOf(source, last));
  const { gte, lt } = lane.range;
  lane.range = reverse ? { gte, lt: last } : { gte: Buffer.concat([last, Uint8Array.of(0)]), lt };
}

/** How far every range that goes on has been read: up to there the merge is complete. */
function earliestEnd(lanes: readonly Lane[], reverse: boolean): string | undefined {
  let earliest: string | undefined;
  for (const { end, isCut } of lanes) {
    if (!isCut || end === undefined) continue;
    if (earliest === undefined || (reverse ? end > earliest : end < earliest)) earliest = end;
  }
  return earliest;
}

/**
 * Takes the members up to an end out of what was read, each once, in order. What stands in one range is in
 * order already, and ends where the range was read to.
 */
function take(
  lanes: readonly Lane[],
  closed: ClosedLane,
  end: string | undefined,
  reverse: boolean,
): readonly Bytes[] {
  const [only, ...others] = lanes;
  if (only !== undefined && others.length === 0 && closed.at >= closed.found.length) {
    const members = only.at === 0 ? only.found : only.found.slice(only.at);
    only.at = only.found.length;
    return members;
  }
  const taken = new Map<string, Bytes>();
  for (const lane of [...lanes, closed]) {
    for (; lane.at < lane.found.length; lane.at += 1) {
      const member = lane.found[lane.at] as Bytes;
      const name = keyString(member);
      if (end !== undefined && (reverse ? name < end : name > end)) break;
      taken.set(name, member);
    }
  }
  const names = [...taken.keys()].sort();
  if (reverse) names.reverse();
  return names.flatMap((name) => taken.get(name) ?? []);
}

/** Members that have left since, in order. */
interface ClosedLane {
  readonly found: readonly Bytes[];
  at: number;
}

/** Closed members behind the cursor, put in order once. */
function inOrder(members: readonly Bytes[], { cursor, reverse }: MembersQuery): ClosedLane {
  const from = cursor === undefined ? undefined : keyString(cursor);
  if (members.length === 0) return { found: members, at: 0 };
  const found = members
    .map((member) => ({ name: keyString(member), member }))
    .filter(({ name }) => from === undefined || (reverse ? name < from : name > from))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ member }) => member);
  return { found: reverse ? found.reverse() : found, at: 0 };
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

/** Above every end that a closed row may have. */
const LAST_END = new Uint8Array(9).fill(0xff);

/** What of a range lies behind the cursor. */
function firstRange(
  { term, name }: RowSource,
  { cursor, reverse, bounds = {} }: MembersQuery,
  reader: Reader,
): Lane["range"] {
  const prefix = indexPrefix(name, term.index, term.lifecycle, term.term);
  const whole = seqRange(reader, term, prefix, bounds);
  if (cursor === undefined) return whole;
  const after = name === "index" ? Uint8Array.of(0) : LAST_END;
  const gte = reverse ? whole.gte : Buffer.concat([prefix, cursor, after]);
  const lt = reverse ? Buffer.concat([prefix, cursor]) : whole.lt;
  return { gte: larger(gte, whole.gte), lt: Buffer.compare(lt, whole.lt) < 0 ? lt : whole.lt };
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
  /** Rows that were read to know. */
  readonly rows: number;
}

const PRESENT: ClosedRows = { members: [], paged: [], rows: 0 };

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
      const most = term.index === INDEX.session ? ALL_ROWS : few;
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
  return { members, paged, rows: rows.reduce((sum, found) => sum + found.length, 0) };
}

function isWithin(seq: number, { fromSeq, toSeq }: SeqBounds): boolean {
  return (fromSeq === undefined || seq >= fromSeq) && (toSeq === undefined || seq <= toSeq);
}

/** Bytes of a place in an index: the entry since which a memory stands there, and its id. */
const PLACE_BYTES = 24;

/**
 * Where a page ended, as a cursor may show it to the caller: to whoever does not see everything, the entry
 * is named by its time.
 */
export async function shownPlace(reader: Reader, place: Bytes): Promise<Bytes> {
  if (reader.seen?.isOpaque !== true || place.length < PLACE_BYTES) return place;
  const [at] = await timesOf(reader, [getU64(place, 0)]);
  return Buffer.concat([seqValue(at ?? 0), place.subarray(8)]);
}

/** The place that `shownPlace` showed: of the entries of that time, the one since which the memory stands. */
export async function realPlace(reader: Reader, place: Bytes): Promise<Bytes> {
  if (reader.seen?.isOpaque !== true || place.length < PLACE_BYTES) return place;
  const at = getU64(place, 0);
  const [row] = await reader.memoryRows([place.subarray(8, PLACE_BYTES)]);
  const candidates = row === undefined ? [] : [...new Set([row.seq, ...row.since])];
  const times = await timesOf(reader, candidates);
  // A memory that has changed since stands elsewhere: its place was before what came after that time.
  const known = candidates.find((_, number) => times[number] === at);
  const seq = known ?? (await lastSeqAt(reader.snapshot, at)) ?? 0;
  return Buffer.concat([seqValue(seq), place.subarray(8)]);
}

async function timesOf(reader: Reader, seqs: readonly number[]): Promise<readonly number[]> {
  const rows = await reader.getMany(seqs.map(journalKey));
  return rows.map((row, at) => openEntry(row, seqs[at] ?? 0).header.at);
}

/** Since when a version holds in the world, as far as it says. */
function startOf({ validFrom, createdAt }: Version): number {
  return validFrom ?? createdAt;
}

/** Whether a memory answers for its slot; one without a slot always answers. `body` is the version looked at. */
export type SlotTurns = (memory: FoundMemory, body?: Read<MemoryRecord>) => boolean;

/** Everybody answers: where nothing waits, and where states are asked for as they are stored. */
export const ALL_TURNS: SlotTurns = () => true;

/** Of memories found at the position, those the caller may see. */
type Show = (
  found: readonly (FoundMemory | undefined)[],
) => Promise<readonly (FoundMemory | undefined)[]>;

/** Rows of the index that one read takes. */
const PAGE_ROWS = 256;

/** Tells whose turn it is at a time. */
export async function slotTurns(reader: Reader, show: Show, timeMs: number): Promise<SlotTurns> {
  const waiting = await waitingIn(reader, show);
  if (waiting.size === 0) return ALL_TURNS;
  return (memory, body = memory.body) => {
    const { slot, waits } = memory.head.record.head;
    if (slot === undefined) return true;
    const start = startOf(bodyOf(body));
    if (waits === true && start > timeMs) return false;
    const others = waiting.get(slot) ?? [];
    return !others.some((other) => {
      const version = bodyOf(other.body);
      const [begun, { validTo }] = [startOf(version), version];
      const isItsTurn = begun <= timeMs && (validTo === undefined || timeMs < validTo);
      return isItsTurn && begun > start && keyString(other.id) !== keyString(memory.id);
    });
  };
}

/** What every look at the present of slots reads first. */
export function waitingRanges(): readonly KvRange[] {
  return WAITING_RANGES;
}

const WAITING = { index: INDEX.waiting, lifecycle: LIFECYCLES.active.code, term: WAITING_TERM };
const WAITING_RANGES = firstPages([WAITING], { limit: PAGE_ROWS, reverse: true });
const NONE: ReadonlyMap<string, readonly FoundMemory[]> = new Map();

/** The active memories that were given for a time to come, by slot; some may have had their turn since. */
async function waitingIn(
  reader: Reader,
  show: Show,
): Promise<ReadonlyMap<string, readonly FoundMemory[]>> {
  // In nearly every store nothing waits, and every look at the present asks: a tenth of a search went
  // into paging through no rows.
  if (reader.live && (await reader.ranges(WAITING_RANGES))[0]?.length === 0) return NONE;
  const query = { terms: [WAITING], pageItems: PAGE_ROWS, reverse: true, cursor: undefined };
  const source = await openMembers(reader, query);
  const bySlot = new Map<string, FoundMemory[]>();
  for (let more = true; more; ) {
    const page = await source.next(PAGE_ROWS);
    const ids = page.members.map((member) => member.subarray(member.length - 16));
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    for (const memory of await show(found)) {
      const slot = memory?.head.record.head.slot;
      if (memory === undefined || slot === undefined) continue;
      const known = bySlot.get(slot);
      if (known === undefined) bySlot.set(slot, [memory]);
      else known.push(memory);
    }
    more = page.more;
  }
  return bySlot;
}
