/**
 * Runs one question in a process of its own, so that no question inherits the heap of another.
 * Started by `main.mjs` with the name of the question, the settings as JSON and the file for the
 * answer; to look inside, start it by hand under `node --cpu-prof`.
 */
import { writeFileSync } from "node:fs";

const [name, settings, answerFile] = process.argv.slice(2);
if (name === undefined || settings === undefined) {
  throw new Error("expected: NAME SETTINGS [FILE]");
}
const { answer } = await import(`./questions/${name}.mjs`);
const found = await answer({
  ...JSON.parse(settings),
  progress: (/** @type {string} */ text) => process.stderr.write(`${text}\n`),
});
if (answerFile === undefined) process.stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
else writeFileSync(answerFile, JSON.stringify(found));
