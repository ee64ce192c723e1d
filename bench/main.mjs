/**
 * The benchmark: `npm run bench -- write read prove`, or against another build with `--against`.
 *
 * Each question is one file in `questions/`; it measures the engine, and in the same run the raw
 * storage below it and the hand-rolled SQLite beside it, so that what counts are ratios. This file
 * runs them, holds the figures against the bars of `lib/bars.mjs`, and prints a table and JSON. How this
 * build compares with another one is asked by `lib/against.mjs`.
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
import { measureAgainst } from "./lib/against.mjs";
import { compareRounds, renderAgainst } from "./lib/against-report.mjs";
import { judge } from "./lib/bars.mjs";
import { buildAt } from "./lib/builds.mjs";
import { dearest, drawFlames } from "./lib/flame.mjs";
import { measureLimits } from "./lib/limits.mjs";
import { describeCommit, describeMachine, loadOf } from "./lib/machine.mjs";
import { renderReport } from "./lib/report.mjs";
import { readRequest, usageOf } from "./lib/settings.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** @typedef {import("./lib/settings.mjs").Request} Request */

async function main() {
  const known = readdirSync(join(here, "questions")).map((file) => file.replace(/\.mjs$/, ""));
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${usageOf(known)}\n`);
    return 0;
  }
  /** @type {Request} */
  let request;
  /** @type {import("./lib/against.mjs").Builds | undefined} */
  let builds;
  try {
    request = readRequest(args, known);
    const { against } = request;
    if (against !== undefined) {
      builds = [buildAt("against", against), buildAt("ours", join(here, ".."))];
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return 2;
  }
  const folder = newFolder(request.folder);
  try {
    if (builds !== undefined) {
      const report = await compare(request, folder, builds);
      print(request, renderAgainst(report), report);
      return request.check && report.figures.some(({ verdict }) => verdict === "worse") ? 1 : 0;
    }
    const report = ask(request, folder);
    print(request, renderReport(report), report);
    const isMissed = report.bars.some(({ verdict }) => verdict !== "pass");
    return report.unanswered.length > 0 || (request.check && isMissed) ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {Request} request
 * @param {string} text
 * @param {object} report
 */
function print({ jsonFile }, text, report) {
  process.stdout.write(`${text}\n`);
  const json = `${JSON.stringify(report, undefined, 2)}\n`;
  if (jsonFile === undefined) process.stdout.write(`\n${json}`);
  else writeFileSync(jsonFile, json);
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
  const { questions, runs, size, base, batchItems, rounds, reads, seed, quick } = request;
  const settings = { runs, size, base, batchItems, rounds, reads, seed, quick };
  const machine = describeMachine(folder);
  const limits = measureLimits(folder, quick);
  const answers = questions.map((name) => askOne(name, { ...settings, folder }, request.profile));
  const figures = new Map(answers.flatMap((answer) => Object.entries(answer.figures)));
  const notes = [...new Set(answers.flatMap((answer) => answer.notes))];
  notes.push(...notesOn(machine, settings));
  const unanswered = questions.filter((_, at) => answers[at]?.failed !== undefined);
  for (const [at, name] of questions.entries()) {
    const failed = answers[at]?.failed;
    if (failed !== undefined) notes.push(`${name} is not answered: it ended with ${failed}.`);
  }
  return {
    date: new Date().toISOString(),
    ...describeCommit(),
    machine,
    limits,
    loadAtEnd: loadOf(),
    settings: { ...settings, questions },
    rows: answers.flatMap(({ rows }) => rows),
    bars: judge(questions, figures),
    unanswered,
    notes,
  };
}

/**
 * Compares the build of this tree with another one.
 * @param {Request} request
 * @param {string} folder
 * @param {import("./lib/against.mjs").Builds} builds
 * @returns {Promise<import("./lib/against-report.mjs").AgainstReport>}
 */
async function compare(request, folder, builds) {
  const { runs, size, base, seed, quick, extents } = request;
  const machine = describeMachine(folder);
  const progress = (/** @type {string} */ text) => process.stderr.write(`${text}\n`);
  const settings = { runs, size, base, seed, extents };
  const rounds = await measureAgainst({ ...settings, folder, progress }, builds);
  return {
    date: new Date().toISOString(),
    ...describeCommit(),
    against: describeCommit(builds[0].folder),
    machine,
    loadAtEnd: loadOf(),
    settings: { ...settings, quick },
    figures: compareRounds(rounds, settings),
    notes: notesOn(machine, request),
  };
}

/**
 * What has to be said about the circumstances.
 * @param {ReturnType<typeof describeMachine>} machine
 * @param {{ readonly quick: boolean }} settings
 */
function notesOn({ filesystem }, { quick }) {
  const notes = [];
  if (/^(tmpfs|ramfs)$/.test(filesystem)) {
    notes.push("The stores lie in memory: syncing costs nothing here. Choose another --folder.");
  }
  if (quick) notes.push("A quick run: it shows that everything works, not how fast it is.");
  return notes;
}

/**
 * One question, in a process of its own; with a folder for its profile, under the profiler.
 * @param {string} name
 * @param {Omit<import("./lib/settings.mjs").Settings, "progress">} settings
 * @param {string | undefined} profile
 * @returns {import("./lib/settings.mjs").Answer & { readonly failed?: string }}
 */
function askOne(name, settings, profile) {
  const answerFile = join(settings.folder, `${name}.json`);
  const profiler =
    profile === undefined
      ? []
      : ["--cpu-prof", `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`];
  const question = [join(here, "question.mjs"), name, JSON.stringify(settings), answerFile];
  const args = [...profiler, ...question];
  const { status, signal } = spawnSync(process.execPath, [...process.execArgv, ...args], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  // Answers of an hour are not thrown away for one that is missing.
  if (status !== 0) return { rows: [], figures: {}, notes: [], failed: `${signal ?? status}` };
  if (profile !== undefined) keepFlames(join(profile, `${name}.cpuprofile`), name);
  return JSON.parse(readFileSync(answerFile, "utf8"));
}

/**
 * The flame graph beside its profile, and on the screen what costs most.
 * @param {string} file
 * @param {string} name
 */
function keepFlames(file, name) {
  const picture = file.replace(/cpuprofile$/, "svg");
  writeFileSync(picture, drawFlames(file, name));
  const lines = dearest(file, 12).map(
    ({ name: what, share }) => `${(100 * share).toFixed(1).padStart(5)} %  ${what}`,
  );
  process.stderr.write(`${name}: ${picture}\n${lines.join("\n")}\n`);
}

process.exitCode = await main();
