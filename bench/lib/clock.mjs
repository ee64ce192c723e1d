/** Timing and the few statistics that are printed. */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Milliseconds that `body` takes, its promise included.
 * @param {() => unknown} body
 */
export async function timeMs(body) {
  const start = performance.now();
  await body();
  return performance.now() - start;
}

/**
 * Milliseconds of processor time this process has used so far, all threads together. On a machine
 * that is shared, a difference of two says more than the wall clock; waiting for the disk is not in
 * it.
 */
export function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * The middle value; the mean of the two middle ones when there is no middle.
 * @param {readonly number[]} values
 */
export function median(values) {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  const high = sorted[Math.ceil((sorted.length - 1) / 2)] ?? Number.NaN;
  return (low + high) / 2;
}

/**
 * The value that a share of all values does not exceed: `quantile(times, 0.99)`.
 * @param {readonly number[]} values
 * @param {number} share
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/**
 * All of them added up.
 * @param {readonly number[]} values
 */
export function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

/** Collects garbage now, so that one measurement does not pay for the one before. */
export function collectGarbage() {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  collect();
}
