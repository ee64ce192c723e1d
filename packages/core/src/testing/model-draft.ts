/**
 * A state of the plain model on its way to the next: the small steps that all verbs are made of.
 * Every change of a memory or an edge is noted under its entry, so that it can be reverted.
 */
import {
  currentVersion,
  type Ends,
  edgeName,
  findInModel,
  idIn,
  type ModelAttributes,
  type ModelEdge,
  type ModelEntry,
  type ModelMemory,
  type ModelState,
  modelUri,
  standingEdge,
  termsOf,
} from "./model-state.js";

/** A state that may still change. */
export type Draft = { -readonly [K in keyof ModelState]: DraftOf<ModelState[K]> };
type DraftOf<T> =
  T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends readonly string[] ? string[] : T;

/** The entry at hand. */
export interface At {
  readonly seq: number;
  readonly at: number;
}

/** Starts from a state, which stays as it is. */
export function draftOf(state: ModelState): Draft {
  return {
    ...state,
    memories: new Map(state.memories),
    edges: new Map(state.edges),
    externalIds: new Map(state.externalIds),
    openKinds: [...state.openKinds],
    goalStates: new Map(state.goalStates),
    uses: new Map(state.uses),
    contexts: new Map(state.contexts),
    kinds: [...state.kinds],
    erased: new Map(state.erased),
    entries: new Map(state.entries),
    requests: new Map(state.requests),
  };
}

/** A failure with the code the engine must give. */
export function failure(code: string): Error {
  return Object.assign(new Error(`the model refuses: ${code}`), { modelCode: code });
}

/** The code of a failure of the model; `undefined` for any other error. */
export function failureCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("modelCode" in error)) return undefined;
  return String(error.modelCode);
}

/** The memory that a change is about. */
export function living(draft: Draft, ref: string): ModelMemory {
  const found = findInModel(draft, ref);
  if (found !== undefined) return found;
  throw failure(draft.erased.has(idIn(ref)) ? "ERR_ERASED" : "ERR_NOT_FOUND");
}

/** Takes the next seq. */
export function nextEntry(draft: Draft, at: number): At {
  const seq = draft.size;
  draft.size += 1;
  return { seq, at };
}

function note(draft: Draft, seq: number, more: Partial<ModelEntry>): void {
  const { kind = "change", memories = [], edges = [] } = draft.entries.get(seq) ?? {};
  draft.entries.set(seq, {
    kind: more.kind ?? kind,
    memories: [...memories, ...(more.memories ?? [])],
    edges: [...edges, ...(more.edges ?? [])],
  });
}

/** Says that an entry cannot be undone. */
export function noteForget(draft: Draft, seq: number): void {
  note(draft, seq, { kind: "forget" });
}

/** Puts a memory in the place of its former state; its `seq` and `updatedAt` become the entry's. */
export function put(
  draft: Draft,
  changed: Omit<ModelMemory, "since">,
  { seq, at }: At,
): ModelMemory {
  const before = draft.memories.get(changed.id);
  const since = new Map(termsOf(changed).map((term) => [term, before?.since.get(term) ?? seq]));
  const memory: ModelMemory = { ...changed, seq, updatedAt: at, since };
  draft.memories.set(memory.id, memory);
  note(draft, seq, { memories: [{ id: memory.id, before }] });
  return memory;
}

/** Who says a sentence already, the longest active first; a write looks at sixteen of them, by id. */
export function sayersOf(draft: Draft, claim: string): readonly ModelMemory[] {
  const sayers = [...draft.memories.values()].filter((memory) => claimOf(memory) === claim);
  const seen = sayers.sort((x, y) => (x.id < y.id ? -1 : 1)).slice(0, 16);
  const since = (memory: ModelMemory): number => Math.min(...memory.since.values());
  return seen.sort((x, y) => since(x) - since(y));
}

/** What an active memory claims; notes, events and artifacts may repeat themselves. */
function claimOf(memory: ModelMemory): string | undefined {
  const { type, head } = memory;
  if (["note", "event", "artifact"].includes(type) || head.lifecycle !== "active") return undefined;
  return claimName(type, head.slot ?? memory.claimSlot, currentVersion(memory).text);
}

/** Sentences of one type and slot that say the same have one name. */
export function claimName(type: string, slot: string | undefined, text: string): string {
  const said = text.toLowerCase().replace(/\s+/g, " ").trim().replace(/\.+$/, "");
  return JSON.stringify([type, slot, said]);
}

/** The active memory in a slot. */
export function holderOf(draft: Draft, slot: string | undefined): ModelMemory | undefined {
  if (slot === undefined) return undefined;
  return [...draft.memories.values()].find(
    ({ head }) => head.slot === slot && head.lifecycle === "active",
  );
}

/** Refuses a kind that the whitelist does not hold; a memory without a kind is free. */
export function checkKind(draft: Draft, kind: string | undefined): void {
  if (kind === undefined || draft.kinds.length === 0 || draft.kinds.includes(kind)) return;
  throw failure("ERR_KIND_NOT_ALLOWED");
}

/** What a change of one memory answers. */
export function result(draft: Draft, memory: ModelMemory, more: object = {}): object {
  return {
    id: memory.id,
    uri: modelUri(draft.actor, memory),
    version: currentVersion(memory).number,
    seq: memory.seq,
    replaced: [],
    conflicts: [],
    reinforced: false,
    ...more,
  };
}

/** Sets an edge to a new state. */
export function putEdge(draft: Draft, edge: ModelEdge): void {
  const name = edgeName(edge.from, edge.kind, edge.to);
  note(draft, edge.seq, { edges: [{ name, before: draft.edges.get(name) }] });
  draft.edges.set(name, edge);
}

/** Adds an edge in the entry at hand; a live one gets the reason and strength it lacked. */
export function addEdge(
  draft: Draft,
  ends: Ends,
  rest: At & { readonly source: string; readonly attributes?: ModelAttributes },
): boolean {
  const { source, seq, at, attributes = {} } = rest;
  // A rival's edge says who disputes whom: it is never taken for the one the other way round.
  const isRival = attributes.metadata !== undefined && "rival" in attributes.metadata;
  const exact = draft.edges.get(edgeName(ends.from, ends.kind, ends.to));
  const before = isRival ? exact : standingEdge(draft, ends);
  if (before !== undefined && before.tombstone === undefined) {
    const { reason, strength } = attributes;
    const { reason: why = reason, strength: weight = strength } = before.attributes;
    const same = why === before.attributes.reason && weight === before.attributes.strength;
    if (same) return false;
    const more = {
      ...(why === undefined ? {} : { reason: why }),
      ...(weight === undefined ? {} : { strength: weight }),
    };
    putEdge(draft, { ...before, seq, attributes: { ...before.attributes, ...more } });
    return true;
  }
  const { from, kind, to } = before ?? ends;
  putEdge(draft, { from, kind, to, source, seq, createdAt: at, attributes });
  return true;
}
