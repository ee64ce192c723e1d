/**
 * Reading conversations back: the turns of a session in order, chunks joined again, and which sessions
 * there are; at one journal position and through the caller's access. Writing turns is in `remember.ts`.
 */

import { readU32, skipVariable, textInKey } from "../codec/keys.js";
import { truncateUtf8 } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import type { SessionList, SessionPage, SessionSummary, Turn } from "../contract/sessions.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { bodyOf, type FoundMemory, Reader, scan } from "../history/reader.js";
import { afterPrefix, getU64, INDEX, indexPrefix, seqValue } from "../kv/keyspace.js";
import { ALL_ROWS, type Bytes, compareBytes, type KvRange } from "../kv/kv.js";
import { INDEX_MAX, LIMITS } from "../limits.js";
import { shownMemories } from "../memory/read.js";
import type { TurnData } from "../records/data.js";
import { LIFECYCLES } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import type { Access } from "../scope/access.js";

/** Bytes of an index member: index 4, chunk 2, id 16. */
export const MEMBER_BYTES = 22;

/** Where the index of turns of a session begins. */
export function sessionPrefix(session: string, state: number, closed = false): Bytes {
  return indexPrefix(
    closed ? "indexClosed" : "index",
    INDEX.session,
    state,
    Buffer.from(session, "utf8"),
  );
}

/** The bytes of a turn's place in keys. */
export function indexBytes(index: number): Bytes {
  return Uint8Array.of(index >>> 24, index >>> 16, index >>> 8, index);
}

/** The place of a turn, from the key of a live row. */
export function readIndex(key: Bytes): number {
  return readU32(key, key.length - MEMBER_BYTES);
}

/** Reads the turns of a session in order. */
export async function session(
  engine: Engine,
  { session: name, fromIndex = 0, limit = LIMITS.listLimit, asOf, access }: Asked<"session">,
): Promise<SessionPage> {
  return Reader.with(engine.kv, asOf, async (reader) => {
    const closed = {
      places: reader.live ? [] : await closedPlaces(reader, name, fromIndex),
      at: 0,
    };
    const turns: Turn[] = [];
    let start = fromIndex;
    for (;;) {
      const page = await readPlaces(reader, name, { start, closed });
      const pieces = await readPieces(reader, page.places, access);
      turns.push(...joinChunks(engine, pieces));
      if (turns.length > limit || page.next === undefined) break;
      start = page.next;
    }
    const cut = turns[limit];
    return {
      session: name,
      turns: turns.slice(0, limit),
      seq: reader.position,
      ...(cut === undefined ? {} : { nextIndex: cut.index }),
    };
  });
}

/** Pieces read at a time: more than one turn can have, so every page holds a whole turn. */
const PAGE_PIECES = Math.ceil(LIMITS.batchBytes / LIMITS.contentBytes) * 4;

interface Place {
  readonly index: number;
  /** Index and chunk, then the id. */
  readonly member: Bytes;
}

function placeOf(member: Bytes): Place {
  return { index: Buffer.from(member).readUInt32BE(0), member };
}

/** Places in order; those before `at` were taken. */
interface PlaceQueue {
  readonly places: readonly Place[];
  at: number;
}

/** Takes the places before an index. */
function takeBelow(queue: PlaceQueue, end: number): readonly Place[] {
  const from = queue.at;
  while ((queue.places[queue.at]?.index ?? end) < end) queue.at += 1;
  return queue.places.slice(from, queue.at);
}

/** Places, from one on, whose turns stood in the session at the position but have left it since. */
async function closedPlaces(reader: Reader, name: string, from: number): Promise<readonly Place[]> {
  const prefix = sessionPrefix(name, LIFECYCLES.active.code, true);
  const gte = Buffer.concat([prefix, seqValue(reader.seq + 1)]);
  const [rows = []] = await reader.ranges([{ gte, lt: afterPrefix(prefix), limit: ALL_ROWS }]);
  return rows
    .filter(({ value }) => getU64(value, 0) <= reader.seq)
    .map(({ key }) => placeOf(key.subarray(-MEMBER_BYTES)))
    .filter(({ index }) => index >= from)
    .sort((a, b) => compareBytes(a.member, b.member));
}

