/**
 * `context`: what an agent should have before it when it starts on something, in one call. It is found tier
 * by tier, scored, trimmed to a budget and rendered for a prompt.
 *
 * Promise: a pure read, nothing is journaled or counted, and the same bytes for the same store, position,
 * caller and `nowMs`. Time enters in one place alone: the recency of each memory, and with it the order and
 * what is trimmed. The budget is that of the whole text, headings and fence included; the memory with the
 * lowest score goes first, and one always stays.
 *
 * What only the owner can say of the owner stands under "Always" once the owner has said or confirmed it: until
 * then under a title of its own, and not at all where a model put it together.
 *
 * The tiers are what always holds, what came of the same work before, and what else was filed under it. A
 * memory belongs to the first tier that found it. Tiers are cut after filtering: what the caller may not see,
 * and what does not hold at the time, takes nobody's place. Each is read through an index of its own, newest
 * first, so the cost goes with what is found and not with what is stored; a tier that has more than
 * `LIMITS.contextCandidates` says so.
 */

import type { Form, ReadPlan } from "../contract/hits.js";
import type { Asked } from "../contract/index.js";
import { type ContextBundle, type ContextItem, TIERS, type Tier } from "../contract/recall.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { meterOf } from "../engine/read-plan.js";
import { salienceOf } from "../engine/salience-reader.js";
import { formText, frameTokens, lineTokens, promptLine, promptText } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { frameTerm } from "../history/fold-state.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { disputesOf } from "../links/rivals.js";
import { openMembers, type Term } from "../memory/members.js";
import { holdsAt, shownMemories, timeAt, turnsAt } from "../memory/read.js";
import { countTokens } from "../records/forms.js";
import { type Frame, PINNED_TYPES } from "../records/frames.js";
import { LIFECYCLES, MEMORY_TYPES, namesOf, OBJECT_KINDS, type Source } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { budgetOf } from "../scope/access.js";
import { OWNERS_TYPES } from "../trust/gate.js";

/** Builds the context of a task, or of none in particular. */
export async function context(engine: Engine, asked: Asked<"context">): Promise<ContextBundle> {
  const { access, form = "medium", outcomeLimit = LIMITS.contextOutcomesDefault, onPlan } = asked;
  const frames = framesOf(asked);
  const tiers = tiersOf(asked.tiers, frames.length > 0);
  const wanted = budgetOf(access, asked.budgetTokens, LIMITS.contextTokensDefault);
  const budgetTokens = Math.min(wanted, LIMITS.contextTokens);
  const meter = meterOf(engine.kv, onPlan !== undefined);
  const answer: ContextBundle = await Reader.with(meter.kv, asked.asOf, async (reader) => {
    const nowMs = asked.nowMs ?? (await timeAt(engine, reader));
    const turns = await turnsAt(reader, access, nowMs);
    const plan = { tiers, frames, outcomeLimit, form, budgetTokens, nowMs };
    const bundle = await buildBundle(reader, plan, {
      show: async (found) => {
        const shown = await shownMemories(reader, access, found);
        return shown.map((one) =>
          one !== undefined && holdsAt(one, nowMs) && turns(one) ? one : undefined,
        );
      },
      disputes: (memories) => disputesOf(reader, memories, access),
    });
    const of = (tier: Tier): readonly ContextItem[] =>
      bundle.placed.filter((one) => one.tier === tier).map((one) => shapeItem(engine, one));
    return {
      pinned: of("pinned"),
      outcomes: of("outcomes"),
      frameRelevant: of("frame_relevant"),
      reachable: bundle.dropped
        .slice(0, LIMITS.contextReachable)
        .map((one) => shapeItem(engine, one).uri),
      text: bundle.text,
      tokens: bundle.tokens,
      trimmed: bundle.dropped.length,
      budgetTokens,
      clamped: wanted > LIMITS.contextTokens,
      capped: bundle.capped,
      nowMs,
      seq: reader.position,
    };
  });
  onPlan?.(planOf(answer, meter.rows()));
  return answer;
}

function planOf(answer: ContextBundle, rowsRead: number): ReadPlan {
  const { pinned, outcomes, frameRelevant, capped, trimmed } = answer;
  const tiers = {
    pinned: pinned.length,
    outcomes: outcomes.length,
    frame_relevant: frameRelevant.length,
  } satisfies { readonly [tier in Tier]: number };
  const hits = tiers.pinned + tiers.outcomes + tiers.frame_relevant;
  return { verb: "context", tiers, capped, trimmed, rowsRead, hits };
}

function shapeItem({ actor }: Engine, { memory, text, tokens, score }: Placed): ContextItem {
  const { id } = memory;
  const { type, status } = memory.head.record.head;
  const { number: version } = bodyOf(memory.body);
  const uri = buildUri({ actor, type, id, version });
  return { id: memoryId(id), uri, type, status, text, tokens, score };
}

