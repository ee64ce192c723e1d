/**
 * Why this and not what people use now? The same workload through Cortex and through the programs that
 * are used for it, in one run: `peers/peers.mjs` says who they are and how each keeps what it is told. Every program
 * is filled step by step and each of its calls timed at each size; then how long a start takes, what the store
 * weighs on disk and an install in a project.
 */
import { performance } from "node:perf_hooks";
import { installedBytes } from "../lib/installed.mjs";
import { askPeers, inPlace, PEERS_FOLDER, peerRow, work, written } from "../lib/peer-work.mjs";

/** @typedef {import("../lib/peer-work.mjs").Bench} Bench */

const SIZES = [1000, 10_000, 100_000];
/** Stores of more are filled once, in the last run: that takes longer than all else. */
const FILLED_EACH_RUN = 10_000;
const QUICK_SIZES = [200];

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export function answer(settings) {
  const sizes = settings.quick ? QUICK_SIZES : SIZES.filter((size) => size <= settings.size);
  return askPeers("peers", settings, async (bench, notes) => {
    const { peer } = bench;
    const rows = await measured(bench, sizes, notes);
    if (peer.sync !== "none") rows.push(await started(bench));
    if (peer.package !== undefined) {
      const bytes = installedBytes(peer.package, PEERS_FOLDER);
      rows.push(peerRow(bench, "installed", "MB", 1, [bytes / 1e6]));
    }
    return rows;
  });
}

/**
 * The rates of every workload at every size, and the bytes on disk.
 * @param {Bench} bench
 * @param {readonly number[]} sizes
 * @param {string[]} notes
 */
async function measured(bench, sizes, notes) {
  const { peer, settings } = bench;
  /** @type {Map<string, { size: number, what: string, unit: string, runs: number[] }>} */
  const found = new Map();
  const add = (
    /** @type {number} */ size,
    /** @type {string} */ what,
    /** @type {string} */ unit,
    /** @type {number} */ value,
  ) => {
    const key = `${size} ${what}`;
    if (!found.has(key)) found.set(key, { size, what, unit, runs: [] });
    found.get(key)?.runs.push(value);
  };
  for (let run = 0; run < settings.runs; run += 1) {
    const isLast = run === settings.runs - 1;
    const filled = isLast ? sizes : sizes.filter((size) => size <= FILLED_EACH_RUN);
    await inPlace(bench, async (place, storedBytes) => {
      let reached = 0;
      try {
        for await (const line of work(bench, place, { job: "measure", sizes: filled })) {
          const { size, stopped, memory } = line;
          if (stopped !== undefined) {
            if (isLast) notes.push(`${peer.name}, ${size} memories: left out, ${stopped}.`);
            continue;
          }
          if (memory !== undefined) {
            add(size, "resident memory", "MB", memory.resident);
            add(size, "anonymous memory", "MB", memory.anonymous);
          } else add(size, line.what, "/s", line.perSecond);
          reached = size;
        }
      } catch (error) {
        // Ours must not end. Of another program it is a finding, and what it did until then counts.
        if (peer.name.startsWith("cortex")) throw error;
        notes.push(`${peer.name} ended by itself in run ${run + 1}, after ${reached} memories.`);
      }
      if (peer.sync !== "none" && reached > 0) {
        add(reached, "on disk", "bytes each", (await storedBytes()) / reached);
      }
    });
  }
  return [...found.values()].map(({ size, what, unit, runs }) =>
    peerRow(bench, what, unit, size, runs),
  );
}

/**
 * From the start of the process to the first memory read.
 * @param {Bench} bench
 */
function started(bench) {
  return inPlace(bench, async (place) => {
    const ids = await written(bench, place, { calls: 1, skip: 0 });
    const times = [];
    for (let run = 0; run < bench.settings.runs; run += 1) {
      const fromMs = performance.now();
      for await (const _ of work(bench, place, { job: "start", ids })) {
        times.push(performance.now() - fromMs);
      }
    }
    return peerRow(bench, "start to first read", "ms", 1, times);
  });
}
