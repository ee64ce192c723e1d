/**
 * Writes what docs/benchmarks.md shows of the programs side by side, with its two pictures, of a growing store and of the bars, from
 * the results that are kept: `bench/results/peers.json`, `peers-recall.json`, `growth.json` and `bars.json`. `--check` writes nothing and exits with 1 where page
 * or picture say something else than the results. `--take REPORT.json` first puts the figures of a report, as
 * `npm run bench -- … --json REPORT.json` wrote it, in the place of those that are kept for the same bars.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { BARS, judge } from "./lib/bars.mjs";
import { drawBars, drawLines } from "./lib/plot.mjs";
import { PEERS } from "./peers/peers.mjs";

/** @typedef {import("./lib/contest.mjs").Row} Row */

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = "docs/benchmarks.md";
const KEPT_BARS = join(ROOT, "bench/results/bars.json");

/** The order of the columns, with what each says. */
const WORKLOADS = [
  ["write", "one awaited write"],
  ["writes at once", "64 at once"],
  ["batch", "batches of 1,000"],
  ["get", "read by id"],
  ["page", "page of 50 by tag"],
  ["filter", "filter"],
  ["search", "text search"],
  ["recall", "recall"],
  ["near", "two links away"],
  ["history", "history"],
];
const START = "start to first read";
const STARTS = [
  [START, "start to first read, ms"],
  ["installed", "installed, MB"],
];
const WEIGHTS = [
  ["resident memory", "resident memory, MB"],
  ["anonymous memory", "without mapped files, MB"],
  ["on disk", "bytes a memory"],
];
const LOSSES = [
  ["two processes: refused", "refused"],
  ["two processes: lost", "lost"],
  ["two processes: torn", "torn"],
  ["killed while writing: lost", "lost by a kill"],
  ["killed while writing: torn", "torn by a kill"],
];

/**
 * A figure that is kept for a bar: of which store, of which build, and how busy the machine was.
 * @typedef {import("./lib/bars.mjs").Figure & { readonly date: string, readonly commit: string, readonly load: number }} KeptFigure
 */

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, take: { type: "string", multiple: true } },
});
for (const report of flags.take ?? []) takeFigures(report);
/** @type {Record<string, KeptFigure>} */
const kept = JSON.parse(readFileSync(KEPT_BARS, "utf8"));
const measured = JSON.parse(readFileSync(join(ROOT, "bench/results/peers.json"), "utf8"));
const { rows, notes } = measured;
const parts = /** @type {const} */ ([
  ["peers", text()],
  ["found", foundTable()],
  ["growth", growthTable()],
  ["bars", barsTable()],
]);
const files = {
  [PAGE]: parts.reduce(
    (page, [name, part]) => withPart(page, name, part),
    readFileSync(join(ROOT, PAGE), "utf8"),
  ),
  "docs/pictures/bench-writes.svg": drawBars(
    "Durable writes, one awaited after another (10,000 memories)",
    "writes a second",
    PEERS.filter(({ sync }) => sync === "durable").flatMap(({ name }) => {
      const row = rowOf(name, "write", 10_000) ?? rowOf(name, "write", smallest());
      return row === undefined
        ? []
        : [{ label: name, value: row.value, isOurs: name.startsWith("cortex") }];
    }),
  ),
  "docs/pictures/bench-growth.svg": drawLines(
    "Reading a page of 50 by tag while the store grows",
    "pages a second",
    PEERS.flatMap(({ name }) => {
      const points = sizes().flatMap((size) => {
        const row = rowOf(name, "page", size);
        return row === undefined ? [] : [{ x: size, y: row.value }];
      });
      return points.length < 2 ? [] : [{ label: name, points, isOurs: name.startsWith("cortex") }];
    }),
  ),
};

