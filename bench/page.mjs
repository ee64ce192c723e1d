/**
 * Writes what docs/benchmarks.md shows of the programs side by side, and its two pictures, from the one
 * result that is kept: `bench/results/peers.json`. `--check` writes nothing and exits with 1 where page or
 * picture say something else than the result.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawBars, drawLines } from "./lib/plot.mjs";
import { PEERS } from "./peers/peers.mjs";

/** @typedef {import("./lib/contest.mjs").Row} Row */

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = "docs/benchmarks.md";
const [OPEN, CLOSE] = ["<!-- peers: written by bench/page.mjs -->", "<!-- peers: end -->"];

/** The order of the columns, with what each says. */
const WORKLOADS = [
  ["write", "one awaited write"],
  ["writes at once", "64 at once"],
  ["batch", "batches of 1,000"],
  ["get", "read by id"],
  ["page", "page of 50 by tag"],
  ["search", "text search"],
  ["recall", "recall"],
  ["near", "two links away"],
  ["history", "history"],
];
const OTHERS = [
  ["start to first read", "start to first read, ms"],
  ["resident memory", "resident memory, MB"],
  ["on disk", "bytes a memory"],
  ["installed", "installed, MB"],
];
const LOSSES = [
  ["two processes: refused", "refused"],
  ["two processes: lost", "lost"],
  ["killed while writing: lost", "lost by a kill"],
];

const { rows, machine, date, commit, loadAtEnd, notes } = JSON.parse(
  readFileSync(join(ROOT, "bench/results/peers.json"), "utf8"),
);
const files = {
  [PAGE]: withPart(readFileSync(join(ROOT, PAGE), "utf8"), text()),
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
  if (process.argv.includes("--check"))
    process.stderr.write(`${file} does not follow the kept result\n`);
  else writeFileSync(path, wanted);
}
process.exitCode = differ > 0 && process.argv.includes("--check") ? 1 : 0;

function text() {
  const about = `Measured ${date.slice(0, 10)} at commit ${commit.slice(0, 7)} on ${machine.cpu}, ${machine.cores} cores, ${machine.system ?? machine.kernel}, ${machine.node}; load ${machine.load} before and ${loadAtEnd} after.`;
  const kept = sizes().map((size) =>
    table(`${size.toLocaleString("en")} memories, calls a second`, WORKLOADS, size),
  );
  return [
    about,
    who(),
    ...kept,
    table("Weight", OTHERS, undefined),
    table("What is lost", LOSSES, undefined),
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

/**
 * A table with a line for each program that has a figure; a dash where it has no such call. The fastest durable
 * figure of a column is not marked: what is relaxed is said in the table above.
 * @param {string} title
 * @param {readonly (readonly string[])[]} columns
 * @param {number | undefined} size
 */
function table(title, columns, size) {
  const lines = PEERS.flatMap(({ name }) => {
    const cells = columns.map(([what]) => {
      const row = rowOf(name, what ?? "", size);
      if (row === undefined) return "–";
      const of = row.unit.startsWith("of ") ? ` ${row.unit}` : "";
      return `${rounded(row.value)}${of}`;
    });
    return cells.every((cell) => cell === "–") ? [] : [`| ${name} | ${cells.join(" | ")} |`];
  });
  const head = `| ${["", ...columns.map(([, label]) => label)].join(" | ")} |`;
  return [`**${title}**`, "", head, `|---|${columns.map(() => "--:|").join("")}`, ...lines].join(
    "\n",
  );
}

/**
 * The row of a program; of the largest size when none is asked for.
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

function smallest() {
  return sizes()[0] ?? 0;
}

/** @param {number} value */
function rounded(value) {
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(2)));
}

/**
 * @param {string} page
 * @param {string} part
 */
function withPart(page, part) {
  const [start, end] = [page.indexOf(OPEN), page.indexOf(CLOSE)];
  if (start < 0 || end < start) throw new Error(`${PAGE}: no place for the part`);
  return `${page.slice(0, start + OPEN.length)}\n${part}\n${page.slice(end)}`;
}

/** @param {string} path */
function readOrEmpty(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