/** The work at hand; a verb without a thing, or a thing without a verb, names none. */
function framesOf({ verb, objects }: Asked<"context">): readonly Frame[] {
  if (verb === undefined && objects === undefined) return [];
  if (verb === undefined) throw invalid("verb", "what is about to be done to the objects", verb);
  const frames = namesOf(OBJECT_KINDS).flatMap((object) => {
    const ref = objects?.[object];
    return ref === undefined ? [] : [{ verb, object, ref }];
  });
  if (frames.length === 0) throw invalid("objects", "at least one object", objects);
  return frames;
}

function tiersOf(tiers: Asked<"context">["tiers"], hasFrames: boolean): readonly Tier[] {
  if (tiers === undefined) return hasFrames ? TIERS : ["pinned"];
  const framed = tiers.findIndex((tier) => tier !== "pinned");
  if (framed >= 0 && !hasFrames) {
    const expected = "pinned alone, as no verb and objects were given";
    throw invalid(`tiers[${framed}]`, expected, tiers[framed]);
  }
  return TIERS.filter((tier) => tiers.includes(tier));
}

/** What to build. */
export interface ContextPlan extends TierPlan {
  readonly form: Form;
  readonly budgetTokens: number;
  readonly nowMs: number;
}

/** A memory in a bundle. */
export interface Placed {
  readonly tier: Tier;
  readonly memory: FoundMemory;
  /** What it says, in the form asked for. */
  readonly text: string;
  /** Its line in the prompt. */
  readonly line: string;
  /** The tokens of that line. */
  readonly tokens: number;
  readonly score: number;
  /** For a rival, how far below others it must stand; 0 for everything else. */
  readonly depth: number;
}

/** A bundle, before it is shaped for a caller. */
export interface Bundle {
  /** By tier; pinned and frame-relevant by score, outcomes newest first, rivals last. */
  readonly placed: readonly Placed[];
  /** What the budget left out, the highest score first. */
  readonly dropped: readonly Placed[];
  readonly capped: readonly Tier[];
  readonly text: string;
  readonly tokens: number;
}

/** What stands above the lines of each tier, and above what is pinned though the owner has not confirmed it. */
const TITLES = {
  pinned: "Always",
  unconfirmed: "Not confirmed by the owner",
  outcomes: "Came of this before",
  frame_relevant: "About this",
} as const satisfies { readonly [tier in Tier]: string } & { readonly unconfirmed: string };

type Section = keyof typeof TITLES;
const SECTIONS = Object.keys(TITLES) as Section[];

/** Under which title a memory stands. */
function sectionOf({ tier, memory }: Placed): Section {
  return tier === "pinned" && isUnconfirmed(memory) ? "unconfirmed" : tier;
}

/** Whether it says what only the owner can, and waits for the owner's yes. */
function isUnconfirmed({ head }: FoundMemory): boolean {
  const { type, status } = head.record.head;
  return OWNERS_TYPES.has(type) && status === "provisional";
}

/** Sources that put words together which nobody said: what they make of the owner is pinned once it is confirmed. */
const MADE: ReadonlySet<Source> = new Set(["extraction", "derived", "dream"]);

/** What the bundle asks about memories; given, because who is asking is the facade's. */
interface Judges {
  readonly show: Show;
  /** By `keyString`, those that dispute others, which must stand above them. */
  readonly disputes: (
    memories: readonly FoundMemory[],
  ) => Promise<ReadonlyMap<string, readonly FoundMemory[]>>;
}

/** Reads, scores, trims and renders. */
export async function buildBundle(
  reader: Reader,
  plan: ContextPlan,
  judges: Judges,
): Promise<Bundle> {
  const { found, capped } = await readTiers(reader, plan, judges.show);
  const scores = await salienceOf(
    reader,
    found.map(({ memory }) => memory),
    { nowMs: plan.nowMs },
  );
  const all = found.map(({ tier, memory }, at): Placed => {
    const line = promptLine(memory, plan.form);
    return {
      tier,
      memory,
      text: formText(memory, plan.form),
      line,
      tokens: lineTokens(line),
      score: scores[at]?.score ?? 0,
      depth: 0,
    };
  });
  const disputes = await judges.disputes(found.map(({ memory }) => memory));
  const { kept, dropped } = trim(withRivalsLow(all, disputes), plan.budgetTokens);
  const placed = TIERS.flatMap((tier) => inOrder(tier, kept));
  const text = promptText(
    SECTIONS.map((section) => ({
      title: TITLES[section],
      lines: placed.filter((one) => sectionOf(one) === section).map(({ line }) => line),
    })),
  );
  return { placed, dropped, capped, text, tokens: countTokens(text) };
}

