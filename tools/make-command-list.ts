/**
 * The list of commands that the front page of `cortex` is printed from, made from the program itself, so
 * that the page cannot say anything else. Pure; the test of the reference pages compares the file, and
 * rewrites it on request.
 */
import { buildProgram, OPERATIONS } from "../packages/server/src/index.js";

const HEADER = `/**
 * The flags and commands that the front page lists. This file is generated from the tables of the program;
 * edit those. It stands for them where loading them would cost more than all the rest.
 */

/** Headings, and below each of them what it is about: a term, a colon, a few words. */`;

const nothing = async (): Promise<void> => {};

/** The text of `packages/server/src/cli/command-list.ts`. */
export function commandListFile(): string {
  const runner = {
    operation: nothing,
    demo: nothing,
    bench: nothing,
    mcp: nothing,
    mcpConfig: nothing,
    serve: nothing,
  };
  const program = buildProgram(OPERATIONS, runner, { out: () => {}, err: () => {} });
  const help = program.createHelp();
  Object.assign(help, program.configureHelp());
  const rows = [
    ...program.options.map((one) => ({
      heading: one.helpGroupHeading ?? "",
      row: `  ${one.flags}: ${one.description}`,
    })),
    ...program.commands.map((one) => ({
      heading: one.helpGroup(),
      row: `  ${help.subcommandTerm(one)}: ${one.summary() || one.description()}`,
    })),
  ];
  // The flags without a heading are those of the program itself, which the page has anyway.
  const headings = [...new Set(rows.map(({ heading }) => heading))].filter((one) => one !== "");
  const lines = headings.flatMap((heading) => [
    heading,
    ...rows.filter((one) => one.heading === heading).map(({ row }) => row),
  ]);
  const text = lines.join("\n").replaceAll(/[\\`]|\$\{/g, "\\$&");
  return `${HEADER}\nexport const COMMAND_LIST = \`${text}\`;\n`;
}
