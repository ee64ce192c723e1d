/**
 * Conversations: `remember` keeps turns verbatim, `session` reads them back in order.
 *
 * A turn is a note of kind `turn`. Its place in the session is its identity: giving the same place
 * again changes nothing, so a client may repeat a call. Turns are joined in order by `precedes`
 * edges. Text that Cortex itself rendered for a prompt is fenced, and fenced blocks are dropped here:
 * memory never feeds on itself.
 */

import { type Access, maySee, OWNER } from "../access.js";
import { truncateUtf8, utf8Length } from "../codec/text.js";
import { memoryTreeKey } from "../edges/edge.js";
import { invalid } from "../errors.js";
import { type AsOf, Reader } from "../history/reader.js";
import type { Operation, RecordDraft, WriteTx } from "../history/writer.js";
import { getU64, INDEX, idKey, indexPrefix, memberOffset, prefixRange } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { type TurnData, turnData } from "../memory/data.js";
import { checkText, parseWith } from "../memory/fields.js";
import { renderForms } from "../memory/forms.js";
import { type Head, IMPORTANCE_DEFAULT, type Version } from "../memory/record.js";
import {
  checkNameOf,
  LIFECYCLES,
  SOURCES,
  type Source,
  type TurnRole,
  type Visibility,
} from "../memory/types.js";
import { buildUri } from "../memory/uri.js";
import { checkKindAllowed, configKeys } from "./config.js";
import { memoryPart, mintEdge } from "./drafts.js";
import { checkPrincipal, type Engine, freshId, type MemoryId, memoryId } from "./engine.js";
import { dropFenced } from "./fence.js";
import { checkLimit } from "./list.js";

/** The kind of a note that is a turn. */
export const TURN_KIND = "turn";

/** One turn of a conversation, as a caller gives it. */
export interface TurnInput {
  readonly role: TurnRole;
  readonly content: string;
  readonly speaker?: string;
  /** World time of the turn, in milliseconds. */
  readonly at?: number;
  readonly toolName?: string;
  /** Its place in the session; after the last one when not given. */
  readonly index?: number;
}

/** How turns are remembered. */
export interface RememberOptions {
  readonly session: string;
  readonly source?: Source;
  readonly visibility?: Visibility;
  readonly by?: string;
}

/** What became of each turn. */
export interface RememberResult {
  readonly session: string;
  readonly turns: readonly {
    readonly id: MemoryId;
    readonly uri: string;
    readonly index: number;
    /** False when the place was taken already: the turn that is there stays. */
    readonly added: boolean;
  }[];
  readonly seq: number;
}

/** Where the index of turns of a session begins; the member is index 4, chunk 2, id 16. */
function sessionPrefix(session: string): Bytes {
  const term = Buffer.from(session, "utf8");
  return indexPrefix(false, INDEX.session, LIFECYCLES.active.code, term);
}

function lastTurnRange(session: string): KvRange {
  return prefixRange(sessionPrefix(session), 1, true);
}

function placeRange(session: string, index: number): KvRange {
  const place = Buffer.alloc(4);
  place.writeUInt32BE(index, 0);
  return prefixRange(Buffer.concat([sessionPrefix(session), place]), 1);
}

interface PreparedTurn {
  readonly id: Bytes;
  readonly input: TurnInput;
  readonly content: string;
}

/** Keeps turns verbatim; safe to repeat. */
export async function remember(
  engine: Engine,
  turns: readonly TurnInput[],
  options: RememberOptions,
): Promise<RememberResult> {
  const operation = rememberOperation(engine, turns, options);
  const { value, seq } = await engine.writer.submit(operation);
  return { session: options.session, turns: value, seq };
}

function rememberOperation(
  engine: Engine,
  turns: readonly TurnInput[],
  options: RememberOptions,
): Operation<RememberResult["turns"]> {
  if (!Array.isArray(turns) || turns.length === 0 || turns.length > LIMITS.rememberTurns) {
    throw invalid("turns", `a list of 1 to ${LIMITS.rememberTurns} turns`, turns);
  }
  const session = checkText(options?.session, "session", { maxBytes: LIMITS.sessionBytes });
  const by = checkPrincipal(options.by, engine.principal);
  const source =
    options.source === undefined
      ? "user_input"
      : checkNameOf(SOURCES, options.source, { field: "source" });
  const prepared = turns.map((turn, at) => prepareTurn(engine, turn, session, at));
  const placed = prepared.filter(({ input }) => input.index !== undefined);
  const context = { session, by, source, visibility: options.visibility ?? "private" } as const;
  return {
    batch: true,
    bytes: prepared.reduce((sum, { content }) => sum + content.length + 512, 0),
    hints: configKeys(),
    ranges: [
      lastTurnRange(session),
      ...placed.map(({ input }) => placeRange(session, input.index ?? 0)),
    ],
    leaves: prepared.map(({ id }) => ({
      tree: "memories" as const,
      key: memoryTreeKey(engine.sha256, id),
    })),
    run: (tx) => applyTurns(engine, tx, prepared, context),
  };
}

