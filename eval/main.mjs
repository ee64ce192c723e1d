/**
 * The evaluation of recall: `npm run eval:recall -- --data DIR [--json FILE] [--only NAME] [--embedder none|local]`.
 *
 * Every set of the folder is written into a store through the public API (`remember`, `write`), asked
 * through `recall` with one configuration, and measured next to plain BM25 on the same questions. No
 * model, no network. What the columns mean is written in docs/evaluation.md.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { open } from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { interval, means, measure } from "./metrics.mjs";
import { plainBm25 } from "./plain-bm25.mjs";
import { findSets } from "./sets.mjs";

/** Hits asked for: enough that ten sessions are among them. */
const LIMIT = 100;

/**
 * @typedef {import("./sets.mjs").Task} Task
 * @typedef {import("./sets.mjs").Question} Question
 * @typedef {{
 *   readonly category: string,
 *   readonly recall: Record<string, number>,
 *   readonly plain: Record<string, number>,
 * }} Row
 * @typedef {{ readonly set: string, readonly unit: string, readonly corpus: number[], rows: Row[] }} Group
 * @typedef {{ answerable: boolean, weak: boolean }} Verdict
 */

async function main() {
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      json: { type: "string" },
      only: { type: "string" },
      embedder: { type: "string", default: "none" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.data === undefined || values.help === true) {
    process.stderr.write(
      "Usage: npm run eval:recall -- --data DIR [--json FILE] [--only NAME] [--embedder none|local]\n",
    );
    return values.help === true ? 0 : 2;
  }
  const sets = findSets(values.data).filter(({ name }) => name.includes(values.only ?? ""));
  if (sets.length === 0) {
    process.stderr.write(`${values.data}: no retrieval set found by its file names\n`);
    return 1;
  }
  /** @type {Map<string, Group>} */
  const groups = new Map();
  /** @type {Map<string, Verdict[]>} */
  const verdicts = new Map();
  for (const set of sets) {
    let done = 0;
    for (const task of set.tasks()) {
      await runTask(set.name, task, groups, verdicts, values.embedder === "local");
      done += 1;
      if (process.stderr.isTTY) process.stderr.write(`\r${set.name}: ${done} stores`);
    }
    if (process.stderr.isTTY) process.stderr.write("\n");
  }
  report([...groups.values()], verdicts, values.embedder);
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify(asJson(groups), null, 2)}\n`);
  return 0;
}

/**
 * @param {string} set
 * @param {Task} task
 * @param {Map<string, Group>} groups
 * @param {Map<string, Verdict[]>} verdicts
 * @param {boolean} embeds
 */
async function runTask(set, task, groups, verdicts, embeds) {
  const memory = await open("memory:", { actor: "eval", ...(embeds ? { embedder: local() } : {}) });
  try {
    await askAll(memory, set, task, groups, verdicts, embeds);
  } finally {
    await memory.close();
  }
}

/**
 * @param {import("@cortex-memory/core").Cortex} memory
 * @param {string} set
 * @param {Task} task
 * @param {Map<string, Group>} groups
 * @param {Map<string, Verdict[]>} verdicts
 * @param {boolean} embeds
 */
async function askAll(memory, set, task, groups, verdicts, embeds) {
  const places = await fill(memory, task);
  if (embeds) await memory.embedPending();
  const plain = plainRankings(task);
  for (const question of task.questions) {
    const asked = {
      limit: LIMIT,
      budgetTokens: 1_000_000,
      ...(question.now === undefined ? {} : { now: question.now }),
    };
    const answer = await memory.recall(question.text, asked);
    const found = answer.hits.flatMap(({ id }) => places.get(id) ?? []);
    const isBySession = task.units.some((unit) => unit.includes("session"));
    const { sessions = [] } = isBySession
      ? await memory.recall(question.text, { ...asked, by: "session" })
      : {};
    const list = verdicts.get(set) ?? [];
    list.push({ answerable: question.answerable, weak: answer.weak });
    verdicts.set(set, list);
    for (const unit of task.units) {
      const gold = question.gold[unit];
      if (gold === undefined || gold.size === 0) continue;
      const ranked = unit.includes("session")
        ? sessions.map(({ session }) => session)
        : found.map(({ key }) => key);
      const group = groups.get(`${set} ${unit}`) ?? { set, unit, corpus: [], rows: [] };
      group.corpus.push(task.turns.length + task.passages.length);
      group.rows.push({
        category: question.category,
        recall: measure([...new Set(ranked)], gold),
        plain: measure(plain(unit, question.text), gold),
      });
      groups.set(`${set} ${unit}`, group);
    }
  }
}

/**
 * Writes a task's texts; gives back what each memory's id stands for.
 * @param {import("@cortex-memory/core").Cortex} memory
 * @param {Task} task
 * @returns {Promise<Map<string, { key: string, session: string }>>}
 */
async function fill(memory, task) {
  /** @type {Map<string, { key: string, session: string }>} */
  const places = new Map();
  /** @type {Map<string, import("./sets.mjs").Turn[]>} */
  const sessions = new Map();
  for (const turn of task.turns) {
    const list = sessions.get(turn.session) ?? [];
    list.push(turn);
    sessions.set(turn.session, list);
  }
  for (const [session, turns] of sessions) {
    const inputs = turns.map(({ role, content, speaker, at }, index) => ({
      role,
      content,
      index,
      ...(speaker === undefined ? {} : { speaker }),
      ...(at === undefined ? {} : { at }),
    }));
    const { turns: kept } = await memory.remember(inputs, { session });
    for (const { id, index } of kept) {
      const key = turns[index]?.key;
      if (key !== undefined) places.set(id, { key, session });
    }
  }
  for (let from = 0; from < task.passages.length; from += 1000) {
    const page = task.passages.slice(from, from + 1000);
    const { results } = await memory.batch(
      page.map(({ title, text }) => ({
        write: { type: "note", data: { summary: title, content: text } },
      })),
    );
    for (const [at, result] of results.entries()) {
      const key = page[at]?.key;
      if (key !== undefined && "id" in result) places.set(result.id, { key, session: "" });
    }
  }
  return places;
}

/** @param {Task} task */
function plainRankings(task) {
  const turns = task.turns.map(({ key, speaker, content }) => ({
    key,
    text: speaker === undefined ? content : `${speaker} ${content}`,
  }));
  const pages = task.passages.map(({ key, title, text }) => ({ key, text: `${title} ${text}` }));
  /** @type {Map<string, string>} */
  const whole = new Map();
  for (const [at, { session }] of task.turns.entries()) {
    whole.set(session, `${whole.get(session) ?? ""} ${turns[at]?.text}`);
  }
  const single = plainBm25([...turns, ...pages]);
  const sessions = plainBm25([...whole].map(([key, text]) => ({ key, text })));
  return (/** @type {string} */ unit, /** @type {string} */ question) =>
    (unit.includes("session") ? sessions : single)(question);
}

/**
 * @param {readonly Group[]} groups
 * @param {ReadonlyMap<string, readonly Verdict[]>} verdicts
 * @param {string} embedder
 */
function report(groups, verdicts, embedder) {
  const commit = execFileSync("git", ["describe", "--always", "--dirty"], {
    encoding: "utf8",
  }).trim();
  const print = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  print(
    `commit ${commit}, ${LIMIT} hits asked for, embedder ${embedder}; each line: recall (plain BM25)\n`,
  );
  for (const { set, unit, corpus, rows } of groups) {
    const smallest = Math.min(...corpus);
    const largest = Math.max(...corpus);
    print(
      `${set}, ${unit}: ${rows.length} questions over ${smallest} to ${largest} memories a store`,
    );
    const [ours, floor] = [
      means(rows.map((row) => row.recall)),
      means(rows.map((row) => row.plain)),
    ];
    for (const name of ["any@5", "all@5", "R@5", "R@10", "nDCG@10"]) {
      const gains = rows.map(({ recall, plain }) => (recall[name] ?? 0) - (plain[name] ?? 0));
      const [low, high] = interval(gains);
      const gain = `gain ${signed((ours[name] ?? 0) - (floor[name] ?? 0))} [${signed(low)}, ${signed(high)}]`;
      print(`  ${name.padEnd(8)} ${show(ours[name])} (${show(floor[name])})  ${gain}`);
    }
    const categories = [...new Set(rows.map(({ category }) => category))].sort();
    if (categories.length > 1) {
      for (const category of categories) {
        const some = rows.filter((row) => row.category === category);
        const [a, b] = [means(some.map((row) => row.recall)), means(some.map((row) => row.plain))];
        print(
          `    ${category} (${some.length}): R@5 ${show(a["R@5"])} (${show(b["R@5"])}), R@10 ${show(a["R@10"])} (${show(b["R@10"])})`,
        );
      }
    }
  }
  print("\nweak answers, unanswerable against answerable questions:");
  for (const [set, list] of verdicts) {
    const share = (/** @type {boolean} */ answerable) => {
      const some = list.filter((verdict) => verdict.answerable === answerable);
      return some.length === 0
        ? "none"
        : `${show(some.filter(({ weak }) => weak).length / some.length)} of ${some.length}`;
    };
    print(`  ${set}: ${share(false)}, ${share(true)}`);
  }
}

/** @param {number | undefined} value */
function show(value) {
  return (value ?? Number.NaN).toFixed(3);
}

/** @param {number} value */
function signed(value) {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
}

/** @param {ReadonlyMap<string, Group>} groups */
function asJson(groups) {
  return [...groups.values()].map(({ set, unit, rows }) => ({
    set,
    unit,
    questions: rows.length,
    metrics: means(rows.map(({ recall }) => recall)),
    plainBm25: means(rows.map(({ plain }) => plain)),
  }));
}

process.exitCode = await main();
