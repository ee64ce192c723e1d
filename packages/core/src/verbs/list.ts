/**
 * `list`: the memories that stand in one index, in the order in which they came there, page by page.
 *
 * The present is one range per term. The past is the same range without what came later, together
 * with what has left it since: rows closed after the position asked for. What was closed before is
 * never read.
 */
import { type Access, OWNER } from "../access.js";
import { invalid } from "../errors.js";
import { frameTerm } from "../history/fold-state.js";
import { type AsOf, Reader } from "../history/reader.js";
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
import { LIMITS } from "../limits.js";
import { checkText, parseWith } from "../memory/fields.js";
import { checkTime, type Frame, frameSchema } from "../memory/frames.js";
import {
  checkMemoryType,
  checkNameOf,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  namesOf,
} from "../memory/types.js";
import { checkOptions, type Engine } from "./engine.js";
import { allVersions, shownMemories, validBody } from "./read.js";
import { type Memory, shapeMemory } from "./shapes.js";
import { checkSlot } from "./write-input.js";

/** What to list: at most one of type(s), tag, kind, slot, session, frame; none lists every type. */
export interface ListOptions {
  readonly type?: MemoryType | readonly MemoryType[];
  readonly tag?: string;
  readonly kind?: string;
  readonly slot?: string;
  readonly session?: string;
  readonly frame?: Frame;
  /** Which states to show; active alone when not given. */
  readonly lifecycles?: readonly Exclude<Lifecycle, "erased">[];
  readonly order?: "newest" | "oldest";
  readonly limit?: number;
  /** Where the page before ended. */
  readonly cursor?: string;
  readonly asOf?: AsOf;
  /** World time: the version of each memory that was valid then; archived ones are included. */
  readonly validAt?: number;
  readonly access?: Access;
}

/** One page of a list. */
export interface MemoryPage {
  readonly memories: readonly Memory[];
  /** Give it back to read on; absent at the end. */
  readonly cursor?: string;
  readonly seq: number;
}

/** Most rows closed since a past position that one list may have to look at. */
const CLOSED_ROWS = 1_000_000;

const EMPTY = new Uint8Array(0);

interface Term {
  readonly index: number;
  readonly lifecycle: number;
  readonly term: Bytes;
}

const INDEXES = ["type", "tag", "kind", "slot", "session", "frame"] as const;

const LIST_OPTIONS = [
  ...INDEXES,
  "lifecycles",
  "order",
  "limit",
  "cursor",
  "asOf",
  "validAt",
  "access",
];

/** Lists memories by one index. */
export async function list(engine: Engine, options: ListOptions = {}): Promise<MemoryPage> {
  checkOptions(options, LIST_OPTIONS);
  const terms = termsOf(options);
  const limit = checkLimit(options.limit);
  const access = options.access ?? OWNER;
  const reverse = checkOrder(options.order) === "newest";
  return Reader.with(engine.kv, options.asOf, async (reader) => {
    const past = reader.live ? PRESENT : await closedMembers(reader, terms, limit);
    const sources = [...terms.map((term) => ({ term, name: "index" as const })), ...past.paged];
    const memories: Memory[] = [];
    let cursor = options.cursor === undefined ? undefined : parseCursor(options.cursor);
    for (;;) {
      const page = await nextMembers(reader, sources, past.members, { cursor, reverse, limit });
      const found = await shapeAll(engine, reader, page.members, access, options.validAt);
      for (const [at, memory] of found.entries()) {
        cursor = page.members[at];
        if (memory !== undefined) memories.push(memory);
        if (memories.length < limit) continue;
        const more = page.more || at < found.length - 1;
        return { memories, seq: reader.seq, ...(more ? { cursor: showCursor(cursor) } : {}) };
      }
      if (!page.more) return { memories, seq: reader.seq };
      // A page may hold nothing that was there at the position: go on from where it ended.
      cursor = page.end;
    }
  });
}

function termsOf(options: ListOptions): readonly Term[] {
  const given = INDEXES.filter((name) => options[name] !== undefined);
  if (given.length > 1) {
    throw invalid(given.join(", "), "one of them: a list goes by one index", given.length);
  }
  const states =
    options.lifecycles ?? (options.validAt === undefined ? ["active"] : ["active", "archived"]);
  if (!Array.isArray(states) || states.length === 0) {
    throw invalid("lifecycles", "a list of at least one", states);
  }
  if (options.validAt !== undefined) checkTime(options.validAt, "validAt");
  const lifecycles = [...new Set(states)].map((state, at) => {
    const { erased: _, ...shown } = LIFECYCLES;
    return shown[checkNameOf(shown, state, { field: `lifecycles[${at}]` })].code;
  });
  const terms = plainTerms(options);
  return terms.flatMap(({ index, term }) =>
    lifecycles.map((lifecycle) => ({ index, lifecycle, term })),
  );
}

