/**
 * What the programs of this folder share: reading their flags, `--help`, and saying how far they are.
 *
 * Promise: an unknown flag, a missing value or a number that is none ends the program with a line that
 * names it and exit code 2; `--help` prints what there is and ends with 0.
 */

/**
 * @typedef {object} Flag
 * @property {string} name without dashes
 * @property {"number" | "text" | "yes"} kind
 * @property {number | string | boolean} standard
 * @property {string} help
 */

/**
 * Reads the flags of a program.
 * @param {string} usage what it does, in a sentence or two
 * @param {readonly Flag[]} flags
 * @returns {Record<string, number | string | boolean>}
 */
export function readFlags(usage, flags) {
  const given = process.argv.slice(2);
  if (given.includes("--help")) {
    const lines = flags.map(
      ({ name, kind, standard, help }) =>
        `  --${name}${kind === "yes" ? "" : ` ${kind.toUpperCase()}`}\n      ${help}${standard === "" || standard === false ? "" : `; ${standard} when not given`}`,
    );
    process.stdout.write(`${usage}\n\n${lines.join("\n")}\n`);
    process.exit(0);
  }
  const values = Object.fromEntries(flags.map(({ name, standard }) => [name, standard]));
  for (let at = 0; at < given.length; at += 1) {
    const flag = flags.find(({ name }) => given[at] === `--${name}`);
    if (flag === undefined)
      fail(`${given[at]}: expected one of ${flags.map(({ name }) => `--${name}`).join(", ")}`);
    else if (flag.kind === "yes") values[flag.name] = true;
    else {
      at += 1;
      const value = given[at];
      if (value === undefined || value.startsWith("--")) fail(`--${flag.name}: expected a value`);
      const number = Number(value);
      if (flag.kind === "number" && !(Number.isFinite(number) && number >= 0)) {
        fail(`--${flag.name}: expected a number of at least 0, got ${value}`);
      }
      values[flag.name] = flag.kind === "number" ? number : String(value);
    }
  }
  return values;
}

/** @param {string} message @returns {never} */
export function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** A seed that no run had before. */
export function newSeed() {
  return Math.floor(Math.random() * 2 ** 31);
}

/**
 * Says how far a program is, at most once a second and on one line where there is a terminal.
 * @returns {(text: string) => void}
 */
export function progress() {
  let last = Date.now();
  return (text) => {
    const now = Date.now();
    if (now - last < (process.stderr.isTTY ? 1000 : 30_000)) return;
    last = now;
    process.stderr.write(process.stderr.isTTY ? `\r${text}\x1b[K` : `${text}\n`);
  };
}