/**
 * Puts rivals below what they dispute: in the later tier of the two, behind everybody there, with no
 * higher a score, so that a budget never leaves a rival and takes what it disputes. Those that dispute
 * each other in a ring stand equally low.
 */
function withRivalsLow(
  all: readonly Placed[],
  disputes: ReadonlyMap<string, readonly FoundMemory[]>,
): readonly Placed[] {
  if (disputes.size === 0) return all;
  const byKey = new Map(all.map((one) => [keyString(one.memory.id), one]));
  const aboveOf = (key: string): readonly string[] =>
    (disputes.get(key) ?? []).map(({ id }) => keyString(id)).filter((other) => byKey.has(other));
  const lowered = new Map<string, Placed>();
  for (const ring of ringsOf([...byKey.keys()], aboveOf)) {
    const own = ring.flatMap((key) => byKey.get(key) ?? []);
    // Rings come after what stands above them: whoever is not there yet is of the ring itself.
    const above = ring.flatMap(aboveOf).flatMap((key) => lowered.get(key) ?? []);
    const every = [...own, ...above];
    const tier = every.reduce((late, one) => Math.max(late, TIERS.indexOf(one.tier)), 0);
    const score = every.reduce((low, one) => Math.min(low, one.score), Number.POSITIVE_INFINITY);
    const depth = above.reduce((deep, one) => Math.max(deep, 1 + one.depth), 0) + own.length - 1;
    for (const one of own) {
      const key = keyString(one.memory.id);
      lowered.set(key, { ...one, tier: TIERS[tier] ?? one.tier, score, depth });
    }
  }
  return all.map((one) => lowered.get(keyString(one.memory.id)) ?? one);
}

/**
 * The lowest score goes first, of equal ones a rival, then the smaller id; one stays whatever the
 * budget.
 */
function trim(
  all: readonly Placed[],
  budgetTokens: number,
): { readonly kept: readonly Placed[]; readonly dropped: readonly Placed[] } {
  const lowestFirst = [...all].sort(
    (a, b) => a.score - b.score || b.depth - a.depth || Buffer.compare(a.memory.id, b.memory.id),
  );
  const left = new Map<Section, number>();
  const count = (one: Placed, by: number): void => {
    left.set(sectionOf(one), (left.get(sectionOf(one)) ?? 0) + by);
  };
  for (const one of all) count(one, 1);
  const titles = (): string[] =>
    SECTIONS.filter((section) => (left.get(section) ?? 0) > 0).map((section) => TITLES[section]);
  let tokens = all.reduce((sum, one) => sum + one.tokens, 0);
  let from = 0;
  while (from < all.length - 1 && tokens + frameTokens(titles()) > budgetTokens) {
    const out = lowestFirst[from];
    if (out === undefined) break;
    tokens -= out.tokens;
    count(out, -1);
    from += 1;
  }
  return { kept: lowestFirst.slice(from), dropped: lowestFirst.slice(0, from).reverse() };
}

function inOrder(tier: Tier, kept: readonly Placed[]): readonly Placed[] {
  const mine = kept.filter((one) => one.tier === tier);
  return mine.sort(
    (a, b) =>
      a.depth - b.depth ||
      (tier === "outcomes" ? createdAt(b) - createdAt(a) : 0) ||
      b.score - a.score ||
      Buffer.compare(a.memory.id, b.memory.id),
  );
}

function createdAt({ memory }: Placed): number {
  return memory.head.record.head.createdAt;
}

/** Of memories found at the position, those the caller may see and that hold at the time. */
export type Show = (
  found: readonly (FoundMemory | undefined)[],
) => Promise<readonly (FoundMemory | undefined)[]>;

/** What to look for. */
export interface TierPlan {
  readonly tiers: readonly Tier[];
  /** The work at hand: one frame for each object. */
  readonly frames: readonly Frame[];
  readonly outcomeLimit: number;
}

/** A memory, and the tier it belongs to. */
interface Candidate {
  readonly tier: Tier;
  readonly memory: FoundMemory;
}

/** What was found. */
interface Candidates {
  readonly found: readonly Candidate[];
  /** Tiers that had more memories than are looked at; the newest were. */
  readonly capped: readonly Tier[];
}

