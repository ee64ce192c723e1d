/**
 * A plain model of a memory graph, against which the engine is judged: maps in memory, one state per
 * position, nothing stored, nothing clever.
 *
 * Promise: `applyToModel` says what an operation changes and what it answers, from the meaning of the
 * verbs alone; it shares no code with the verbs, the fold or the readers. A state is never changed: an
 * operation gives a new one, so every position of a history can be kept and asked later. Ids that the
 * engine draws are handed in. What a state answers to reads is in `model-reads.ts`.
 *
 * Left out: forms, provenance beyond `derivedFrom`, turns longer than one memory.
 */
import {
  type At,
  addEdge,
  checkKind,
  claimName,
  type Draft,
  draftOf,
  failure,
  failureCode,
  holderOf,
  living,
  nextEntry,
  put,
  result,
  sayersOf,
} from "./model-draft.js";
import { attest, compact, lateFind, noteUse, useOf } from "./model-learning.js";
import { link, remember, removeEdge } from "./model-links.js";
import { listedIds } from "./model-reads.js";
import {
  currentVersion,
  findInModel,
  type ModelAttributes,
  type ModelHead,
  type ModelItem,
  type ModelMemory,
  type ModelOperation,
  type ModelOutcome,
  type ModelState,
  type ModelUpdate,
  type ModelVersion,
  type ModelWrite,
  modelUri,
  nextNumber,
} from "./model-state.js";
import { forget, revert } from "./model-undo.js";

/**
 * What becomes of a state, and what is answered. `now` is the clock, `ids` are the ids the engine drew
 * for new memories, in order; a failing operation gives the state back as it was.
 */
export function applyToModel(
  state: ModelState,
  operation: ModelOperation,
  given: { readonly now: number; readonly ids: readonly string[] },
): { readonly state: ModelState; readonly outcome: ModelOutcome } {
  const draft = draftOf(state);
  const at = Math.max(given.now, state.at);
  const ids = [...given.ids];
  let unknown = 0;
  const freshId = (): string => ids.shift() ?? `not given ${++unknown}`;
  try {
    const value = run(draft, operation, { at, freshId });
    if (draft.size > state.size) draft.at = at;
    return { state: draft, outcome: { value } };
  } catch (error) {
    const code = failureCode(error);
    if (code === undefined) throw error;
    return { state, outcome: { error: code } };
  }
}

interface Given {
  readonly at: number;
  readonly freshId: () => string;
}

function run(draft: Draft, operation: ModelOperation, given: Given): object {
  const { at } = given;
  switch (operation.verb) {
    case "write":
      return writeOnce(draft, operation.input, given);
    case "update":
      return update(draft, operation.ref, operation.input, at);
    case "updateHead":
      return updateHead(draft, operation.ref, operation.patch, at);
    case "tombstone":
      return tombstone(draft, operation.ref, operation.reason, at);
    case "restore":
      return restore(draft, operation.ref, at);
    case "forget":
      return forget(draft, operation.ref, operation.cascade, at);
    case "revert":
      return revert(draft, operation.seq, at);
    case "link":
      return link(draft, operation, operation.input, at);
    case "removeEdge":
      return removeEdge(draft, operation, operation.reason, at);
    case "batch":
      return batch(draft, operation, given);
    case "remember":
      return remember(draft, operation.session, operation.turns, given);
    case "setGoalState":
      return setGoalState(draft, operation.ref, operation.state, at);
    case "deleteGoalState":
      return setGoalState(draft, operation.ref, undefined, at);
    case "configure":
      return configure(draft, operation.patch, at);
    case "attest":
      return attest(draft, operation.input, at);
    case "lateFind":
      return lateFind(draft, listedIds(draft, { tag: operation.tag }), at);
    case "compact": {
      const compacted = compact(draft, operation, at);
      if (compacted === undefined) throw failure("ERR_INVALID");
      return compacted;
    }
  }
}

