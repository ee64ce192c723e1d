/**
 * From what was written on the command line to the input of an operation: which of the operations
 * that share a command is meant, bodies and stdin read, flags over bodies, nothing required missing.
 */
import type { ArgumentSpec, Operation } from "../operations/define.js";
import { readBody, withoutLastBreak } from "./bodies.js";
import { type Field, fieldsOf, flagFields, readAssignments, readValue } from "./fields.js";
import type { Host } from "./host.js";
import type { RawCommand } from "./program.js";
import { UsageError } from "./usage.js";

type Streams = Pick<Host, "readStdin" | "readFile" | "stdinIsTerminal">;

/** The operation that is meant: one whose flag was given, else the one without such a flag. */
export function chooseOperation(operations: readonly Operation[], raw: RawCommand): Operation {
  const meant =
    operations.find(({ cli }) => cli.when !== undefined && raw.flags.has(cli.when)) ??
    operations.find(({ cli }) => cli.when === undefined);
  if (meant === undefined) throw new Error("a command has only operations that ask for a flag");
  return meant;
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
    const given = raw.args[at];
    if ("body" in spec) {
      const body = await bodyText(spec, oneWord(given), host);
      if (body !== undefined) Object.assign(input, readBody(spec.body, body, spec.label));
      continue;
    }
    if (given === undefined || given.length === 0) continue;
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
    ...["data", "actor", "json"],
  ]);
  const foreign = [...raw.flags.keys()].find((flag) => !known.has(flag));
  if (foreign !== undefined) {
    throw new UsageError(`--${foreign}: cannot be used together with --${operation.cli.when}`);
  }
  const count = operation.cli.arguments?.length ?? 0;
  const extra = raw.args.findIndex((word, at) => at >= count && word !== undefined);
  if (extra < 0) return;
  throw new UsageError(`${raw.args[extra]}: expected no argument beside --${operation.cli.when}`);
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
  throw new UsageError(`${shown}: missing: ${missing.description}`);
}
