/**
 * What the plain model (`model.ts`) answers to reads: one memory, its history, lists, edges, walks,
 * sessions and counts, each by looking at everything there is.
 */
import { EDGE_KINDS } from "../records/edge-kinds.js";
import {
  currentVersion,
  frameTerm,
  type ModelEdge,
  type ModelFrame,
  type ModelMemory,
  type ModelState,
  type ModelVersion,
  modelUri,
  nameFromOtherEnd,
  saysBothWays,
  shownEdge,
} from "./model-state.js";

/** A memory as `get` shows it, but for data, forms and provenance. */
export function shownMemory(
  state: ModelState,
  memory: ModelMemory,
  version: ModelVersion = currentVersion(memory),
): object {
  return {
    id: memory.id,
    uri: modelUri(state.actor, memory, version.number),
    type: memory.type,
    version: version.number,
    text: version.text,
    seq: memory.seq,
    head: {
      source: memory.source,
      createdAt: memory.createdAt,
      updatedAt: memory.updatedAt,
      version: currentVersion(memory).number,
      ...memory.head,
    },
    versionRecord: shownVersion(state, version),
  };
}

function shownVersion(state: ModelState, version: ModelVersion): object {
  const { text: _, ...rest } = version;
  return { ...rest, createdBy: state.actor };
}

/** Every version of a memory, newest first. */
export function shownHistory(state: ModelState, memory: ModelMemory): readonly object[] {
  const open = [currentVersion(memory).number, ...memory.head.siblings];
  const { versions, undone = [] } = memory;
  return [...versions, ...undone]
    .sort((a, b) => a.number - b.number)
    .map((version) => ({
      uri: modelUri(state.actor, memory, version.number),
      version: version.number,
      current: open.includes(version.number),
      ...(undone.includes(version) ? { undone: true } : {}),
      text: version.text,
      versionRecord: shownVersion(state, version),
    }))
    .reverse();
}

/** What a list goes by. */
export interface ModelList {
  readonly type?: string;
  readonly tag?: string;
  readonly kind?: string;
  readonly slot?: string;
  readonly session?: string;
  readonly frame?: ModelFrame;
  readonly lifecycles?: readonly string[];
  readonly order?: "newest" | "oldest";
}

/** The ids of a list, in its order: as they came there, or, in a session, by place. */
export function listedIds(state: ModelState, list: ModelList): readonly string[] {
  const { type, tag, kind, slot, session, frame, lifecycles = ["active"] } = list;
  const term = (memory: ModelMemory): string => {
    const { lifecycle } = memory.head;
    if (!lifecycles.includes(lifecycle)) return "none";
    if (tag !== undefined) return `${lifecycle} tag ${tag}`;
    if (kind !== undefined) return `${lifecycle} kind ${kind}`;
    if (slot !== undefined) return `${lifecycle} slot ${slot}`;
    if (session !== undefined) return `${lifecycle} session ${session}`;
    if (frame !== undefined) return `${lifecycle} ${frameTerm(frame)}`;
    return `${lifecycle} type ${type ?? memory.type}`;
  };
  const found = [...state.memories.values()].flatMap((memory) => {
    const since = memory.since.get(term(memory));
    if (since === undefined) return [];
    return [{ id: memory.id, place: session === undefined ? since : (memory.turn?.index ?? 0) }];
  });
  found.sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
  if (list.order !== "oldest") found.reverse();
  return found.map(({ id }) => id);
}

/** The turns of a session in order. */
export function shownTurns(state: ModelState, session: string): readonly object[] {
  return listedIds(state, { session, order: "oldest" }).map((id) => {
    const memory = state.memories.get(id) as ModelMemory;
    const version = currentVersion(memory);
    const { index, role } = memory.turn as NonNullable<ModelMemory["turn"]>;
    return { id, index, role, content: version.text, seq: memory.seq };
  });
}

const CODES: ReadonlyMap<string, number> = new Map(
  EDGE_KINDS.map(({ name, code }) => [name, code]),
);

function codeOf(state: ModelState, kind: string): number {
  return CODES.get(kind) ?? 0x1000 + state.openKinds.indexOf(kind);
}

/** Which edges of a memory are wanted. */
export interface ModelEdgeList {
  readonly kinds?: readonly string[];
  readonly includeTombstoned?: boolean;
  readonly order?: "kind" | "ordinal";
}

/** The edges of a memory in one direction, those last that are kept the other way round. */
function edgesOf(
  state: ModelState,
  id: string,
  side: "out" | "in",
  list: ModelEdgeList,
  isCrossing: (edge: ModelEdge) => boolean = ({ kind }) => saysBothWays(kind),
): readonly ModelEdge[] {
  const own = edgesAt(state, id, side, list);
  const others = edgesAt(state, id, side === "out" ? "in" : "out", list).filter(isCrossing);
  const found = [...own, ...others];
  return list.order === "ordinal" ? found.sort(byOrdinal) : found;
}

