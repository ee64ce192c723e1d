/**
 * What the plain model does about use and learning: counters, weights, compacted contexts, and what a
 * context bundle must hold. Written from the meaning of the verbs; it shares no code with them.
 */
import type { Source } from "../records/types.js";
import { outranks, standingOf } from "../trust/gate.js";
import { type Draft, nextEntry } from "./model-draft.js";
import {
  currentVersion,
  findInModel,
  frameTerm,
  type ModelFrame,
  type ModelMemory,
  type ModelState,
  type ModelUse,
  type ModelWeights,
  modelUri,
} from "./model-state.js";

/** What is attested. */
export interface ModelAttest {
  readonly intentId: string;
  readonly outcome: "success" | "failure";
  readonly reason?: string;
  readonly cited: readonly string[];
}

const UNUSED: ModelUse = { reinforced: 0, accessed: 0, cited: 0, lastUsedAt: 0 };

/** What use has made of a memory. */
export function useOf(state: ModelState, id: string): ModelUse {
  return state.uses.get(id) ?? UNUSED;
}

/** Notes a use of a memory. */
export function noteUse(draft: Draft, id: string, at: number, more: Partial<ModelUse>): void {
  draft.uses.set(id, { ...useOf(draft, id), ...more, lastUsedAt: at });
}

/** The memories that references name, each once, and the references that name none. */
function named(
  state: ModelState,
  refs: readonly string[],
): { readonly found: readonly ModelMemory[]; readonly skipped: readonly string[] } {
  const isThere = (ref: string): boolean => {
    const lifecycle = findInModel(state, ref)?.head.lifecycle;
    return lifecycle === "active" || lifecycle === "archived";
  };
  const found = refs.filter(isThere).flatMap((ref) => findInModel(state, ref) ?? []);
  return {
    found: [...new Map(found.map((memory) => [memory.id, memory])).values()],
    skipped: [...new Set(refs.filter((ref) => !isThere(ref)))],
  };
}

/** Says how a task ended. */
export function attest(draft: Draft, input: ModelAttest, at: number): object {
  const { found, skipped } = named(draft, input.cited);
  const blames = input.reason === "factual_error" || input.reason === "wrong_assumption";
  const praised = input.outcome === "success";
  const { seq } = nextEntry(draft, at);
  let citationsDelta = 0;
  for (const { id } of found) {
    const { accessed, cited } = useOf(draft, id);
    const next = praised ? cited + 1 : blames ? Math.max(0, cited - 1) : cited;
    citationsDelta += next - cited;
    noteUse(draft, id, at, { accessed: praised ? accessed + 1 : accessed, cited: next });
  }
  const learnSeq = nextEntry(draft, at).seq;
  const weightsUpdated = (praised || blames) && found.length > 0;
  if (weightsUpdated) draft.weights = learned(draft, found, praised ? 1 : -1);
  const affected = found.map(({ id }) => id);
  return { seq, learnSeq, affected, skipped, citationsDelta, weightsUpdated };
}

/** One step of the moving average, toward (1) or away from (-1) what was cited. */
function learned(state: ModelState, cited: readonly ModelMemory[], sign: 1 | -1): ModelWeights {
  const profile = [0, 0, 0, 0];
  for (const { id, head } of cited) {
    const { accessed, cited: citations } = useOf(state, id);
    const log = (count: number): number => Math.min(1, Math.log(1 + count) / Math.log(1001));
    // It was used this very moment.
    const factors = [1, log(accessed), log(citations), head.importance / 10];
    factors.forEach((factor, at) => {
      profile[at] = (profile[at] ?? 0) + factor;
    });
  }
  const total = profile.reduce((sum, part) => sum + part, 0);
  const moved = state.weights.map((weight, at) => {
    const target = (0.9 * (profile[at] ?? 0)) / total;
    return weight + sign * 0.05 * (target - weight);
  });
  const above = moved.map((weight) => Math.max(0, weight - 0.02));
  const sum = above.reduce((all, part) => all + part, 0);
  return above.map((part) => 0.02 + (part * (0.9 - 4 * 0.02)) / sum);
}

/** Counts a late find of memories. */
export function lateFind(draft: Draft, ids: readonly string[], at: number): object {
  if (ids.length === 0) return { ids };
  const { seq } = nextEntry(draft, at);
  for (const id of ids) noteUse(draft, id, at, { accessed: useOf(draft, id).accessed + 1 });
  return { ids, lateSeq: seq };
}

/** Whether a memory is always to be kept. */
export function isPinned({ type }: ModelMemory): boolean {
  // The model writes sentences alone: a constraint is hard then, and a goal active.
  return type === "identity" || type === "constraint" || type === "goal";
}