/** A write; under an idempotency key that was used before, the answer of the first one. */
function writeOnce(draft: Draft, input: ModelWrite, given: Given): object {
  const { idempotencyKey: key } = input;
  if (key === undefined) return write(draft, input, given);
  const request = JSON.stringify(input);
  const first = draft.requests.get(key);
  if (first === undefined) {
    const value = write(draft, input, given);
    draft.requests.set(key, { request, value });
    return value;
  }
  if (first.request !== request) throw failure("ERR_IDEMPOTENCY");
  return first.value;
}

function write(draft: Draft, input: ModelWrite, { at, freshId }: Given): object {
  const { type, text, externalId, source = "user_input" } = input;
  const known =
    input.id !== undefined && (draft.memories.has(input.id) || draft.erased.has(input.id));
  if (known || (externalId !== undefined && draft.externalIds.has(externalId))) {
    throw failure("ERR_EXISTS");
  }
  checkKind(draft, input.kind);
  const slot = input.slot === undefined ? undefined : slotName(input.slot);
  const supersedes = input.supersedes ?? [];
  const plain = externalId === undefined && supersedes.length === 0 && input.corrects === undefined;
  // What is over by now joins the history of its slot and meets nobody there.
  const isPast = slot !== undefined && input.validTo !== undefined && input.validTo <= at;
  const said = isPast ? [] : sayersOf(draft, claimName(type, slot, text));
  const same = plain ? said.find((one) => one.source === source) : undefined;
  if (same !== undefined) return reinforce(draft, same, at);
  const named = supersedes.map((ref) => living(draft, ref));
  const corrected = input.corrects === undefined ? [] : [living(draft, input.corrects)];
  const holder = isPast ? undefined : holderOf(draft, slot);
  const met = meet({ source, plain, said, holder, named });
  const entry = nextEntry(draft, at);
  const memory =
    met.lifted === undefined
      ? put(draft, newMemory(input, { id: input.id ?? freshId(), slot, met, ...entry }), entry)
      : put(draft, lifted(met.lifted, input, { slot, met, ...entry }), entry);
  if (externalId !== undefined) draft.externalIds.set(externalId, memory.id);
  const closed = closeReplaced(draft, met.slot, met.named, entry);
  const mint = (kind: string, to: ModelMemory, attributes: ModelAttributes = {}): void => {
    if (to.id === memory.id) return;
    const rest = { ...entry, source: "derived", attributes };
    addEdge(draft, { from: memory.id, kind, to: to.id }, rest);
  };
  for (const other of met.slot) mint("contradicts", other);
  for (const other of met.slot) mint("transition", other);
  for (const other of met.rivals) {
    const rival = other === holder ? (slot ?? true) : true;
    const version = currentVersion(other).number;
    mint("contradicts", other, { metadata: { rival, version } });
  }
  for (const other of named) if (!met.stays.includes(other)) mint("supersedes", other);
  if (met.backed !== undefined) mint("supports", met.backed);
  for (const other of corrected) mint("corrects", other);
  for (const uri of input.provenance?.derivedFrom ?? []) {
    const origin = findInModel(draft, uri);
    if (origin !== undefined) mint("derived_from", origin);
  }
  const conflicts = met.rivals.map((one) => ({ id: one.id, uri: modelUri(draft.actor, one) }));
  if (met.lifted === undefined) return result(draft, memory, { replaced: closed, conflicts });
  noteUse(draft, memory.id, at, { reinforced: useOf(draft, memory.id).reinforced + 1 });
  return result(draft, memory, { replaced: closed, conflicts, reinforced: true });
}

/** Who somebody is, what they like and what must not be done are the owner's to say. */
function isUnsure(type: string, source: string): boolean {
  return source !== "user_input" && ["identity", "preference", "constraint"].includes(type);
}

/** What a write does with what is there: the owner's words give way to nobody else's. */
interface Met {
  readonly lifted: ModelMemory | undefined;
  readonly backed: ModelMemory | undefined;
  readonly slot: readonly ModelMemory[];
  readonly named: readonly ModelMemory[];
  readonly stays: readonly ModelMemory[];
  readonly rivals: readonly ModelMemory[];
  readonly takesSlot: boolean;
}

