/**
 * What does a store ten times as large cost? One store is filled step by step up to its full size, and after each
 * step the same is asked of it: writes, reads by id, finds, searches, context bundles, answers. What a read by id, a find or a
 * bundle reads should not grow with the store; what a search reads grows more slowly than it.
 *
 * Then the store is closed, and another process opens it, asks one of each, rests, and says how long opening took and how much
 * memory it holds: that is what an idle open store costs.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { median, timeMs } from "../lib/clock.mjs";
import { engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { folderBytes } from "../lib/stores.mjs";
import { asWrite, seededNumbers, startWorkload, TAG_COUNT } from "../lib/workload.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 */

const STEP = 10;
const STEPS = 4;
const SMALLEST = 200;
const WORKS = 20;
/** Batches at the end of a step whose median counts. */
const LAST_BATCHES = 5;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const folder = join(settings.folder, "growth");
  const sizes = sizesUpTo(settings.size);
  const filler = startFilling(settings, sizes[0] ?? 0);
  const found = /** @type {Found[]} */ ([]);
  for (const size of sizes) {
    const engine = await open(folder);
    try {
      const batches = await filler.fillTo(engine, size);
      await engine.maintain();
      const bytes = folderBytes(folder) / size;
      const asked = await askAll(engine, settings, filler);
      found.push({ size, sync: engine.manifest.syncMode, batches, bytes, asked });
    } finally {
      await engine.close();
    }
    Object.assign(found.at(-1) ?? {}, idle(folder));
  }
  const [before, after] = found.slice(-2);
  const growth = (/** @type {string} */ what) =>
    (after?.asked[what] ?? NaN) / (before?.asked[what] ?? 1);
  const memories = settings.size;
  const idleMb = found.at(-1)?.idleMb;
  return {
    rows: found.flatMap(rowsOf),
    figures: {
      findGrowth: { value: growth("find"), memories },
      contextGrowth: { value: growth("context"), memories },
      ...(idleMb === undefined ? {} : { idleMb: { value: idleMb, memories } }),
    },
    notes: idleMb === undefined ? ["Memory is measured on Linux only."] : [],
  };
}

/**
 * What one size gave: milliseconds of the last batches, bytes on disk for each memory, the median of each call in milliseconds.
 * @typedef {{
 *   readonly size: number,
 *   readonly sync: string,
 *   readonly batches: readonly number[],
 *   readonly bytes: number,
 *   readonly asked: Readonly<Record<string, number>>,
 *   readonly openMs?: number,
 *   readonly idleMb?: number,
 * }} Found
 */

/**
 * The full size, a tenth of it, and so on.
 * @param {number} size
 */
function sizesUpTo(size) {
  const all = Array.from({ length: STEPS }, (_, at) => Math.ceil(size / STEP ** at));
  return all.filter((one) => one >= SMALLEST).reverse();
}

/**
 * @param {Found} found
 * @returns {import("../lib/contest.mjs").Row[]}
 */
function rowsOf({ size, sync, batches, bytes, asked, openMs, idleMb }) {
  const about = { question: "growth", sync: NO_SYNC, memories: size };
  const row = (
    /** @type {string} */ what,
    /** @type {string} */ unit,
    /** @type {number[]} */ runs,
  ) => engineRow(what.includes("write") ? { ...about, sync } : about, what, unit, runs);
  return [
    row("batch of writes", "ms", [...batches]),
    ...Object.entries(asked).map(([what, ms]) => row(what, "ms", [ms])),
    row("disk per memory", "bytes", [bytes]),
    ...(openMs === undefined ? [] : [row("open", "ms", [openMs])]),
    ...(idleMb === undefined ? [] : [row("idle store", "MB", [idleMb])]),
  ];
}

/**
 * Writes memories of the kinds an agent has, the same for the same seed.
 * @param {Settings} settings
 * @param {number} smallest
 */
