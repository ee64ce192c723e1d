/**
 * `context`: the bundle for a cold start, in one call. Checks what was asked for, lets the caller's
 * access narrow it, and shapes what `context/` found. A pure read: nothing is journaled or counted.
 */

import type { Asked } from "../contract/index.js";
import type { ReadPlan } from "../contract/read-plan.js";
import { type ContextBundle, type ContextItem, TIERS, type Tier } from "../contract/recall.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { meterOf } from "../engine/read-plan.js";
import { invalid } from "../errors.js";
import { bodyOf, Reader } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import { disputesOf } from "../links/rivals.js";
import { holdsAt, shownMemories, timeAt, turnsAt } from "../memory/read.js";
import type { Frame } from "../records/frames.js";
import { namesOf, OBJECT_KINDS } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { budgetOf } from "../scope/access.js";
import { buildBundle, type Placed } from "./bundle.js";

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
