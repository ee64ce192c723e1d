/** What the plain model does to take things back: `forget` and `revert`. */
import {
  type Draft,
  failure,
  holderOf,
  living,
  nextEntry,
  noteForget,
  put,
  putEdge,
} from "./model-draft.js";
import { idIn, type ModelEdge, type ModelMemory } from "./model-state.js";

/** Destroys a memory, and with `cascade` what was derived from it. */
export function forget(draft: Draft, ref: string, cascade: boolean, at: number): object {
  const gone = draft.erased.get(idIn(ref));
  if (gone !== undefined) {
    return { id: idIn(ref), seq: gone.seq, erased: [], derived: [], edges: 0 };
  }
  const { id } = living(draft, ref);
  const waiting = [id];
  const erased: string[] = [];
  const derived = new Set<string>();
  let edges = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (erased.includes(next)) continue;
    const children = childrenOf(draft, next);
    edges += forgetOne(draft, next, at);
    erased.push(next);
    derived.delete(next);
    for (const child of children) {
      if (cascade) waiting.push(child);
      else derived.add(child);
    }
  }
  return { id, seq: draft.size - 1, erased, derived: [...derived], edges };
}

function childrenOf(draft: Draft, id: string): string[] {
  return [...draft.edges.values()]
    .filter(({ kind, to, tombstone }) => kind === "derived_from" && to === id && !tombstone)
    .map(({ from }) => from)
    .sort();
}

function forgetOne(draft: Draft, id: string, at: number): number {
  const memory = living(draft, id);
  const { seq } = nextEntry(draft, at);
  noteForget(draft, seq);
  const touching = [...draft.edges].filter(([, { from, to }]) => from === id || to === id);
  for (const [name] of touching) draft.edges.delete(name);
  draft.memories.delete(id);
  draft.goalStates.delete(id);
  draft.uses.delete(id);
  if (memory.head.externalId !== undefined) draft.externalIds.delete(memory.head.externalId);
  draft.erased.set(id, { type: memory.type, seq });
  return touching.length;
}

/** Appends the entry that undoes an entry, if what it left is still current. */
export function revert(draft: Draft, seq: number, at: number): object {
  if (seq >= draft.size) throw failure("ERR_NOT_FOUND");
  const entry = draft.entries.get(seq);
  if (entry?.kind === "forget") throw failure("ERR_ERASED");
  if (entry === undefined) throw failure("ERR_CONFLICT");
  const memories = entry.memories.map(({ id, before }) => ({
    now: current(draft.memories.get(id), seq),
    before,
  }));
  const edges = entry.edges.map(({ name, before }) => ({
    now: current(draft.edges.get(name), seq),
    before,
  }));
  const mine = { seq: draft.size, at };
  const mark = { reason: `reverted entry ${seq}`, at, by: draft.actor };
  const former = memories.map(({ now, before }) => formerMemory(now, before, mark));
  refuseTakenSlots(draft, former);
  nextEntry(draft, at);
  for (const memory of former) put(draft, memory, mine);
  for (const { now, before } of edges) {
    putEdge(draft, { ...(before ?? { ...now, tombstone: mark }), seq: mine.seq });
  }
  return {
    reverted: seq,
    seq: mine.seq,
    memories: memories.map(({ now }) => now.id),
    edges: edges.length,
  };
}

function current<T extends { readonly seq: number }>(now: T | undefined, seq: number): T {
  if (now === undefined) throw failure("ERR_ERASED");
  if (now.seq !== seq) throw failure("ERR_CONFLICT");
  return now;
}

/** A slot has one value: nobody comes back into one that others hold. */
function refuseTakenSlots(draft: Draft, former: readonly ModelMemory[]): void {
  const ids = new Set(former.map(({ id }) => id));
  for (const { head } of former) {
    const holder = head.lifecycle === "active" ? holderOf(draft, head.slot) : undefined;
    if (holder !== undefined && !ids.has(holder.id)) throw failure("ERR_CONFLICT");
  }
}

function formerMemory(
  now: ModelMemory,
  before: ModelMemory | undefined,
  tombstone: NonNullable<ModelEdge["tombstone"]>,
): ModelMemory {
  if (before === undefined) {
    return { ...now, head: { ...now.head, lifecycle: "tombstoned", tombstone } };
  }
  // Its numbers are used up: what came since is set aside, not taken out.
  const all = [...now.versions, ...(now.undone ?? [])];
  return { ...before, undone: all.filter((version) => !before.versions.includes(version)) };
}
