/**
 * The runtime state of a goal: what a scheduler that pursues goals needs to remember between runs.
 *
 * Promise: a small value beside the goal, checked as strictly as data and complete: counters are
 * there from the start. `maybeResetDaily` is pure; the day is 24 hours from the last reset, not a
 * calendar's, so that no time zone matters.
 *
 * Left to others: journaling it, owned by its goal (`history/`), and the scheduler itself.
 */
import type * as z from "zod";
import { LIMITS } from "../limits.js";
import {
  amountField,
  countField,
  type Exact,
  strictFields,
  textField,
  timeField,
  wordField,
} from "./fields.js";
import { GOAL_DECISIONS } from "./types.js";

/** The schema of a goal's runtime state. */
export const goalStateSchema = strictFields({
  nextEvalAt: timeField.optional(),
  lastEvalAt: timeField.optional(),
  lastEvalDecision: wordField(GOAL_DECISIONS).optional(),
  failureStreak: countField.default(0),
  intentsTodayCount: countField.default(0),
  spentToday: amountField.default("0"),
  lastIntentId: textField({ maxBytes: LIMITS.externalIdBytes }).optional(),
  lastResetAt: timeField.optional(),
});

/** The runtime state of a goal; times in milliseconds, `spentToday` a decimal amount. */
export type GoalState = Exact<z.output<typeof goalStateSchema>>;

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The state with the day's counters at zero, if they were never reset or the last reset is 24 hours
 * old or more; otherwise the same state. A clock that went back resets nothing.
 */
export function maybeResetDaily(state: GoalState, nowMs: number): GoalState {
  const { lastResetAt } = state;
  if (lastResetAt !== undefined && nowMs - lastResetAt < DAY_MS) return state;
  return { ...state, intentsTodayCount: 0, spentToday: "0", lastResetAt: nowMs };
}
