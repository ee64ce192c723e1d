/**
 * Recall beside other programs: `node bench/peers/recall.mjs --data DIR [--only NAME] [--keep]`.
 *
 * The retrieval sets of the evaluation, filled into each program through its own call for writing and asked
 * through its own search, all with the local model of Cortex; what comes back is measured alike. A program without a call
 * for turns of a conversation or titled passages gets each as a text, with the speaker or the title before it. Cortex is asked
 * twice: once with turns and notes as its users write them, and once with every text as a fact, as the others get it. Texts are cut at a length
 * that all of them take. The pooled unit of a set, and sets larger than `--largest` texts a store, are left out: a search
 * of the other programs looks at every vector. `--keep` puts the figures into `bench/results/peers-recall.json`,
 * from which `bench/page.mjs` writes them into the page.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { means, measure } from "../../eval/metrics.mjs";
import { findSets } from "../../eval/sets.mjs";
import { PEERS } from "./peers.mjs";

/**
 * @typedef {import("../../eval/sets.mjs").EvalSet} EvalSet
 * @typedef {import("../../eval/sets.mjs").Task} Task
 * @typedef {import("./peers.mjs").Store} Store
 * @typedef {{ readonly row: string, readonly peer: string, readonly own: boolean }} Asked
 * own: turns and titled passages by the calls that the program has for them
 * @typedef {{
 *   readonly set: string,
 *   readonly program: string,
 *   readonly questions: number,
 *   readonly metrics: Readonly<Record<string, number>>,
 *   readonly date: string,
 * }} Kept
 */

const HITS = 50;
/** A fact of Cortex may have so much; whatever is longer is cut for everybody. */
const TEXT_CHARACTERS = 20_000;
const MEASURES = ["R@5", "R@10", "nDCG@10"];
const KEPT = join(dirname(fileURLToPath(import.meta.url)), "../results/peers-recall.json");

/** @type {readonly Asked[]} */
const ASKED = [
  { row: "cortex", peer: "cortex", own: true },
  { row: "cortex, each text a fact", peer: "cortex", own: false },
  { row: "mem0 oss", peer: "mem0 oss", own: false },
  { row: "LangGraph store", peer: "LangGraph store", own: false },
];

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    only: { type: "string", default: "" },
    largest: { type: "string", default: "2000" },
    keep: { type: "boolean", default: false },
  },
});
if (values.data === undefined) {
  process.stderr.write(
    "Usage: node bench/peers/recall.mjs --data DIR [--only NAME] [--largest TEXTS] [--keep]\n",
  );
  process.exit(2);
}
const largest = Number(values.largest);
process.stdout.write(`| set | questions | program | ${MEASURES.join(" | ")} |\n`);
process.stdout.write(`|---|--:|---|${"--:|".repeat(MEASURES.length)}\n`);
for (const set of findSets(values.data)) {
  if (!set.name.includes(values.only)) continue;
  for (const asked of ASKED) {
    const found = await askSet(set, asked);
    if (found === undefined) continue;
    const { questions, metrics } = found;
    const figures = MEASURES.map((what) => (metrics[what] ?? 0).toFixed(3));
    process.stdout.write(
      `| ${set.name} | ${questions} | ${asked.row} | ${figures.join(" | ")} |\n`,
    );
    if (values.keep) keep({ set: set.name, program: asked.row, questions, metrics });
  }
}
// Some of these programs leave timers or sockets behind.
process.exit(0);

/**
 * Puts figures in the place of those that are kept of the same set and program.
 * @param {Omit<Kept, "date">} found
 */
function keep({ set, program, questions, metrics }) {
  /** @type {readonly Kept[]} */
  let rows = [];
  try {
    rows = JSON.parse(readFileSync(KEPT, "utf8")).rows;
  } catch {
    // The first result of all.
  }
  const shown = Object.fromEntries(
    MEASURES.map((what) => [what, Math.round((metrics[what] ?? 0) * 10_000) / 10_000]),
  );
  const date = new Date().toISOString().slice(0, 10);
  const own = { set, program, questions, metrics: shown, date };
  const order = (/** @type {Kept} */ one) =>
    `${one.set} ${ASKED.findIndex(({ row }) => row === one.program)}`;
  const all = [...rows.filter((one) => order(one) !== order(own)), own];
  all.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  writeFileSync(KEPT, `${JSON.stringify({ rows: all }, undefined, 1)}\n`);
}

/**
 * The mean of every measure over the questions of a set, by its smallest unit.
 * @param {EvalSet} set
 * @param {Asked} asked
 */
async function askSet(set, asked) {
  const rows = [];
  for (const task of set.tasks()) {
    if (task.turns.length + task.passages.length > largest) continue;
    const unit = task.units.find((one) => !one.includes("session"));
    if (unit !== undefined) rows.push(...(await askTask(task, unit, asked)));
  }
  return rows.length === 0 ? undefined : { questions: rows.length, metrics: means(rows) };
}

/**
 * @param {Task} task
 * @param {string} unit
 * @param {Asked} asked
 */
async function askTask(task, unit, asked) {
  const peer = PEERS.find(({ name }) => name === asked.peer);
  if (peer === undefined) throw new Error(`no such program: ${asked.peer}`);
  const folder = mkdtempSync(join(tmpdir(), "cortex-peers-"));
  const store = /** @type {Store} */ (await (await import(`./${peer.file}`)).openStore(folder));
  try {
    const keys = await fill(store, task, asked);
    await store.settle?.();
    const rows = [];
    for (const { text, gold } of task.questions) {
      const wanted = gold[unit];
      if (wanted === undefined || wanted.size === 0) continue;
      const hits = /** @type {readonly { readonly id?: string, readonly key?: string }[]} */ (
        await store.recall?.(text, HITS)
      );
      const ranked = hits
        .map(({ id, key }) => keys.get(id ?? key ?? ""))
        .filter((one) => one !== undefined);
      rows.push(measure([...new Set(ranked)], wanted));
    }
    return rows;
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Writes a task's texts; gives back what each id stands for.
 * @param {Store} store
 * @param {Task} task
 * @param {Asked} asked
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
async function fill(store, task, { own }) {
  const keys = new Map();
  const { remember, titled } = own ? store : {};
  if (remember !== undefined) {
    for (const session of new Set(task.turns.map((turn) => turn.session))) {
      const list = task.turns.filter((turn) => turn.session === session);
      const ids = await remember(session, list);
      for (const [at, id] of ids.entries()) keys.set(id, list[at]?.key);
    }
  } else {
    for (const { key, speaker, content } of task.turns) {
      // A turn may be empty, a text may not.
      if (content.trim() === "") continue;
      const text = speaker === undefined ? content : `${speaker}: ${content}`;
      keys.set(await store.write({ text: text.slice(0, TEXT_CHARACTERS), tag: "turn" }), key);
    }
  }
  for (const { key, title, text } of task.passages) {
    if (title !== undefined && titled !== undefined) {
      keys.set(await titled(title, text), key);
    } else {
      const whole = title === undefined ? text : `${title}. ${text}`;
      keys.set(await store.write({ text: whole.slice(0, TEXT_CHARACTERS), tag: "passage" }), key);
    }
  }
  return keys;
}
