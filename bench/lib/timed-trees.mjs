/**
 * The trees of the engine under a clock: the same functions, and how long they took. Stands in for
 * `history/trees.js` when `tree-hooks.mjs` is registered.
 *
 * A commit calls `missingRows`, reads what it names, then calls `appendTiles` and `updateTrees`,
 * with nothing else in between. So there are two figures: the time inside `appendTiles` and
 * `updateTrees`, and the time of the whole stretch, with finding and reading the rows.
 */
import { performance } from "node:perf_hooks";
import * as trees from "../../packages/core/dist/history/trees.js";

let spent = { updateMs: 0, stretchMs: 0 };
let stretchStart = 0;

/** What was spent since the last call of this function. */
export function takeSpent() {
  const taken = spent;
  spent = { updateMs: 0, stretchMs: 0 };
  return taken;
}

/** @type {typeof trees.missingRows} */
export function missingRows(...args) {
  stretchStart = performance.now();
  return trees.missingRows(...args);
}

/** @type {typeof trees.appendTiles} */
export function appendTiles(...args) {
  const start = performance.now();
  trees.appendTiles(...args);
  spent.updateMs += performance.now() - start;
}

/** @type {typeof trees.updateTrees} */
export function updateTrees(...args) {
  const start = performance.now();
  trees.updateTrees(...args);
  const end = performance.now();
  spent.updateMs += end - start;
  spent.stretchMs += end - stretchStart;
}
