/** What the person at the keyboard may ask for, and the sizes that follow from it. */
import { parseArgs } from "node:util";

/**
 * What a question is told.
 * @typedef {{
 *   readonly runs: number,
 *   readonly size: number,
 *   readonly base: number,
 *   readonly batchItems: number,
 *   readonly rounds: { readonly batch: number, readonly group: number, readonly single: number },
 *   readonly reads: number,
 *   readonly seed: number,
 *   readonly quick: boolean,
 *   readonly folder: string,
 *   progress(text: string): void,
 * }} Settings
 *
 * What a question answers.
 * @typedef {{
 *   readonly rows: readonly import("./contest.mjs").Row[],
 *   readonly figures: Readonly<Record<string, import("./bars.mjs").Figure>>,
 *   readonly notes: readonly string[],
 * }} Answer
 *
 * @typedef {Omit<Settings, "folder" | "progress"> & {
 *   readonly questions: readonly string[],
 *   readonly folder: string | undefined,
 *   readonly jsonFile: string | undefined,
 *   readonly check: boolean,
 *   readonly profile: string | undefined,
 *   readonly against: string | undefined,
 *   readonly extents: import("./against.mjs").AgainstSettings["extents"],
 * }} Request extents: of a comparison with another build
 */

const USAGE = `Usage: npm run bench -- QUESTION... [options]
       npm run bench -- --against DIR [options]

  --against DIR compare this build with that of another built checkout, instead of asking questions
  --runs N      runs of each contest, of which the median counts (3; against another build 7)
  --size N      memories in the largest store (1000000; against another build 100000)
  --base N      memories in the store that contests of writing start from (10000)
  --seed N      seed of the texts (1)
  --quick       small sizes: shows that it works, not how fast it is
  --folder DIR  where the stores are made and removed again (the system's temporary folder)
  --json FILE   write the JSON there instead of printing it
  --profile DIR run each question under the profiler: a profile and a flame graph of each, there
  --check       exit with 1 when a bar is missed or not measured, or a figure is worse than the other
                build's
  --help        print this`;

/**
 * How the benchmark is asked.
 * @param {readonly string[]} known the questions there are
 */
export function usageOf(known) {
  return `${USAGE}\n\nQuestions: ${known.join(", ")}`;
}

/** Sizes of a full run, and of one that only shows that everything works. */
const FULL = {
  runs: 3,
  size: 1_000_000,
  base: 10_000,
  batchItems: 1000,
  rounds: { batch: 20, group: 50, single: 300 },
  reads: 10_000,
};
const QUICK = {
  runs: 1,
  size: 2000,
  base: 500,
  batchItems: 100,
  rounds: { batch: 2, group: 2, single: 4 },
  reads: 200,
};

/**
 * The same for a comparison with another build. Slices are short, so that builds take turns often, and long enough that
 * they do not compare code that is not warm: a write took twice the processor time in slices of fifteen. A slice of batches
 * holds ten, because a build may leave the work of nine batches to the tenth: of slices with one batch the middle one never
 * sees it.
 */
const AGAINST_FULL = {
  runs: 7,
  size: 100_000,
  base: 10_000,
  extents: {
    write: { slices: 20, calls: 100 },
    batch: { slices: 3, calls: 10 },
    filling: { slices: 2, calls: 20 },
    get: { slices: 20, calls: 1000 },
    find: { slices: 20, calls: 10 },
    search: { slices: 20, calls: 5 },
    recall: { slices: 20, calls: 5 },
    rest: { slices: 10, calls: 1000 },
    version: { slices: 3, calls: 1 },
  },
};
const AGAINST_QUICK = {
  runs: 3,
  size: 2000,
  base: 500,
  extents: {
    write: { slices: 4, calls: 5 },
    batch: { slices: 2, calls: 1 },
    filling: { slices: 1, calls: 1 },
    get: { slices: 5, calls: 200 },
    find: { slices: 3, calls: 5 },
    search: { slices: 3, calls: 5 },
    recall: { slices: 3, calls: 4 },
    rest: { slices: 3, calls: 200 },
    version: { slices: 1, calls: 1 },
  },
};

/**
 * Reads the command line. Throws an error whose message is the usage when it cannot.
 * @param {readonly string[]} args
 * @param {readonly string[]} known the questions there are
 * @returns {Request}
 */
export function readRequest(args, known) {
  const usage = usageOf(known);
  const { values, positionals } = parsed(args, usage);
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no such question: ${unknown}\n\n${usage}`);
  const isComparison = values.against !== undefined;
  if (isComparison && positionals.length > 0) {
    throw new Error(`--against: asks its own questions, got ${positionals[0]} as well\n\n${usage}`);
  }
  if (!isComparison && positionals.length === 0) throw new Error(usage);
  const [whole, comparison] = values.quick === true ? [QUICK, AGAINST_QUICK] : [FULL, AGAINST_FULL];
  const sizes = isComparison ? { ...whole, ...comparison } : whole;
  const number = (/** @type {string | undefined} */ text, /** @type {number} */ otherwise) => {
    if (text === undefined) return otherwise;
    const value = Number(text.replaceAll(/[_,]/g, ""));
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`not a number: ${text}`);
    return value;
  };
  const size = number(values.size, sizes.size);
  return {
    ...sizes,
    questions: [...new Set(positionals)],
    size,
    base: Math.min(number(values.base, sizes.base), size),
    runs: number(values.runs, sizes.runs),
    seed: number(values.seed, 1),
    quick: values.quick === true,
    folder: values.folder,
    jsonFile: values.json,
    check: values.check === true,
    profile: values.profile,
    against: values.against,
    extents: comparison.extents,
  };
}

/**
 * @param {readonly string[]} args
 * @param {string} usage
 */
function parsed(args, usage) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        runs: { type: "string" },
        size: { type: "string" },
        base: { type: "string" },
        seed: { type: "string" },
        folder: { type: "string" },
        json: { type: "string" },
        profile: { type: "string" },
        against: { type: "string" },
        quick: { type: "boolean" },
        check: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}
