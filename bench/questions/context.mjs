/**
 * How fast is a cold start? `context` of one piece of work in a store as an agent would have it after
 * a long time: mostly notes and facts, a thousand goals of which most are done, hundreds of rules of
 * which few are hard, fifty memories filed under the work at hand. 3,000 tokens.
 *
 * In the same run, what one would do without it: list each of the three types in full and the frame,
 * and keep what is wanted in the program; it neither scores nor renders.
 */
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { callRows, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { seededNumbers, startWorkload } from "../lib/workload.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {import("@cortex-memory/core").WriteInput} WriteInput
 */

const MEMORIES = 100_000;
const BUDGET_TOKENS = 3000;
const WORKS = 200;
const PAGE = 10_000;
const NAIVE = "lists, filtered in the program";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, MEMORIES);
  const engine = await open(join(settings.folder, "context"));
  try {
    settings.progress(`context: filling ${memories}`);
    await fill(engine, memories, settings);
    const calls = Array.from({ length: Math.ceil(settings.reads / 50) }, (_, at) => at);
    const few = calls.slice(0, Math.ceil(calls.length / 10));
    const about = { question: "context", sync: NO_SYNC, memories };
    const own = /** @type {number[][]} */ ([]);
    const naive = /** @type {number[][]} */ ([]);
    for (let run = 0; run <= settings.runs; run += 1) {
      settings.progress(`context: run ${run} of ${settings.runs}`);
      const times = await timeEach(calls, (at) => bundle(engine, at));
      const others = await timeEach(few, (at) => byHand(engine, at));
      // The first round warms both up.
      if (run > 0) own.push(times);
      if (run > 0) naive.push(others);
    }
    const what = `bundle of ${BUDGET_TOKENS} tokens`;
    const rows = callRows(about, what, own);
    return {
      rows: [...rows, { ...callRows(about, what, naive)[0], store: NAIVE }],
      figures: { contextMs: { value: rows[0].value, memories } },
      notes: [],
    };
  } finally {
    await engine.close();
  }
}

/**
 * @param {Cortex} engine
 * @param {number} count
 * @param {import("../lib/settings.mjs").Settings} settings
 */
async function fill(engine, count, { seed, batchItems }) {
  const workload = startWorkload(seed);
  const next = seededNumbers(seed);
  await engine.write({ type: "identity", text: "Ada is a pilot" });
  for (let from = 0; from < count; from += batchItems) {
    const items = workload.take(Math.min(batchItems, count - from));
    await engine.batch(items.map(({ text, tag }) => ({ write: someMemory(next, text, tag) })));
  }
}

/**
 * One memory, of the types an agent has in about the numbers it has them.
 * @param {(below: number) => number} next
 * @param {string} text
 * @param {string} tag
 * @returns {WriteInput}
 */
function someMemory(next, text, tag) {
  const dice = next(10_000);
  const rest = { text, tags: [tag], importance: next(11) };
  const work = { verb: "schedule", object: "plan", ref: `work ${next(WORKS)}` };
  const frames = /** @type {const} */ ([work]);
  if (dice < 2) return { type: "identity", ...rest };
  if (dice < 8) return { type: "constraint", ...rest };
  if (dice < 90) return { type: "constraint", ...rest, data: { strength: "soft" } };
  if (dice < 93) return { type: "goal", ...rest };
  if (dice < 190) return { type: "goal", ...rest, data: { status: "completed" } };
  if (dice < 1000) return { type: "event", ...rest, ...(next(4) === 0 ? { frames } : {}) };
  if (dice < 3500) return { type: "fact", ...rest, ...(next(3) === 0 ? { frames } : {}) };
  if (dice < 4000) return { type: "preference", ...rest };
  return { type: "note", ...rest };
}

/**
 * @param {number} at
 */
function workOf(at) {
  return { verb: /** @type {const} */ ("schedule"), ref: `work ${at % WORKS}` };
}

/**
 * @param {Cortex} engine
 * @param {number} at
 */
async function bundle(engine, at) {
  const { verb, ref } = workOf(at);
  const objects = { plan: ref };
  const { pinned, text } = await engine.context({ verb, objects, budgetTokens: BUDGET_TOKENS });
  if (pinned.length === 0 || text === "") throw new Error("a bundle that should be full is not");
}

/**
 * @param {Cortex} engine
 * @param {number} at
 */
async function byHand(engine, at) {
  const { verb, ref } = workOf(at);
  const frame = { verb, object: /** @type {const} */ ("plan"), ref };
  const pages = [
    await engine.list({ type: "identity", limit: PAGE }),
    await engine.list({ type: "constraint", limit: PAGE }),
    await engine.list({ type: "goal", limit: PAGE }),
    await engine.list({ frame, limit: PAGE }),
  ];
  const kept = pages
    .flatMap(({ memories }) => memories)
    .filter(({ data }) => !("status" in data && data.status === "completed"))
    .filter(({ data }) => !("strength" in data && data.strength === "soft"));
  if (kept.length === 0) throw new Error("nothing was kept");
}
