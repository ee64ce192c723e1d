/**
 * Carrying a command line out, from words to an exit code: settings, store, operation, answer.
 *
 * Promise: stdout holds the answer and nothing else, under `--json` exactly one document, or one a line
 * from an operation that goes on answering; stderr
 * holds the path in use, progress and failures, and under `--json` a failure is the one document
 * there. Exit 0 done, 1 failed, 2 used wrongly. Stores are closed whatever happens.
 */
import { CortexError, isCortexError } from "@cortex-memory/core";
import { renamed } from "@cortex-memory/core/contract";
import { examineStore, throughDoor } from "@cortex-memory/core/doors";
import { type Command, CommanderError } from "commander";
import {
  isAddress,
  isServerAddress,
  type Settings,
  serveSettingsFor,
  serviceSettingsFor,
  settingsFor,
  shownLocation,
  shownSettings,
} from "../config.js";
import { ERROR_STATUS, INTERNAL_CODE, UsageError } from "../error-status.js";
import type { CallContext, Operation } from "../operations/define.js";
import { startProgress } from "../progress.js";
import { clean, makeInk, outline, wantsColour } from "../render/ink.js";
import { commandFiles, printStream } from "./files.js";
import type { Host } from "./host.js";
import {
  chooseOperation,
  flagFields,
  isUnconditional,
  readInput,
  typedName,
  wordsOf,
} from "./input.js";
import { askElsewhere, openFor, tokenFor } from "./open-store.js";
import { buildProgram, type RawCommand } from "./program.js";

/** Runs one command line; the result is the exit code. */
export async function runCli(host: Host, given?: readonly Operation[]): Promise<number> {
  let exit = 0;
  const operations = given ?? (await operationsFor(host));
  const program = buildProgram(
    operations,
    {
      operation: async (shared, raw) => {
        exit = await runOperation(host, shared, raw);
      },
      // What one command alone needs is loaded for that command alone.
      demo: async (globals) => {
        const { runDemo } = await import("./demo.js");
        exit = await runDemo(host, globals);
      },
      bench: async (globals, size) => {
        const { runBench } = await import("./bench.js");
        exit = await runBench(host, globals, size);
      },
      mcp: async (globals, flags) => {
        const { runMcp } = await import("./mcp.js");
        exit = await runMcp(host, globals, flags);
      },
      mcpConfig: async (globals, what) => {
        const { runMcpConfig } = await import("./mcp.js");
        exit = runMcpConfig(host, globals, what);
      },
      serve: async (globals, flags) => {
        const { runServe } = await import("./serve.js");
        exit = await runServe(host, globals, flags, operations);
      },
    },
    { out: (text) => host.out.write(text), err: (text) => host.err.write(text) },
  );
  try {
    assertHelpOfCommand(program, host.args);
    await program.parseAsync([...host.args], { from: "user" });
    return exit;
  } catch (error) {
    return reportFailure(host, error, operations);
  }
}

/** Help for a word that is no command would be the front page, from which nobody sees what was wrong. */
function assertHelpOfCommand(program: Command, [first, word]: readonly string[]): void {
  if (first !== "help" || word === undefined || word.startsWith("-") || word === "help") return;
  if (program.commands.some((one) => one.name() === word)) return;
  throw new UsageError(`unknown command '${word}'`);
}

/** The operations that a line may be about: none for the server of an agent, which has tools of its own. */
async function operationsFor({ args }: Host): Promise<readonly Operation[]> {
  if (args[0] === "mcp") return [];
  const { OPERATIONS } = await import("../operations.js");
  return OPERATIONS;
}

async function runOperation(
  host: Host,
  shared: readonly Operation[],
  raw: RawCommand,
): Promise<number> {
  const { globals } = raw;
  const operation = chooseOperation(shared, raw, host);
  const input = await readInput(operation, raw, host);
  const settings = settingsFor(globals, host);
  const json = globals.json === true;
  const usesStore = operation.cli.store !== "none";
  if (operation.name === "check" || operation.name === "scrub") {
    const exit = await checkApart(host, operation, { settings, json });
    if (exit !== undefined) return exit;
  }
  if (usesStore && !json) announce(host, settings);
  const files = commandFiles(host);
  let answer: unknown;
  try {
    const serve = Object.values(serveSettingsFor({}, host));
    const services = Object.values(serviceSettingsFor(host));
    const shown = shownSettings([settings.data, settings.actor, ...services, ...serve]);
    const context = { access: throughDoor("command"), files, settings: shown };
    answer = await perform(host, operation, { settings, json, input, context });
  } catch (error) {
    throw notABackupEither(shared, operation, raw, asTyped(operation, raw, error));
  }
  // Under --json the line waits, so that a failure is alone on stderr; so is the answer beside a file.
  if (usesStore && json && !files.tookOut()) announce(host, settings);
  if (operation.stream !== undefined) return 0;
  warn(host, answer);
  printAnswer(files.tookOut() ? { ...host, out: host.err } : host, operation, answer, json);
  if (hasFailed(answer)) return 1;
  return isPartial(answer) ? LEFT_SOME_OUT : 0;
}

