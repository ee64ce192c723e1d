/**
 * `context`: the bundle for a cold start, in one call. Checks what was asked for, lets the caller's
 * access narrow it, and shapes what `context/` found. A pure read: nothing is journaled or counted.
 */

import type { MemoryId } from "../contract/shapes.js";
import { checkObject, checkOptions, type Engine, memoryId } from "../engine/engine.js";
import type { Form } from "../engine/prompt-text.js";
import { checkOnPlan, meterOf, type PlanOption } from "../engine/read-plan.js";
import { invalid } from "../errors.js";
import { type AsOf, bodyOf, Reader } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import { disputesOf } from "../links/rivals.js";
import { shownMemories, timeAt } from "../memory/read.js";
import { parseWith } from "../records/fields.js";
import { checkTime, type Frame, frameSchema } from "../records/frames.js";
import {
  checkNameOf,
  type MemoryType,
  OBJECT_KINDS,
  type ObjectKind,
  VERBS,
  type Verb,
} from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { type Access, budgetOf, OWNER } from "../scope/access.js";
import { buildBundle, type Placed } from "./bundle.js";
import { TIERS, type Tier } from "./tiers.js";

/** What a context is wanted for. */
export interface ContextOptions extends PlanOption {
  /** What is about to be done; together with `objects`. */
  readonly verb?: Verb;
  /** What it is about to be done to: at most one thing of each kind. */
  readonly objects?: { readonly [kind in ObjectKind]?: string };
  /** Tokens of the whole text: 3,000 when not given, 4,000 at the most. */
  readonly budgetTokens?: number;
  /** Which tiers to read; all that can be when not given. */
  readonly tiers?: readonly Tier[];
  /** Outcomes to show: 3 when not given. */
  readonly outcomeLimit?: number;
  /** How much of each memory: `medium` when not given. */
  readonly form?: Form;
  /** The time that recency is measured from: now, or the time of the position that `asOf` names. */
  readonly nowMs?: number;
  readonly asOf?: AsOf;
  readonly access?: Access;
}

/** A memory in a context. */
export interface ContextItem {
  readonly id: MemoryId;
  readonly uri: string;
  readonly type: MemoryType;
  readonly text: string;
  /** Tokens of its line in the prompt. */
  readonly tokens: number;
  readonly score: number;
}

/** What an agent should have before it. */
export interface ContextBundle {
  /** Every identity, the hard constraints, the active goals. */
  readonly pinned: readonly ContextItem[];
  /** Events filed under the same work, newest first. */
  readonly outcomes: readonly ContextItem[];
  /** What else is filed under the same work. */
  readonly frameRelevant: readonly ContextItem[];
  /** URIs of what the budget left out, the highest score first; at most 64. */
  readonly reachable: readonly string[];
  /** Ready for a prompt, fenced; empty when there is nothing to say. */
  readonly text: string;
  readonly tokens: number;
  /** How many memories the budget left out. */
  readonly trimmed: number;
  /** The budget that applied. */
  readonly budgetTokens: number;
  /** True when more was asked for than is allowed. */
  readonly clamped: boolean;
  /** Tiers with more memories than are looked at: the newest were. */
  readonly capped: readonly Tier[];
  /** The time that recency was measured from: give it again for the same bytes. */
  readonly nowMs: number;
  readonly seq: number;
}

const OPTIONS = [
  "verb",
  "objects",
  "budgetTokens",
  "tiers",
  "outcomeLimit",
  "form",
  "nowMs",
  "asOf",
  "onPlan",
  "access",
];

