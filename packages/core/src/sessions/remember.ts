/**
 * Conversations: `remember` keeps turns verbatim; `session-read.ts` reads them back in order.
 *
 * A turn is a note of kind `turn`. Its place in the session is its identity: giving the same place
 * again changes nothing, so a client may repeat a call. Turns are joined in order by `precedes`
 * edges. Text that Cortex itself rendered for a prompt is fenced, and fenced blocks are dropped here, so
 * that what was recalled is not taken for something new.
 */

import { truncateUtf8, utf8Length } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import type { RememberResult, TurnAsked } from "../contract/sessions.js";
import { memoryPart, mintFresh } from "../engine/drafts.js";
import { type Engine, freshId, memoryId, ownSource } from "../engine/engine.js";
import { ask } from "../engine/read-ahead.js";
import { CortexError, describe } from "../errors.js";
import type { Operation, RecordDraft, WriteTx } from "../history/writer.js";
import { afterPrefix, idKey, prefixRange } from "../kv/keyspace.js";
import { type Bytes, compareBytes, type KvRange } from "../kv/kv.js";
import { INDEX_MAX, LIMITS } from "../limits.js";
import { flagsOf } from "../memory/write-input.js";
import type { TurnData } from "../records/data.js";
import { memoryTreeKey } from "../records/edge-record.js";
import { dropFenced } from "../records/fence.js";
import { renderForms } from "../records/forms.js";
import { type Head, IMPORTANCE_DEFAULT, type Version } from "../records/memory-record.js";
import { LIFECYCLES, type Source, type Visibility } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { indexBytes, MEMBER_BYTES, readIndex, sessionPrefix } from "./session-read.js";

/** The kind of a note that is a turn. */
const TURN_KIND = "turn";

/** The states of turns that have a place: one that was hidden or archived keeps its own. */
const STATES = [
  LIFECYCLES.active.code,
  LIFECYCLES.archived.code,
  LIFECYCLES.tombstoned.code,
] as const;

function lastTurnRanges(session: string): readonly KvRange[] {
  return STATES.map((state) => prefixRange(sessionPrefix(session, state), 1, true));
}