/** The next whole turns in order, and where to read on. */
async function readPlaces(
  reader: Reader,
  name: string,
  from: { readonly start: number; readonly closed: PlaceQueue },
): Promise<{ readonly places: readonly Place[]; readonly next: number | undefined }> {
  const prefix = sessionPrefix(name, LIFECYCLES.active.code);
  const gte = Buffer.concat([prefix, indexBytes(Math.min(from.start, INDEX_MAX + 1))]);
  const [rows = []] = await reader.ranges([{ gte, lt: afterPrefix(prefix), limit: PAGE_PIECES }]);
  const last = rows.at(-1);
  // The last turn of a full page may go on in the next one: it is left to that.
  const next = rows.length < PAGE_PIECES || last === undefined ? undefined : readIndex(last.key);
  const live = rows
    .filter(({ value }) => getU64(value, 0) <= reader.seq)
    .map(({ key }) => placeOf(key.subarray(-MEMBER_BYTES)));
  const end = next ?? Number.POSITIVE_INFINITY;
  const places = [...live.filter(({ index }) => index < end), ...takeBelow(from.closed, end)].sort(
    (a, b) => compareBytes(a.member, b.member),
  );
  return { places, next };
}

async function readPieces(
  reader: Reader,
  places: readonly Place[],
  access: Access,
): Promise<Piece[]> {
  const ids = places.map(({ member }) => member.subarray(-16));
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  const shown = await shownMemories(reader, access, found);
  return shown.flatMap((memory): Piece[] => {
    const version = memory?.body.record.version;
    if (memory === undefined || version === undefined) return [];
    return [{ id: memory.id, data: version.data as TurnData, seq: memory.row.seq }];
  });
}

interface Piece {
  readonly id: Bytes;
  readonly data: TurnData;
  readonly seq: number;
}

function joinChunks(engine: Engine, pieces: readonly Piece[]): Turn[] {
  const turns: Turn[] = [];
  for (const { id, data, seq } of pieces) {
    const last = turns.at(-1);
    if (last !== undefined && last.index === data.index && (data.chunk ?? 0) > 0) {
      turns[turns.length - 1] = { ...last, content: last.content + data.content, seq };
      continue;
    }
    turns.push({
      id: memoryId(id),
      uri: buildUri({ actor: engine.actor, type: "note", id, version: 1 }),
      index: data.index,
      role: data.role,
      content: data.content,
      ...(data.speaker === undefined ? {} : { speaker: data.speaker }),
      ...(data.at === undefined ? {} : { at: data.at }),
      ...(data.toolName === undefined ? {} : { toolName: data.toolName }),
      ...(data.messageId === undefined ? {} : { messageId: data.messageId }),
      ...(data.metadata === undefined ? {} : { metadata: data.metadata }),
      seq,
    });
  }
  return turns;
}

/** Rows of the index that are read, and turns that are looked up, at a time. */
const LIST_ROWS = 1000;

/** How much of the first turn a list shows. */
const OPENING_BYTES = 160;

/**
 * Lists sessions by the entry that added to them last. Every turn's row of the index is read, and no turn
 * but the first and last of those listed; what a holder may see is in the turns, so for them all are read.
 */
export async function sessions(
  engine: Engine,
  { prefix = "", limit = LIMITS.listLimitDefault, asOf, access }: Asked<"sessions">,
): Promise<SessionList> {
  return Reader.with(engine.kv, asOf, async (reader) => {
    const spans = new Map<string, Span>();
    for await (const rows of turnRows(reader, prefix)) {
      const ids = access.kind === "owner" ? [] : rows.map(({ member }) => member.subarray(-16));
      const found = await reader.memories(ids, await reader.memoryRows(ids));
      const shown = await shownMemories(reader, access, found);
      for (const [at, row] of rows.entries()) {
        if (access.kind === "owner" || shown[at] !== undefined) widen(spans, row);
      }
    }
    const ordered = [...spans.values()].sort(
      (a, b) => b.lastSeq - a.lastSeq || (a.session < b.session ? -1 : 1),
    );
    const listed = ordered.slice(0, limit);
    const ends = listed.flatMap(({ first, last }) => [first.subarray(-16), last.subarray(-16)]);
    const memories = await reader.memories(ends, await reader.memoryRows(ends));
    return {
      sessions: listed.flatMap((span, at) => summary(span, memories.slice(2 * at, 2 * at + 2))),
      distinct: ordered.length,
      seq: reader.position,
    };
  });
}

