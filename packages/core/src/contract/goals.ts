/**
 * The verbs on the runtime state of goals: what a scheduler notes about a goal it pursues.
 */
import * as z from "zod";
import { type GoalState, goalStateSchema } from "../records/frames.js";
import { GOAL_DECISIONS } from "../records/types.js";
import { listOf, words } from "./fields.js";
import { by, idempotencyKey, memoryRef } from "./memory.js";
import { type MemoryId, memoryIdShape, type Ref, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** The state in an answer: times are milliseconds there. */
const stateShape = z.object({
  nextEvalAt: timeShape.exactOptional(),
  lastEvalAt: timeShape.exactOptional(),
  lastEvalDecision: words(GOAL_DECISIONS).exactOptional(),
  failureStreak: z.int(),
  intentsTodayCount: z.int(),
  spentToday: z.string(),
  lastIntentId: z.string().exactOptional(),
  lastResetAt: timeShape.exactOptional(),
});

/** The state of a goal as a caller may give it: counters that are not given are zero. */
export interface GoalStateInput extends Readonly<z.input<typeof goalStateSchema>> {}

const changedShape = z.object({ id: memoryIdShape, seq: seqShape });

/** Which goal's state changed, and where. */
export interface GoalChange {
  readonly id: MemoryId;
  readonly seq: number;
}

/** A goal with its state. */
export interface GoalWithState {
  readonly id: MemoryId;
  readonly state: GoalState;
}

/** Reads the state of a goal. */
export const goalState = verb("goalState", {
  summary: "Read the runtime state of a goal",
  kind: "read",
  policy: "owner",
  args: { id: memoryRef.describe("the goal: its id, URI or external id") },
  labels: type<[id: Ref]>(),
  options: {},
  output: z.object({ state: stateShape }),
  member: "state",
  answer: type<GoalState | undefined>(),
  mayMiss: true,
});

/** Writes the state of a goal. */
export const setGoalState = verb("setGoalState", {
  summary: "Write the runtime state of a goal",
  kind: "write",
  policy: "owner",
  standing: "claim",
  retry: "key",
  args: {
    id: memoryRef.describe("the goal: its id, URI or external id"),
    state: goalStateSchema.describe("the whole state, as JSON"),
  },
  labels: type<[id: Ref, state: GoalStateInput]>(),
  options: { by, idempotencyKey },
  output: changedShape,
  answer: type<GoalChange>(),
});

/** Takes the state of a goal away. */
export const deleteGoalState = verb("deleteGoalState", {
  summary: "Take the runtime state of a goal away",
  kind: "write",
  policy: "owner",
  standing: "claim",
  retry: "key",
  args: { id: memoryRef.describe("the goal: its id, URI or external id") },
  labels: type<[id: Ref]>(),
  options: { by, idempotencyKey },
  output: changedShape,
  answer: type<GoalChange>(),
});

/** Lists goals that have a state. */
export const goalStates = verb("goalStates", {
  summary: "List every goal that has a runtime state",
  kind: "read",
  policy: "owner",
  args: {},
  options: {},
  output: z.object({ goals: listOf(z.object({ id: memoryIdShape, state: stateShape })) }),
  member: "goals",
  answer: type<readonly GoalWithState[]>(),
});
