/**
 * What do reads cost in a store ten times as large? One store is filled in two steps, and after each
 * the same finds, searches, context bundles and answers are asked of it: what a find or a bundle reads
 * should not grow with the store, what a search reads grows more slowly than it.
 *
 * At the end another process opens the store, asks one of each, rests, and says how much memory it
 * holds: that is what an idle open store costs.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { median } from "../lib/clock.mjs";
import { engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { seededNumbers, startWorkload, TAG_COUNT } from "../lib/workload.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 */

const STEPS = 10;
const WORKS = 200;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const folder = join(settings.folder, "reading");
  const engine = await open(folder, { relaxedDurability: true });
  const small = Math.ceil(settings.size / STEPS);
  const sizes = [small, settings.size];
  const medians = /** @type {Record<string, number>[]} */ ([]);
  try {
    const filler = startFilling(settings);
    for (const size of sizes) {
      await filler.fillTo(engine, size);
      await engine.maintain();
      medians.push(await askAll(engine, settings, filler.words));
    }
  } finally {
    await engine.close();
  }
  const [before = {}, after = {}] = medians;
  const rows = sizes.flatMap((memories, at) =>
    Object.entries(medians[at] ?? {}).map(([what, ms]) =>
      engineRow({ question: "reading", sync: NO_SYNC, memories }, what, "ms", [ms]),
    ),
  );
  const growth = (/** @type {string} */ what) => (after[what] ?? Number.NaN) / (before[what] ?? 1);
  const memories = settings.size;
  const idle = idleMb(folder);
  return {
    rows: [
      ...rows,
      ...(idle === undefined
        ? []
        : [
            engineRow({ question: "reading", sync: NO_SYNC, memories }, "idle store", "MB", [idle]),
          ]),
    ],
    figures: {
      findGrowth: { value: growth("find"), memories },
      contextGrowth: { value: growth("context"), memories },
      ...(idle === undefined ? {} : { idleMb: { value: idle, memories } }),
    },
    notes: idle === undefined ? ["Memory is measured on Linux only."] : [],
  };
}

/**
 * Writes memories of the kinds an agent has, the same for the same seed.
 * @param {Settings} settings
 */
function startFilling({ seed, size, batchItems, progress }) {
  const workload = startWorkload(seed);
  const next = seededNumbers(seed + 7);
  const words = /** @type {string[]} */ ([]);
  let done = 0;
  const one = (/** @type {{ text: string, tag: string }} */ { text, tag }) => {
    const rest = { text, tags: [tag] };
    const dice = next(100_000);
    // Rules and work are few however much else is stored: a tenth of the store has them all.
    if (done >= size / STEPS) return { write: { type: /** @type {const} */ ("fact"), ...rest } };
    if (dice < 20) return { write: { type: /** @type {const} */ ("identity"), ...rest } };
    if (dice < 60) return { write: { type: /** @type {const} */ ("constraint"), ...rest } };
    const frame = { verb: "schedule", object: "plan", ref: `work ${next(WORKS)}` };
    const frames = /** @type {const} */ ([frame]);
    const filed = dice < 2000;
    return {
      write: { type: /** @type {const} */ ("fact"), ...rest, ...(filed ? { frames } : {}) },
    };
  };
  return {
    words,
    /**
     * @param {Cortex} engine
     * @param {number} count
     */
    async fillTo(engine, count) {
      while (done < count) {
        const items = workload.take(Math.min(batchItems, count - done));
        await engine.batch(/** @type {any} */ (items.map(one)));
        done += items.length;
        if (words.length < 3000)
          words.push(...items.slice(0, 20).flatMap(({ text }) => text.split(" ").slice(2, 9)));
        if (done % 100_000 === 0) progress(`reading: filled ${done}`);
      }
    },
  };
}

/**
 * The median of each kind of read.
 * @param {Cortex} engine
 * @param {Settings} settings
 * @param {readonly string[]} words
 */
async function askAll(engine, { reads, seed, progress }, words) {
  const next = seededNumbers(seed + 9);
  const calls = Array.from({ length: Math.ceil(reads / 50) }, (_, at) => at);
  const some = () => Array.from({ length: 3 }, () => words[next(words.length)]).join(" ");
  const asks = {
    find: (/** @type {number} */ at) =>
      engine.find({
        type: "fact",
        tags: [`tag-${at % TAG_COUNT}`],
        where: { matches: ["text", "^Item [0-9]*[02468]:"] },
        limit: 20,
      }),
    search: () => engine.search(some(), { limit: 10 }),
    context: (/** @type {number} */ at) =>
      engine.context({
        verb: "schedule",
        objects: { plan: `work ${at % WORKS}` },
        budgetTokens: 3000,
      }),
    recall: () => engine.recall(some(), { limit: 20 }),
  };
  /** @type {Record<string, number>} */
  const medians = {};
  for (const [what, ask] of Object.entries(asks)) {
    progress(`reading: ${what}`);
    await timeEach(calls.slice(0, Math.ceil(calls.length / 4)), ask);
    medians[what] = median(await timeEach(calls, ask));
  }
  return medians;
}

/**
 * Anonymous memory, in megabytes, of a process that has the store open and rests.
 * @param {string} folder
 */
function idleMb(folder) {
  const program = `
    import { readFileSync } from "node:fs";
    import { open } from "@cortex-memory/core";
    const memory = await open(${JSON.stringify(folder)}, { create: false });
    await memory.search("ba ce di", { limit: 10 });
    await memory.find({ type: "fact", limit: 20 });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    globalThis.gc?.();
    const status = readFileSync("/proc/self/status", "utf8");
    console.log(/RssAnon:\\s+(\\d+)/.exec(status)?.[1] ?? "");
    await memory.close();`;
  const args = ["--expose-gc", "--input-type=module", "-e", program];
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const kilobytes = Number(stdout.trim());
  return status === 0 && kilobytes > 0 ? kilobytes / 1024 : undefined;
}
