/**
 * The benchmark: `npm run bench -- write read prove`.
 *
 * Each question is one file in `questions/`; it measures the engine, and in the same run the raw
 * storage below it and the hand-rolled SQLite beside it, so that what counts are ratios. This file
 * runs them, holds the figures against the bars of `lib/bars.mjs`, and prints a table and JSON.
 * docs/benchmarks.md says what the figures mean.
 */
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { judge } from "./lib/bars.mjs";
import { describeCommit, describeMachine, loadOf } from "./lib/machine.mjs";
import { renderReport } from "./lib/report.mjs";
import { readRequest } from "./lib/settings.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** @typedef {import("./lib/settings.mjs").Request} Request */

function main() {
  const known = readdirSync(join(here, "questions")).map((file) => file.replace(/\.mjs$/, ""));
  /** @type {Request} */
  let request;
  try {
    request = readRequest(process.argv.slice(2), known);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return 2;
  }
  const folder = newFolder(request.folder);
  try {
    const report = ask(request, folder);
    process.stdout.write(`${renderReport(report)}\n`);
    const json = `${JSON.stringify(report, undefined, 2)}\n`;
    if (request.jsonFile === undefined) process.stdout.write(`\n${json}`);
    else writeFileSync(request.jsonFile, json);
    return request.check && report.bars.some(({ verdict }) => verdict !== "pass") ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string | undefined} parent */
function newFolder(parent) {
  if (parent !== undefined) mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(realpathSync(parent ?? tmpdir()), "cortex-bench-"));
}

/**
 * Asks every question and gathers the answers.
 * @param {Request} request
 * @param {string} folder
 * @returns {import("./lib/report.mjs").Report}
 */
function ask(request, folder) {
  const { questions, jsonFile: _, check: __, folder: ___, ...settings } = request;
  const machine = describeMachine(folder);
  const answers = questions.map((name) => askOne(name, { ...settings, folder }));
  const figures = new Map(answers.flatMap((answer) => Object.entries(answer.figures)));
  const notes = [...new Set(answers.flatMap((answer) => answer.notes))];
  if (/^(tmpfs|ramfs)$/.test(machine.filesystem)) {
    notes.push("The stores lie in memory: syncing costs nothing here. Choose another --folder.");
  }
  if (settings.quick)
    notes.push("A quick run: it shows that everything works, not how fast it is.");
  return {
    date: new Date().toISOString(),
    ...describeCommit(),
    machine,
    loadAtEnd: loadOf(),
    settings: { ...settings, questions },
    rows: answers.flatMap(({ rows }) => rows),
    bars: judge(questions, figures),
    notes,
  };
}

/**
 * One question, in a process of its own.
 * @param {string} name
 * @param {Omit<import("./lib/settings.mjs").Settings, "progress">} settings
 * @returns {import("./lib/settings.mjs").Answer}
 */
function askOne(name, settings) {
  const answerFile = join(settings.folder, `${name}.json`);
  const args = [join(here, "question.mjs"), name, JSON.stringify(settings), answerFile];
  const { status, signal } = spawnSync(process.execPath, [...process.execArgv, ...args], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) throw new Error(`the question "${name}" ended with ${signal ?? status}`);
  return JSON.parse(readFileSync(answerFile, "utf8"));
}

process.exitCode = main();
