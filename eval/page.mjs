/**
 * The tables of docs/evaluation.md, written from the one result that is kept: `eval/results/recall.json`.
 * `keep` puts new figures into it; `node eval/page.mjs` writes the page again, `--check` writes nothing and
 * exits with 1 where the page says something else than the result.
 *
 * @typedef {Readonly<Record<string, number>>} Metrics
 * @typedef {{ readonly questions: number, readonly weak: number }} WeakShare
 * @typedef {{
 *   readonly set: string,
 *   readonly unit: string,
 *   readonly embedder: string,
 *   readonly questions: number,
 *   readonly memories: readonly number[],
 *   readonly medianMs: number,
 *   readonly metrics: Metrics,
 *   readonly plainBm25: Metrics,
 *   readonly without: Readonly<Record<string, Metrics>>,
 *   readonly categories: Readonly<Record<string, Metrics>>,
 *   readonly weak: { readonly unanswerable: WeakShare, readonly answerable: WeakShare },
 * }} Figures
 * @typedef {Figures & { readonly commit: string, readonly date: string }} Kept
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = join(ROOT, "docs/evaluation.md");
const RESULT = join(ROOT, "eval/results/recall.json");
const [OPEN, CLOSE] = ["<!-- figures: written by eval/page.mjs -->", "<!-- figures: end -->"];

/**
 * Puts figures in the place of the kept ones of the same set, unit and embedder, and writes the page.
 * @param {readonly Figures[]} figures
 * @param {{ readonly commit: string, readonly date: Date }} when
 */
export function keep(figures, { commit, date }) {
  const name = (/** @type {Figures} */ one) => `${one.set} ${one.unit} ${one.embedder}`;
  const all = new Map(readKept().map((one) => [name(one), one]));
  for (const one of figures) {
    all.set(name(one), { ...one, commit, date: date.toISOString().slice(0, 10) });
  }
  const rows = [...all.values()].sort((a, b) => (name(a) < name(b) ? -1 : 1));
  writeFileSync(RESULT, `${JSON.stringify({ rows }, rounded, 1)}\n`);
  writeFileSync(PAGE, pageText());
}

/** @returns {readonly Kept[]} */
function readKept() {
  return JSON.parse(readFileSync(RESULT, "utf8")).rows;
}

/**
 * Four digits are more than the sets can tell apart.
 * @param {string} _key
 * @param {unknown} value
 */
function rounded(_key, value) {
  return typeof value === "number" ? Math.round(value * 10_000) / 10_000 : value;
}

/** The page as the kept result has it. */
function pageText() {
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(OPEN), page.indexOf(CLOSE)];
  if (from < 0 || to < from) throw new Error(`${PAGE}: expected the lines ${OPEN} and ${CLOSE}`);
  return `${page.slice(0, from + OPEN.length)}\n\n${tables(readKept())}\n\n${page.slice(to)}`;
}

/** @param {readonly Kept[]} rows */
function tables(rows) {
  const measured = [...new Set(rows.map(({ commit, date }) => `${commit} of ${date}`))].sort();
  const ablated = rows.filter(({ without }) => Object.keys(without).length > 0);
  return [
    `Measured at ${measured.join(", ")}. In brackets plain BM25. A millisecond buys so much R@10; half of the answers took`,
    "at most as long as the column says, on a machine that did other work as well.",
    "",
    ...mainTable(rows),
    "",
    "By kind of question, where a set tells kinds apart:",
    "",
    ...kindTable(rows),
    "",
    "What is lost of R@10 without a lane:",
    "",
    ...(ablated.length === 0 ? ["(not measured)"] : laneTable(ablated)),
    "",
    "Answers that were `weak`, of the questions that cannot be answered and of those that can:",
    "",
    ...weakTable(rows),
  ].join("\n");
}

/** @param {readonly Kept[]} rows */
function mainTable(rows) {
  return table(
    ["set", "unit", "embedder", "questions", "any@5", "all@5", "R@5", "R@10", "ms", "R@10 a ms"],
    rows.map(({ set, unit, embedder, questions, metrics, plainBm25, medianMs }) => [
      set,
      unit,
      embedder,
      String(questions),
      ...["any@5", "all@5", "R@5", "R@10"].map(
        (name) => `${share(metrics[name])} (${share(plainBm25[name])})`,
      ),
      medianMs.toFixed(1),
      share((metrics["R@10"] ?? 0) / medianMs),
    ]),
  );
}

/** @param {readonly Kept[]} rows */
function kindTable(rows) {
  const some = rows.filter(({ categories }) => Object.keys(categories).length > 1);
  return table(
    ["set", "unit", "embedder", "kind", "questions", "R@5", "R@10"],
    some.flatMap(({ set, unit, embedder, categories }) =>
      Object.entries(categories).map(([kind, one]) => {
        return [
          set,
          unit,
          embedder,
          kind,
          String(one.questions),
          share(one["R@5"]),
          share(one["R@10"]),
        ];
      }),
    ),
  );
}

/** @param {readonly Kept[]} rows */
function laneTable(rows) {
  const lanes = [...new Set(rows.flatMap(({ without }) => Object.keys(without)))].sort();
  return table(
    ["set", "unit", "embedder", ...lanes],
    rows.map(({ set, unit, embedder, metrics, without }) => [
      set,
      unit,
      embedder,
      ...lanes.map((lane) => signed((without[lane]?.["R@10"] ?? 0) - (metrics["R@10"] ?? 0))),
    ]),
  );
}

/** @param {readonly Kept[]} rows */
function weakTable(rows) {
  const bySet = new Map(rows.map((row) => [`${row.set} ${row.embedder}`, row]));
  const of = (/** @type {WeakShare} */ { questions, weak }) =>
    questions === 0 ? "none asked" : `${share(weak / questions)} of ${questions}`;
  return table(
    ["set", "embedder", "cannot", "can"],
    [...bySet.values()].map(({ set, embedder, weak }) => [
      set,
      embedder,
      of(weak.unanswerable),
      of(weak.answerable),
    ]),
  );
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

/** @param {number | undefined} value */
function share(value) {
  return (value ?? Number.NaN).toFixed(3).replace(/^0\./, ".");
}

/** @param {number} value */
function signed(value) {
  return Math.abs(value) < 0.0005 ? "0" : `${value < 0 ? "−" : "+"}${share(Math.abs(value))}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isCheck = process.argv.includes("--check");
  const text = pageText();
  if (!isCheck) writeFileSync(PAGE, text);
  else if (text !== readFileSync(PAGE, "utf8")) {
    process.stderr.write(
      "docs/evaluation.md differs from eval/results/recall.json: node eval/page.mjs\n",
    );
    process.exitCode = 1;
  }
}
