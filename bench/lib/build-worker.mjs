/**
 * A process that holds one build of the engine, as any program would: through its public entry and with
 * plain calls alone, so that builds of different age do the same. It is told what to do by
 * `against.mjs`, one message at a time, and answers with how long it took. Started with the address
 * of the entry.
 */
import { performance } from "node:perf_hooks";
import { collectGarbage, processorMs } from "./clock.mjs";
import { RECALL_HITS, SEARCH_HITS } from "./queries.mjs";
import { asWrite, writeBatch } from "./workload.mjs";

/**
 * What one slice of a figure took, and what it found.
 * @typedef {{
 *   readonly operations: number,
 *   readonly ms: number,
 *   readonly processorMs: number | undefined,
 * }} Slice
 *
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 */

const [entry = ""] = process.argv.slice(2);
const { open } = await import(entry);

/** The open store. @type {Cortex | undefined} */
let engine;

/** What may be asked for, by name. */
const tasks = {
  open: async (/** @type {string} */ folder) => {
    engine = await open(folder);
  },
  fill: (/** @type {Parameters<typeof writeBatch>[1]} */ items) => writeBatch(opened(), items),
  close: async () => {
    await opened().close();
    engine = undefined;
  },
  filling: (/** @type {{ folder: string, batches: Parameters<typeof writeBatch>[1][] }} */ one) =>
    timedFilling(one),
  slice: (/** @type {{ figure: keyof typeof calls, inputs: readonly never[] }} */ one) =>
    timedSlice(one),
};

/** One call of each figure; the result says how much was found. */
const calls = {
  write: async (/** @type {Parameters<typeof asWrite>[0]} */ item) => {
    await opened().write(asWrite(item));
    return 1;
  },
  batch: async (/** @type {Parameters<typeof writeBatch>[1]} */ items) =>
    (await writeBatch(opened(), items)).length,
  get: async (/** @type {string} */ id) => ((await opened().get(id)) === undefined ? 0 : 1),
  find: async (/** @type {import("@cortex-memory/core").Options<"find">} */ query) =>
    (await opened().find(query)).hits.length,
  search: async (/** @type {string} */ words) =>
    (await opened().search(words, { limit: SEARCH_HITS })).hits.length,
  recall: async (/** @type {string} */ question) =>
    (await opened().recall(question, { limit: RECALL_HITS })).hits.length,
};

/**
 * Calls one after another, under two clocks.
 * @param {{ readonly figure: keyof typeof calls, readonly inputs: readonly never[] }} one
 * @returns {Promise<Slice>}
 */
async function timedSlice({ figure, inputs }) {
  const call = calls[figure];
  collectGarbage();
  let found = 0;
  const [start, busyBefore] = [performance.now(), processorMs()];
  for (const input of inputs) found += await call(input);
  const [ms, busyMs] = [performance.now() - start, processorMs() - busyBefore];
  // A read that finds nothing would be quick, and wrong.
  if (found === 0) throw new Error(`${figure}: nothing was found`);
  return { operations: inputs.length, ms, processorMs: busyMs };
}

/**
 * A new store, from opening it to having closed it: whatever a build leaves for later is done by then.
 * @param {{ readonly folder: string, readonly batches: readonly Parameters<typeof writeBatch>[1][] }} one
 * @returns {Promise<Slice>}
 */
async function timedFilling({ folder, batches }) {
  collectGarbage();
  let operations = 0;
  const [start, busyBefore] = [performance.now(), processorMs()];
  const store = await open(folder);
  for (const items of batches) operations += (await writeBatch(store, items)).length;
  await store.close();
  return { operations, ms: performance.now() - start, processorMs: processorMs() - busyBefore };
}

function opened() {
  if (engine === undefined) throw new Error("no store is open");
  return engine;
}

process.on("message", async (/** @type {{ task: keyof typeof tasks, input: never }} */ asked) => {
  try {
    process.send?.({ value: await tasks[asked.task](asked.input) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) });
  }
});
