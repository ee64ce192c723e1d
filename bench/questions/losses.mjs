/**
 * What is lost? Two processes write to one store of each program at the same time, and a process is
 * killed while it writes; afterwards a new one counts how many of the acknowledged writes are there.
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
    if (bench.peer.sync !== "none") rows.push(await killed(bench));
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
    const acknowledged = both.flat();
    const lost = acknowledged.length - (await counted(bench, place, acknowledged));
    const refused = 2 * each - acknowledged.length;
    return [
      peerRow(bench, "two processes: refused", `of ${2 * each}`, 2 * each, [refused]),
      peerRow(bench, "two processes: lost", `of ${acknowledged.length}`, 2 * each, [lost]),
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
    const lost = ids.length - (await counted(bench, place, ids));
    return peerRow(bench, "killed while writing: lost", `of ${ids.length}`, ids.length, [lost]);
  });
}

/**
 * @param {Bench} bench
 * @param {string} place
 * @param {readonly string[]} ids
 */
async function counted(bench, place, ids) {
  let there = 0;
  for await (const line of work(bench, place, { job: "count", ids })) there = line.there;
  return there;
}
