/** The verbs of this folder, each under the name that its contract gives it. */
export { forget } from "./forget.js";
export { deleteGoalState, goalState, goalStates, setGoalState } from "./goals.js";
export { list, slotHistory } from "./list.js";
export { get, history, resolve } from "./read.js";
export { restore } from "./restore.js";
export { tombstone, update, updateHead } from "./update.js";
export { write } from "./write.js";