/** Reads the tiers of a plan. */
export async function readTiers(reader: Reader, plan: TierPlan, show: Show): Promise<Candidates> {
  const wants = (tier: Tier): boolean => plan.tiers.includes(tier);
  const wantsFrames = wants("outcomes") || wants("frame_relevant");
  const isMade = (memory: FoundMemory | undefined): boolean =>
    memory !== undefined && isUnconfirmed(memory) && MADE.has(memory.head.record.head.source);
  const showPinned: Show = async (all) =>
    (await show(all)).map((one) => (isMade(one) ? undefined : one));
  const [pinned, framed] = await Promise.all([
    wants("pinned") ? newest(reader, PINNED_TERMS, showPinned) : NOTHING,
    wantsFrames ? newest(reader, plan.frames.map(termOf), show) : NOTHING,
  ]);
  const taken = new Set(pinned.memories.map(({ id }) => keyString(id)));
  const free = framed.memories.filter(({ id }) => !taken.has(keyString(id)));
  const outcomes = wants("outcomes")
    ? free.filter(({ row }) => row.type === "event").sort(byCreation)
    : [];
  const shown = outcomes.slice(0, plan.outcomeLimit);
  for (const { id } of shown) taken.add(keyString(id));
  const rest = wants("frame_relevant") ? free.filter(({ id }) => !taken.has(keyString(id))) : [];
  const found = [
    ...pinned.memories.map((memory) => ({ tier: "pinned" as const, memory })),
    ...shown.map((memory) => ({ tier: "outcomes" as const, memory })),
    ...rest.map((memory) => ({ tier: "frame_relevant" as const, memory })),
  ];
  const capped = TIERS.filter(
    (tier) => wants(tier) && (tier === "pinned" ? pinned.capped : framed.capped),
  );
  return { found, capped };
}

const PINNED_TERMS: readonly Term[] = PINNED_TYPES.map((type) => ({
  index: INDEX.pinned,
  lifecycle: LIFECYCLES.active.code,
  term: Uint8Array.of(MEMORY_TYPES[type].code),
}));

function termOf({ verb, object, ref }: Frame): Term {
  return {
    index: INDEX.frame,
    lifecycle: LIFECYCLES.active.code,
    term: frameTerm(verb, object, ref),
  };
}

/** Newest first; of one moment, the smaller id first. */
function byCreation(a: FoundMemory, b: FoundMemory): number {
  const [x, y] = [a.head.record.head.createdAt, b.head.record.head.createdAt];
  return x === y ? Buffer.compare(a.id, b.id) : y - x;
}

interface Newest {
  readonly memories: readonly FoundMemory[];
  readonly capped: boolean;
}

const NOTHING: Newest = { memories: [], capped: false };

/** Rows of an index that one read takes. */
const PAGE_ROWS = 256;

/** The newest memories under any of the terms that the caller may see, each once. */
async function newest(reader: Reader, terms: readonly Term[], show: Show): Promise<Newest> {
  if (terms.length === 0) return NOTHING;
  const query = { terms, pageItems: PAGE_ROWS, reverse: true, cursor: undefined };
  const source = await openMembers(reader, query);
  const memories = new Map<string, FoundMemory>();
  for (;;) {
    const page = await source.next(PAGE_ROWS);
    const ids = page.members
      .map((member) => member.subarray(member.length - 16))
      .filter((id) => !memories.has(keyString(id)));
    const found = await show(await reader.memories(ids, await reader.memoryRows(ids)));
    for (const memory of found) {
      if (memory === undefined) continue;
      if (memories.size >= LIMITS.contextCandidates && !memories.has(keyString(memory.id))) {
        return { memories: [...memories.values()], capped: true };
      }
      memories.set(keyString(memory.id), memory);
    }
    if (!page.more) return { memories: [...memories.values()], capped: false };
  }
}

/** What one key is known by while its ring is looked for. */
interface Visit {
  readonly number: number;
  /** The earliest key that is reached from it and still waits for its ring. */
  reaches: number;
  isPlaced: boolean;
}

/** Rings of keys, each behind all that stands above it; Tarjan's strongly connected components. */
export function ringsOf(
  keys: readonly string[],
  aboveOf: (key: string) => readonly string[],
): readonly (readonly string[])[] {
  const visits = new Map<string, Visit>();
  const waiting: string[] = [];
  const rings: (readonly string[])[] = [];
  const visit = (key: string): Visit => {
    const own: Visit = { number: visits.size, reaches: visits.size, isPlaced: false };
    visits.set(key, own);
    const from = waiting.push(key) - 1;
    for (const other of aboveOf(key)) {
      const met = visits.get(other);
      if (met === undefined) own.reaches = Math.min(own.reaches, visit(other).reaches);
      else if (!met.isPlaced) own.reaches = Math.min(own.reaches, met.number);
    }
    if (own.reaches < own.number) return own;
    const ring = waiting.splice(from);
    for (const one of ring) {
      const member = visits.get(one);
      if (member !== undefined) member.isPlaced = true;
    }
    rings.push(ring);
    return own;
  };
  for (const key of keys) if (!visits.has(key)) visit(key);
  return rings;
}