function meet(what: {
  readonly source: string;
  readonly plain: boolean;
  readonly said: readonly ModelMemory[];
  readonly holder: ModelMemory | undefined;
  readonly named: readonly ModelMemory[];
}): Met {
  const { plain, said } = what;
  const isOwner = what.source === "user_input";
  const lower = plain && isOwner ? said.filter(({ source }) => source !== "user_input") : [];
  const lifted = lower.find(({ head }) => head.slot !== undefined) ?? lower[0];
  const echoes = plain && lifted === undefined ? said : [];
  const holders = what.holder === undefined || what.holder === lifted ? [] : [what.holder];
  const named = [...new Set(what.named)].filter(
    (one) => one.head.lifecycle === "active" && one !== what.holder,
  );
  const gives = (one: ModelMemory): boolean => isOwner || one.source !== "user_input";
  const echoed = holders.filter((one) => echoes.includes(one));
  const slot = holders.filter((one) => gives(one) && !echoed.includes(one));
  const stays = [...holders, ...named].filter((one) => !gives(one));
  return {
    lifted,
    backed: echoed[0] ?? echoes[0] ?? stays.find((one) => said.includes(one)),
    slot,
    named: named.filter(gives),
    stays,
    rivals: stays.filter((one) => !said.includes(one)),
    takesSlot: slot.length === holders.length,
  };
}

/** A memory whose claim the owner makes now: the same words, in a version of the owner's. */
function lifted(
  memory: ModelMemory,
  input: ModelWrite,
  given: At & { readonly slot: string | undefined; readonly met: Met },
): ModelMemory {
  const now = currentVersion(memory);
  const version: ModelVersion = {
    ...now,
    number: nextNumber(memory),
    createdAt: given.at,
    confidence: Math.max(now.confidence, input.confidence ?? 1),
    supersedes: openVersions(memory),
    seq: given.seq,
    validFrom: startOf(now),
  };
  return {
    ...memory,
    source: input.source ?? "user_input",
    head: {
      ...memory.head,
      status: "asserted",
      slot: given.met.takesSlot ? given.slot : undefined,
      siblings: [],
    },
    versions: [...memory.versions, version],
  };
}

function slotName(slot: string): string {
  return slot
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}

function newMemory(
  input: ModelWrite,
  given: At & { readonly id: string; readonly slot: string | undefined; readonly met: Met },
): Omit<ModelMemory, "since"> {
  const { id, slot, seq, at, met } = given;
  const { type, text, source = "user_input", confidence = 1, validFrom, validTo } = input;
  return {
    id,
    type,
    source,
    createdAt: at,
    updatedAt: at,
    seq,
    claimSlot: met.takesSlot ? undefined : slot,
    head: {
      lifecycle:
        slot !== undefined && validTo !== undefined && validTo <= at ? "archived" : "active",
      status: isUnsure(type, source) || met.rivals.length > 0 ? "provisional" : "asserted",
      visibility: input.visibility ?? "private",
      importance: input.importance ?? 5,
      tags: [...new Set(input.tags)],
      frames: input.frames ?? [],
      kind: input.kind,
      slot: met.takesSlot ? slot : undefined,
      externalId: input.externalId,
      siblings: [],
    },
    versions: [
      { number: 1, text, createdAt: at, confidence, supersedes: [], seq, validFrom, validTo },
    ],
  };
}

/** Archives the former value of a slot and the memories that were named. */
function closeReplaced(
  draft: Draft,
  slot: readonly ModelMemory[],
  named: readonly ModelMemory[],
  entry: At,
): object[] {
  return [...slot, ...named].map((memory) => {
    const closed = put(draft, archive(memory, entry), entry);
    return { id: closed.id, uri: modelUri(draft.actor, closed) };
  });
}