/** Builds the context of a task, or of none in particular. */
export async function context(
  engine: Engine,
  options: ContextOptions = {},
): Promise<ContextBundle> {
  checkOptions(options, OPTIONS);
  const frames = framesOf(options);
  const tiers = tiersOf(options.tiers, frames.length > 0);
  const access = options.access ?? OWNER;
  const asked = budgetOf(access, options.budgetTokens, LIMITS.contextTokensDefault);
  if (!Number.isSafeInteger(asked) || asked < 1) {
    throw invalid("budgetTokens", "an integer of at least 1", asked);
  }
  const budgetTokens = Math.min(asked, LIMITS.contextTokens);
  const { outcomeLimit = LIMITS.contextOutcomesDefault } = options;
  const most = LIMITS.contextOutcomes;
  if (!Number.isSafeInteger(outcomeLimit) || outcomeLimit < 1 || outcomeLimit > most) {
    throw invalid("outcomeLimit", `an integer from 1 to ${most}`, outcomeLimit);
  }
  const form = formOf(options.form);
  if (options.nowMs !== undefined) checkTime(options.nowMs, "nowMs");
  checkOnPlan(options.onPlan);
  const meter = meterOf(engine.kv, options.onPlan !== undefined);
  const answer: ContextBundle = await Reader.with(meter.kv, options.asOf, async (reader) => {
    const nowMs = options.nowMs ?? (await timeAt(engine, reader));
    const plan = { tiers, frames, outcomeLimit, form, budgetTokens, nowMs };
    const bundle = await buildBundle(reader, plan, {
      show: (found) => shownMemories(reader, access, found),
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
      clamped: asked > LIMITS.contextTokens,
      capped: bundle.capped,
      nowMs,
      seq: reader.seq,
    };
  });
  tellPlan(options, answer, meter.rows());
  return answer;
}

function tellPlan({ onPlan }: ContextOptions, answer: ContextBundle, rowsRead: number): void {
  const { pinned, outcomes, frameRelevant, capped, trimmed } = answer;
  const tiers = {
    pinned: pinned.length,
    outcomes: outcomes.length,
    frame_relevant: frameRelevant.length,
  } satisfies { readonly [tier in Tier]: number };
  const hits = tiers.pinned + tiers.outcomes + tiers.frame_relevant;
  onPlan?.({ verb: "context", tiers, capped, trimmed, rowsRead, hits });
}

function shapeItem({ actor }: Engine, { memory, text, tokens, score }: Placed): ContextItem {
  const { id } = memory;
  const { type } = memory.head.record.head;
  const { number: version } = bodyOf(memory.body);
  const uri = buildUri({ actor, type, id, version });
  return { id: memoryId(id), uri, type, text, tokens, score };
}

/** The work at hand; a verb without a thing, or a thing without a verb, names none. */
function framesOf({ verb, objects }: ContextOptions): readonly Frame[] {
  if (verb === undefined && objects === undefined) return [];
  const name = checkNameOf(VERBS, verb, { field: "verb" });
  const kinds = Object.entries(checkObject(objects, "objects") as { [kind: string]: unknown });
  if (kinds.length === 0) throw invalid("objects", "at least one object", objects);
  return kinds
    .map(([kind, ref]) => {
      const object = checkNameOf(OBJECT_KINDS, kind, { field: "objects" });
      return parseWith(frameSchema, { verb: name, object, ref }, `objects.${kind}`);
    })
    .sort((a, b) => OBJECT_KINDS[a.object].code - OBJECT_KINDS[b.object].code);
}

function tiersOf(tiers: unknown, hasFrames: boolean): readonly Tier[] {
  if (tiers === undefined) return hasFrames ? TIERS : ["pinned"];
  if (!Array.isArray(tiers) || tiers.length === 0) {
    throw invalid("tiers", "a list of at least one tier", tiers);
  }
  for (const [at, tier] of tiers.entries()) {
    if (!(TIERS as readonly unknown[]).includes(tier)) {
      throw invalid(`tiers[${at}]`, `one of ${TIERS.join(", ")}`, tier);
    }
    if (tier !== "pinned" && !hasFrames) {
      throw invalid(`tiers[${at}]`, "pinned alone, as no verb and objects were given", tier);
    }
  }
  return TIERS.filter((tier) => tiers.includes(tier));
}

const FORMS: readonly Form[] = ["short", "medium", "full"];

function formOf(form: unknown): Form {
  if (form === undefined) return "medium";
  const found = FORMS.find((one) => one === form);
  if (found !== undefined) return found;
  throw invalid("form", `one of ${FORMS.join(", ")}`, form);
}
