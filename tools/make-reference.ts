/**
 * The reference pages, rendered from the tables of operations, settings and errors, so that they
 * cannot say anything else. Pure; the test of the pages compares them, and rewrites them on request.
 */
import { ERROR_CODES, type ErrorCode } from "@cortex-memory/core";
import * as z from "zod";
import {
  type ArgumentSpec,
  commandsOf,
  ERROR_STATUS,
  FAMILIES,
  type Field,
  fieldsOf,
  flagFields,
  GROUPS,
  INTERNAL_CODE,
  OPERATIONS,
  type Operation,
  placeholder,
  SETTINGS,
} from "../packages/server/src/index.js";

/** A page and where it belongs. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** Every generated page. */
export function referencePages(): readonly Page[] {
  return [
    { path: "docs/reference/cli.md", text: commandLinePage() },
    { path: "docs/reference/errors.md", text: errorPage() },
  ];
}

const MADE = "This page is generated from the tables of the program; edit those.";

function commandLinePage(): string {
  const commands = [...commandsOf(OPERATIONS)];
  const groups = Object.entries(GROUPS).map(([group, heading]) => {
    const own = commands.filter(([, shared]) => shared[0]?.cli.group === group);
    const sections = own.map(([words, shared]) => commandSection(words, shared));
    return [`## ${heading}`, ...sections, ...(group === "store" ? [DEMO] : [])].join("\n\n");
  });
  return `${[INTRODUCTION, settingsTable(), RULES, ...groups].join("\n\n")}\n`;
}

const INTRODUCTION = `# The command line

${MADE} \`cortex --help\` and
\`cortex COMMAND --help\` say the same in a terminal.`;

const RULES = `\`--json\` prints one JSON document on stdout. A failure is \`{ "error": { "code", "message" } }\`, alone on
stderr; the codes are on the [page of errors](errors.md). Without \`--json\` the output is for people and
may change; colour is used on a terminal only, and not where \`NO_COLOR\` is set.

| exit | meaning |
|---|---|
| 0 | done |
| 1 | failed, or a check that found something |
| 2 | used wrongly: an unknown command or flag, a missing argument, a bad value |

\`ID\` is an id, a URI or an external id. \`T\` is a seq (digits) or an ISO time. \`TIME\` is an ISO time or
milliseconds. \`-\` reads stdin, or is stdout where a file is written; the answer then goes to stderr. Only
what writes makes a new store; a read where there is none fails. Files that are written are private (mode
0600), and a name holds a complete file or none.`;

const DEMO = `### cortex demo

Show what it does, on a small graph of its own: a conversation, a slot that changes, a person with wishes
and a rule, a walk, a proof, a forget with the proof still standing, a vacuum, a rebuild, the past and a
check. It works in a temporary folder that it removes, unless \`--data\` names a store to keep.

\`\`\`sh
cortex demo
\`\`\``;

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map(
    ({ flag, variable, otherwise, meaning }) =>
      `| \`${flag}\` | \`${variable}\` | ${otherwise} | ${meaning} |`,
  );
  return ["| flag | variable | otherwise | what |", "|---|---|---|---|", ...rows].join("\n");
}

function commandSection(words: string, shared: readonly Operation[]): string {
  const [first] = shared;
  if (first === undefined) throw new Error(`the command ${words} has no operation`);
  if (first.cli.alias === words) {
    return `### cortex ${words}\n\nThe same as \`cortex ${first.cli.command}\`.`;
  }
  return [
    `### cortex ${words}`,
    ...shared.map((operation) => operationText(words, operation)),
  ].join("\n\n");
}

function operationText(words: string, operation: Operation): string {
  const { summary, help, example, cli } = operation;
  const positional = (cli.arguments ?? []).map((one) =>
    "body" in one || one.optional === true ? `[${labelOf(one)}]` : labelOf(one),
  );
  const when = cli.when === undefined ? [] : [`--${cli.when} …`];
  const usage = ["cortex", words, ...positional, ...when].join(" ");
  return [
    `\`${usage}\``,
    `${summary}. ${help.replaceAll("\n", " ")}`,
    ...fieldTable(operation),
    `\`\`\`sh\n${example}\n\`\`\``,
    `Answers ${members(operation.output)}`,
  ].join("\n\n");
}

function labelOf(one: ArgumentSpec): string {
  return "rest" in one ? `${one.label}...` : one.label;
}

function fieldTable(operation: Operation): readonly string[] {
  const flags = flagFields(operation);
  const assigned = operation.cli.assign === undefined ? [] : fieldsOf(operation);
  const rows = [
    ...flags.map((field) => `| \`${flagText(field)}\` | ${cell(described(field))} |`),
    ...assigned.map(
      (field) => `| \`--${operation.cli.assign} ${field.name}=…\` | ${cell(described(field))} |`,
    ),
  ];
  return rows.length === 0 ? [] : [["| flag | what |", "|---|---|", ...rows].join("\n")];
}

function flagText(field: Field): string {
  if (field.syntax === "switch") return `--${field.sets ? "" : "no-"}${field.flag}`;
  return `--${field.flag} ${placeholder(field)}`;
}

function described(field: Field): string {
  const known = field.description.includes(field.choices.join(", "));
  const words = field.choices.length === 0 || known ? "" : ` (${field.choices.join(", ")})`;
  return `${field.description}${words}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

interface JsonSchema {
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
}

/** The members of an answer; a question mark follows those that may be absent. */
function members(output: z.ZodType): string {
  const schema = z.toJSONSchema(output, { unrepresentable: "any", io: "input" }) as JsonSchema;
  const required = new Set(schema.required ?? []);
  const names = Object.keys(schema.properties ?? {});
  return `\`{ ${names.map((name) => (required.has(name) ? name : `${name}?`)).join(", ")} }\``;
}

function errorPage(): string {
  const families = Object.entries(FAMILIES).map(([family, meaning]) => {
    const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
      (code) => ERROR_STATUS[code].family === family,
    );
    const rows = codes.map(
      (code) => `| \`${code}\` | ${ERROR_STATUS[code].exit} | ${cell(ERROR_CODES[code])} |`,
    );
    const table = ["| code | exit | what happened |", "|---|---|---|", ...rows].join("\n");
    return `## ${family[0]?.toUpperCase()}${family.slice(1)}\n\n${meaning}\n\n${table}`;
  });
  return `# Error codes

${MADE}

Every expected failure is a \`CortexError\` with one of these codes. Codes are stable within a major
version, messages are not. The exit code is the command line's; what the command line itself refuses exits
with 2, whatever the code. \`${INTERNAL_CODE}\` is printed for a fault of Cortex itself, which carries no code.

${families.join("\n\n")}
`;
}
