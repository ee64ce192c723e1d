/**
 * The runtime state of a goal: what a scheduler that pursues goals needs to remember between runs.
 *
 * Promise: a small value beside the goal, checked as strictly as data and complete: counters are
 * there from the start. `maybeResetDaily` is pure; a day is a day of the calendar in UTC, so that no
 * time zone matters, and reading gives the state of today: `stateAt`.
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
 * The state with the day's counters at zero, if they were never reset or last on an earlier day;
 * otherwise the same state. A clock that went back resets nothing.
 */
export function maybeResetDaily(state: GoalState, nowMs: number): GoalState {
  const { lastResetAt } = state;
  if (lastResetAt !== undefined && dayOf(nowMs) <= dayOf(lastResetAt)) return state;
  return { ...state, intentsTodayCount: 0, spentToday: "0", lastResetAt: nowMs };
}

/** A state as it is today. One that says nothing of a reset counts as its writer wants it to. */
export function stateAt(state: GoalState, nowMs: number): GoalState {
  return state.lastResetAt === undefined ? state : maybeResetDaily(state, nowMs);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
