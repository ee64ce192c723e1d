/**
 * What the questions about the engine alone have in common: single calls under the clock, passes
 * over a whole journal with memory watched, and the rows that come of them.
 */
import { collectGarbage, median, processorMs, quantile, timeMs } from "./clock.mjs";
import { watchMemory } from "./memory-sampler.mjs";

/**
 * @typedef {import("./contest.mjs").Row} Row
 * @typedef {import("./settings.mjs").Settings} Settings
 */

/** What a question that only reads says of syncing. */
export const NO_SYNC = "none: reads only";

/**
 * A row about the engine, from the value of each run.
 * @param {Pick<Row, "question" | "sync" | "memories">} about
 * @param {string} what
 * @param {string} unit
 * @param {readonly number[]} runs
 * @returns {Row}
 */
export function engineRow(about, what, unit, runs) {
  return { ...about, what, store: "engine", value: median(runs), unit, runs: [...runs] };
}

/**
 * Milliseconds of each call, one call after another.
 * @template T
 * @param {readonly T[]} inputs
 * @param {(input: T) => unknown} call
 * @returns {Promise<number[]>}
 */
export async function timeEach(inputs, call) {
  collectGarbage();
  const times = [];
  for (const input of inputs) times.push(await timeMs(() => call(input)));
  return times;
}

/**
 * The two rows of single calls: what a call takes in the middle, and what one in a hundred exceeds.
 * @param {Pick<Row, "question" | "sync" | "memories">} about
 * @param {string} what
 * @param {readonly (readonly number[])[]} runs milliseconds of each call, run by run
 * @returns {[Row, Row]}
 */
export function callRows(about, what, runs) {
  return [
    engineRow(about, what, "ms", runs.map(median)),
    engineRow(
      about,
      `${what}, 99th of 100`,
      "ms",
      runs.map((times) => quantile(times, 0.99)),
    ),
  ];
}

/**
 * Runs a pass over a whole journal the asked number of times and answers for its two bars.
 * @param {Settings} settings
 * @param {Pick<Row, "question" | "sync" | "memories">} about
 * @param {{ pass(run: number): Promise<number>, after?(run: number): Promise<unknown> }} one pass
 *   returns how many entries it moved; `after` is outside the clock
 * @returns {Promise<import("./settings.mjs").Answer>}
 */
export async function answerPass(settings, about, { pass, after }) {
  const { question, memories } = about;
  const rates = [];
  const processorRates = [];
  const memory = /** @type {import("./memory-sampler.mjs").MemoryUse[]} */ ([]);
  for (let run = 0; run < settings.runs; run += 1) {
    settings.progress(`${question}: run ${run + 1} of ${settings.runs}`);
    collectGarbage();
    let entries = 0;
    let ms = 0;
    const busyBefore = processorMs();
    const use = await watchMemory(async () => {
      ms = await timeMs(async () => {
        entries = await pass(run);
      });
    });
    const busyMs = processorMs() - busyBefore;
    await after?.(run);
    rates.push((1000 * entries) / ms);
    processorRates.push((1000 * entries) / busyMs);
    if (use !== undefined) memory.push(use);
  }
  const rateRow = engineRow(about, question, "entries/s", rates);
  const perProcessor = `${question}, by processor time`;
  const rows = [rateRow, engineRow(about, perProcessor, "entries/s", processorRates)];
  const rate = { [`${question}PerSecond`]: { value: rateRow.value, memories } };
  if (memory.length === 0) {
    const note = "Memory is not measured: this system has no /proc/self/status.";
    return { rows, figures: rate, notes: [note] };
  }
  const flat = median(memory.map(({ secondHalfOverFirst }) => secondHalfOverFirst));
  const peaksMb = memory.map(({ peakMb }) => peakMb);
  return {
    rows: [...rows, engineRow(about, "anonymous memory, peak", "MB", peaksMb)],
    figures: { ...rate, [`${question}Flat`]: { value: flat, memories } },
    notes: [],
  };
}