function plainTerms(options: ListOptions): readonly Omit<Term, "lifecycle">[] {
  const { type, tag, kind, slot, session, frame } = options;
  if (tag !== undefined) return [{ index: INDEX.tag, term: textTerm(tag, "tag") }];
  if (kind !== undefined) return [{ index: INDEX.kind, term: textTerm(kind, "kind") }];
  if (slot !== undefined)
    return [{ index: INDEX.slot, term: Buffer.from(checkSlot(slot), "utf8") }];
  if (session !== undefined) return [{ index: INDEX.session, term: textTerm(session, "session") }];
  if (frame !== undefined) {
    const { verb, object, ref } = parseWith(frameSchema, frame, "frame");
    return [{ index: INDEX.frame, term: frameTerm(verb, object, ref) }];
  }
  const types = type === undefined ? namesOf(MEMORY_TYPES) : Array.isArray(type) ? type : [type];
  if (types.length === 0) throw invalid("type", "at least one type", types);
  return [...new Set(types)].map((name) => ({
    index: INDEX.type,
    term: Uint8Array.of(MEMORY_TYPES[checkMemoryType(name)].code),
  }));
}

function textTerm(text: unknown, field: string): Bytes {
  return Buffer.from(
    checkText(text, field, { maxBytes: LIMITS.sessionBytes, control: true }),
    "utf8",
  );
}

interface Members {
  /** Index members in order: an id, or a place and an id for turns. */
  readonly members: readonly Bytes[];
  readonly more: boolean;
  /** How far the page reaches, when there is more. */
  readonly end: Bytes | undefined;
}

/** A range that members are read from, page by page: live rows, or closed ones by their begin. */
interface RowSource {
  readonly term: Term;
  readonly name: "index" | "indexBegun";
}

interface PageRequest {
  readonly cursor: Bytes | undefined;
  readonly reverse: boolean;
  readonly limit: number;
}

async function nextMembers(
  reader: Reader,
  sources: readonly RowSource[],
  closed: readonly Bytes[],
  page: PageRequest,
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

function pageRange({ term, name }: RowSource, page: PageRequest, reader: Reader): KvRange {
  const prefix = indexPrefix(name, term.index, term.lifecycle, term.term);
  const { cursor, reverse, limit } = page;
  // Rows stand in the order in which they came: what came later than the position is not read.
  const end =
    reader.live || term.index === INDEX.session
      ? afterPrefix(prefix)
      : Buffer.concat([prefix, seqValue(reader.seq + 1)]);
  const after = name === "index" ? Uint8Array.of(0) : LAST_END;
  const gte = cursor === undefined || reverse ? prefix : Buffer.concat([prefix, cursor, after]);
  const lt = cursor === undefined || !reverse ? end : Buffer.concat([prefix, cursor]);
  return { gte, lt, reverse, limit };
}

/** What a list of the past needs beside the live rows. */
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
  limit: number,
): Promise<ClosedRows> {
  const few = 2 * limit;
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
      const member = key.subarray(memberOffset(terms[at]?.term ?? EMPTY) + 8);
      return !isPaged(at) && memberSince(member, value) <= reader.seq ? [member] : [];
    }),
  );
  const paged = terms.flatMap((term, at) =>
    isPaged(at) ? [{ term, name: "indexBegun" as const }] : [],
  );
  return { members, paged };
}

async function shapeAll(
  engine: Engine,
  reader: Reader,
  members: readonly Bytes[],
  access: Access,
  validAt: number | undefined,
): Promise<(Memory | undefined)[]> {
  const ids = members.map((member) => member.subarray(member.length - 16));
  const rows = await reader.memoryRows(ids);
  const found = await reader.memories(ids, rows);
  const shown = await shownMemories(reader, access, found);
  return Promise.all(
    shown.map(async (memory) => {
      if (memory === undefined) return undefined;
      if (validAt === undefined) return shapeMemory(engine.actor, memory);
      const bodies = await allVersions(reader, memory);
      const body = validBody(bodies, validAt);
      return body === undefined ? undefined : shapeMemory(engine.actor, memory, body);
    }),
  );
}

/** Checks a page size. */
export function checkLimit(limit: unknown, max: number = LIMITS.listLimit): number {
  if (limit === undefined) return Math.min(LIMITS.listLimitDefault, max);
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1 && limit <= max) {
    return limit;
  }
  throw invalid("limit", `an integer from 1 to ${max}`, limit);
}

function checkOrder(order: unknown): "newest" | "oldest" {
  if (order === undefined || order === "newest") return "newest";
  if (order === "oldest") return "oldest";
  throw invalid("order", "newest or oldest", order);
}

function parseCursor(text: string): Bytes {
  if (/^([0-9a-f]{44}|[0-9a-f]{48})$/.test(text)) return Buffer.from(text, "hex");
  throw invalid("cursor", "a cursor that a list gave", text);
}

function showCursor(member: Bytes | undefined): string {
  return Buffer.from(member ?? new Uint8Array(0)).toString("hex");
}