/** A turn's row: which session, its place and id, the entry that put it there. */
interface TurnRow {
  readonly session: string;
  readonly member: Bytes;
  readonly seq: number;
}

/** What is known of a session from its rows. */
interface Span {
  readonly session: string;
  readonly turns: number;
  readonly lastSeq: number;
  /** The members of its first and last piece. */
  readonly first: Bytes;
  readonly last: Bytes;
}

/** The rows of all turns that stand at the reader's position, in pages. */
async function* turnRows(reader: Reader, prefix: string): AsyncGenerator<readonly TurnRow[]> {
  const start = (closed: boolean) => {
    // Without its end, a term is the beginning of every term that starts so.
    return sessionPrefix(prefix, LIFECYCLES.active.code, closed).subarray(0, -1);
  };
  let page: TurnRow[] = [];
  for (const closed of reader.live ? [false] : [false, true]) {
    for await (const { key, value } of scan(reader.snapshot, start(closed), LIST_ROWS)) {
      const seq = getU64(value, 0);
      const isThere = !closed || getU64(key, skipVariable(key, TERM_OFFSET)) > reader.seq;
      if (seq > reader.seq || !isThere) continue;
      page.push({ session: textInKey(key, TERM_OFFSET), member: key.slice(-MEMBER_BYTES), seq });
      if (page.length < LIST_ROWS) continue;
      yield page;
      page = [];
    }
  }
  yield page;
}

/** Where the term begins in a row of an index: after the prefix, the index and the lifecycle. */
const TERM_OFFSET = 3;

function widen(spans: Map<string, Span>, { session, member, seq }: TurnRow): void {
  const known = spans.get(session);
  // The pieces of a turn after its first one are no turns of their own.
  const turns = (known?.turns ?? 0) + (member[4] === 0 && member[5] === 0 ? 1 : 0);
  const isFirst = known === undefined || compareBytes(member, known.first) < 0;
  const isLast = known === undefined || compareBytes(member, known.last) > 0;
  spans.set(session, {
    session,
    turns,
    lastSeq: Math.max(seq, known?.lastSeq ?? 0),
    first: isFirst ? member : known.first,
    last: isLast ? member : known.last,
  });
}

function summary(
  { session, turns }: Span,
  [first, last]: readonly (FoundMemory | undefined)[],
): SessionSummary[] {
  if (first === undefined || last === undefined) return [];
  const said = ({ body }: FoundMemory) => bodyOf(body).data as TurnData;
  const at = (memory: FoundMemory) => said(memory).at ?? memory.head.record.head.createdAt;
  const { content } = said(first);
  const opening = truncateUtf8(content, OPENING_BYTES);
  return [
    {
      session,
      turns,
      firstAt: at(first),
      lastAt: at(last),
      opening: opening === content ? content : `${opening}…`,
    },
  ];
}

/** The keys of the live turns around one, so many on either side. */
export function turnsAround(
  { session, index }: { readonly session: string; readonly index: number },
  reach: number,
): { readonly session: string; readonly range: KvRange } {
  const prefix = sessionPrefix(session, LIFECYCLES.active.code);
  const at = (place: number): Bytes => {
    const key = new Uint8Array(prefix.length + 4);
    key.set(prefix);
    key.set(indexBytes(place), prefix.length);
    return key;
  };
  const to = Math.min(index + reach, INDEX_MAX) + 1;
  const gte = at(Math.max(0, index - reach));
  return { session, range: { gte, lt: at(to), limit: 4 * (2 * reach + 1), keysOnly: true } };
}
