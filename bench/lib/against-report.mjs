/**
 * What two builds are to each other: each figure with its ratio, how far the rounds lie apart, and whether
 * the difference is more than that. Ratios are turned so that more than 1 is better, whatever the unit.
 */
import { BATCH_ITEMS } from "./against.mjs";
import { median, sum } from "./clock.mjs";
import { CONNECTIONS } from "./http-load.mjs";
import { plain, renderTable } from "./report.mjs";

/**
 * @typedef {import("./against.mjs").FigureName} FigureName
 * @typedef {import("./against.mjs").Round} Round
 * @typedef {import("./build-worker.mjs").Slice} Slice
 *
 * How the builds compare. `level` means that the middle round differs from 1 by no more than the rounds
 * differ from each other: what the machine does by itself. One or two rounds say nothing about that.
 * @typedef {{
 *   readonly ratio: number,
 *   readonly lowest: number,
 *   readonly highest: number,
 *   readonly verdict: "level" | "better" | "worse" | "too few rounds",
 * }} Comparison
 *
 * One line; `against` and `ours` are middle rounds, in the unit.
 * @typedef {Comparison & {
 *   readonly name: FigureName,
 *   readonly what: string,
 *   readonly unit: string,
 *   readonly memories: number | undefined,
 *   readonly against: number,
 *   readonly ours: number,
 *   readonly rounds: readonly { readonly against: number, readonly ours: number }[],
 *   readonly byProcessor: Comparison | undefined,
 * }} Compared
 *
 * @typedef {{
 *   readonly date: string,
 *   readonly commit: string,
 *   readonly dirty: boolean,
 *   readonly against: { readonly commit: string, readonly dirty: boolean },
 *   readonly machine: ReturnType<typeof import("./machine.mjs").describeMachine>,
 *   readonly loadAtEnd: number,
 *   readonly settings: Readonly<Record<string, unknown>>,
 *   readonly figures: readonly Compared[],
 *   readonly notes: readonly string[],
 * }} AgainstReport
 */

/**
 * A difference that is level however close the rounds lie: two copies of one build, compared with each
 * other, came out as much as 3 % apart in every one of three rounds.
 */
const SPREAD_MIN = 0.03;

/** Fewer rounds than this give no verdict. */
const ROUNDS_MIN = 3;

/**
 * From so many rounds on, chance alone leads to a verdict other than level in less than one figure of a
 * hundred. Of fewer, three times the spread is asked for the same: few rounds lie close by chance.
 */
const ROUNDS_ENOUGH = 5;

/**
 * The figures in the order in which they are printed. A rate counts operations in a second, a time is
 * that of one operation.
 * @type {readonly {
 *   readonly name: FigureName,
 *   readonly what: string,
 *   readonly unit: string,
 *   readonly is: "rate" | "time",
 *   readonly store: "size" | "base" | "none",
 * }[]}
 */
const FIGURES = [
  { name: "write", what: "one awaited write", unit: "writes/s", is: "rate", store: "base" },
  {
    name: "batch",
    what: `batch of ${plain(BATCH_ITEMS)}`,
    unit: "writes/s",
    is: "rate",
    store: "base",
  },
  {
    name: "filling",
    what: "a new store filled in batches, and closed",
    unit: "writes/s",
    is: "rate",
    store: "none",
  },
  { name: "get", what: "get by random id", unit: "gets/s", is: "rate", store: "size" },
  { name: "find", what: "find", unit: "ms", is: "time", store: "size" },
  { name: "search", what: "search", unit: "ms", is: "time", store: "size" },
  { name: "recall", what: "recall", unit: "ms", is: "time", store: "size" },
  {
    name: "rest",
    what: `REST read, ${CONNECTIONS} connections`,
    unit: "requests/s",
    is: "rate",
    store: "size",
  },
  {
    name: "version",
    what: "cortex --version, processor time",
    unit: "ms",
    is: "time",
    store: "none",
  },
];

/**
 * The lines of a run.
 * @param {readonly Round[]} rounds
 * @param {{ readonly size: number, readonly base: number }} sizes
 * @returns {Compared[]}
 */