function placeRanges(session: string, index: number): readonly KvRange[] {
  return STATES.map((state) => {
    const prefix = sessionPrefix(session, state);
    return prefixRange(Buffer.concat([prefix, indexBytes(index)]), 1);
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

interface PreparedTurn {
  readonly id: Bytes;
  readonly input: TurnAsked;
  readonly content: string;
}

/** Keeps turns verbatim; safe to repeat. */
export async function remember(engine: Engine, asked: Asked<"remember">): Promise<RememberResult> {
  const { value, seq } = await engine.writer.submit(rememberOperation(engine, asked));
  const dropped = asked.turns.length - value.length;
  return { session: asked.session, turns: value, dropped, seq };
}

function rememberOperation(
  engine: Engine,
  asked: Asked<"remember">,
): Operation<RememberResult["turns"]> {
  const { turns, session, by = engine.principal } = asked;
  const { source = ownSource(engine) } = asked;
  const { visibility = engine.defaults?.visibility ?? "private" } = asked;
  const prepared = turns
    .map((input) => ({ id: freshId(engine), input, content: dropFenced(input.content) }))
    .filter(({ input, content }) => content !== "" || input.content === "");
  const placed = prepared.filter(({ input }) => input.index !== undefined);
  const context = { session, by, source, visibility };
  return {
    batch: true,
    bytes: prepared.reduce((sum, { content }) => sum + content.length + 512, 0),
    ranges: [
      ...lastTurnRanges(session),
      ...placed.flatMap(({ input }) => placeRanges(session, input.index ?? 0)),
    ],
    leaves: () =>
      prepared.map(({ id }) => ({
        tree: "memories" as const,
        key: memoryTreeKey(engine.sha256, id),
      })),
    run: (tx) => applyTurns(engine, tx, prepared, context),
  };
}

interface TurnContext {
  readonly session: string;
  readonly by: string;
  readonly source: Source;
  readonly visibility: Visibility;
}

function applyTurns(
  engine: Engine,
  tx: WriteTx,
  turns: readonly PreparedTurn[],
  context: TurnContext,
): RememberResult["turns"] {
  const { session } = context;
  const places = findPlaces(tx, turns, session);
  let { next, last } = places;
  return turns.map((turn, at) => {
    const index = turn.input.index ?? next;
    if (index > INDEX_MAX) throw full(session);
    const taken = places.taken[at] ?? places.given.get(index);
    if (taken !== undefined) return shapeTurn(engine, taken, index, false);
    const late = index < next;
    const between = late ? neighbours(tx, session, index) : { before: last, after: undefined };
    const end = appendTurn(engine, tx, turn, { ...context, index, ...between });
    places.given.set(index, turn.id);
    if (!late) {
      last = end;
      next = index + 1;
    }
    return shapeTurn(engine, turn.id, index, true);
  });
}

function full(session: string): CortexError {
  const message = `session: expected one with a place after ${INDEX_MAX}, its last, got ${describe(session)}`;
  return new CortexError("ERR_TOO_LARGE", message, { field: "session" });
}

interface Places {
  /** The first place after the session's end, and the piece that stands before it. */
  readonly next: number;
  readonly last: Bytes | undefined;
  /** For each turn that names its place, the turn that is there already. */
  readonly taken: readonly (Bytes | undefined)[];
  /** Places that this call has filled. */
  readonly given: Map<number, Bytes>;
}

/** Reads which places are taken, once and before anything is appended. */
function findPlaces(tx: WriteTx, turns: readonly PreparedTurn[], session: string): Places {
  const last = lastOf(tx, lastTurnRanges(session));
  const next = last === undefined ? 0 : readIndex(last, session) + 1;
  const taken = turns.map(({ input }) => {
    if (input.index === undefined || input.index >= next) return undefined;
    return firstOf(tx, placeRanges(session, input.index))?.subarray(-16);
  });
  const late = turns.flatMap(({ input }, at) =>
    taken[at] === undefined && input.index !== undefined && input.index < next ? [input.index] : [],
  );
  const around = late.map((index) => neighbourRanges(session, index));
  ask(tx, [], { ranges: around.flatMap(({ before, after }) => [...before, ...after]) });
  return { next, last: last?.subarray(-16), taken, given: new Map() };
}

/** The pieces between which a turn that comes late is put. */
function neighbours(
  tx: WriteTx,
  session: string,
  index: number,
): { readonly before: Bytes | undefined; readonly after: Bytes | undefined } {
  const { before, after } = neighbourRanges(session, index);
  return {
    before: lastOf(tx, before)?.subarray(-16),
    after: firstOf(tx, after)?.subarray(-16),
  };
}

/** The key with the greatest place, over the states a turn may be in. */
function lastOf(tx: WriteTx, ranges: readonly KvRange[]): Bytes | undefined {
  const keys = ranges.flatMap((range) => tx.view.range(range)[0]?.key ?? []);
  return keys.sort(comparePlaces).at(-1);
}

function firstOf(tx: WriteTx, ranges: readonly KvRange[]): Bytes | undefined {
  const keys = ranges.flatMap((range) => tx.view.range(range)[0]?.key ?? []);
  return keys.sort(comparePlaces)[0];
}

/** The order of keys by place, whatever state they are listed under. */
function comparePlaces(a: Bytes, b: Bytes): number {
  return compareBytes(a.subarray(-MEMBER_BYTES), b.subarray(-MEMBER_BYTES));
}

function shapeTurn(
  engine: Engine,
  id: Bytes,
  index: number,
  added: boolean,
): RememberResult["turns"][number] {
  const uri = buildUri({ actor: engine.actor, type: "note", id, version: 1 });
  return { id: memoryId(id), uri, index, added };
}

/** Appends one turn, in as many chunks as its content needs; returns the id of the last chunk. */
function appendTurn(
  engine: Engine,
  tx: WriteTx,
  turn: PreparedTurn,
  where: TurnContext & {
    readonly index: number;
    readonly before: Bytes | undefined;
    readonly after: Bytes | undefined;
  },
): Bytes {
  const chunks = splitContent(turn.content);
  let { before } = where;
  for (const [chunk, content] of chunks.entries()) {
    const id = chunk === 0 ? turn.id : freshId(engine);
    tx.view.assumeAbsent(idKey("memory", id));
    const data = turnRecord(turn.input, where, { content, chunk, chunks: chunks.length });
    const after = chunk === chunks.length - 1 ? where.after : undefined;
    // One end of each edge is new, so no such edge can be there yet.
    const edges = [
      ...(before === undefined ? [] : [{ from: before, to: id }]),
      ...(after === undefined ? [] : [{ from: id, to: after }]),
    ].map((ends) => ({ ...ends, kind: "precedes", source: "derived" as const }));
    const parts = [turnPart(tx, id, data, where), ...mintFresh(tx, engine, where.by, edges)];
    tx.append({ kind: "write", by: where.by, parts });
    before = id;
  }
  return before ?? turn.id;
}

function turnRecord(
  input: TurnAsked,
  where: { readonly session: string; readonly index: number },
  piece: { readonly content: string; readonly chunk: number; readonly chunks: number },
): TurnData {
  const { speaker, at, toolName } = input;
  return {
    session: where.session,
    index: where.index,
    role: input.role,
    content: piece.content,
    ...(speaker === undefined ? {} : { speaker }),
    ...(at === undefined ? {} : { at }),
    ...(toolName === undefined ? {} : { toolName }),
    ...(piece.chunks === 1 ? {} : { chunk: piece.chunk, chunks: piece.chunks }),
  };
}

function turnPart(
  tx: WriteTx,
  id: Bytes,
  data: TurnData,
  where: TurnContext & { readonly index: number },
): RecordDraft {
  const head: Head = {
    type: "note",
    version: 1,
    kind: TURN_KIND,
    lifecycle: "active",
    visibility: where.visibility,
    importance: IMPORTANCE_DEFAULT,
    tags: [],
    frames: [],
    status: "asserted",
    source: where.source,
    createdAt: tx.at,
    siblings: [],
    turn: { session: where.session, index: where.index, chunk: data.chunk ?? 0 },
  };
  const forms = renderForms("note", data);
  // What a tool returned was not said by the source that hands it in.
  const said = data.role === "tool_result" ? "tool_output" : where.source;
  const version: Version = {
    number: 1,
    data,
    forms,
    flags: flagsOf([said], data, forms),
    formsOverride: false,
    confidence: 1,
    provenance: { source: where.source, derivedFrom: [], attestations: [] },
    createdAt: tx.at,
    createdBy: where.by,
    supersedes: [],
    ...(data.at === undefined ? {} : { validFrom: data.at }),
  };
  return memoryPart(tx, where.by, id, { head, version });
}

/** Cuts content at code points into pieces within the limit of one memory. */
function splitContent(content: string): string[] {
  if (utf8Length(content) <= LIMITS.contentBytes) return [content];
  const pieces: string[] = [];
  for (let rest = content; rest !== ""; ) {
    const piece = truncateUtf8(rest, LIMITS.contentBytes);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}
