/**
 * Bad inputs as command lines: every bad input of an operation that words can say, written as its command
 * takes it: arguments, flags, repeated flags, JSON on stdin. What a text cannot get wrong (a switch, or
 * `true` where a text is wanted) is left out.
 */

import { flagFields } from "../src/cli/input.js";
import type { Operation } from "../src/operations/define.js";
import { type Field, fieldsOf } from "../src/operations/text-input.js";
import { type BadInput, badInputs } from "./bad-inputs.js";
import type { Start } from "./cortex-process.js";

/** A command line with one thing wrong. */
export interface BadLine {
  readonly what: string;
  /** How the message may call what is wrong: by its flag or label, or by its name in a document. */
  readonly shown: readonly string[];
  /** A document is judged by the library, whose failures exit with 1. */
  readonly exits: readonly number[];
  readonly args: readonly string[];
  readonly start: Start;
}

/** Every bad command line of an operation. */
export function badLines(operation: Operation): readonly BadLine[] {
  const fields = new Map(fieldsOf(operation).map((field) => [field.name, field]));
  return badInputs(operation).flatMap((bad) => {
    const field = fields.get(bad.field);
    if (field === undefined || isRightAsText(field, bad)) return [];
    // Without the flag that tells it from the others of its command, another operation is meant.
    if (field.flag === operation.cli.when && !Object.hasOwn(bad.input, field.name)) return [];
    return [lineOf(operation, fields, bad)];
  });
}

/** Whether a value that is wrong in JSON is right, or cannot be given at all, as text. */
function isRightAsText(field: Field, { field: name, input }: BadInput): boolean {
  if (!Object.hasOwn(input, name)) return false;
  if (field.syntax === "switch") return true;
  // What is no object is a turn in plain words.
  if (name === "turns") return !JSON.stringify(input[name]).startsWith("{");
  const isObject = field.syntax === "either" && typeof input[name] === "object";
  const isText = ["text", "list", "choice", "file", "position", "either"].includes(field.syntax);
  const said = wordsOf(field, input[name]);
  return (
    isText && !isObject && field.schema.safeParse(field.syntax === "list" ? said : said[0]).success
  );
}

function lineOf(
  operation: Operation,
  fields: ReadonlyMap<string, Field>,
  { what, field: wrong, input }: BadInput,
): BadLine {
  const { command, arguments: places = [], assign, when, whenMeans } = operation.cli;
  const flags = new Set(flagFields(operation).map(({ name }) => name));
  const args = [...command.split(" "), ...(whenMeans === undefined ? [] : [`--${when}`])];
  let shown = wrong;
  const isDocument = places.some((place) => "body" in place && place.body === wrong);
  let stdin: string | undefined;
  const placed = new Set<string>();
  for (const place of places) {
    if ("body" in place) {
      // A body that is a document of its own; that of a memory gives fields that also have flags.
      if (wrong === place.body) shown = place.label;
      if (!Object.hasOwn(input, place.body)) continue;
      stdin = JSON.stringify(input[place.body]);
      args.push("-");
      placed.add(place.body);
      continue;
    }
    const field = fields.get(place.field);
    if (field === undefined) throw new Error(`${operation.name} has no field ${place.field}`);
    if (wrong === place.field) shown = place.label;
    // Words after a missing one would take its place.
    if (!Object.hasOwn(input, place.field)) break;
    args.push(...wordsOf(field, input[place.field]));
    placed.add(place.field);
  }
  for (const [name, value] of Object.entries(input)) {
    const field = fields.get(name);
    const canBeFlag = assign !== undefined || flags.has(name);
    if (field === undefined || placed.has(name) || !canBeFlag) continue;
    if (assign !== undefined) {
      args.push(`--${assign}`, `${name}=${wordsOf(field, value).join(",")}`);
      if (wrong === name) shown = `--${assign} ${name}`;
    } else if (field.syntax === "switch") {
      if (value === field.sets) args.push(`--${field.sets ? "" : "no-"}${field.flag}`);
    } else {
      args.push(...wordsOf(field, value).map((word) => `--${field.flag}=${word}`));
    }
  }
  // An argument that may be left out has a flag as well, and by that it is asked for.
  const isLeftOut = !Object.hasOwn(input, wrong) || !placed.has(wrong);
  if (flags.has(wrong) && isLeftOut) shown = `--${fields.get(wrong)?.flag}`;
  return {
    what: `${operation.name}: ${what}`,
    shown: isDocument ? [shown, wrong] : [shown],
    exits: isDocument ? [1, 2] : [2],
    args,
    start: { input: stdin ?? "" },
  };
}

/** The words that give a value. */
function wordsOf(field: Field, value: unknown): readonly string[] {
  const isMany = field.syntax === "list" && Array.isArray(value);
  return isMany ? value.map(wordOf) : [wordOf(value)];
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