function startFilling({ seed, batchItems, progress }, smallest) {
  const workload = startWorkload(seed);
  const next = seededNumbers(seed + 7);
  const words = /** @type {string[]} */ ([]);
  const ids = /** @type {string[]} */ ([]);
  const one = (/** @type {import("../lib/workload.mjs").Item} */ item) => {
    const write = asWrite(item);
    // Rules and work are few however much else is stored: the smallest store has them all.
    if (ids.length >= smallest) return { write };
    const dice = next(100);
    if (dice < 2) return { write: { ...write, type: /** @type {const} */ ("identity") } };
    if (dice < 6) return { write: { ...write, type: /** @type {const} */ ("constraint") } };
    const frame = { verb: "schedule", object: "plan", ref: `work ${next(WORKS)}` };
    return { write: { ...write, ...(dice < 40 ? { frames: [frame] } : {}) } };
  };
  return {
    words,
    ids,
    /** A memory more. */
    take: () => asWrite(workload.take(1)[0] ?? { text: "", tag: "" }),
    /**
     * Fills the store; gives the milliseconds of the last batches.
     * @param {Cortex} engine
     * @param {number} count
     */
    async fillTo(engine, count) {
      const times = /** @type {number[]} */ ([]);
      while (ids.length < count) {
        const items = workload.take(Math.min(batchItems, count - ids.length));
        const batch = items.map(one);
        times.push(
          await timeMs(async () => {
            const { results } = await engine.batch(/** @type {any} */ (batch));
            for (const result of results) if (result.ok) ids.push(result.id);
          }),
        );
        if (words.length < 3000)
          words.push(...items.slice(0, 20).flatMap(({ text }) => text.split(" ").slice(2, 9)));
        if (ids.length % 100_000 === 0) progress(`growth: filled ${ids.length}`);
      }
      return times.slice(-LAST_BATCHES);
    },
  };
}

/**
 * The median of each kind of call.
 * @param {Cortex} engine
 * @param {Settings} settings
 * @param {ReturnType<typeof startFilling>} filler
 * @returns {Promise<Record<string, number>>}
 */
async function askAll(engine, { reads, seed, progress }, { words, ids, take }) {
  const next = seededNumbers(seed + 9);
  const calls = Array.from({ length: Math.ceil(reads / 50) }, (_, at) => at);
  const some = () => Array.from({ length: 3 }, () => words[next(words.length)]).join(" ");
  const asks = {
    "one awaited write": () => engine.write(take()),
    get: () => engine.get(ids[next(ids.length)] ?? ""),
    find: (/** @type {number} */ at) =>
      engine.find({
        type: "fact",
        tags: [`tag-${at % TAG_COUNT}`],
        where: { matches: ["text", "^Item [0-9]*[02468]:"] },
        limit: 20,
      }),
    search: () => engine.search(some(), { limit: 10 }),
    recall: () => engine.recall(some(), { limit: 20 }),
    context: (/** @type {number} */ at) =>
      engine.context({
        verb: "schedule",
        objects: { plan: `work ${at % WORKS}` },
        budgetTokens: 3000,
      }),
  };
  /** @type {Record<string, number>} */
  const medians = {};
  for (const [what, ask] of Object.entries(asks)) {
    progress(`growth: ${what}`);
    await timeEach(calls, ask);
    medians[what] = median(await timeEach(calls, ask));
  }
  return medians;
}

/**
 * How long another process takes to open the store, and its anonymous memory in megabytes once it rests.
 * @param {string} folder
 */
function idle(folder) {
  const program = `
    import { readFileSync } from "node:fs";
    import { performance } from "node:perf_hooks";
    import { open } from "@cortex-memory/core";
    const fromMs = performance.now();
    const memory = await open(${JSON.stringify(folder)}, { create: false });
    await memory.log({ limit: 1 });
    const openMs = performance.now() - fromMs;
    await memory.search("ba ce di", { limit: 10 });
    await memory.find({ type: "fact", limit: 20 });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    globalThis.gc?.();
    let status = "";
    try { status = readFileSync("/proc/self/status", "utf8"); } catch {}
    console.log(JSON.stringify({ openMs, kilobytes: /RssAnon:\\s+(\\d+)/.exec(status)?.[1] }));
    await memory.close();`;
  const args = ["--expose-gc", "--input-type=module", "-e", program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0)
    throw new Error(`a process that opens the store ended with ${status}\n${stderr}`);
  const { openMs, kilobytes } = JSON.parse(stdout);
  return { openMs, ...(kilobytes === undefined ? {} : { idleMb: Number(kilobytes) / 1024 }) };
}
