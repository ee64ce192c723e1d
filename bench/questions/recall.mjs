/**
 * How fast is an answer? `recall` without any model in a store of which half are turns of
 * conversations, twenty to a session, and half are facts. A question takes three words of one memory
 * and two of another, the way people half remember things. Turns are written by `remember`, durably.
 *
 * In the same run, plain `search` for the same words: what the lanes beside words cost.
 *
 * Started by hand, `"embedder":"local"` in the settings adds the lane of meaning, every vector made before the
 * first question, and `"most":1000000` asks a larger store.
 */
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { quantile, timeMs } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { questionsAbout, RECALL_HITS } from "../lib/queries.mjs";
import { asWrite, seededNumbers, startWorkload } from "../lib/workload.mjs";

const MEMORIES = 100_000;
const SESSION_TURNS = 20;
const REMEMBERED = 1000;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, settings.most ?? MEMORIES);
  const embeds = settings.embedder === "local";
  const folder = join(settings.folder, "recall");
  const engine = await open(folder, embeds ? { embedder: local() } : {});
  try {
    settings.progress(`recall: filling ${memories}`);
    const { questions, rates } = await fill(engine, memories, settings);
    await engine.maintain();
    if (embeds) await engine.embedPending();
    const about = { question: "recall", sync: NO_SYNC, memories };
    const own = /** @type {number[][]} */ ([]);
    const plain = /** @type {number[][]} */ ([]);
    for (let run = 0; run <= settings.runs; run += 1) {
      settings.progress(`recall: run ${run} of ${settings.runs}`);
      const times = await timeEach(questions, (text) =>
        engine.recall(text, { limit: RECALL_HITS }),
      );
      const words = await timeEach(questions, (text) =>
        engine.search(text, { limit: RECALL_HITS }),
      );
      // The first round warms both up.
      if (run > 0) own.push(times);
      if (run > 0) plain.push(words);
    }
    const rows = callRows(about, `answer of ${RECALL_HITS} hits`, own);
    const p95 = own.map((times) => quantile(times, 0.95));
    const writes = { question: "recall", sync: engine.manifest.syncMode, memories };
    return {
      rows: [
        ...rows,
        engineRow(about, `answer of ${RECALL_HITS} hits, 95th of 100`, "ms", p95),
        { ...callRows(about, `${RECALL_HITS} hits`, plain)[0], store: "plain search" },
        engineRow(writes, `remember ${REMEMBERED} turns at once`, "turns/s", rates),
      ],
      figures: {
        recallMs: { value: rows[0].value, memories },
        recallP95Ms: { value: Math.max(...p95), memories },
        rememberPerSecond: { value: Math.min(...rates.slice(1)), memories },
      },
      notes: [],
    };
  } finally {
    await engine.close();
  }
}

/**
 * Fills the store; gives questions about it, and how many turns a second `remember` kept.
 * @param {import("@cortex-memory/core").Cortex} engine
 * @param {number} count
 * @param {import("../lib/settings.mjs").Settings} settings
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
  return { questions: questionsAbout(texts, next, Math.ceil(reads / 50)), rates };
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