/** Says to the process that it is the one that was started for a check, or a scrub. */
const CHECK_APART = "CORTEX_CHECK_APART";

/**
 * A check or a scrub in a process of its own, so that even an end by the storage engine is a verdict; `undefined`
 * where this process is to do it. The files are looked at first, without opening them.
 */
async function checkApart(
  host: Host,
  operation: Operation,
  { settings, json }: Pick<Task, "settings" | "json">,
): Promise<number | undefined> {
  const { data, actor } = settings;
  const isFolder = !isAddress(data.value) && data.value !== "" && data.value !== "memory:";
  if (!isFolder || host.env[CHECK_APART] !== undefined) return undefined;
  const judged = (messages: readonly string[]): number => {
    const problems = messages.map((message) => ({ code: "ERR_CORRUPT", message }));
    const verdict = { ok: false, entries: 0, problems, seq: -1 };
    const read = { memories: 0, edges: 0, more: 0, complete: false };
    printAnswer(
      host,
      operation,
      operation.name === "scrub" ? { ...verdict, ...read } : verdict,
      json,
    );
    return 1;
  };
  const found = await examineStore(data.value, actor.value);
  if (found.length > 0) return judged(found);
  const ended = await host.again?.({ [CHECK_APART]: "1" });
  if (typeof ended !== "string") return ended;
  const place = `the file of actor ${actor.value} in ${data.value}`;
  return judged([
    `the storage engine ended the ${operation.name} with ${ended}: ${place} is damaged`,
  ]);
}

interface Task {
  readonly settings: Settings;
  readonly json: boolean;
  readonly input: Readonly<Record<string, unknown>>;
  readonly context: Pick<CallContext, "access" | "files" | "settings">;
}

async function perform(host: Host, operation: Operation, task: Task): Promise<unknown> {
  const { settings } = task;
  const memory = await openFor(operation, settings, host);
  const work = { label: operation.cli.command, unit: operation.cli.unit ?? "entries" };
  const progress = startProgress(work, quietUnderJson(host, task.json), host.nowMs);
  const forget = onBreak(host, operation, progress.end);
  try {
    const context = {
      ...task.context,
      location: settings.data.value,
      actor: settings.actor.value,
      onProgress: progress.report,
      serverToken: () => tokenFor(host),
    };
    const { input, json } = task;
    if (operation.stream === undefined) {
      const isElsewhere = operation.place === "openHub" && isServerAddress(context.location);
      const answer = isElsewhere
        ? await askElsewhere(operation, context.location, input, host)
        : await operation.run(memory, input, context);
      progress.finish();
      return answer;
    }
    const onItem = progress.end;
    const stream = { memory, input, context, json, onItem };
    return await printStream(host, operation, operation.stream, stream);
  } finally {
    forget();
    progress.end();
    await memory.close();
  }
}