export function compareRounds(rounds, sizes) {
  return FIGURES.map(({ name, what, unit, is, store }) => {
    const each = rounds.map((round) => ({
      against: middleMs(round[name][0]),
      ours: middleMs(round[name][1]),
    }));
    const shown = (/** @type {number} */ ms) => (is === "rate" ? 1000 / ms : ms);
    const busy = rounds.map((round) => {
      const [against, ours] = round[name].map(processorMsOf);
      return (against ?? Number.NaN) / (ours ?? Number.NaN);
    });
    return {
      name,
      what,
      unit,
      memories: store === "none" ? undefined : sizes[store],
      against: shown(median(each.map(({ against }) => against))),
      ours: shown(median(each.map(({ ours }) => ours))),
      ...compared(each.map(({ against, ours }) => against / ours)),
      rounds: each.map(({ against, ours }) => ({ against: shown(against), ours: shown(ours) })),
      byProcessor: busy.every(Number.isFinite) ? compared(busy) : undefined,
    };
  });
}

/**
 * Milliseconds of one operation, in the middle slice: a slice that something else fell into counts for
 * nothing.
 * @param {readonly Slice[]} slices
 */
function middleMs(slices) {
  return median(slices.map(({ ms, operations }) => ms / operations));
}

/**
 * Processor time of a whole round: its clock is too coarse for single slices.
 * @param {readonly Slice[]} slices
 */
function processorMsOf(slices) {
  return sum(slices.map(({ processorMs }) => processorMs ?? Number.NaN));
}

/**
 * @param {readonly number[]} ratios of each round
 * @returns {Comparison}
 */
function compared(ratios) {
  const ratio = median(ratios);
  const [lowest, highest] = [Math.min(...ratios), Math.max(...ratios)];
  return { ratio, lowest, highest, verdict: verdictOn(ratio, highest - lowest, ratios.length) };
}

/**
 * @param {number} ratio
 * @param {number} spread
 * @param {number} rounds
 * @returns {Comparison["verdict"]}
 */
function verdictOn(ratio, spread, rounds) {
  if (rounds < ROUNDS_MIN) return "too few rounds";
  const doubt = rounds < ROUNDS_ENOUGH ? 3 * spread : spread;
  if (Math.abs(ratio - 1) <= Math.max(doubt, SPREAD_MIN)) return "level";
  return ratio > 1 ? "better" : "worse";
}

/**
 * The whole report as text.
 * @param {AgainstReport} report
 */
export function renderAgainst(report) {
  const { machine, against, figures } = report;
  const commit = (/** @type {{ commit: string, dirty: boolean }} */ one) =>
    `${one.commit}${one.dirty ? " and changes that are not committed" : ""}`;
  const head = ["figure", "memories", "unit", "against", "ours", "ratio", "spread", "verdict"];
  const lines = [
    `against     ${commit(against)}`,
    `ours        ${commit(report)}`,
    `date        ${report.date}`,
    `machine     ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`,
    `system      ${machine.kernel}, node ${machine.node}, ${machine.filesystem}`,
    `load        ${machine.load} before, ${report.loadAtEnd} after`,
    `rounds      ${report.settings.runs}; a ratio is that of the middle round, above 1 is better`,
    "",
    renderTable(
      [...head, "by processor time"],
      figures.map((one) => [
        one.what,
        one.memories === undefined ? "" : plain(one.memories),
        one.unit,
        plain(one.against),
        plain(one.ours),
        one.ratio.toFixed(2),
        spreadOf(one),
        one.verdict,
        one.byProcessor === undefined
          ? ""
          : `${one.byProcessor.ratio.toFixed(2)} (${spreadOf(one.byProcessor)}) ${one.byProcessor.verdict}`,
      ]),
    ),
  ];
  if (report.notes.length > 0) lines.push("", ...report.notes);
  return lines.join("\n");
}

/** @param {Comparison} comparison */
function spreadOf({ lowest, highest }) {
  return `${lowest.toFixed(2)} to ${highest.toFixed(2)}`;
}