function edgesAt(
  state: ModelState,
  id: string,
  side: "out" | "in",
  list: ModelEdgeList,
): readonly ModelEdge[] {
  const [near, other] = side === "out" ? (["from", "to"] as const) : (["to", "from"] as const);
  const { kinds, includeTombstoned = false } = list;
  const found = [...state.edges.values()].filter(
    (edge) =>
      edge[near] === id &&
      (includeTombstoned || edge.tombstone === undefined) &&
      (kinds === undefined || kinds.includes(edge.kind)),
  );
  found.sort(
    (a, b) => codeOf(state, a.kind) - codeOf(state, b.kind) || (a[other] < b[other] ? -1 : 1),
  );
  return found;
}

function byOrdinal(a: ModelEdge, b: ModelEdge): number {
  const [left, right] = [a.attributes.ordinal, b.attributes.ordinal];
  if (left === right) return a.createdAt - b.createdAt;
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  return left - right;
}

/** The edges of a memory as the engine shows them, but for their ids. */
export function shownEdges(
  state: ModelState,
  id: string,
  side: "out" | "in",
  list: ModelEdgeList,
): readonly (object | undefined)[] {
  return edgesOf(state, id, side, list).map((edge) => shownEdge(state, edge));
}

/** How a walk goes. */
export interface ModelWalk extends ModelEdgeList {
  readonly direction?: "out" | "in" | "both";
  readonly minHops?: number;
  readonly maxHops?: number;
  readonly maxNodes?: number;
}

/** What a walk finds: who, how far, over which edges. Hidden memories are passed through. */
export function shownWalk(state: ModelState, start: string, walk: ModelWalk): object {
  const { direction = "out", minHops = 1, maxHops = minHops, maxNodes = 1024 } = walk;
  const sides = direction === "both" ? (["out", "in"] as const) : ([direction] as const);
  const isShown = (id: string): boolean =>
    walk.includeTombstoned === true || state.memories.get(id)?.head.lifecycle !== "tombstoned";
  const seen = new Set([start]);
  const hits: { readonly id: string; readonly hop: number }[] = [];
  const edges = new Map<ModelEdge, object>();
  const found = (truncated: boolean): object => ({
    hits,
    edges: [...edges].map(([edge, words]) => ({ ...shownEdge(state, edge), ...words })),
    truncated,
  });
  let frontier = state.memories.has(start) ? [start] : [];
  for (let hop = 1; hop <= maxHops; hop += 1) {
    const next: string[] = [];
    for (const { edge, other, words } of met(state, frontier, sides, walk)) {
      if (!seen.has(other)) {
        const isHit = hop >= minHops && isShown(other);
        if (isHit && hits.length >= maxNodes) return found(true);
        if (isHit) hits.push({ id: other, hop });
        seen.add(other);
        next.push(other);
      }
      if (!edges.has(edge)) edges.set(edge, words);
    }
    frontier = next;
  }
  return found(false);
}

function* met(
  state: ModelState,
  frontier: readonly string[],
  sides: readonly ("out" | "in")[],
  list: ModelEdgeList,
): Generator<{ readonly edge: ModelEdge; readonly other: string; readonly words: object }> {
  // A walk one way follows an edge from whichever end has a name for it.
  const isCrossing = ({ kind }: ModelEdge): boolean =>
    sides.length === 1 &&
    (list.kinds === undefined ? nameFromOtherEnd(kind) !== undefined : saysBothWays(kind));
  for (const id of frontier) {
    for (const side of sides) {
      for (const edge of edgesOf(state, id, side, { ...list, order: "kind" }, isCrossing)) {
        const other = edge.from === id ? edge.to : edge.from;
        yield { edge, other, words: wordsAt(edge, id) };
      }
    }
  }
}

/** An edge in the words of the memory it is met from, or as it is kept where it has none there. */
function wordsAt({ from, kind, to }: ModelEdge, id: string): object {
  const here = from === id ? kind : nameFromOtherEnd(kind);
  const other = from === id ? to : from;
  const backward = (name: string) =>
    name === "caused_by" || name === "follows" ? { inverse: true } : {};
  if (here === undefined) return { from, kind, to };
  return { from: id, kind: here, to: other, ...backward(here) };
}

/** How much there is of everything. */
export function shownCounts(state: ModelState): object {
  const memories = { active: 0, archived: 0, tombstoned: 0, erased: state.erased.size };
  for (const { head } of state.memories.values()) memories[head.lifecycle] += 1;
  const edges = { live: 0, removed: 0, openKinds: state.openKinds.length };
  for (const edge of state.edges.values()) edges[edge.tombstone ? "removed" : "live"] += 1;
  return { entries: state.size, seq: state.size - 1, lastAt: state.at, memories, edges };
}

/** A past state as it can be read after later entries have forgotten some of its memories. */
export function seenAfter(past: ModelState, erased: ModelState["erased"]): ModelState {
  const there = (id: string): boolean => !erased.has(id);
  return {
    ...past,
    memories: new Map([...past.memories].filter(([id]) => there(id))),
    edges: new Map([...past.edges].filter(([, { from, to }]) => there(from) && there(to))),
  };
}