/** Compacts a context; `undefined` when there is nothing in it, which is refused. */
export function compact(
  draft: Draft,
  input: { readonly stepId: string; readonly inContext: readonly string[] },
  at: number,
): object | undefined {
  const { found, skipped } = named(draft, input.inContext);
  if (found.length === 0) return undefined;
  const { seq } = nextEntry(draft, at);
  const uris = (some: readonly ModelMemory[]) => some.map((one) => modelUri(draft.actor, one));
  const kept = uris(found.filter(isPinned));
  const compacted = uris(found.filter((memory) => !isPinned(memory)));
  draft.contexts.set(input.stepId, { seq, kept, compacted });
  return { seq, kept, compacted, skipped };
}

/** Whether what a memory says holds at the time of a state; what was said was said. */
function holds(state: ModelState, memory: ModelMemory): boolean {
  const { validFrom, validTo } = currentVersion(memory);
  const hasBegun = memory.turn !== undefined || validFrom === undefined || validFrom <= state.at;
  return hasBegun && (validTo === undefined || state.at < validTo);
}

/** What a bundle without a tight budget must hold at its time, by tier, each in the order of ids. */
export function shownContext(state: ModelState, frame: ModelFrame): object {
  const active = [...state.memories.values()].filter(
    (memory) => memory.head.lifecycle === "active" && holds(state, memory),
  );
  const framed = active.filter(
    (memory) => !isPinned(memory) && memory.since.has(`active ${frameTerm(frame)}`),
  );
  const events = framed
    .filter(({ type }) => type === "event")
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  const outcomes = events.slice(0, 3);
  const tierOf = (memory: ModelMemory): number =>
    isPinned(memory) ? 0 : outcomes.includes(memory) ? 1 : 2;
  const tiers = new Map(
    [...active.filter(isPinned), ...framed].map((memory) => [memory, tierOf(memory)]),
  );
  lowerRivals(state, tiers);
  const ids = (tier: number) =>
    [...tiers].flatMap(([{ id }, own]) => (own === tier ? [id] : [])).sort();
  return { pinned: ids(0), outcomes: ids(1), frameRelevant: ids(2) };
}

/** Puts every rival into a tier no earlier than that of what it disputes, until nothing moves any more. */
function lowerRivals(state: ModelState, tiers: Map<ModelMemory, number>): void {
  const named = new Map([...tiers.keys()].map((memory) => [memory.id, memory]));
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (const { kind, from, to, attributes, tombstone } of state.edges.values()) {
      if (kind !== "contradicts" || tombstone !== undefined) continue;
      const ends = [named.get(from), named.get(to)] as const;
      const marked = attributes.metadata !== undefined && "rival" in attributes.metadata;
      for (const [rival, other, isRival] of [
        [ends[0], ends[1], marked],
        [ends[1], ends[0], false],
      ] as const) {
        if (rival === undefined || other === undefined || !isBelow(rival, other, isRival)) continue;
        const tier = Math.max(tiers.get(rival) ?? 0, tiers.get(other) ?? 0);
        if (tier === tiers.get(rival)) continue;
        tiers.set(rival, tier);
        isMoving = true;
      }
    }
  }
}

/** Whether one of two memories that cannot both hold stands below the other. */
function isBelow(rival: ModelMemory, other: ModelMemory, isRival: boolean): boolean {
  const isUnsure = rival.head.status === "provisional" || standingOf(sourceOf(rival)) === "outside";
  if (!isUnsure) return false;
  if (outranks(sourceOf(other), sourceOf(rival))) return true;
  return isRival && !outranks(sourceOf(rival), sourceOf(other));
}

function sourceOf({ source }: ModelMemory): Source {
  return source as Source;
}

/** What a context record must read back, as far as it can be read at the end. */
export function shownRecord(state: ModelState, stepId: string): object | undefined {
  const record = state.contexts.get(stepId);
  if (record === undefined) return undefined;
  const item = (uri: string): object => {
    const memory = findInModel(state, uri);
    if (memory === undefined) return { uri, lifecycle: "erased" };
    const version = Number(uri.split("#")[1]);
    const all = [...memory.versions, ...(memory.undone ?? [])];
    const text = all.find(({ number }) => number === version)?.text;
    return { uri, lifecycle: memory.head.lifecycle, said: text ?? currentVersion(memory).text };
  };
  return {
    recordSeq: record.seq,
    kept: record.kept.map(item),
    compacted: record.compacted.map(item),
  };
}
