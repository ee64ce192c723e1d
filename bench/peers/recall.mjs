/**
 * Recall beside other programs: `node bench/peers/recall.mjs --data DIR [--only NAME]`.
 *
 * The retrieval sets of the evaluation, filled into each program through its own call for writing and asked
 * through its own search, all with the local model of Cortex; what comes back is measured alike. Programs are
 * given the text of a turn with its speaker before it, because they have no field for one. The pooled unit of a set, and
 * sets larger than `--largest` texts a store, are left out: a search of these programs looks at every vector.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { means, measure } from "../../eval/metrics.mjs";
import { findSets } from "../../eval/sets.mjs";
import { PEERS } from "./peers.mjs";

const HITS = 50;
const ASKED = ["cortex", "mem0 oss", "LangGraph store"];

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    only: { type: "string", default: "" },
    largest: { type: "string", default: "2000" },
  },
});
if (values.data === undefined) {
  process.stderr.write(
    "Usage: node bench/peers/recall.mjs --data DIR [--only NAME] [--largest TEXTS]\n",
  );
  process.exit(2);
}
const largest = Number(values.largest);
process.stdout.write(
  "| set | questions | program | R@5 | R@10 | nDCG@10 |\n|---|--:|---|--:|--:|--:|\n",
);
for (const set of findSets(values.data)) {
  if (!set.name.includes(values.only)) continue;
  for (const name of ASKED) {
    const found = await askSet(set, name);
    if (found === undefined) continue;
    const { questions, mean } = found;
    const figures = ["R@5", "R@10", "nDCG@10"].map((what) => (mean[what] ?? 0).toFixed(3));
    process.stdout.write(`| ${set.name} | ${questions} | ${name} | ${figures.join(" | ")} |\n`);
  }
}
process.exit(0);

/**
 * The mean of every measure over the questions of a set, by its smallest unit.
 * @param {import("../../eval/sets.mjs").EvalSet} set
 * @param {string} name
 */
async function askSet(set, name) {
  const rows = [];
  for (const task of set.tasks()) {
    const texts = [
      ...task.turns.map(({ key, speaker, content }) => ({
        key,
        text: speaker === undefined ? content : `${speaker}: ${content}`,
      })),
      ...task.passages.map(({ key, title, text }) => ({
        key,
        text: title === undefined ? text : `${title}. ${text}`,
      })),
    ];
    if (texts.length > largest) continue;
    const unit = task.units.find((one) => !one.includes("session"));
    if (unit === undefined) continue;
    rows.push(...(await askTask(task, unit, texts, name)));
  }
  return rows.length === 0 ? undefined : { questions: rows.length, mean: means(rows) };
}

/**
 * @param {import("../../eval/sets.mjs").Task} task
 * @param {string} unit
 * @param {readonly { readonly key: string, readonly text: string }[]} texts
 * @param {string} name
 */
async function askTask(task, unit, texts, name) {
  const peer = PEERS.find((one) => one.name === name);
  if (peer === undefined) throw new Error(`no such program: ${name}`);
  const folder = mkdtempSync(join(tmpdir(), "cortex-peers-"));
  const store = /** @type {import("./peers.mjs").Store} */ (
    await (await import(`./${peer.file}`)).openStore(folder)
  );
  try {
    const keys = new Map();
    for (const { key, text } of texts) keys.set(await store.write({ text, tag: "turn" }), key);
    await store.settle?.();
    const rows = [];
    for (const { text, gold } of task.questions) {
      const wanted = gold[unit];
      if (wanted === undefined || wanted.size === 0) continue;
      const hits = /** @type {readonly { readonly id?: string, readonly key?: string }[]} */ (
        await store.recall?.(text, HITS)
      );
      const ranked = hits
        .map(({ id, key }) => keys.get(id ?? key))
        .filter((one) => one !== undefined);
      rows.push(measure([...new Set(ranked)], wanted));
    }
    return rows;
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
