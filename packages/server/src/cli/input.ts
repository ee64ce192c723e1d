/**
 * From what was written on the command line to the input of an operation: which of the operations
 * that share a command is meant, bodies and stdin read, flags over bodies, nothing required missing.
 *
 * A body is what an argument, a file or stdin says in more than one value. Its first character says which form
 * it has: what starts like JSON has to be JSON, so that a slip of quoting is refused instead of being stored as
 * a sentence. A flag's value is checked by its own field, so that a bad one is named by its flag.
 *
 * Left to others: what a text stands for (`operations/text-input.ts`, for every door).
 */

import { resolve } from "node:path";
import { codeIn, describe, expectedOf } from "@cortex-memory/core/contract";
import { UsageError } from "../error-status.js";
import type { ArgumentSpec, Body, Operation } from "../operations/define.js";
import { type Field, fieldsOf, jsonOf, parseValue } from "../operations/text-input.js";
import { beginsTranscript, turnsIn } from "../speech.js";
import { namesBackup } from "./files.js";
import type { Host } from "./host.js";
import type { RawCommand } from "./program.js";

type Fields = { readonly [field: string]: unknown };

/** Reads a body's text into fields of the input. */
export function readBody(body: Body, text: string, shown: string): Fields {
  switch (body) {
    case "memory":
      return readMemory(text, shown);
    case "turns":
      return readTurns(text, shown);
    case "items":
      return { items: readList(text, shown) };
    case "state":
      return { state: readObject(text, shown) };
  }
}