let differ = 0;
for (const [file, wanted] of Object.entries(files)) {
  const path = join(ROOT, file);
  const isSame = readOrEmpty(path) === wanted;
  if (isSame) continue;
  differ += 1;
  if (flags.check) process.stderr.write(`${file} does not follow the kept results\n`);
  else writeFileSync(path, wanted);
}
process.exitCode = differ > 0 && flags.check ? 1 : 0;

/** @param {string} path */
function takeFigures(path) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  const before = JSON.parse(readOrEmpty(KEPT_BARS) || "{}");
  for (const { name, figure, atMemories } of report.bars) {
    if (figure === undefined) continue;
    const { date, commit, machine } = report;
    before[name] = { value: figure, memories: atMemories, date, commit, load: machine.load };
  }
  // In the order of the bars; what is no bar any more is dropped.
  const inOrder = BARS.flatMap(({ name }) => (name in before ? [[name, before[name]]] : []));
  writeFileSync(KEPT_BARS, `${JSON.stringify(Object.fromEntries(inOrder), undefined, 2)}\n`);
}

/** What each program finds of the retrieval sets. */
function foundTable() {
  /** @type {{ readonly rows: readonly import("./peers/recall.mjs").Kept[] }} */
  const { rows: found } = JSON.parse(
    readFileSync(join(ROOT, "bench/results/peers-recall.json"), "utf8"),
  );
  const measures = Object.keys(found[0]?.metrics ?? {});
  const lines = found.map(({ set, program, questions, metrics, date: when }) => {
    const figures = measures.map((what) => (metrics[what] ?? 0).toFixed(3)).join(" | ");
    return `| ${set} | ${program} | ${questions} | ${figures} | ${when} |`;
  });
  return [
    `| set | program | questions | ${measures.join(" | ")} | measured |`,
    `|---|---|--:|${measures.map(() => "--:|").join("")}---|`,
    ...lines,
  ].join("\n");
}

/** What the same calls take in a store that grows, a line for each call. */
function growthTable() {
  const report = JSON.parse(readFileSync(join(ROOT, "bench/results/growth.json"), "utf8"));
  /** @type {readonly Row[]} */
  const all = report.rows;
  const grown = [...new Set(all.map(({ memories }) => memories))];
  const lines = [...new Set(all.map(({ what }) => what))].map((what) => {
    const own = all.filter((row) => row.what === what);
    const cells = grown.map((size) => {
      const row = own.find(({ memories }) => memories === size);
      return row === undefined ? "–" : rounded(row.value);
    });
    return `| ${what}, ${own[0]?.unit} | ${cells.join(" | ")} |`;
  });
  return [
    aboutRun(report),
    "",
    `| memories | ${grown.map((size) => size.toLocaleString("en")).join(" | ")} |`,
    `|---|${grown.map(() => "--:|").join("")}`,
    ...lines,
  ].join("\n");
}

/** When, where and of which build a report was measured. @param {Record<string, any>} report */
function aboutRun(report) {
  const { machine: on } = report;
  return `Measured ${report.date.slice(0, 10)} at commit ${report.commit.slice(0, 7)} on ${on.cpu}, ${on.cores} cores, ${on.system ?? on.kernel}, ${on.node}; load ${on.load} before and ${report.loadAtEnd} after.`;
}

/** Every bar with what was found last, and whether that is enough. */
function barsTable() {
  const questions = [...new Set(BARS.map(({ question }) => question))];
  const words = { ">=": "at least", "<=": "at most", "<": "less than" };
  const lines = judge(questions, new Map(Object.entries(kept))).map((bar) => {
    const unit = bar.unit === "x" ? "×" : ` ${bar.unit}`;
    const demanded = `${words[bar.is]} ${bar.limit.toLocaleString("en")}${unit}`;
    const figure = kept[bar.name];
    if (figure === undefined) return `| ${bar.question} | ${bar.what} | ${demanded} | – | – | |`;
    const found = `${rounded(figure.value, 3)}${unit}`;
    const verdict = bar.verdict === "pass" ? "met" : "**missed**";
    const size = bar.fullSize ? "" : `, at ${figure.memories.toLocaleString("en")}`;
    const when = `${figure.date.slice(0, 10)}, ${figure.commit.slice(0, 7)}, load ${figure.load}`;
    return `| ${bar.question} | ${bar.what} | ${demanded} | ${found}${size} | ${verdict} | ${when} |`;
  });
  return [
    "| question | bar | demanded | found | | measured |",
    "|---|---|---|--:|---|---|",
    ...lines,
  ].join("\n");
}

