/**
 * The command `cortex` itself, without the commands below it: what it says about itself, its own flags and
 * the way every command of it prints. It loads neither the engine nor the table of operations, so that
 * the front page, which needs no more than this, costs next to nothing.
 *
 * The front page: what `cortex --help` prints. It is made from a list of the commands instead of the
 * commands themselves, because those need the engine, whose modules take ten times as long to load as the
 * page takes to print.
 *
 * Promise: the same text as the whole program would print, whatever the width of the terminal. A test
 * compares the two.
 */
import { type Argument, Command, type CommanderError, Option } from "commander";
import { UsageError } from "../error-status.js";
import { packageVersion } from "../version.js";
import { COMMAND_LIST } from "./command-list.js";

/** Where help and complaints go. */
export interface ProgramOutput {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** The heading of the flags that every command takes. */
export const EVERY_COMMAND = "Every command:";

/** What people see first. */
const ABOUT = `A verifiable memory graph for AI agents, from a shell.

The store is --data, else CORTEX_DATA, else ./.cortex if it exists, else your data folder.`;

const AFTER = `
Exit codes: 0 done, 1 failed, 2 used wrongly. \`cortex COMMAND --help\` explains one command.
Start with \`cortex demo\`.`;

/** The program, which has no commands yet. */
export function rootCommand(output: ProgramOutput): Command {
  const program = new Command("cortex")
    .description(ABOUT)
    .addHelpText("after", AFTER)
    .version(packageVersion(), "-V, --version", "print the version")
    .helpCommand("help [command]", "explain a command")
    .enablePositionalOptions();
  prepare(program, output);
  return program;
}

/** Makes a command print to the output, and throw commander's own errors instead of ending the process. */
export function prepare(command: Command, output: ProgramOutput): void {
  command
    .exitOverride((error) => {
      throw inOurWords(command, error);
    })
    .configureOutput({ writeOut: output.out, writeErr: output.err, outputError: () => {} })
    .configureHelp({ subcommandTerm: termOf })
    .helpOption("-h, --help", "explain");
}

/** A line that commander refuses, refused as everything else is: the name, what was expected, what came. */
function inOurWords(command: Command, error: CommanderError): Error {
  const name = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  if (error.code === "commander.missingArgument") {
    const missing = command.registeredArguments.find((one) => one.name() === name);
    const about = oneOf(missing?.argChoices) ?? missing?.description;
    return new UsageError(`${name}: expected ${about || "a value"}, got nothing`);
  }
  if (error.code === "commander.invalidArgument") return notAChoice(command, error) ?? error;
  if (error.code === "commander.optionMissingArgument") {
    const about = command.options.find((one) => one.flags === name)?.description;
    return new UsageError(`${name.split(" ")[0]}: expected ${about || "a value"}, got nothing`);
  }
  return error;
}

/** A value that is none of the choices of its argument or flag. */
function notAChoice(command: Command, { message }: CommanderError): Error | undefined {
  const [, word, label] = /value '(.*)' is invalid for argument '([^']*)'/s.exec(message) ?? [];
  const argument = command.registeredArguments.find((one) => one.name() === label);
  const [, flags, value] = /option '([^']*)' argument '(.*)' is invalid/s.exec(message) ?? [];
  const option = command.options.find((one) => one.flags === flags);
  const expected = oneOf(argument?.argChoices ?? option?.argChoices);
  if (expected === undefined) return undefined;
  return new UsageError(`${label ?? option?.long}: expected ${expected}, got "${word ?? value}"`);
}

function oneOf(choices: readonly string[] | undefined): string | undefined {
  return choices === undefined ? undefined : `one of ${choices.join(", ")}`;
}

/** A command in a list: its name, and its arguments or the words that may follow; a mere group has no summary. */
function termOf(command: Command): string {
  const names = command.commands.map((one) => one.name()).join("|");
  const words = names === "" || command.summary() === "" ? names : `[${names}]`;
  const args = command.registeredArguments.map((one) =>
    one.required ? showArgument(one) : `[${showArgument(one)}]`,
  );
  return [command.name(), ...(words === "" ? args : [words])].join(" ");
}

function showArgument(argument: Argument): string {
  return argument.variadic ? `${argument.name()}...` : argument.name();
}

/** The page; `outputHelp` prints it. */
export function frontPage(output: ProgramOutput): Command {
  const program = rootCommand(output);
  for (const { heading, term, about } of listed(COMMAND_LIST)) {
    if (heading === EVERY_COMMAND) program.addOption(new Option(term, about).helpGroup(heading));
    else program.addCommand(new Command(term).summary(about).helpGroup(heading));
  }
  return program;
}

interface Listed {
  readonly heading: string;
  readonly term: string;
  readonly about: string;
}

/** Headings stand at the start of a line; below them, indented, a term, a colon and what it is about. */
function listed(list: string): readonly Listed[] {
  let heading = "";
  return list.split("\n").flatMap((line) => {
    const [, term, about] = /^ {2}(.+?): (.+)$/.exec(line) ?? [];
    if (term !== undefined && about !== undefined) return [{ heading, term, about }];
    heading = line;
    return [];
  });
}
