/** What the plain model does about edges and conversations. */
import { EDGE_KINDS } from "../records/edge-kinds.js";
import { addEdge, type Draft, failure, nextEntry, put, putEdge } from "./model-draft.js";
import {
  canonicalEnds,
  type Ends,
  edgeName,
  findInModel,
  type ModelAttributes,
  type ModelMemory,
  type ModelTurn,
  saysBothWays,
  shownEdge,
  standingEdge,
} from "./model-state.js";

const BUILT_IN: ReadonlySet<string> = new Set(EDGE_KINDS.map(({ name }) => name));

/** Joins two memories. */
export function link(draft: Draft, given: Ends, attributes: ModelAttributes, at: number): object {
  const ends = canonicalEnds(given);
  const from = findInModel(draft, ends.from);
  const to = findInModel(draft, ends.to);
  if (from === undefined || to === undefined) throw failure("ERR_UNKNOWN_ENDPOINT");
  if (from.id === to.id) throw failure("ERR_SELF_EDGE");
  if (!BUILT_IN.has(ends.kind) && !draft.openKinds.includes(ends.kind)) {
    draft.openKinds.push(ends.kind);
    nextEntry(draft, at);
  }
  const place = { from: from.id, kind: ends.kind, to: to.id };
  const seq = draft.size;
  const changed = addEdge(draft, place, { source: "user_input", seq, at, attributes });
  if (changed) nextEntry(draft, at);
  const edge = standingEdge(draft, place);
  return { changed, edge: edge && shownEdge(draft, edge), seq: changed ? seq : seq - 1 };
}

/** Removes an edge softly. */
export function removeEdge(draft: Draft, given: Ends, reason: string, at: number): object {
  const ends = canonicalEnds(given);
  const from = findInModel(draft, ends.from)?.id ?? "";
  const to = findInModel(draft, ends.to)?.id ?? "";
  const edge = standingEdge(draft, { from, kind: ends.kind, to });
  if (edge === undefined || edge.tombstone !== undefined) {
    return { changed: false, seq: draft.size - 1 };
  }
  const { seq } = nextEntry(draft, at);
  const ways = [edgeName(from, ends.kind, to), edgeName(to, ends.kind, from)];
  for (const name of saysBothWays(ends.kind) ? ways : ways.slice(0, 1)) {
    const one = draft.edges.get(name);
    if (one === undefined || one.tombstone !== undefined) continue;
    putEdge(draft, { ...one, seq, tombstone: { reason, at, by: draft.actor } });
  }
  return { changed: true, seq };
}

/**
 * Keeps turns; a place that anybody stands in, hidden or not, is taken: by the same turn, or the call is
 * refused. Turns without places may be history that is sent again.
 */
export function remember(
  draft: Draft,
  session: string,
  turns: readonly ModelTurn[],
  { at, freshId }: { readonly at: number; readonly freshId: () => string },
): object {
  const stored = turnsIn(draft, session);
  // What was there before the call is looked at before anything is added.
  const known = turns.every(({ index }) => index === undefined)
    ? sentAgain(stored, turns)
    : turns.map(({ index }) => stored.find((memory) => placeOf(memory) === index));
  for (const [at, turn] of turns.entries()) refuseOther(known[at], turn);
  const shown = turns.map((turn, nth) => {
    const there = turnsIn(draft, session);
    const last = there.at(-1);
    const index = turn.index ?? (last === undefined ? 0 : placeOf(last) + 1);
    const taken = known[nth] ?? there.find((memory) => placeOf(memory) === index);
    refuseOther(taken, turn);
    if (taken !== undefined) return { id: taken.id, index: placeOf(taken), added: false };
    const id = freshId();
    const entry = nextEntry(draft, at);
    put(draft, newTurn(id, turn, { session, index, ...entry }), entry);
    const before = there.findLast((memory) => placeOf(memory) < index);
    const after = there.find((memory) => placeOf(memory) > index);
    const mint = (from: string, to: string): void =>
      void addEdge(draft, { from, kind: "precedes", to }, { ...entry, source: "derived" });
    if (before !== undefined) mint(before.id, id);
    if (after !== undefined) mint(id, after.id);
    return { id, index, added: true };
  });
  return { session, turns: shown, dropped: 0 };
}

function turnsIn(draft: Draft, session: string): readonly ModelMemory[] {
  return [...draft.memories.values()]
    .filter((memory) => memory.turn?.session === session)
    .sort((a, b) => placeOf(a) - placeOf(b));
}

/** The longest run of turns that ends a session and begins the given ones, if it is long enough to tell. */
function sentAgain(
  stored: readonly ModelMemory[],
  turns: readonly ModelTurn[],
): readonly ModelMemory[] {
  for (let length = Math.min(stored.length, turns.length); length > 0; length -= 1) {
    const run = stored.slice(-length);
    const isWhole = length === stored.length && turns.length > length;
    if (length < 2 && !isWhole) continue;
    if (run.every((memory, at) => saysThe(memory, turns[at]))) return run;
  }
  return [];
}

/** Whether a turn was first said as the given one; a time that only one of them has tells nothing. */
function saysThe({ turn, versions: [first] }: ModelMemory, given: ModelTurn | undefined): boolean {
  if (given === undefined || first === undefined) return false;
  const times = new Set([turn?.at, given.at].filter((time) => time !== undefined));
  return turn?.role === given.role && first.text === given.content && times.size < 2;
}

function refuseOther(taken: ModelMemory | undefined, turn: ModelTurn): void {
  if (taken !== undefined && !saysThe(taken, turn)) throw failure("ERR_CONFLICT");
}

function placeOf(memory: ModelMemory): number {
  return memory.turn?.index ?? -1;
}

function newTurn(
  id: string,
  turn: ModelTurn,
  where: {
    readonly session: string;
    readonly index: number;
    readonly seq: number;
    readonly at: number;
  },
): Omit<ModelMemory, "since"> {
  const { session, index, seq, at } = where;
  return {
    id,
    type: "note",
    source: "user_input",
    createdAt: at,
    updatedAt: at,
    seq,
    head: {
      lifecycle: "active",
      status: "asserted",
      visibility: "private",
      importance: 5,
      tags: [],
      frames: [],
      kind: "turn",
      siblings: [],
    },
    versions: [
      {
        number: 1,
        text: turn.content,
        createdAt: at,
        confidence: 1,
        supersedes: [],
        seq,
        validFrom: turn.at,
      },
    ],
    turn: { session, index, role: turn.role, at: turn.at },
  };
}
