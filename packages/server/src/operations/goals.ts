/**
 * Operations on the runtime state of goals, which schedulers keep beside a goal.
 */
import { type GoalState, goalStateSchema } from "@cortex-memory/core";
import * as z from "zod";
import { defineOperation } from "./define.js";
import { by, ref } from "./fields.js";
import { goalChangedShape, goalStateShape, goalStatesShape } from "./shapes.js";

const goalArgument = { field: "id", label: "ID" } as const;

const stateOperation = defineOperation({
  name: "goalState",
  verbs: ["goalState"],
  kind: "read",
  summary: "Read the runtime state of a goal",
  help: "A goal without a state is a failure with ERR_NOT_FOUND.",
  example: "cortex goal get trip",
  input: z.strictObject({ id: ref }),
  output: goalStateShape,
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

const setOperation = defineOperation({
  name: "setGoalState",
  verbs: ["setGoalState"],
  kind: "write",
  summary: "Write the runtime state of a goal",
  help: `The state is a JSON object with any of nextEvalAt, lastEvalAt, lastEvalDecision,
failureStreak, intentsTodayCount, spentToday, lastIntentId and lastResetAt; \`-\` reads it from stdin.`,
  example: `cortex goal set trip '{"failureStreak": 1, "spentToday": "12.50"}'`,
  input: z.strictObject({ id: ref, state: goalStateSchema.describe("the whole state"), by }),
  output: goalChangedShape,
  call: (memory, { id, state, ...options }, { access }) =>
    memory.setGoalState(id, state as GoalState, { ...options, access }),
  cli: {
    command: "goal set",
    group: "goals",
    arguments: [goalArgument, { body: "state", label: "JSON|-" }],
  },
});

const clearOperation = defineOperation({
  name: "deleteGoalState",
  verbs: ["deleteGoalState"],
  kind: "write",
  summary: "Take the runtime state of a goal away",
  help: "A goal without a state is left as it is.",
  example: "cortex goal clear trip",
  input: z.strictObject({ id: ref, by }),
  output: goalChangedShape,
  call: (memory, { id, ...options }, { access }) =>
    memory.deleteGoalState(id, { ...options, access }),
  cli: { command: "goal clear", group: "goals", arguments: [goalArgument] },
});

const listOperation = defineOperation({
  name: "goalStates",
  verbs: ["goalStates"],
  kind: "read",
  summary: "List every goal with a runtime state",
  help: "In the order of ids.",
  example: "cortex goal ls",
  input: z.strictObject({}),
  output: goalStatesShape,
  call: async (memory, _, { access }) => ({ goals: await memory.goalStates({ access }) }),
  cli: { command: "goal ls", group: "goals" },
});

/** The operations on goals. */
export const GOAL_OPERATIONS = [stateOperation, setOperation, clearOperation, listOperation];