function archive(memory: ModelMemory, { seq, at }: At): ModelMemory {
  const now = currentVersion(memory);
  const archived: ModelMemory = { ...memory, head: { ...memory.head, lifecycle: "archived" } };
  if (now.validTo !== undefined && now.validTo <= at) return archived;
  const validFrom = now.validFrom ?? now.createdAt;
  const closing: ModelVersion = {
    ...now,
    number: nextNumber(memory),
    createdAt: at,
    supersedes: openVersions(memory),
    seq,
    validFrom,
    validTo: Math.max(at, validFrom),
  };
  return {
    ...archived,
    head: { ...archived.head, siblings: [] },
    versions: [...memory.versions, closing],
  };
}

function openVersions(memory: ModelMemory): number[] {
  return [currentVersion(memory).number, ...memory.head.siblings].sort((a, b) => a - b);
}

function reinforce(draft: Draft, memory: ModelMemory, at: number): object {
  const { seq } = nextEntry(draft, at);
  noteUse(draft, memory.id, at, { reinforced: useOf(draft, memory.id).reinforced + 1 });
  return result(draft, memory, { seq, reinforced: true });
}

function update(draft: Draft, ref: string, input: ModelUpdate, at: number): object {
  const memory = living(draft, ref);
  if (memory.head.lifecycle === "tombstoned") throw failure("ERR_TOMBSTONED");
  const now = currentVersion(memory);
  // Whoever read an old version is told so first: what else is wrong may be of the version they did not see.
  const { basedOnVersion } = input;
  const stale = basedOnVersion !== undefined && !openVersions(memory).includes(basedOnVersion);
  if (stale && !draft.manual) throw failure("ERR_CONFLICT");
  const text = input.text ?? now.text;
  // Saying the same again keeps the time it holds for.
  const held = text === now.text;
  const validFrom = input.validFrom ?? (held ? startOf(now, input.validTo) : undefined);
  const validTo = input.validTo ?? (held ? now.validTo : undefined);
  if (validTo !== undefined && validFrom !== undefined && validTo < validFrom) {
    throw failure("ERR_INVALID");
  }
  const entry = nextEntry(draft, at);
  const version: ModelVersion = {
    number: nextNumber(memory),
    text,
    createdAt: at,
    confidence: input.confidence ?? now.confidence,
    supersedes: stale ? [] : openVersions(memory),
    seq: entry.seq,
    validFrom,
    validTo,
  };
  const siblings = stale ? [...memory.head.siblings, now.number] : [];
  const head = { ...memory.head, siblings };
  const versions = [...memory.versions, version];
  const next = put(draft, { ...memory, head, versions, claimSlot: undefined }, entry);
  const conflicts = [...siblings]
    .sort((a, b) => b - a)
    .map((number) => ({ id: memory.id, uri: modelUri(draft.actor, memory, number) }));
  return result(draft, next, { conflicts });
}

/** Since when a version holds; unknown for what was over before it was written. */
function startOf(version: ModelVersion, end = version.validTo): number | undefined {
  const { validFrom, createdAt } = version;
  const isOver = end !== undefined && end < createdAt;
  return validFrom ?? (isOver ? undefined : createdAt);
}

/** Changes the head alone. */
function changeHead(draft: Draft, memory: ModelMemory, head: ModelHead, at: number): object {
  return result(draft, put(draft, { ...memory, head }, nextEntry(draft, at)));
}

function updateHead(draft: Draft, ref: string, patch: Partial<ModelHead>, at: number): object {
  const memory = living(draft, ref);
  if (memory.head.lifecycle === "tombstoned") throw failure("ERR_TOMBSTONED");
  if (patch.kind !== undefined) checkKind(draft, patch.kind);
  return changeHead(draft, memory, { ...memory.head, ...patch }, at);
}

function tombstone(draft: Draft, ref: string, reason: string, at: number): object {
  const memory = living(draft, ref);
  if (memory.head.lifecycle === "tombstoned") return result(draft, memory);
  const mark = { reason, at, by: draft.actor };
  const head: ModelHead = { ...memory.head, lifecycle: "tombstoned", tombstone: mark };
  return changeHead(draft, memory, head, at);
}

