/**
 * The turns of a call: what each is once it is kept, which of them a session holds already, and where the others go.
 *
 * From a turn as a chat program gives it to a turn as it is kept: parts become one text, text that Cortex itself
 * rendered is taken out, and the program's own name for the turn becomes an external id. Two turns are the same
 * one if the same speaker said the same; a member that only one of them has makes no difference.
 *
 * A turn with an `id` or an `index` is looked up by it. Where no turn of a call has either, history that is
 * sent again is recognised: the longest run of turns that ends the stored session and begins the given ones is
 * there already if it has two or more turns, or if it is the whole session and more follows. A single turn
 * that says what the last one said is a new turn.
 *
 * Everything is read inside the write, in a few batched reads whatever the number of turns. Turns are compared
 * with what was first said: a turn that was corrected or hidden since is still the same turn.
 */

import { toHex } from "../codec/keys.js";
import { utf8, utf8Length } from "../codec/text.js";
import type { TurnAsked } from "../contract/sessions.js";
import { type Engine, freshId } from "../engine/engine.js";
import { ask, askEntries } from "../engine/read-ahead.js";
import { CortexError, describe, invalid } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { afterPrefix, idKey, ownedPrefix, prefixRange, textKey } from "../kv/keyspace.js";
import { type Bytes, compareBytes, type KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { TurnData } from "../records/data.js";
import { dropFenced } from "../records/fence.js";
import { LIFECYCLES } from "../records/types.js";
import { indexBytes, MEMBER_BYTES, readIndex, sessionPrefix } from "./session-read.js";

/** The states of turns that have a place: one that was hidden or archived keeps its own. */
const STATES = [
  LIFECYCLES.active.code,
  LIFECYCLES.archived.code,
  LIFECYCLES.tombstoned.code,
] as const;

/** Pieces that one turn may be cut into. */
const PIECES_MAX = Math.ceil(LIMITS.batchBytes / LIMITS.contentBytes) + 1;

function lastRanges(session: string, limit: number): readonly KvRange[] {
  return STATES.map((state) => prefixRange(sessionPrefix(session, state), limit, true));
}

function placeRanges(session: string, index: number): readonly KvRange[] {
  return STATES.map((state) => {
    const prefix = sessionPrefix(session, state);
    return prefixRange(Buffer.concat([prefix, indexBytes(index)]), PIECES_MAX);
  });
}

/** The last piece before a place, and the first piece after it. */
function neighbourRanges(
  session: string,
  index: number,
): { readonly before: readonly KvRange[]; readonly after: readonly KvRange[] } {
  const prefixes = STATES.map((state) => sessionPrefix(session, state));
  const at = (prefix: Bytes, place: number) => Buffer.concat([prefix, indexBytes(place)]);
  return {
    before: prefixes.map((prefix) => ({
      gte: prefix,
      lt: at(prefix, index),
      limit: 1,
      reverse: true,
    })),
    after: prefixes.map((prefix) => ({
      gte: at(prefix, index + 1),
      lt: afterPrefix(prefix),
      limit: 1,
    })),
  };
}

/** The pieces between which a turn that comes late is put. */
export function neighbours(
  tx: WriteTx,
  session: string,
  index: number,
): { readonly before: Bytes | undefined; readonly after: Bytes | undefined } {
  const { before, after } = neighbourRanges(session, index);
  return {
    before: membersIn(tx, before).at(-1)?.subarray(-16),
    after: membersIn(tx, after)[0]?.subarray(-16),
  };
}

/** Keys of index rows in ranges, by place, whatever state they are listed under. */
function membersIn(tx: WriteTx, ranges: readonly KvRange[]): readonly Bytes[] {
  const keys = ranges.flatMap((range) => tx.view.range(range).map(({ key }) => key));
  const place = (key: Bytes) => key.subarray(-MEMBER_BYTES);
  return keys.sort((a, b) => compareBytes(place(a), place(b)));
}

/** What remembering turns will surely read. */
export function turnNeeds(
  session: string,
  turns: readonly PreparedTurn[],
): { readonly hints: readonly Bytes[]; readonly ranges: readonly KvRange[] } {
  return {
    hints: turns.flatMap(({ name }) => (name === undefined ? [] : [textKey("externalId", name)])),
    ranges: [
      ...lastRanges(session, 1),
      ...turns.flatMap(({ name, body: { index } }) =>
        name !== undefined || index === undefined ? [] : placeRanges(session, index),
      ),
    ],
  };
}

/** A turn that is there: its first piece, and its place. */
interface KnownTurn {
  readonly id: Bytes;
  readonly index: number;
}

/** Where a session stands, and what of a call it holds. */
interface Places {
  /** The first place after the session's end, and the piece that stands before it. */
  readonly next: number;
  readonly last: Bytes | undefined;
  /** For each turn of the call, the turn that is there already. */
  readonly known: readonly (KnownTurn | undefined)[];
}

/** Reads where a session ends and what it holds already, before anything is appended. */
export function findPlaces(tx: WriteTx, session: string, turns: readonly PreparedTurn[]): Places {
  const last = membersIn(tx, lastRanges(session, 1)).at(-1);
  const next = last === undefined ? 0 : readIndex(last) + 1;
  const isPlain = turns.every(({ name, body }) => name === undefined && body.index === undefined);
  const known = isPlain
    ? sentAgain(tx, session, turns, last)
    : namedAlready(tx, session, turns, next);
  const late = turns.flatMap(({ body: { index } }, at) =>
    known[at] === undefined && index !== undefined && index < next ? [index] : [],
  );
  const around = late.map((index) => neighbourRanges(session, index));
  ask(tx, [], { ranges: around.flatMap(({ before, after }) => [...before, ...after]) });
  return { next, last: last?.subarray(-16), known };
}

/** The turns that are there under the id, or at the place, that a turn of the call names. */
function namedAlready(
  tx: WriteTx,
  session: string,
  turns: readonly PreparedTurn[],
  next: number,
): readonly (KnownTurn | undefined)[] {
  const named = namedPlaces(tx, session, turns);
  const indexes = turns.map(({ body: { index } }, at) => {
    return named[at] ?? (index !== undefined && index < next ? index : undefined);
  });
  const there = storedTurns(
    tx,
    session,
    indexes.flatMap((index) => index ?? []),
  );
  return turns.map((turn, at) => {
    const found = there.get(indexes[at] ?? -1);
    if (found === undefined) return undefined;
    if (found.isWhole) refuseOther(turn, found.body);
    return found;
  });
}

/** The places of the turns that have the names of those of the call. */
function namedPlaces(
  tx: WriteTx,
  session: string,
  turns: readonly PreparedTurn[],
): readonly (number | undefined)[] {
  const ids = turns.map(({ name }) =>
    name === undefined ? undefined : tx.view.get(textKey("externalId", name)),
  );
  const data = firstData(tx, ids);
  return turns.map(({ at }, nth) => {
    if (ids[nth] === undefined) return undefined;
    const turn = data[nth];
    if (turn?.session === session) return turn.index;
    const message = `turns[${at}].id: expected a name that no other memory has as its external id`;
    throw new CortexError("ERR_EXISTS", message, { field: `turns[${at}].id` });
  });
}

interface StoredTurn extends KnownTurn {
  readonly body: TurnContent;
  /** False when a piece of it was forgotten: what it said is not known any more. */
  readonly isWhole: boolean;
}

/** Turns at places, as they were first said, by place. */
function storedTurns(
  tx: WriteTx,
  session: string,
  indexes: readonly number[],
): ReadonlyMap<number, StoredTurn> {
  const places = [...new Set(indexes)].map((index) => ({
    index,
    ranges: placeRanges(session, index),
  }));
  ask(tx, [], { ranges: places.flatMap(({ ranges }) => ranges) });
  const pieces = places.map(({ index, ranges }) => ({
    index,
    ids: membersIn(tx, ranges).map((key) => key.subarray(-16)),
  }));
  return new Map(turnsOf(tx, pieces).map((turn) => [turn.index, turn]));
}

/** Turns from the ids of their pieces, in order. */
function turnsOf(
  tx: WriteTx,
  pieces: readonly { readonly index: number; readonly ids: readonly Bytes[] }[],
): readonly StoredTurn[] {
  const data = firstData(
    tx,
    pieces.flatMap(({ ids }) => ids),
  );
  let from = 0;
  return pieces.flatMap(({ index, ids }): StoredTurn[] => {
    const own = data.slice(from, from + ids.length);
    from += ids.length;
    const [id] = ids;
    const [first] = own;
    if (id === undefined || first === undefined) return [];
    const content = own.map((piece) => piece?.content ?? "").join("");
    return [
      { id, index, body: { ...first, content }, isWhole: own.length === (first.chunks ?? 1) },
    ];
  });
}

/** What memories said in their first version, where that is a turn's. */
function firstData(
  tx: WriteTx,
  ids: readonly (Bytes | undefined)[],
): readonly (TurnData | undefined)[] {
  ask(
    tx,
    ids.flatMap((id) => (id === undefined ? [] : [idKey("memory", id)])),
  );
  const found = ids.map((id) => {
    if (id === undefined) return undefined;
    const row = tx.view.get(idKey("memory", id));
    return row === undefined ? undefined : { id, row: decodeMemoryRow(row) };
  });
  // The first version has no row of its own: it lies where the memory's first row points.
  const birth = (id: Bytes) => prefixRange(ownedPrefix("history", id), 1);
  const changed = found.flatMap((one) =>
    one === undefined || one.row.version === 1 ? [] : [one.id],
  );
  ask(tx, [], { ranges: changed.map(birth) });
  const pointers = found.map((one) => {
    if (one === undefined || one.row.lifecycle === "erased") return undefined;
    if (one.row.version === 1) return one.row.body ?? one.row;
    const [first] = tx.view.range(birth(one.id));
    return first === undefined ? undefined : decodeMemoryRow(first.value);
  });
  askEntries(
    tx,
    pointers.flatMap((pointer) => pointer ?? []),
  );
  return pointers.map((pointer) => {
    if (pointer === undefined) return undefined;
    const data = tx.fold.records.memory(pointer).version?.data;
    return data !== undefined && "session" in data ? data : undefined;
  });
}

/** The turns of a call that are history sent again; see the head of the file. */
function sentAgain(
  tx: WriteTx,
  session: string,
  turns: readonly PreparedTurn[],
  lastPiece: Bytes | undefined,
): readonly (KnownTurn | undefined)[] {
  // A turn alone is a new one, whatever it says.
  if (lastPiece === undefined || turns.length < 2) return [];
  const last = lastTurn(tx, session, lastPiece);
  // How long a run could be, longest first: so many given turns end with what was said last.
  const lengths = turns.flatMap((turn, at) => (isAgain(last, turn) ? [at + 1] : [])).reverse();
  const [longest] = lengths;
  if (longest === undefined) return [];
  // One more than the longest run, to see whether a run is the whole session.
  const places = lastPlaces(tx, session, longest + 1);
  const there = storedTurns(tx, session, places.slice(-longest));
  const run = lengths.find((length) => {
    const isWhole = places.length === length;
    if (length > places.length) return false;
    if (length < 2 && !(isWhole && turns.length > length)) return false;
    return places.slice(-length).every((index, at) => isAgain(there.get(index), turns[at]));
  });
  if (run === undefined) return [];
  return places.slice(-run).map((index) => there.get(index));
}

function isAgain(stored: StoredTurn | undefined, turn: PreparedTurn | undefined): boolean {
  if (stored === undefined || turn === undefined || !stored.isWhole) return false;
  return isSameTurn(stored.body, turn.body);
}

/** The turn that a session ends with; one that was not cut is its last piece. */
function lastTurn(tx: WriteTx, session: string, piece: Bytes): StoredTurn | undefined {
  const index = readIndex(piece);
  const isFirst = piece.subarray(-MEMBER_BYTES + 4, -16).every((byte) => byte === 0);
  return isFirst
    ? turnsOf(tx, [{ index, ids: [piece.subarray(-16)] }])[0]
    : storedTurns(tx, session, [index]).get(index);
}

/** The last places of a session, in order. */
function lastPlaces(tx: WriteTx, session: string, count: number): readonly number[] {
  for (let limit = count; ; limit *= 4) {
    const ranges = lastRanges(session, limit);
    ask(tx, [], { ranges });
    // Below the first piece of a page that is cut off, another state may have pieces in between.
    const cut = Math.max(
      -1,
      ...ranges.map((range) => {
        const rows = tx.view.range(range);
        const first = rows.length === limit ? rows.at(-1) : undefined;
        return first === undefined ? -1 : readIndex(first.key);
      }),
    );
    const places = new Set(membersIn(tx, ranges).map((key) => readIndex(key)));
    const sure = [...places].filter((index) => index >= cut);
    if (cut < 0 || sure.length >= count) return sure.slice(-count);
  }
}

/** The members by which two turns are compared. */
type TurnContent = Pick<
  TurnData,
  "role" | "content" | "speaker" | "at" | "toolName" | "messageId"
> & { readonly index?: number | undefined };

/** A turn on its way into a session. */
export interface PreparedTurn {
  /** The id that it gets unless it is there already. */
  readonly id: Bytes;
  /** Its number among the turns of the call. */
  readonly at: number;
  readonly body: TurnContent;
  readonly metadata: TurnData["metadata"];
  /** The external id of a turn that has a name. */
  readonly name: string | undefined;
}

/** The turns of a call that hold something to keep. */
export function prepareTurns(
  engine: Engine,
  session: string,
  turns: readonly TurnAsked[],
): readonly PreparedTurn[] {
  return turns.flatMap((turn, at): PreparedTurn[] => {
    const given = textOf(turn.content, at);
    const content = dropFenced(given);
    if (content === "" && given !== "") return [];
    const { role, id, index, speaker, at: time, toolName, metadata } = turn;
    const body: TurnContent = {
      role: role === "tool" ? "tool_result" : role,
      content,
      ...(speaker === undefined ? {} : { speaker }),
      ...(time === undefined ? {} : { at: time }),
      ...(toolName === undefined ? {} : { toolName }),
      ...(id === undefined ? {} : { messageId: id }),
      ...(index === undefined ? {} : { index }),
    };
    const name = id === undefined ? undefined : turnName(engine, session, id);
    return [{ id: freshId(engine), at, body, metadata, name }];
  });
}

/** Types of parts that are text, in the words of the chat programs that are most in use. */
const TEXT_PARTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

/** What a turn says as one text; a part that is no text is named in brackets. */
function textOf(content: TurnAsked["content"], at: number): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (TEXT_PARTS.has(part.type)) return part.text ?? "";
    const { name = part.toolName } = part;
    return typeof name === "string" ? `[${part.type}: ${name}]` : `[${part.type}]`;
  });
  const text = texts.join("\n");
  const bytes = utf8Length(text);
  if (bytes <= LIMITS.batchBytes) return text;
  const expected = `at most ${LIMITS.batchBytes} bytes in all`;
  throw invalid(`turns[${at}].content`, expected, `${bytes} bytes`, "ERR_TOO_LARGE");
}