/** A failure of the library in the words of the command line: fields by their flags or arguments' labels. */
function asTyped(operation: Operation, raw: RawCommand, error: unknown): unknown {
  if (!isCortexError(error)) return error;
  const own = renamed(error, (name) => typedName(operation, raw, name));
  // What else it names are fields to give or to leave out; those of two words are recognised by their capital.
  const flags = new Map(flagFields(operation).map(({ name, flag }) => [name, `--${flag}`]));
  const message = own.message.replace(
    /(?<![\w.-])[a-z]+[A-Z]\w*(?![\w.[])/g,
    (name) => flags.get(name) ?? name,
  );
  return new CortexError(own.code, message, own.details, own.cause);
}

/** The exit code of a process that somebody broke off. */
const BROKEN_OFF = 130;

/** Ctrl-C while one answer is worked for: says what is kept and how to go on, and ends the process. */
function onBreak(host: Host, operation: Operation, wipe: () => void): () => void {
  // What goes on answering ends by itself when it is asked to.
  if (operation.stream !== undefined || operation.place === "follow") return () => {};
  return host.onInterrupt(() => {
    wipe();
    host.err.write(`cortex: broken off. ${operation.cli.broken ?? brokenOff(operation)}\n`);
    host.exit(BROKEN_OFF);
  });
}

function brokenOff({ kind, cli }: Operation): string {
  if (kind === "read") return "Nothing was being changed.";
  return `What was committed is kept, and nothing is half done; cortex ${cli.command} may be run again.`;
}

/** A word that is no memory may have been meant as a file: the failure says that it is none. */
function notABackupEither(
  shared: readonly Operation[],
  operation: Operation,
  raw: RawCommand,
  error: unknown,
): unknown {
  const takesBackups = shared.some(({ cli }) => cli.whenBackups === true);
  const isMissing = isCortexError(error, "ERR_NOT_FOUND") && isUnconditional(operation);
  if (!takesBackups || !isMissing) return error;
  const message = `${error.message}; nor is ${wordsOf(raw).join(" ")} a backup file`;
  return new CortexError(error.code, message, error.details, error);
}

/** What must not be overlooked, whoever reads the answer. */
function warn(host: Host, answer: unknown): void {
  if (typeof answer !== "object" || answer === null || !("warning" in answer)) return;
  const ink = makeInk(wantsColour(host.err, host.env));
  host.err.write(`${ink.bold(ink.red("WARNING:"))} ${clean(String(answer.warning))}\n`);
}

function announce(host: Host, { data, actor }: Settings): void {
  const ink = makeInk(wantsColour(host.err, host.env));
  host.err.write(
    `${ink.dim(`cortex: ${clean(shownLocation(data.value))}, actor ${clean(actor.value)}`)}\n`,
  );
}

/** Scripts that read stderr as JSON get no lines of progress in between. */
function quietUnderJson(host: Host, json: boolean): Host["err"] {
  if (!json || host.err.isTerminal) return host.err;
  return { ...host.err, write: () => {} };
}

function printAnswer(host: Host, operation: Operation, answer: unknown, json: boolean): void {
  if (json) {
    host.out.write(`${JSON.stringify(answer, null, 2)}\n`);
    return;
  }
  const ink = makeInk(wantsColour(host.out, host.env));
  const text = operation.cli.human?.(answer, ink) ?? outline(answer, ink);
  host.out.write(`${text}\n`);
}

/** Answers of checks say themselves whether all is well. */
function hasFailed(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "ok" in answer && answer.ok === false;
}

/** The exit code of a command that did what it could, and had to leave something out. */
const LEFT_SOME_OUT = 3;

function isPartial(answer: unknown): boolean {
  return (
    typeof answer === "object" && answer !== null && "partial" in answer && answer.partial === true
  );
}

/** Says what went wrong, in the form that was asked for; the result is the exit code. */
function reportFailure(host: Host, error: unknown, operations: readonly Operation[]): number {
  const failure = failureOf(error);
  if (failure.silent === true) return failure.exit;
  if (asksForJson(host.args)) {
    const { code, message } = failure;
    host.err.write(`${JSON.stringify({ error: { code, message } })}\n`);
    return failure.exit;
  }
  const ink = makeInk(wantsColour(host.err, host.env));
  const code = failure.exit === 2 ? "" : ` ${ink.dim(failure.code)}`;
  host.err.write(`${ink.red("error:")} ${clean(failure.message)}${code}\n`);
  if (failure.exit === 2) host.err.write(`${ink.dim(`try: ${helpFor(host.args, operations)}`)}\n`);
  return failure.exit;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly exit: number;
  /** Help or the version was asked for and has been printed. */
  readonly silent?: boolean;
}

function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, "");
    if (error.exitCode === 0) return { code: "", message, exit: 0, silent: true };
    const unknown = error.code === "commander.unknownOption";
    const code = unknown ? "ERR_UNKNOWN_FIELD" : "ERR_INVALID";
    return { code, message, exit: 2, silent: error.code === "commander.help" };
  }
  if (error instanceof UsageError) return { code: error.code, message: error.message, exit: 2 };
  if (isCortexError(error)) {
    return { code: error.code, message: error.message, exit: ERROR_STATUS[error.code].exit };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: INTERNAL_CODE, message: `a fault of cortex itself: ${message}`, exit: 1 };
}

/** Whether `--json` stands on the line, also where the line could not be parsed. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).includes("--json");
}

/** Commands that are no operations. */
const OWN_COMMANDS: readonly string[] = ["bench", "completion", "demo", "mcp", "serve"];

/** The help that would have shown the way. */
function helpFor(args: readonly string[], operations: readonly Operation[]): string {
  const named = args.filter((word) => /^[a-z][a-z-]*$/.test(word));
  const known = new Set(operations.flatMap(({ cli }) => [cli.command, cli.alias ?? []].flat()));
  const two = named.slice(0, 2).join(" ");
  if (known.has(two)) return `cortex ${two} --help`;
  const one = named[0] ?? "";
  const isCommand =
    [...known].some((command) => command.split(" ")[0] === one) || OWN_COMMANDS.includes(one);
  return isCommand ? `cortex ${one} --help` : "cortex --help";
}