function prepareTurn(engine: Engine, turn: TurnInput, session: string, at: number): PreparedTurn {
  const field = `turns[${at}]`;
  if (typeof turn !== "object" || turn === null) throw invalid(field, "a turn", turn);
  const { content, index } = turn;
  if (typeof content !== "string") throw invalid(`${field}.content`, "text", content);
  if (utf8Length(content) > LIMITS.batchBytes) {
    throw invalid(
      `${field}.content`,
      `at most ${LIMITS.batchBytes} bytes`,
      content,
      "ERR_TOO_LARGE",
    );
  }
  if (index !== undefined && (!Number.isSafeInteger(index) || index < 0 || index > 0xffff_fffe)) {
    throw invalid(`${field}.index`, "an integer of at least 0", index);
  }
  // Checked with a short content: the length is dealt with by chunks.
  const head = truncateUtf8(content, LIMITS.contentBytes);
  parseWith(turnData, { ...turn, content: head, session, index: index ?? 0 }, field);
  return { id: freshId(engine), input: turn, content: dropFenced(content) };
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
  checkKindAllowed(tx, TURN_KIND);
  const offset = memberOffset(Buffer.from(session, "utf8"));
  const [last] = tx.view.range(lastTurnRange(session));
  let next = last === undefined ? 0 : readIndex(last.key, offset) + 1;
  let before: Bytes | undefined = last?.key.subarray(-16);
  return turns.map((turn) => {
    const index = turn.input.index ?? next;
    const taken =
      turn.input.index === undefined ? undefined : tx.view.range(placeRange(session, index))[0];
    if (taken !== undefined) {
      const id = taken.key.subarray(-16);
      return shapeTurn(engine, id, index, false);
    }
    const after = index >= next ? before : undefined;
    before = appendTurn(engine, tx, turn, { ...context, index, after });
    next = Math.max(next, index + 1);
    return shapeTurn(engine, turn.id, index, true);
  });
}

function readIndex(key: Bytes, offset: number): number {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).readUInt32BE(offset);
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
  where: TurnContext & { readonly index: number; readonly after: Bytes | undefined },
): Bytes {
  const chunks = splitContent(turn.content);
  let before = where.after;
  for (const [chunk, content] of chunks.entries()) {
    const id = chunk === 0 ? turn.id : freshId(engine);
    tx.view.assumeAbsent(idKey("memory", id));
    const data = turnRecord(turn.input, where, { content, chunk, chunks: chunks.length });
    const parts: RecordDraft[] = [turnPart(tx, id, data, where)];
    if (before !== undefined) {
      // The edge starts at the turn before, which this entry does not change: it cannot be there yet,
      // since this turn is only now being born.
      const edge = { from: before, kind: "precedes", to: id, source: "derived" as const };
      const minted = mintEdge(tx, engine, where.by, edge, { fresh: true });
      if (minted.part !== undefined) parts.push(minted.part);
    }
    tx.append({ kind: "write", by: where.by, parts });
    before = id;
  }
  return before ?? turn.id;
}

function turnRecord(
  input: TurnInput,
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
  const version: Version = {
    number: 1,
    data,
    forms: renderForms("note", data),
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

/** A turn as read back; chunks are joined again. */
export interface Turn {
  readonly id: MemoryId;
  readonly uri: string;
  readonly index: number;
  readonly role: TurnRole;
  readonly content: string;
  readonly speaker?: string;
  readonly at?: number;
  readonly toolName?: string;
  readonly seq: number;
}

/** A page of a conversation. */
export interface SessionPage {
  readonly session: string;
  readonly turns: readonly Turn[];
  /** The index to read on from; absent at the end. */
  readonly nextIndex?: number;
  readonly seq: number;
}

/** Reads the turns of a session in order. */
export async function session(
  engine: Engine,
  name: string,
  options: {
    readonly fromIndex?: number;
    readonly limit?: number;
    readonly asOf?: AsOf;
    readonly access?: Access;
  } = {},
): Promise<SessionPage> {
  checkText(name, "session", { maxBytes: LIMITS.sessionBytes });
  const limit = options.limit === undefined ? LIMITS.listLimit : checkLimit(options.limit);
  const from = options.fromIndex ?? 0;
  if (!Number.isSafeInteger(from) || from < 0)
    throw invalid("fromIndex", "an integer of at least 0", from);
  const access = options.access ?? OWNER;
  return Reader.with(engine.kv, options.asOf, async (reader) => {
    const prefix = sessionPrefix(name);
    const start = Buffer.alloc(4);
    start.writeUInt32BE(Math.min(from, 0xffff_ffff), 0);
    const all = prefixRange(prefix, 2 * limit + 1024);
    const [rows = []] = await reader.ranges([{ ...all, gte: Buffer.concat([prefix, start]) }]);
    const there = rows.filter(({ value }) => getU64(value, 0) <= reader.seq);
    const ids = there.map(({ key }) => key.subarray(-16));
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    const pieces = found.flatMap((memory): Piece[] => {
      if (memory === undefined || !maySee(access, memory.head.record.head)) return [];
      const { version } = memory.body.record;
      if (version === undefined) return [];
      return [{ id: memory.id, data: version.data as TurnData, seq: memory.row.seq }];
    });
    const turns = joinChunks(engine, pieces);
    const shown = turns.slice(0, limit);
    const cut = turns[limit];
    return {
      session: name,
      turns: shown,
      seq: reader.seq,
      ...(cut === undefined ? {} : { nextIndex: cut.index }),
    };
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
      seq,
    });
  }
  return turns;
}
