/**
 * The evaluation of recall: `npm run eval:recall -- --data DIR [--json FILE] [--keep] [--only NAME] [--embedder none|local|both] [--ablate]`.
 *
 * Every set of the folder is written into a store through the public API (`remember`, `write`), asked
 * through `recall` with one configuration, and measured next to plain BM25 on the same questions. No
 * network; the local model where it is asked for. `--ablate` asks again with each lane off. `--keep` puts the
 * figures in the place of the kept ones of the same set, unit and embedder, and writes the tables of
 * docs/evaluation.md from them (`page.mjs`). What the columns mean is written there.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { open } from "@cortex-memory/core";
import { LANES } from "@cortex-memory/core/contract";
import { local } from "@cortex-memory/embed";
import { interval, means, measure } from "./metrics.mjs";
import { keep } from "./page.mjs";
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
 *   readonly ms: number,
 *   readonly without: Readonly<Record<string, Record<string, number>>>,
 * }} Row
 * @typedef {{
 *   readonly set: string,
 *   readonly unit: string,
 *   readonly embedder: string,
 *   readonly corpus: number[],
 *   rows: Row[],
 * }} Group
 * @typedef {{ readonly embedder: string, readonly ablates: boolean }} Way
 * @typedef {{ answerable: boolean, weak: boolean }} Verdict
 */

async function main() {
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      json: { type: "string" },
      keep: { type: "boolean", default: false },
      only: { type: "string" },
      embedder: { type: "string", default: "none" },
      ablate: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.data === undefined || values.help === true) {
    process.stderr.write(
      "Usage: npm run eval:recall -- --data DIR [--json FILE] [--keep] [--only NAME] [--embedder none|local|both] [--ablate]\n",
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
  const embedders = values.embedder === "both" ? ["none", "local"] : [values.embedder];
  /** @type {(readonly [import("./sets.mjs").EvalSet, string])[]} */
  const runs = sets.flatMap((one) => embedders.map((name) => /** @type {const} */ ([one, name])));
  for (const [set, embedder] of runs) {
    let done = 0;
    const way = { embedder, ablates: values.ablate };
    for (const task of set.tasks()) {
      await runTask(set.name, task, groups, verdicts, way);
      done += 1;
      if (process.stderr.isTTY) process.stderr.write(`\r${set.name}: ${done} stores`);
    }
    if (process.stderr.isTTY) process.stderr.write("\n");
  }
  report([...groups.values()], verdicts, values.embedder);
  const figures = asJson(groups, verdicts);
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
  }
  if (values.keep) keep(figures, { commit: commitNow(), date: new Date() });
  return 0;
}

/**
 * @param {string} set
 * @param {Task} task
 * @param {Map<string, Group>} groups
 * @param {Map<string, Verdict[]>} verdicts
 * @param {Way} way
 */
