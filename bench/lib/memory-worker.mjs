/**
 * Reads the anonymous resident memory of this process at a steady pace, from a thread of its own so
 * that a busy main thread does not hide a peak. Started by `memory-sampler.mjs`.
 */
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

const samples = /** @type {number[]} */ ([]);
const timer = setInterval(() => samples.push(anonKilobytes()), workerData.intervalMs);

parentPort?.once("message", () => {
  clearInterval(timer);
  samples.push(anonKilobytes());
  parentPort?.postMessage(samples);
  parentPort?.close();
});

function anonKilobytes() {
  const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(found?.[1] ?? Number.NaN);
}
