/**
 * How the programs talk: lines of JSON in, lines out. `say` writes at once and whole: a line is
 * shorter than what a pipe takes in one piece, so a kill never cuts one.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

const iterator = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** The next message; `undefined` at the end. */
export async function receive() {
  const { value, done } = await iterator.next();
  return done ? undefined : JSON.parse(value);
}

/** Prints a line before anything else happens. */
export function say(word, message) {
  writeSync(1, message === undefined ? `${word}\n` : `${word} ${JSON.stringify(message)}\n`);
}