/** A JSON object with the fields of a write, or the sentence itself. */
function readMemory(text: string, shown: string): Fields {
  if (!/^\s*\{/.test(text)) return { text: withoutLastBreak(text) };
  try {
    return readObject(text, shown);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; for a sentence that starts with { use --text`);
  }
}

/** A JSON array of turns, one turn per line, an object with `turns`, a transcript, or plain text. */
function readTurns(text: string, shown: string): Fields {
  if (/^\s*\[\s*[{\]]/.test(text)) return { turns: jsonOf(text, shown) };
  if (!/^\s*\{/.test(text)) {
    if (text.trim() === "") throw new UsageError(`${shown}: expected turns, got nothing`);
    const turns = turnsIn(text);
    if (turns.length > 0) return { turns };
    return { turns: [{ role: "user", content: withoutLastBreak(text) }] };
  }
  const whole = tryObject(text);
  if (whole !== undefined) return Array.isArray(whole.turns) ? whole : { turns: [whole] };
  return { turns: readLines(text, shown) };
}

/** A JSON array, or one JSON value per line. */
function readList(text: string, shown: string): unknown {
  return /^\s*\[/.test(text) ? jsonOf(text, shown) : readLines(text, shown);
}

function readLines(text: string, shown: string): readonly unknown[] {
  return text
    .split(/\r?\n/)
    .flatMap((line, at) => (line.trim() === "" ? [] : [jsonOf(line, `${shown} line ${at + 1}`)]));
}

function readObject(text: string, shown: string): Fields {
  const value = jsonOf(text, shown);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new UsageError(`${shown}: expected a JSON object`);
}

function tryObject(text: string): Fields | undefined {
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return undefined;
  }
}

/** Text from a pipe ends with a line break that nobody meant. */
function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}

type Streams = Pick<Host, "readStdin" | "readFile" | "stdinIsTerminal">;

/** The operation that is meant: by its flag, by what its file is, else the one that asks for neither. */
export function chooseOperation(
  operations: readonly Operation[],
  raw: RawCommand,
  host: Pick<Host, "cwd" | "startOf">,
): Operation {
  const meant =
    operations.find(({ cli }) => cli.when !== undefined && raw.flags.has(cli.when)) ??
    operations.find(({ cli }) => cli.whenTranscript === true && namesTranscript(raw, host)) ??
    operations.find((one) => one.cli.whenBackups === true && meansBackups(one, raw, host)) ??
    operations.find(isUnconditional);
  if (meant === undefined) throw new Error("a command has only operations that ask for something");
  return meant;
}

/** Whether an operation is meant unless another one of its command is. */
export function isUnconditional({ cli }: Operation): boolean {
  return cli.when === undefined && cli.whenBackups !== true;
}

/** Enough of a file to hold its first line, in most. */
const START_BYTES = 4096;

/** Whether the one word names a file whose first line says who speaks. */
function namesTranscript(raw: RawCommand, host: Pick<Host, "cwd" | "startOf">): boolean {
  const [word, ...more] = wordsOf(raw);
  if (word === undefined || word === "-" || more.length > 0) return false;
  const start = host.startOf(resolve(host.cwd, word), START_BYTES) ?? "";
  return beginsTranscript(Buffer.from(start, "latin1").toString("utf8"));
}

/** Backups are meant by a backup, by stdin, by several words, or by a flag that only they have. */
function meansBackups(
  operation: Operation,
  raw: RawCommand,
  host: Pick<Host, "cwd" | "startOf">,
): boolean {
  const words = wordsOf(raw);
  const [first = ""] = words;
  if (words.length > 1 || first === "-") return true;
  if (flagFields(operation).some(({ flag }) => raw.flags.has(flag))) return true;
  return namesBackup(first, host);
}

/** Every word that is no flag. */
export function wordsOf({ args }: RawCommand): readonly string[] {
  return args.flatMap((one) => one ?? []);
}

/**
 * How a field of the input is called on the command line, given or missing: by its flag or its argument's
 * label; by its own name where a document gave it, or may have. Several fields together are called one by one.
 */
export function typedName(operation: Operation, raw: RawCommand, name: string): string {
  if (name.includes(", ")) {
    return name
      .split(", ")
      .map((one) => typedName(operation, raw, one))
      .join(", ");
  }
  const places = operation.cli.arguments ?? [];
  const at = places.findIndex((one) => "field" in one && one.field === name);
  if (at >= 0 && raw.args[at] !== undefined) return places[at]?.label ?? name;
  const flag = flagFields(operation).find((field) => field.name === name)?.flag;
  if (flag !== undefined && raw.flags.has(flag)) return `--${flag}`;
  const mayBeInDocument = places.some((place, i) => "body" in place && raw.args[i] !== undefined);
  if (flag !== undefined) return mayBeInDocument ? name : `--${flag}`;
  return at < 0 ? name : (places[at]?.label ?? name);
}

/** The input that a command line gives to an operation. */
export async function readInput(
  operation: Operation,
  raw: RawCommand,
  host: Streams,
): Promise<Record<string, unknown>> {
  const input: Record<string, unknown> = {};
  const fields = fieldsOf(operation);
  refuseForeign(operation, raw);
  for (const [at, spec] of (operation.cli.arguments ?? []).entries()) {
    const given = wordsFor(spec, raw.args[at]);
    if ("body" in spec) {
      const body = await bodyText(spec, oneWord(given), host);
      if (body !== undefined) Object.assign(input, readBody(spec.body, body, spec.label));
      continue;
    }
    if (given === undefined || (Array.isArray(given) && given.length === 0)) continue;
    const field = fields.find(({ name }) => name === spec.field);
    if (field === undefined) throw new Error(`${operation.name} has no field ${spec.field}`);
    const value =
      spec.stdin === true && given === "-" ? withoutLastBreak(await host.readStdin()) : given;
    input[spec.field] = await fieldValue(field, value, spec.label, host);
  }
  for (const field of flagFields(operation)) {
    if (!raw.flags.has(field.flag)) continue;
    const shown = `--${field.flag}`;
    input[field.name] = await fieldValue(field, raw.flags.get(field.flag), shown, host);
  }
  const { assign } = operation.cli;
  const assigned = assign === undefined ? undefined : raw.flags.get(assign);
  if (assign !== undefined && Array.isArray(assigned)) {
    Object.assign(input, readAssignments(fields, assigned, assign));
  }
  requireAll(operation, input);
  return input;
}

/** Refuses arguments and flags of another operation that shares the command. */
function refuseForeign(operation: Operation, raw: RawCommand): void {
  const known = new Set([
    ...flagFields(operation).map(({ flag }) => flag),
    ...(operation.cli.assign === undefined ? [] : [operation.cli.assign]),
    ...(operation.cli.whenMeans === undefined ? [] : [operation.cli.when]),
    ...["data", "actor", "json"],
  ]);
  const { when } = operation.cli;
  const foreign = [...raw.flags.keys()].find((flag) => !known.has(flag));
  if (foreign !== undefined) {
    const other = when === undefined ? "these arguments" : `--${when}`;
    throw new UsageError(`--${foreign}: cannot be used together with ${other}`);
  }
  const count = operation.cli.arguments?.length ?? 0;
  const extra = raw.args.findIndex((word, at) => at >= count && word !== undefined);
  if (extra < 0) return;
  throw new UsageError(`${raw.args[extra]}: expected no argument beside --${when}`);
}

/** The value of a field; one that is a document is read from the file it names. */
async function fieldValue(
  field: Field,
  raw: unknown,
  shown: string,
  host: Streams,
): Promise<unknown> {
  if (field.syntax !== "file") return readValue(field, raw, shown);
  return readValue(field, await fileText(String(raw), shown, host), shown);
}

/** What an argument takes of the words in its place: all of them, as one text or as a list, or the first. */
function wordsFor(
  spec: ArgumentSpec,
  given: RawCommand["args"][number],
): RawCommand["args"][number] {
  if ("rest" in spec) return given;
  if (spec.words !== true || typeof given === "string" || given === undefined) return oneOf(given);
  return given.length === 0 ? undefined : given.join(" ");
}

/** The one word of an argument that shares its place with one that takes many. */
function oneOf(given: RawCommand["args"][number]): string | undefined {
  return typeof given === "string" || given === undefined ? given : given[0];
}

function oneWord(given: RawCommand["args"][number]): string | undefined {
  return typeof given === "string" ? given : undefined;
}

async function bodyText(
  spec: Extract<ArgumentSpec, { readonly body: string }>,
  text: string | undefined,
  host: Streams,
): Promise<string | undefined> {
  if (text === "-") return host.readStdin();
  if (spec.file !== true) return text;
  if (text === undefined) {
    // Without an argument a file is expected on stdin, but nobody types one into a terminal.
    return host.stdinIsTerminal ? undefined : host.readStdin();
  }
  return fileText(text, spec.label, host);
}

async function fileText(path: string, shown: string, host: Streams): Promise<string> {
  if (path === "-") return host.readStdin();
  try {
    return host.readFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${shown}: cannot read ${path}: ${why}`);
  }
}

function requireAll(operation: Operation, input: Readonly<Record<string, unknown>>): void {
  const missing = fieldsOf(operation).find(
    ({ name, required }) => required && input[name] === undefined,
  );
  if (missing === undefined) return;
  const spec = operation.cli.arguments?.find((one) =>
    "body" in one ? missing.name === one.body : one.field === missing.name,
  );
  const hasFlag = flagFields(operation).some(({ name }) => name === missing.name);
  const shown = hasFlag ? `--${missing.flag}` : (spec?.label ?? missing.name);
  throw new UsageError(`${shown}: expected ${missing.about}, got nothing`);
}

/** The fields that have flags: those that are neither required arguments nor bodies. */
export function flagFields(operation: Operation): readonly Field[] {
  const { arguments: positional = [], assign } = operation.cli;
  if (assign !== undefined) return [];
  const taken = new Set(
    positional.flatMap((one) =>
      "body" in one ? (BODY_FIELDS[one.body] ?? []) : one.optional === true ? [] : [one.field],
    ),
  );
  return fieldsOf(operation).filter(({ name }) => !taken.has(name));
}

/** Fields that only a body can give. */
const BODY_FIELDS: { readonly [body: string]: readonly string[] } = {
  turns: ["turns"],
  items: ["items"],
  state: ["state"],
};

/** The label of a flag's value in help. */
export function placeholder(field: Field): string {
  switch (field.syntax) {
    case "number":
      return "N";
    case "position":
      return "T";
    case "time":
      return "TIME";
    case "json":
      return "JSON";
    case "pairs":
      return "KEY=VALUE";
    case "file":
      return "FILE";
    case "list":
      return field.numbers ? "N" : "TEXT";
    case "choice":
      return "WORD";
    default:
      return "TEXT";
  }
}

/** The value that a flag's or argument's text stands for; `shown` is how messages call it. */
export function readValue(field: Field, raw: unknown, shown: string): unknown {
  const value = parseValue(field, raw, shown);
  const parsed = field.schema.safeParse(value);
  if (parsed.success) return value;
  const [issue] = parsed.error.issues;
  const expected = issue === undefined ? "another value" : expectedOf(issue);
  // Of a list the item that is wrong is told, as it was typed.
  const [at] = issue?.path ?? [];
  const wrong = Array.isArray(raw) && typeof at === "number" ? raw[at] : raw;
  throw new UsageError(
    `${shown}: expected ${expected}, got ${describe(wrong)}`,
    codeIn(field.schema),
  );
}

/** `key=value` texts as fields; lists are separated by commas. */
export function readAssignments(
  fields: readonly Field[],
  texts: readonly string[],
  flag: string,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    const key = at < 0 ? text : text.slice(0, at);
    const field = fields.find(({ name, flag: own }) => name === key || own === key);
    if (at < 0 || field === undefined) {
      const known = fields.map(({ name }) => name).join(", ");
      throw new UsageError(
        `--${flag}: expected key=value with one of ${known}, got ${describe(text)}`,
        at < 0 ? "ERR_INVALID" : "ERR_UNKNOWN_FIELD",
      );
    }
    const raw = text.slice(at + 1);
    const list = raw === "" ? [] : raw.split(",").map((item) => item.trim());
    found[field.name] = readValue(field, field.syntax === "list" ? list : raw, `--${flag} ${key}`);
  }
  return found;
}
