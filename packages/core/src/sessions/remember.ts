/**
 * Conversations: `remember` keeps turns verbatim; `session-read.ts` reads them back in order.
 *
 * A turn is a note of kind `turn` at a place of its session. Giving a turn again changes nothing: by its `id`,
 * by its `index`, or as part of history that is sent again (`turns.ts`), so a client may repeat a call.
 * Turns are joined in order by `precedes` edges. Text that Cortex itself rendered for a prompt is fenced, and
 * fenced blocks are dropped (`turns.ts`), so that what was recalled is not taken for something new.
 */

import { parseUlid } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { RememberResult } from "../contract/sessions.js";
import { memoryPart, mintFresh } from "../engine/drafts.js";
import { type Engine, freshId, memoryId, ownSource } from "../engine/engine.js";
import { CortexError, describe } from "../errors.js";
import type { RecordDraft, WriteOperation, WriteTx } from "../history/writer.js";
import { idKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { INDEX_MAX } from "../limits.js";
import { flagsOf } from "../memory/write-input.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import type { TurnData } from "../records/data.js";
import type { Json } from "../records/fields.js";
import { renderForms } from "../records/forms.js";
import { type Head, IMPORTANCE_DEFAULT, piecesOf, type Version } from "../records/memory-record.js";
import type { Source, Visibility } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import {
  findPlaces,
  neighbours,
  type PreparedTurn,
  prepareTurns,
  refuseOther,
  turnNeeds,
} from "./turns.js";

/** The kind of a note that is a turn. */
const TURN_KIND = "turn";

/** Keeps turns verbatim; safe to repeat. */
export async function remember(engine: Engine, asked: Asked<"remember">): Promise<RememberResult> {
  const { session = engine.sessionOfProcess() } = asked;
  const { value } = await engine.writer.submit(rememberOperation(engine, session, asked));
  const { turns, seq } = value;
  const dropped = asked.turns.length - turns.length;
  const made = asked.session === undefined ? { madeSession: true as const } : {};
  return { session, ...made, turns, dropped, seq };
}

/** What became of the turns of a call. */
type Remembered = Pick<RememberResult, "turns" | "seq">;

function rememberOperation(
  engine: Engine,
  session: string,
  asked: Asked<"remember">,
): WriteOperation<Remembered> {
  const { turns, by = engine.principal } = asked;
  const { source = ownSource(engine) } = asked;
  const { visibility = engine.defaults?.visibility ?? "private" } = asked;
  const prepared = prepareTurns(engine, session, turns);
  const context = { session, by, source, visibility };
  return {
    ...turnNeeds(session, prepared),
    batch: true,
    bytes: prepared.reduce((sum, { body }) => sum + body.content.length + 512, 0),
    leaves: () =>
      prepared.map(({ id }) => ({
        tree: "memories" as const,
        key: memoryStateKey(engine.sha256, id),
      })),
    again: {
      keep: ({ turns, seq }) => ({
        seq,
        turns: turns.map(({ id, index, added }) => [id, index, added]),
      }),
      tell: (_tx, _first, kept) => rememberedAgain(engine, kept),
    },
    run: (tx) => ({
      turns: applyTurns(engine, tx, prepared, context),
      seq: tx.nextSeq() - 1,
    }),
  };
}

/** What became of the turns of a call, from what its first entry keeps. */
function rememberedAgain(engine: Engine, kept: Json | undefined): Remembered {
  const { seq, turns } = kept as unknown as {
    readonly seq: number;
    readonly turns: readonly (readonly [id: string, index: number, added: boolean])[];
  };
  return {
    seq,
    turns: turns.flatMap(([text, index, added]) => {
      const id = parseUlid(text);
      return id === undefined ? [] : [shapeTurn(engine, id, index, added)];
    }),
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
  const places = findPlaces(tx, session, turns);
  let { next, last } = places;
  const added = new Map<number | string, AddedTurn>();
  return turns.map((turn, at) => {
    const known = places.known[at];
    if (known !== undefined) return shapeTurn(engine, known.id, known.index, false);
    const { name, body } = turn;
    const index = body.index ?? next;
    if (index > INDEX_MAX) throw full(session);
    const earlier = (name === undefined ? undefined : added.get(name)) ?? added.get(index);
    if (earlier !== undefined) {
      refuseOther(turn, { ...earlier.turn.body, index: earlier.index });
      return shapeTurn(engine, earlier.turn.id, earlier.index, false);
    }
    const late = index < next;
    const between = late ? neighbours(tx, session, index) : { before: last, after: undefined };
    const end = appendTurn(engine, tx, turn, { ...context, index, ...between });
    added.set(index, { turn, index });
    if (name !== undefined) added.set(name, { turn, index });
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

/** A turn that this call has added. */
interface AddedTurn {
  readonly turn: PreparedTurn;
  readonly index: number;
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
  const chunks = piecesOf(turn.body.content);
  let { before } = where;
  for (const [chunk, content] of chunks.entries()) {
    const id = chunk === 0 ? turn.id : freshId(engine);
    tx.view.assumeAbsent(idKey("memory", id));
    const data = turnRecord(turn, where, { content, chunk, chunks: chunks.length });
    const after = chunk === chunks.length - 1 ? where.after : undefined;
    // One end of each edge is new, so no such edge can be there yet.
    const edges = [
      ...(before === undefined ? [] : [{ from: before, to: id }]),
      ...(after === undefined ? [] : [{ from: id, to: after }]),
    ].map((ends) => ({ ...ends, kind: "precedes", source: "derived" as const }));
    const parts = [
      turnPart(tx, id, data, { ...where, name: chunk === 0 ? turn.name : undefined }),
      ...mintFresh(tx, engine, where.by, edges),
    ];
    tx.append({ kind: "write", by: where.by, parts });
    before = id;
  }
  return before ?? turn.id;
}

function turnRecord(
  { body, metadata }: PreparedTurn,
  where: { readonly session: string; readonly index: number },
  piece: { readonly content: string; readonly chunk: number; readonly chunks: number },
): TurnData {
  return {
    ...body,
    session: where.session,
    index: where.index,
    content: piece.content,
    ...(metadata === undefined || piece.chunk > 0 ? {} : { metadata }),
    ...(piece.chunks === 1 ? {} : { chunk: piece.chunk, chunks: piece.chunks }),
  };
}

function turnPart(
  tx: WriteTx,
  id: Bytes,
  data: TurnData,
  where: TurnContext & { readonly index: number; readonly name: string | undefined },
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
    ...(where.name === undefined ? {} : { externalId: where.name }),
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
