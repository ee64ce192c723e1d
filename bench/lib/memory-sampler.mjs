/**
 * The anonymous resident memory (heap, buffers, dirty pages that are not yet written) while
 * something runs. Pages of the mapped file are not counted: the system takes those back when it
 * likes. Linux only; elsewhere there is no figure.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

const INTERVAL_MS = 20;

/**
 * Runs `body` and watches.
 * @param {() => Promise<unknown>} body
 * @returns {Promise<MemoryUse | undefined>}
 * @typedef {{
 *   readonly peakMb: number,
 *   readonly secondHalfOverFirst: number,
 *   readonly samples: number,
 * }} MemoryUse
 */
export async function watchMemory(body) {
  if (!existsSync("/proc/self/status")) {
    await body();
    return undefined;
  }
  const workerData = { intervalMs: INTERVAL_MS };
  const worker = new Worker(new URL("./memory-worker.mjs", import.meta.url), { workerData });
  await new Promise((resolve) => worker.once("online", resolve));
  const samples = /** @type {Promise<number[]>} */ (
    new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    })
  );
  try {
    await body();
  } finally {
    worker.postMessage("stop");
  }
  return summarise(await samples);
}

/**
 * Runs a program of its own and watches that: what nobody else's work is part of.
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<MemoryUse | undefined>}
 */
export async function watchProgram(program, args) {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const samples = /** @type {number[]} */ ([]);
  const status = `/proc/${child.pid}/status`;
  const timer = setInterval(() => {
    const kilobytes = existsSync(status) ? anonKilobytes(status) : Number.NaN;
    if (!Number.isNaN(kilobytes)) samples.push(kilobytes);
  }, INTERVAL_MS);
  const [code] = await once(child, "close");
  clearInterval(timer);
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return samples.length === 0 ? undefined : summarise(samples);
}

/** @param {string} status */
function anonKilobytes(status) {
  const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"));
  return Number(found?.[1] ?? Number.NaN);
}

/**
 * Peak, and how the peaks of the two halves compare: memory that grows with the store shows there.
 * @param {readonly number[]} kilobytes
 * @returns {MemoryUse}
 */
export function summarise(kilobytes) {
  const middle = Math.ceil(kilobytes.length / 2);
  const peak = (/** @type {readonly number[]} */ part) => part.reduce((a, b) => Math.max(a, b), 0);
  const first = peak(kilobytes.slice(0, middle));
  const second = peak(kilobytes.slice(middle));
  return {
    peakMb: (Math.max(first, second) * 1024) / 1e6,
    secondHalfOverFirst: first === 0 ? Number.NaN : second / first,
    samples: kilobytes.length,
  };
}
