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
 * }} Request
 */

const USAGE = `Usage: npm run bench -- QUESTION... [options]

  --runs N      runs of each contest, of which the median counts (3)
  --size N      memories in the largest store (1000000)
  --base N      memories in the store that contests of writing start from (10000)
  --seed N      seed of the texts (1)
  --quick       small sizes: shows that it works, not how fast it is
  --folder DIR  where the stores are made and removed again (the system's temporary folder)
  --json FILE   write the JSON there instead of printing it
  --check       exit with 1 when a bar is missed or not measured`;

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
 * Reads the command line. Throws an error whose message is the usage when it cannot.
 * @param {readonly string[]} args
 * @param {readonly string[]} known the questions there are
 * @returns {Request}
 */
export function readRequest(args, known) {
  const usage = `${USAGE}\n\nQuestions: ${known.join(", ")}`;
  const { values, positionals } = parsed(args, usage);
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no such question: ${unknown}\n\n${usage}`);
  if (positionals.length === 0) throw new Error(usage);
  const sizes = values.quick === true ? QUICK : FULL;
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
        quick: { type: "boolean" },
        check: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}