function restore(draft: Draft, ref: string, at: number): object {
  const memory = living(draft, ref);
  if (memory.head.lifecycle === "active") return result(draft, memory);
  if (hasSuccessor(draft, memory)) throw failure("ERR_CONFLICT");
  const { tombstone: _, ...rest } = memory.head;
  const head: ModelHead = { ...rest, lifecycle: "active" };
  const now = currentVersion(memory);
  // Closed by the replacement itself, not by somebody who knew when it ended.
  const closedAt = Math.max(now.createdAt, now.validFrom ?? now.createdAt);
  if (memory.head.lifecycle !== "archived" || now.validTo !== closedAt) {
    return changeHead(draft, memory, head, at);
  }
  // What was replaced holds again from now on.
  const entry = nextEntry(draft, at);
  const again: ModelVersion = {
    ...now,
    number: nextNumber(memory),
    createdAt: at,
    supersedes: openVersions(memory),
    seq: entry.seq,
    validFrom: at,
    validTo: undefined,
  };
  const versions = [...memory.versions, again];
  return result(draft, put(draft, { ...memory, head: { ...head, siblings: [] }, versions }, entry));
}

/** Whether a live memory took the place of this one, at once or down the line. */
function hasSuccessor(draft: Draft, memory: ModelMemory): boolean {
  if (holderOf(draft, memory.head.slot) !== undefined) return true;
  const seen = new Set([memory.id]);
  for (const id of seen) {
    for (const { from, kind, to, tombstone } of draft.edges.values()) {
      const took = kind === "supersedes" || kind === "transition";
      if (!took || to !== id || tombstone !== undefined || seen.has(from)) continue;
      if (draft.memories.get(from)?.head.lifecycle === "active") return true;
      seen.add(from);
    }
  }
  return false;
}

function batch(
  draft: Draft,
  { items, atomic }: Extract<ModelOperation, { readonly verb: "batch" }>,
  given: Given,
): object {
  const refs = new Map<string, string>();
  const results = items.map((item): object => {
    const before = draftOf(draft);
    try {
      const value = runItem(draft, item, refs, given);
      if ("write" in item && item.ref !== undefined) {
        refs.set(item.ref, (value as { readonly id: string }).id);
      }
      return { ok: true, ...value };
    } catch (error) {
      const code = failureCode(error);
      if (atomic || code === undefined) throw error;
      Object.assign(draft, before);
      return { ok: false, error: { code } };
    }
  });
  return { results };
}

function runItem(
  draft: Draft,
  item: ModelItem,
  refs: ReadonlyMap<string, string>,
  given: Given,
): object {
  if ("write" in item) {
    if (item.ref !== undefined && refs.has(item.ref)) throw failure("ERR_REF");
    return write(draft, item.write, given);
  }
  if ("update" in item) return update(draft, item.update.id, item.update, given.at);
  const { from, kind, to, ...attributes } = item.link;
  const end = (name: string | { readonly ref: string }): string => {
    const id = typeof name === "string" ? name : refs.get(name.ref);
    if (id === undefined) throw failure("ERR_REF");
    return id;
  };
  return link(draft, { from: end(from), kind, to: end(to) }, attributes, given.at);
}

function setGoalState(draft: Draft, ref: string, state: object | undefined, at: number): object {
  const memory = living(draft, ref);
  if (memory.type !== "goal") throw failure("ERR_INVALID");
  if (state === undefined) {
    if (draft.goalStates.delete(memory.id)) nextEntry(draft, at);
  } else {
    draft.goalStates.set(memory.id, state);
    nextEntry(draft, at);
  }
  return { id: memory.id };
}

function configure(
  draft: Draft,
  patch: { readonly conflictPolicy?: string; readonly kindWhitelist?: readonly string[] },
  at: number,
): object {
  if (patch.conflictPolicy !== undefined) draft.manual = patch.conflictPolicy === "manual";
  if (patch.kindWhitelist !== undefined) draft.kinds = [...patch.kindWhitelist];
  nextEntry(draft, at);
  return { conflictPolicy: draft.manual ? "manual" : "lww", kindWhitelist: draft.kinds };
}
