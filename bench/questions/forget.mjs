/**
 * How long does it take to forget one memory among many, on the disk and for good? Asked of memories
 * with one version and no edges, and of memories that have gathered both.
 */
import { rm } from "node:fs/promises";
import { open } from "@cortex-memory/core";
import { callRows, timeEach } from "../lib/passes.mjs";
import { copyPrepared, pickDifferent, preparedStore } from "../lib/prepared.mjs";

const REASON = "asked by its owner";
const VERSIONS = 10;
const EDGES = 10;
/** One in so many reads: a forget is a durable commit of its own. */
const READS_PER_FORGET = 100;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const prepared = await preparedStore(settings);
  const path = await copyPrepared(settings, prepared, "forget");
  const engine = await open(path);
  try {
    const each = Math.ceil(settings.reads / READS_PER_FORGET);
    const rich = Math.ceil(each / 5);
    const perRun = each + rich * (1 + EDGES);
    const picked = pickDifferent(prepared.ids, perRun * settings.runs, settings.seed);
    const plainRuns = [];
    const richRuns = [];
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`forget: run ${run + 1} of ${settings.runs}`);
      const ids = picked.slice(run * perRun, (run + 1) * perRun);
      const forget = forgetter(engine);
      plainRuns.push(await timeEach(ids.slice(0, each), (id) => forget(id, 0)));
      const laden = await burden(engine, ids.slice(each), rich);
      richRuns.push(await timeEach(laden, (id) => forget(id, EDGES)));
    }
    const memories = prepared.entries;
    const about = { question: "forget", sync: engine.manifest.syncMode, memories };
    const rows = callRows(about, "forget of a memory", plainRuns);
    const what = `forget of one with ${VERSIONS} versions and ${EDGES} edges`;
    return {
      rows: [...rows, ...callRows(about, what, richRuns)],
      figures: { forgetMs: { value: rows[0].value, memories } },
      notes: [],
    };
  } finally {
    await engine.close();
    await rm(path, { recursive: true });
  }
}

/**
 * Forgets, and looks whether that is what happened.
 * @param {import("@cortex-memory/core").Cortex} engine
 */
function forgetter(engine) {
  return async (/** @type {string} */ id, /** @type {number} */ edgesExpected) => {
    const { erased, edges } = await engine.forget(id, REASON);
    if (erased.length === 1 && edges === edgesExpected) return;
    throw new Error(`expected one memory with ${edgesExpected} edges, got ${edges}`);
  };
}

/**
 * Gives some memories versions and edges, and returns these.
 * @param {import("@cortex-memory/core").Cortex} engine
 * @param {readonly string[]} ids for each memory its own and those of its neighbours
 * @param {number} count
 */
async function burden(engine, ids, count) {
  const laden = ids.slice(0, count);
  for (const [at, id] of laden.entries()) {
    const updates = Array.from({ length: VERSIONS - 1 }, (_, version) => ({
      update: { id, text: `Memory ${id} as version ${version + 2} has it.` },
    }));
    const links = Array.from({ length: EDGES }, (_, edge) => ({
      link: { from: id, kind: "references", to: ids[count + at * EDGES + edge] ?? "" },
    }));
    await engine.batch([...updates, ...links]);
  }
  return laden;
}