function text() {
  const bySize = sizes().flatMap((size) =>
    tables(`${size.toLocaleString("en")} memories, calls a second`, WORKLOADS, size),
  );
  return [
    aboutRun(measured),
    who(),
    otherJobs(),
    ...bySize,
    besideTable(),
    ...tables("Start and install", STARTS, 1),
    ...weighed().flatMap((size) =>
      tables(`Weight with ${size.toLocaleString("en")} memories`, WEIGHTS, size),
    ),
    ...tables("What is lost", LOSSES, undefined),
    ...limitsTable(),
    "![Durable writes a second](pictures/bench-writes.svg)",
    "![Pages a second while the store grows](pictures/bench-growth.svg)",
    ...(notes.length === 0
      ? []
      : [notes.map((/** @type {string} */ note) => `- ${note}`).join("\n")]),
  ].join("\n\n");
}

function who() {
  const lines = PEERS.map(
    ({ name, door, what, sync, how }) => `| ${name} | ${door} | ${what} | ${sync}: ${how} |`,
  );
  return [
    "| program | through | what it is | a write that is acknowledged |",
    "|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** The workloads that a program does by another job than the others. */
function otherJobs() {
  const lines = PEERS.flatMap(({ name, otherwise = {} }) =>
    Object.entries(otherwise).map(([what, how]) => `| ${name} | ${labelOf(what)} | ${how} |`),
  );
  const head = ["| program | call | what it does instead |", "|---|---|---|"];
  return ["**Not quite the same job**", "", ...head, ...lines].join("\n");
}

/** @param {string} what */
function labelOf(what) {
  return WORKLOADS.find(([name]) => name === what)?.[1] ?? what;
}

/**
 * How many times as fast as each durable program ours is that does the same job through the same door: the least of all
 * sizes that both have reached.
 */
function besideTable() {
  const lines = PEERS.filter(({ sync, beside }) => sync === "durable" && beside !== undefined).map(
    ({ name, beside = "", product = false, otherwise = {} }) => {
      const cells = WORKLOADS.map(([what = ""]) => {
        const ratios = sizes().flatMap((size) => {
          const [ours, theirs] = [rowOf(beside, what, size), rowOf(name, what, size)];
          return ours === undefined || theirs === undefined ? [] : [ours.value / theirs.value];
        });
        if (ratios.length === 0) return "–";
        const least = Math.min(...ratios);
        const shown = bolder(least);
        return what in otherwise ? `${shown} †` : shown;
      });
      const [ours, theirs] = [rowOf(beside, START, 1), rowOf(name, START, 1)];
      // A time, where the others are rates.
      cells.push(!ours || !theirs ? "–" : bolder(theirs.value / ours.value));
      return `| ${beside} | ${name}${product ? "" : ", no product"} | ${cells.join(" | ")} |`;
    },
  );
  const labels = [...WORKLOADS.map(([, label]) => label), START];
  const head = `| ours | over | ${labels.join(" | ")} |`;
  const rule = `|---|---|${labels.map(() => "--:|").join("")}`;
  const title =
    "**Durable programs through the same door: how many times as fast ours is, at the size where that is least**";
  return [
    title,
    "",
    "Bold: ours is slower. †: it does not quite the same job, see above.",
    "",
    head,
    rule,
    ...lines,
  ].join("\n");
}

/** A ratio, in bold where ours is slower. @param {number} ratio */
function bolder(ratio) {
  return ratio < 1 ? `**${rounded(ratio)}**` : rounded(ratio);
}

/**
 * What is durable, and apart from it what is not: an acknowledged write that a power cut loses is another promise.
 * @param {string} title
 * @param {readonly (readonly string[])[]} columns
 * @param {number | undefined} size
 */
function tables(title, columns, size) {
  const [durable, others] = [true, false].map((isDurable) =>
    PEERS.filter(({ sync }) => (sync === "durable") === isDurable),
  );
  return [
    table(title, columns, size, durable ?? []),
    table(`${title}: not durable`, columns, size, others ?? []),
  ].filter((made) => made !== "");
}

/**
 * A table with a line for each program that has a figure; a dash where it has no such call.
 * @param {string} title
 * @param {readonly (readonly string[])[]} columns
 * @param {number | undefined} size
 * @param {typeof PEERS} programs
 */
function table(title, columns, size, programs) {
  const lines = programs.flatMap(({ name }) => {
    const cells = columns.map(([what]) => {
      const row = rowOf(name, what ?? "", size);
      if (row === undefined) return "–";
      const of = row.unit.startsWith("of ") ? ` ${row.unit}` : "";
      return `${rounded(row.value)}${of}`;
    });
    return cells.every((cell) => cell === "–") ? [] : [`| ${name} | ${cells.join(" | ")} |`];
  });
  if (lines.length === 0) return "";
  const head = `| ${["", ...columns.map(([, label]) => label)].join(" | ")} |`;
  return [`**${title}**`, "", head, `|---|${columns.map(() => "--:|").join("")}`, ...lines].join(
    "\n",
  );
}

/** What the machine gave at most in the same run, where that was asked. */
function limitsTable() {
  const lines = rows
    .filter((/** @type {Row} */ { question }) => question === "limits")
    .map(
      (/** @type {Row} */ { what, store, value, unit }) =>
        `| ${what} | ${store} | ${rounded(value)} ${unit.replace("/s", "")} |`,
    );
  if (lines.length === 0) return [];
  const head = ["| limit | of | a second |", "|---|---|--:|"];
  return [["**What the machine gives at most**", "", ...head, ...lines].join("\n")];
}

/**
 * The row of a program; of any size when none is asked for.
 * @param {string} store
 * @param {string} what
 * @param {number | undefined} size
 * @returns {Row | undefined}
 */
function rowOf(store, what, size) {
  const all = rows.filter((/** @type {Row} */ row) => row.store === store && row.what === what);
  return size === undefined
    ? all.at(-1)
    : all.find((/** @type {Row} */ row) => row.memories === size);
}

function sizes() {
  const all = rows.filter((/** @type {Row} */ { what }) => what === "write");
  return [...new Set(all.map((/** @type {Row} */ { memories }) => memories))].sort((a, b) => a - b);
}

/** The sizes at which stores were closed and their bytes counted. */
function weighed() {
  return sizes().filter((size) =>
    rows.some((/** @type {Row} */ row) => row.what === "on disk" && row.memories === size),
  );
}

function smallest() {
  return sizes()[0] ?? 0;
}

/** @param {number} value */
function rounded(value, digits = 2) {
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(digits)));
}

/**
 * @param {string} page
 * @param {"peers" | "found" | "growth" | "bars"} name
 * @param {string} part
 */
function withPart(page, name, part) {
  const open = `<!-- ${name}: written by bench/page.mjs -->`;
  const [start, end] = [page.indexOf(open), page.indexOf(`<!-- ${name}: end -->`)];
  if (start < 0 || end < start) throw new Error(`${PAGE}: no place for the ${name}`);
  return `${page.slice(0, start + open.length)}\n${part}\n${page.slice(end)}`;
}

/** @param {string} path */
function readOrEmpty(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
