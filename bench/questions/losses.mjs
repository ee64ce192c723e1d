/**
 * What is lost? Two processes write to one store of each program at the same time, and a process is
 * killed while it writes; afterwards a new one counts how many of the acknowledged writes are there, and how many of those are
 * torn: they no longer say what was written.
 */
import { askPeers, inPlace, peerRow, work, written } from "../lib/peer-work.mjs";

/** @typedef {import("../lib/peer-work.mjs").Bench} Bench */

const WRITES = 300;
const KILLED_AFTER = 60;
const QUICK_WRITES = 8;
/** More than a worker writes before it is killed. */
const UNTIL_KILLED = 100_000;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export function answer(settings) {
  return askPeers("losses", settings, async (bench) => {
    const rows = [];
    if (bench.peer.shared) rows.push(...(await together(bench)));
    if (bench.peer.sync !== "none") rows.push(...(await killed(bench)));
    return rows;
  });
}

/**
 * @param {Bench} bench
 */
function together(bench) {
  const each = bench.settings.quick ? QUICK_WRITES : WRITES;
  return inPlace(bench, async (place) => {
    // The store is there before either comes, so that neither is busy making it.
    await written(bench, place, { calls: 1, skip: 2 * each });
    const both = await Promise.all(
      [0, each].map((skip) => written(bench, place, { calls: each, skip })),
    );
    const acknowledged = both.flat().length;
    const refused = 2 * each - acknowledged;
    const left = [];
    for (const [at, ids] of both.entries()) left.push(await counted(bench, place, ids, at * each));
    const lost = acknowledged - left.reduce((sum, { there }) => sum + there, 0);
    const torn = left.reduce((sum, one) => sum + one.torn, 0);
    return [
      peerRow(bench, "two processes: refused", `of ${2 * each}`, 2 * each, [refused]),
      peerRow(bench, "two processes: lost", `of ${acknowledged}`, 2 * each, [lost]),
      peerRow(bench, "two processes: torn", `of ${acknowledged - lost}`, 2 * each, [torn]),
    ];
  });
}

/**
 * @param {Bench} bench
 */
function killed(bench) {
  const killAfter = bench.settings.quick ? QUICK_WRITES : KILLED_AFTER;
  return inPlace(bench, async (place) => {
    const ids = await written(bench, place, { calls: UNTIL_KILLED, skip: 0, killAfter });
    const { there, torn } = await counted(bench, place, ids, 0);
    const [all, lost] = [ids.length, ids.length - there];
    return [
      peerRow(bench, "killed while writing: lost", `of ${all}`, all, [lost]),
      peerRow(bench, "killed while writing: torn", `of ${there}`, all, [torn]),
    ];
  });
}

/**
 * @param {Bench} bench
 * @param {string} place
 * @param {readonly string[]} ids in the order in which they were written
 * @param {number} skip memories of the workload before the first of them
 */
async function counted(bench, place, ids, skip) {
  let left = { there: 0, torn: 0 };
  for await (const line of work(bench, place, { job: "count", ids, skip })) left = line;
  return left;
}
