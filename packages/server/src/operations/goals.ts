/**
 * Operations on the runtime state of goals, which schedulers keep beside a goal.
 */
import { VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";
import { defineOperation, verbRow } from "./define.js";

const goalArgument = { field: "id", label: "ID" } as const;

const stateOperation = defineOperation({
  name: "goalState",
  verbs: ["goalState"],
  kind: "read",
  summary: "Read the runtime state of a goal",
  help: `What was counted on an earlier day (UTC) than today reads as zero, if lastResetAt says so.
A goal without a state is a failure with ERR_NOT_FOUND.`,
  example: "cortex goal get trip",
  input: VERBS.goalState.input,
  output: VERBS.goalState.output.extend({ id: z.string() }),
  absent: ({ id }) => `id: no goal state of ${id}`,
  call: async (memory, { id }, { access }) => {
    const state = await memory.goalState(id, { access });
    if (state === undefined) return undefined;
    // The reference may be an external name; the answer gives the id.
    const goal = await memory.get(id, { access });
    return { id: goal?.id ?? id, state };
  },
  cli: { command: "goal get", group: "goals", arguments: [goalArgument] },
});

const setOperation = verbRow("setGoalState", {
  help: `The state is a JSON object with any of nextEvalAt, lastEvalAt, lastEvalDecision,
failureStreak, intentsTodayCount, spentToday, lastIntentId and lastResetAt; \`-\` reads it from stdin.`,
  example: `cortex goal set trip '{"failureStreak": 1, "spentToday": "12.50"}'`,
  cli: {
    command: "goal set",
    group: "goals",
    arguments: [goalArgument, { body: "state", label: "JSON|-" }],
  },
});

const clearOperation = verbRow("deleteGoalState", {
  help: "A goal without a state is left as it is.",
  example: "cortex goal clear trip",
  cli: { command: "goal clear", group: "goals", arguments: [goalArgument] },
});

const listOperation = verbRow("goalStates", {
  help: "In the order of ids.",
  example: "cortex goal ls",
  cli: { command: "goal ls", group: "goals" },
});

/** The operations on goals. */
export const GOAL_OPERATIONS = [stateOperation, setOperation, clearOperation, listOperation];
