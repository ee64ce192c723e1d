/**
 * The reference pages, rendered from the tables of operations, settings and errors, so that they
 * cannot say anything else. Pure; the test of the pages compares them, and rewrites them on request.
 */
import { ERROR_CODES, type ErrorCode } from "@cortex-memory/core";
import * as z from "zod";
import {
  type ArgumentSpec,
  BENCH_SIZE,
  CLIENTS,
  commandsOf,
  ERROR_STATUS,
  FAMILIES,
  type Field,
  fieldsOf,
  flagFields,
  GROUPS,
  INTERNAL_CODE,
  JOBS_SETTINGS,
  OPERATIONS,
  type Operation,
  placeholder,
  SERVE_SETTINGS,
  SERVICE_SETTINGS,
  SETTINGS,
  type ServeSettingSpec,
} from "../packages/server/src/index.js";
import { commandListFile } from "./make-command-list.js";
import { libraryPage } from "./make-library-reference.js";
import { mcpPage } from "./make-mcp-reference.js";
import { restPage } from "./make-rest-reference.js";

/** A page and where it belongs. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** Every generated page, and the one generated file of the program. */
export function referencePages(): readonly Page[] {
  return [
    { path: "docs/reference/cli.md", text: commandLinePage() },
    { path: "docs/reference/errors.md", text: errorPage() },
    { path: "docs/reference/library.md", text: libraryPage() },
    { path: "docs/reference/mcp.md", text: mcpPage(MADE) },
    { path: "docs/reference/rest.md", text: restPage(MADE) },
    { path: "packages/server/src/cli/command-list.ts", text: commandListFile() },
  ];
}

const MADE = "This page is generated from the tables of the program; edit those.";

function commandLinePage(): string {
  const commands = [...commandsOf(OPERATIONS)];
  const groups = Object.entries(GROUPS).map(([group, heading]) => {
    const own = commands.filter(([, shared]) => shared[0]?.cli.group === group);
    const sections = own.map(([words, shared]) => commandSection(words, shared));
    return [
      `## ${heading}`,
      ...sections,
      ...(group === "store" ? [serveSection(), MCP, DEMO, BENCH] : []),
    ].join("\n\n");
  });
  const tables = [settingsTable(), serviceTable(), jobsTable()];
  return `${[INTRODUCTION, ...tables, RULES, ...groups].join("\n\n")}\n`;
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

function serveSection(): string {
  const rows = Object.values<ServeSettingSpec>(SERVE_SETTINGS).map(
    ({ flag, variable, standard, meaning, compat }) => {
      const quoted = (name: string | undefined) => (name ? `\`${name}\`` : "");
      const own = compat?.variable === undefined ? "" : `, ${quoted(compat.variable)}*`;
      const value = compat?.standard === undefined ? standard : `${standard}, ${compat.standard}*`;
      return `| ${quoted(flag)} | ${quoted(variable)}${own} | ${value} | ${meaning} |`;
    },
  );
  return `### cortex serve

Serve every store of the data folder over HTTP until it is interrupted: [REST](../rest.md) for every operation,
MCP, health and metrics. Without a token it listens on a loopback address only. The first signal stops it
after what it accepted is answered, the second at once. \`--json\` prints the addresses as one document.

${["| flag | variable | otherwise | what |", "|---|---|---|---|", ...rows].join("\n")}

What is marked with * counts under \`--compat memgraph\` alone; [switching over](../memgraph.md#switching-over) says more.

\`\`\`sh
cortex serve --port 7777
\`\`\``;
}

const MCP = `### cortex mcp

Serve the store to an agent: the Model Context Protocol on stdin and stdout, until stdin ends. Makes the store
if there is none. \`--profile full\` shows every operation as a tool, not only what an agent needs; the
[page of tools](mcp.md) lists both. With \`--profile memgraph\`, \`--sqlite FILE\` imports a file of memgraph
once, at the first start.

\`\`\`sh
cortex mcp --actor ada
\`\`\`

### cortex mcp config

\`cortex mcp config CLIENT\`

Print the block that makes a client start this server, with absolute paths, as JSON. The client is one of
${Object.keys(CLIENTS)
  .map((name) => `\`${name}\``)
  .join(", ")}. \`--npx\` starts it through npx instead of by path, once the package is published.

\`\`\`sh
cortex mcp config vscode --actor ada
\`\`\``;

const DEMO = `### cortex demo

Show what it does, on a small graph of its own: a conversation, a slot that changes, a person with wishes
and a rule, a walk, a proof, a forget with the proof still standing, a vacuum, a rebuild, the past and a
check. It works in a temporary folder that it removes, unless \`--data\` names a store to keep.

\`\`\`sh
cortex demo
\`\`\``;

const BENCH = `### cortex bench

Measure this machine: made-up memories are written one by one, many at once and in batches, every write
waiting for the disk, then read, searched and recalled. It works in a temporary folder that it removes;
\`TMPDIR\` says where, and \`--data\` is refused. Times are of single calls, in milliseconds.

| flag | what |
|---|---|
| \`--size N\` | memories to write; ${BENCH_SIZE} when not given |

\`\`\`sh
cortex bench --size 20000
\`\`\`

Answers \`{ version, machine, size, durable, folder, inMemory, storeBytes, steps }\``;

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map(
    ({ flag, variable, otherwise, meaning }) =>
      `| \`${flag}\` | \`${variable}\` | ${otherwise} | ${meaning} |`,
  );
  return ["| flag | variable | otherwise | what |", "|---|---|---|---|", ...rows].join("\n");
}

function serviceTable(): string {
  const rows = Object.values(SERVICE_SETTINGS).map(
    ({ variable, meaning }) => `| \`${variable}\` | ${meaning} |`,
  );
  const about =
    "Every command and server that may need an embedder or a model finds it in these variables:";
  return [about, "", "| variable | what |", "|---|---|", ...rows].join("\n");
}

function jobsTable(): string {
  const rows = Object.values(JOBS_SETTINGS).map(
    ({ variable, standard, meaning }) => `| \`${variable}\` | \`${standard}\` | ${meaning} |`,
  );
  const about = `\`cortex serve\` and \`cortex mcp\` also work in the background
([jobs](../operating.md#background-jobs)), as these variables say, in milliseconds:`;
  return [about, "", "| variable | otherwise | what |", "|---|---|---|", ...rows].join("\n");
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
  const more = cli.whenMeans === undefined ? " …" : "";
  const when = cli.when === undefined ? [] : [`--${cli.when}${more}`];
  const usage = ["cortex", words, ...positional, ...when].join(" ");
  return [
    `\`${usage}\``,
    `${summary}. ${help.replaceAll("\n", " ")}`,
    ...fieldTable(operation),
    `\`\`\`sh\n${example}\n\`\`\``,
    `Answers ${members(operation.output)}${operation.stream === undefined ? "" : ", again and again"}`,
  ].join("\n\n");
}

function labelOf(one: ArgumentSpec): string {
  return "rest" in one || one.words === true ? `${one.label}...` : one.label;
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
  const known = field.about.includes(field.choices.join(", "));
  const words = field.choices.length === 0 || known ? "" : ` (${field.choices.join(", ")})`;
  return `${field.about}${words}`;
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
      (code) =>
        `| \`${code}\` | ${ERROR_STATUS[code].exit} | ${ERROR_STATUS[code].http} | ${cell(ERROR_CODES[code])} |`,
    );
    const table = ["| code | exit | HTTP | what happened |", "|---|---|---|---|", ...rows].join(
      "\n",
    );
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