async function runTask(set, task, groups, verdicts, way) {
  const embeds = way.embedder === "local";
  const memory = await open("memory:", { actor: "eval", ...(embeds ? { embedder: local() } : {}) });
  try {
    await askAll(memory, set, task, groups, verdicts, way);
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
 * @param {Way} way
 */
async function askAll(memory, set, task, groups, verdicts, { embedder, ablates }) {
  const places = await fill(memory, task);
  if (embedder === "local") await memory.embedPending();
  const plain = plainRankings(task);
  for (const question of task.questions) {
    const asked = {
      limit: LIMIT,
      budgetTokens: 1_000_000,
      ...(question.now === undefined ? {} : { now: question.now }),
    };
    /** @type {Map<string, Awaited<ReturnType<typeof answerOf>>>} */
    const others = new Map();
    const ask = (/** @type {object} */ more) =>
      answerOf(memory, task, question, { ...asked, ...more }, places);
    const own = await ask({});
    for (const lane of ablates ? LANES : []) {
      others.set(lane, await ask({ lanes: LANES.filter((one) => one !== lane) }));
    }
    const list = verdicts.get(`${set}, ${embedder}`) ?? [];
    list.push({ answerable: question.answerable, weak: own.weak });
    verdicts.set(`${set}, ${embedder}`, list);
    for (const unit of task.units) {
      const gold = question.gold[unit];
      if (gold === undefined || gold.size === 0) continue;
      const name = `${set} ${unit} ${embedder}`;
      const group = groups.get(name) ?? { set, unit, embedder, corpus: [], rows: [] };
      group.corpus.push(task.turns.length + task.passages.length);
      group.rows.push({
        category: question.category,
        recall: measure(own.rankingOf(unit), gold),
        plain: measure(plain(unit, question.text), gold),
        ms: own.ms,
        without: Object.fromEntries(
          [...others].map(([lane, other]) => [lane, measure(other.rankingOf(unit), gold)]),
        ),
      });
      groups.set(name, group);
    }
  }
}

/**
 * What one way of asking answers: what it ranks, by unit, how long it took, and whether it is sure.
 * @param {import("@cortex-memory/core").Cortex} memory
 * @param {Task} task
 * @param {Question} question
 * @param {import("@cortex-memory/core").Options<"recall">} asked
 * @param {ReadonlyMap<string, { key: string, session: string }>} places
 */
async function answerOf(memory, task, question, asked, places) {
  const begun = performance.now();
  const { hits, weak } = await memory.recall(question.text, asked);
  const ms = performance.now() - begun;
  const isBySession = task.units.some((unit) => unit.includes("session"));
  const { sessions = [] } = isBySession
    ? await memory.recall(question.text, { ...asked, by: "session" })
    : {};
  const keys = hits.flatMap(({ id }) => places.get(id)?.key ?? []);
  const rankingOf = (/** @type {string} */ unit) =>
    unit.includes("session") ? sessions.map(({ session }) => session) : [...new Set(keys)];
  return { rankingOf, weak, ms };
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
        write:
          title === undefined
            ? { type: "fact", text }
            : { type: "note", data: { summary: title, content: text } },
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
  const pages = task.passages.map(({ key, title = "", text }) => ({
    key,
    text: `${title} ${text}`,
  }));
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
  const commit = commitNow();
  const print = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  print(
    `commit ${commit}, ${LIMIT} hits asked for, embedder ${embedder}; each line: recall (plain BM25)\n`,
  );
  for (const { set, unit, embedder: model, corpus, rows } of groups) {
    const smallest = Math.min(...corpus);
    const largest = Math.max(...corpus);
    print(
      `${set}, ${unit}, embedder ${model}: ${rows.length} questions over ${smallest} to ${largest} memories a store`,
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
    const ms = middle(rows.map((row) => row.ms));
    print(
      `  half of the answers within ${ms.toFixed(1)} ms; R@10 a millisecond ${show((ours["R@10"] ?? 0) / ms)}`,
    );
    for (const lane of Object.keys(rows[0]?.without ?? {})) {
      const less = means(rows.map((row) => row.without[lane] ?? {}));
      const lost = signed((less["R@10"] ?? 0) - (ours["R@10"] ?? 0));
      print(`  without ${lane}: R@5 ${show(less["R@5"])}, R@10 ${show(less["R@10"])} (${lost})`);
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

function commitNow() {
  return execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
}

/** @param {readonly number[]} values */
function middle(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** @param {number | undefined} value */
function show(value) {
  return (value ?? Number.NaN).toFixed(3);
}

/** @param {number} value */
function signed(value) {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
}

/**
 * @param {ReadonlyMap<string, Group>} groups
 * @param {ReadonlyMap<string, readonly Verdict[]>} verdicts
 */
function asJson(groups, verdicts) {
  return [...groups.values()].map(({ set, unit, embedder, corpus, rows }) => ({
    set,
    unit,
    embedder,
    questions: rows.length,
    memories: [Math.min(...corpus), Math.max(...corpus)],
    medianMs: middle(rows.map(({ ms }) => ms)),
    metrics: means(rows.map(({ recall }) => recall)),
    plainBm25: means(rows.map(({ plain }) => plain)),
    without: Object.fromEntries(
      Object.keys(rows[0]?.without ?? {}).map((lane) => [
        lane,
        means(rows.map(({ without }) => without[lane] ?? {})),
      ]),
    ),
    categories: Object.fromEntries(
      [...new Set(rows.map(({ category }) => category))].sort().map((category) => {
        const some = rows.filter((row) => row.category === category);
        return [category, { questions: some.length, ...means(some.map((row) => row.recall)) }];
      }),
    ),
    weak: weakShares(verdicts.get(`${set}, ${embedder}`) ?? []),
  }));
}

/**
 * How often an answer was weak, for questions that cannot be answered and for those that can.
 * @param {readonly Verdict[]} list
 */
function weakShares(list) {
  const of = (/** @type {boolean} */ answerable) => {
    const some = list.filter((verdict) => verdict.answerable === answerable);
    return { questions: some.length, weak: some.filter(({ weak }) => weak).length };
  };
  return { unanswerable: of(false), answerable: of(true) };
}

process.exitCode = await main();
