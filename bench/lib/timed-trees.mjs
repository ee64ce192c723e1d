/**
 * The trees of the engine under a clock: the same functions, and how long they took. Stands in for
 * `history/trees.js` when `tree-hooks.mjs` is registered.
 *
 * A commit calls `appendTiles` and `updateTrees`, which read what they lack. Where that would mean to wait,
 * one of them throws: then the commit calls `missingRows`, reads what it names and begins again. So there are
 * two stretches: inside `appendTiles` and `updateTrees`, and the whole of it, with finding and reading the
 * rows. Both are timed by the wall clock and by processor time.
 */
import { performance } from "node:perf_hooks";
import * as trees from "../../packages/core/dist/history/trees.js";
import { processorMs } from "./clock.mjs";

/**
 * Milliseconds.
 * @typedef {{ wall: number, processor: number }} Spent
 */

const nothing = () => ({ update: { wall: 0, processor: 0 }, whole: { wall: 0, processor: 0 } });
let spent = nothing();
/** When the commit under way began with its trees.
 * @type {Spent | undefined} */
let wholeStart;

/** What was spent since the last call of this function. */
export function takeSpent() {
  const taken = spent;
  spent = nothing();
  return taken;
}

/** @type {typeof trees.missingRows} */
export function missingRows(...args) {
  return trees.missingRows(...args);
}

/** @type {typeof trees.appendTiles} */
export function appendTiles(...args) {
  const start = now();
  wholeStart ??= start;
  trees.appendTiles(...args);
  add(spent.update, start, now());
}

/** @type {typeof trees.updateTrees} */
export function updateTrees(...args) {
  const start = now();
  trees.updateTrees(...args);
  const end = now();
  add(spent.update, start, end);
  add(spent.whole, wholeStart ?? start, end);
  wholeStart = undefined;
}

/** @returns {Spent} */
function now() {
  return { wall: performance.now(), processor: processorMs() };
}

/**
 * @param {Spent} total
 * @param {Spent} start
 * @param {Spent} end
 */
function add(total, start, end) {
  total.wall += end.wall - start.wall;
  total.processor += end.processor - start.processor;
}
