/**
 * How fast is an answer? `recall` in a store of which half are turns of conversations, twenty to a session, and half
 * are facts. A question takes three words of one memory and two of another, the way people half remember things. Turns
 * are written by `remember`, durably.
 *
 * Three stores, one after another: one without any model; the same with the local one, every vector made before the
 * first question; and a full one without a model, or a tenth of the first where no larger one is asked for, which tells how
 * an answer grows. In the same run, plain `search` for the same words: what the lanes beside words cost.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { median, quantile, timeMs } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { questionsAbout, RECALL_HITS } from "../lib/queries.mjs";
import { asWrite, seededNumbers, startWorkload } from "../lib/workload.mjs";

/** @typedef {import("../lib/settings.mjs").Settings} Settings */

const MEMORIES = 100_000;
const SESSION_TURNS = 20;
const REMEMBERED = 1000;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, MEMORIES);
  const words = await askStore(settings, memories, "no model");
  const lane = await askStore(settings, memories, "the local model");
  const isLarge = settings.size > memories;
  const otherSize = isLarge ? settings.size : Math.ceil(memories / 10);
  const other = await askStore(settings, otherSize, "no model");
  const [small, large] = isLarge ? [words, other] : [other, words];
  const growth = large.answerMs / small.answerMs;
  const full = { question: "recall", sync: NO_SYNC, memories: settings.size };
  return {
    rows: [
      ...words.rows,
      ...lane.rows,
      ...other.rows,
      engineRow(full, "an answer there over one in the smaller store", "x", [growth]),
    ],
    figures: {
      recallMs: { value: words.answerMs, memories },
      recallP95Ms: { value: words.p95Ms, memories },
      recallLaneMs: { value: lane.answerMs, memories },
      recallFullMs: { value: large.answerMs, memories: settings.size },
      recallGrowth: { value: growth, memories: settings.size },
      rememberPerSecond: { value: median(words.rates), memories },
      rememberSlowest: { value: Math.min(...words.rates), memories },
    },
    notes: [],
  };
}

/**
 * A store of that size, asked and removed again.
 * @param {Settings} settings
 * @param {number} memories
 * @param {"no model" | "the local model"} model
 */
async function askStore(settings, memories, model) {
  const embeds = model === "the local model";
  const folder = join(settings.folder, "recall");
  const engine = await open(folder, embeds ? { embedder: local() } : {});
  try {
    settings.progress(`recall: filling ${memories}, with ${model}`);
    const { questions, rates } = await fill(engine, memories, settings);
    await engine.maintain();
    if (embeds) await engine.embedPending();
    const { own, plain } = await ask(engine, questions, settings);
    const about = { question: "recall", sync: NO_SYNC, memories };
    const rows = callRows(about, `answer of ${RECALL_HITS} hits, ${model}`, own);
    const p95 = own.map((times) => quantile(times, 0.95));
    const writes = { question: "recall", sync: engine.manifest.syncMode, memories };
    return {
      answerMs: rows[0].value,
      p95Ms: Math.max(...p95),
      rates,
      rows: [
        ...rows,
        engineRow(about, `answer of ${RECALL_HITS} hits, ${model}, 95th of 100`, "ms", p95),
        { ...callRows(about, `${RECALL_HITS} hits`, plain)[0], store: "plain search" },
        engineRow(writes, `remember ${REMEMBERED} turns at once`, "turns/s", rates),
      ],
    };
  } finally {
    await engine.close();
    await rm(folder, { recursive: true });
  }
}

/**
 * The times of all questions in every run, as recalls and as plain searches.
 * @param {import("@cortex-memory/core").Cortex} engine
 * @param {readonly string[]} questions
 * @param {Settings} settings
 */
async function ask(engine, questions, settings) {
  const own = /** @type {number[][]} */ ([]);
  const plain = /** @type {number[][]} */ ([]);
  for (let run = 0; run <= settings.runs; run += 1) {
    settings.progress(`recall: run ${run} of ${settings.runs}`);
    const times = await timeEach(questions, (text) => engine.recall(text, { limit: RECALL_HITS }));
    const words = await timeEach(questions, (text) => engine.search(text, { limit: RECALL_HITS }));
    // The first round warms both up.
    if (run > 0) own.push(times);
    if (run > 0) plain.push(words);
  }
  return { own, plain };
}

/**
 * Fills the store; gives questions about it, and how many turns a second `remember` kept, the first thousand aside, which
 * measures how code is compiled.
 * @param {import("@cortex-memory/core").Cortex} engine
 * @param {number} count
 * @param {Settings} settings
 */
async function fill(engine, count, { seed, batchItems, reads }) {
  const workload = startWorkload(seed);
  const next = seededNumbers(seed + 1);
  const texts = /** @type {string[]} */ ([]);
  const rates = /** @type {number[]} */ ([]);
  let session = 0;
  for (let from = 0; from < count; from += 2 * batchItems) {
    const facts = workload.take(Math.min(batchItems, count - from));
    await engine.batch(facts.map((item) => ({ write: asWrite(item) })));
    const turns = workload.take(Math.min(batchItems, REMEMBERED));
    const ms = await timeMs(async () => {
      const sessions = [];
      for (let at = 0; at < turns.length; at += SESSION_TURNS) {
        const some = turns.slice(at, at + SESSION_TURNS);
        sessions.push(remember(engine, some, `session ${session++}`));
      }
      await Promise.all(sessions);
    });
    rates.push((1000 * turns.length) / ms);
    for (const { text } of [...facts, ...turns]) if (next(20) === 0) texts.push(text);
  }
  const warm = rates.length > 1 ? rates.slice(1) : rates;
  return { questions: questionsAbout(texts, next, Math.ceil(reads / 50)), rates: warm };
}

/**
 * @param {import("@cortex-memory/core").Cortex} engine
 * @param {readonly { readonly text: string }[]} items
 * @param {string} session
 */
async function remember(engine, items, session) {
  const role = (/** @type {number} */ at) => (at % 2 === 0 ? "user" : "assistant");
  const turns = items.map(({ text }, at) => ({ role: role(at), content: text }));
  await engine.remember(turns, { session });
}
