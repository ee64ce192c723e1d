/** The runtime state of a goal: complete from the start, checked, and reset once a day. */
import { describe, expect, it } from "vitest";
import { failure } from "../testing/failure.js";
import { parseWith } from "./fields.js";
import { type GoalState, goalStateSchema, maybeResetDaily } from "./frames.js";

const parseGoalState = (input: unknown): GoalState =>
  parseWith(goalStateSchema, input, "goalState");

const DAY_MS = 86_400_000;

describe("goal state", () => {
  it("is complete from the start", () => {
    const start = { failureStreak: 0, intentsTodayCount: 0, spentToday: "0" };
    expect(parseGoalState({})).toStrictEqual(start);
    expect(parseGoalState({ nextEvalAt: undefined })).toStrictEqual(start);
  });

  it.each(["emit_intent", "complete", "stuck", "noop"])(
    "takes every field, decision %s",
    (word) => {
      const full = {
        nextEvalAt: 5,
        lastEvalAt: 4,
        lastEvalDecision: word,
        failureStreak: 3,
        intentsTodayCount: 2,
        spentToday: "1.25",
        lastIntentId: "i-1",
        lastResetAt: 1,
      };
      expect(parseGoalState(full)).toStrictEqual(full);
    },
  );

  it.each([
    [{ lastEvalDecision: "give_up" }, "ERR_INVALID", "goalState.lastEvalDecision"],
    [{ failureStreak: -1 }, "ERR_INVALID", "goalState.failureStreak"],
    [{ intentsTodayCount: 1.5 }, "ERR_INVALID", "goalState.intentsTodayCount"],
    [{ spentToday: 5 }, "ERR_INVALID", "goalState.spentToday"],
    [{ spentToday: "-5" }, "ERR_INVALID", "goalState.spentToday"],
    [{ nextEvalAt: "soon" }, "ERR_INVALID", "goalState.nextEvalAt"],
    [{ lastResetAt: Number.NaN }, "ERR_INVALID", "goalState.lastResetAt"],
    [{ lastIntentId: "" }, "ERR_INVALID", "goalState.lastIntentId"],
    [{ lastIntentId: "x".repeat(257) }, "ERR_TOO_LARGE", "goalState.lastIntentId"],
    [{ spentTodayPax: "1" }, "ERR_UNKNOWN_FIELD", "goalState.spentTodayPax"],
    [null, "ERR_INVALID", "goalState"],
  ])("refuses %j", (input, code, field) => {
    const error = failure(() => parseGoalState(input));
    expect([error.code, error.details.field]).toEqual([code, field]);
  });
});

describe("the daily reset", () => {
  const state = parseGoalState({ failureStreak: 3, intentsTodayCount: 2, spentToday: "7" });

  it("happens when it never happened", () => {
    expect(maybeResetDaily(state, 10)).toStrictEqual({
      failureStreak: 3,
      intentsTodayCount: 0,
      spentToday: "0",
      lastResetAt: 10,
    });
  });

  it.each([
    [DAY_MS - 1, false],
    [DAY_MS, true],
    [DAY_MS + 1, true],
    [0, false],
    [-1, false],
    [-3 * DAY_MS, false],
  ])("%i ms after the last one: %s", (afterMs, resets) => {
    const before = Object.freeze({ ...state, lastResetAt: 3 * DAY_MS });
    const after = maybeResetDaily(before, 3 * DAY_MS + afterMs);
    if (!resets) expect(after).toBe(before);
    else {
      expect(after).toStrictEqual({
        ...before,
        intentsTodayCount: 0,
        spentToday: "0",
        lastResetAt: 3 * DAY_MS + afterMs,
      });
    }
  });
});
