/**
 * The front page: what `cortex --help` prints. It is made from a list of the commands instead of the
 * commands themselves, because those need the engine, whose modules take ten times as long to load as the
 * page takes to print.
 *
 * Promise: the same text as the whole program would print, whatever the width of the terminal. A test
 * compares the two.
 */
import { Command, Option } from "commander";
import { COMMAND_LIST } from "./command-list.js";
import { EVERY_COMMAND, type ProgramOutput, rootCommand } from "./root.js";

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