/**
 * The external id of a turn: the session, `#`, and the name that the program has for it. A sign that would
 * end the session's name early is written in another way; what is too long is named by its hash.
 */
function turnName({ sha256 }: Engine, session: string, id: string): string {
  const name = `${session.replaceAll("%", "%25").replaceAll("#", "%23")}#${id}`;
  return utf8Length(name) <= LIMITS.externalIdBytes ? name : `turn#${toHex(sha256(utf8(name)))}`;
}

/** Whether two turns are one: nothing that both say differs. */
function isSameTurn(a: TurnContent, b: TurnContent): boolean {
  const agree = (name: "speaker" | "at" | "toolName" | "messageId" | "index") =>
    a[name] === undefined || b[name] === undefined || a[name] === b[name];
  return (
    a.role === b.role &&
    a.content === b.content &&
    agree("speaker") &&
    agree("at") &&
    agree("toolName") &&
    agree("messageId") &&
    agree("index")
  );
}

/** Refuses a turn whose id or place is that of a turn which says something else. */
export function refuseOther({ at, body }: PreparedTurn, there: TurnContent): void {
  if (isSameTurn(body, there)) return;
  const field = body.messageId === undefined ? "index" : "id";
  const name = body.messageId === undefined ? String(body.index) : describe(body.messageId);
  const expected = `the turn that has ${field} ${name} already`;
  const message = `turns[${at}].${field}: expected ${expected}, got another one`;
  const details = { field: `turns[${at}].${field}`, expected, got: "another one" };
  throw new CortexError("ERR_CONFLICT", message, details);
}
