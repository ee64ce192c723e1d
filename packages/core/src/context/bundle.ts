/**
 * The context bundle: what an agent should have before it when it starts on something, scored,
 * trimmed to a budget and rendered for a prompt.
 *
 * Promise: a pure read, and the same bytes for the same store, position and `nowMs`. Time enters in
 * one place alone: the recency of each memory, and with it the order and what is trimmed. The budget
 * is that of the whole text, headings and fence included; the memory with the lowest score goes
 * first, and one always stays.
 *
 * Left to others: who is asking (`context/context.ts`), where memories are found (`tiers.ts`).
 */
import type { Form } from "../contract/hits.js";
import { TIERS, type Tier } from "../contract/recall.js";
import { salienceOf } from "../engine/salience-reader.js";
import { formText, frameTokens, lineTokens, promptLine, promptText } from "../engine/shapes.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { countTokens } from "../records/forms.js";
import { readTiers, ringsOf, type Show, type TierPlan } from "./tiers.js";

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

/** What stands above the lines of each tier. */
const TITLES: { readonly [tier in Tier]: string } = {
  pinned: "Always",
  outcomes: "Came of this before",
  frame_relevant: "About this",
};

/** What the bundle asks about memories; given, because who is asking is the facade's. */
export interface Judges {
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
    TIERS.map((tier) => ({
      title: TITLES[tier],
      lines: placed.filter((one) => one.tier === tier).map(({ line }) => line),
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
  const left = new Map<Tier, number>();
  for (const { tier } of all) left.set(tier, (left.get(tier) ?? 0) + 1);
  const titles = (): string[] =>
    TIERS.filter((tier) => (left.get(tier) ?? 0) > 0).map((tier) => TITLES[tier]);
  let tokens = all.reduce((sum, one) => sum + one.tokens, 0);
  let from = 0;
  while (from < all.length - 1 && tokens + frameTokens(titles()) > budgetTokens) {
    const out = lowestFirst[from];
    if (out === undefined) break;
    tokens -= out.tokens;
    left.set(out.tier, (left.get(out.tier) ?? 0) - 1);
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
