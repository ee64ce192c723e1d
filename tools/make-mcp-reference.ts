/**
 * The reference page of the MCP door, rendered from the tables of tools, prompts and resources.
 */
import {
  instructionsFor,
  MEMGRAPH_TOOLS,
  MEMORY_TEMPLATE,
  promptsFor,
  STANDARD_TOOLS,
  type Tool,
  toolsOf,
} from "../packages/server/src/index.js";

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: JsonSchema;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
}

/** The page, below a line that says how it was made. */
export function mcpPage(made: string): string {
  const standard = new Set(STANDARD_TOOLS.map(({ name }) => name));
  const rest = toolsOf("full").filter(({ name }) => !standard.has(name));
  return `# MCP tools

${made} How to connect a client stands on [its own page](../mcp.md).

A tool answers with structured content and a short text. A failure is a result with \`isError\` and the text
\`{ "code", "message", "advice" }\`; the codes are on the [page of errors](errors.md). Where a line says
\`budgetTokens\`, the answer is cut to about that many tokens, four bytes each.

## Instructions

What a client is told when it connects to the standard profile:

\`\`\`text
${instructionsFor(STANDARD_TOOLS)}
\`\`\`

## The standard profile

${STANDARD_TOOLS.map(section).join("\n\n")}

## The full profile

Every tool above, and these: the operations of the [command line](cli.md), with the same input and answer. What
works on files of the machine, on a store that must be closed, or without end is not among them.

${tablesOf(rest).join("\n\n")}

## memgraph's tools

The profile \`memgraph\`, and part of the full one where the store is a folder, over all its graphs. A failure is text in memgraph's words.

| tool | effect | arguments | what |
|---|---|---|---|
${MEMGRAPH_TOOLS.map(memgraphRow).join("\n")}

## Prompts

| prompt | arguments | what |
|---|---|---|
${promptsFor(STANDARD_TOOLS)
  .map(
    ({ name, args, description }) =>
      `| \`${name}\` | ${Object.keys(args.shape).join(", ")} | ${cell(description)} |`,
  )
  .join("\n")}

## Resources

| URI | what |
|---|---|
| \`cortex://{actor}\` | types, kinds, tags, slots and links in use, as JSON |
| \`${MEMORY_TEMPLATE.uriTemplate}\` | ${MEMORY_TEMPLATE.description} |
| \`memgraph://{graph_id}\`, \`memgraph://{graph_id}/{lineage_id}\` | a graph, and the current node of a lineage, as JSON; profiles full and memgraph |
`;
}

/** A table for each group of tools. */
function tablesOf(rest: readonly Tool[]): readonly string[] {
  const groupOf = ({ title }: Tool): string => title.split(": ")[0] ?? "";
  return [...new Set(rest.map(groupOf))].map((group) => {
    const tools = rest.filter((tool) => groupOf(tool) === group);
    const rows = tools.map(
      ({ name, title, verbs, effect }) =>
        `| \`${name}\` | ${effect} | ${cell(title.slice(group.length + 2))} | ${verbs.join(", ") || "none"} |`,
    );
    return [
      `### ${group}`,
      "",
      "| tool | effect | what | verbs |",
      "|---|---|---|---|",
      ...rows,
    ].join("\n");
  });
}

function section(tool: Tool): string {
  const { name, description, verbs, effect, idempotent } = tool;
  const input = tool.inputSchema() as JsonSchema;
  const output = tool.outputSchema() as JsonSchema;
  const required = new Set(input.required ?? []);
  const rows = Object.entries(input.properties ?? {}).map(
    ([field, schema]) =>
      `| \`${field}\`${required.has(field) ? "" : "?"} | ${cell(typeOf(schema))} | ${cell(schema.description ?? "")} |`,
  );
  const kind = effect === "read" ? "Reads" : idempotent ? "Writes, idempotent" : "Writes";
  return [
    `### ${name}`,
    description,
    `${kind}; calls ${verbs.map((verb) => `\`${verb}\``).join(", ")}.`,
    ["| argument | type | what |", "|---|---|---|", ...rows].join("\n"),
    `Answers ${members(output)}`,
  ].join("\n\n");
}

function memgraphRow({ name, effect, description, inputSchema }: Tool): string {
  const { properties = {}, required = [] } = inputSchema() as JsonSchema;
  const known = new Set(required);
  const args = Object.keys(properties).map((one) => (known.has(one) ? one : `${one}?`));
  return `| \`${name}\` | ${effect} | ${args.join(", ") || "none"} | ${cell(description)} |`;
}

function typeOf({ type, enum: words, items }: JsonSchema): string {
  if (words !== undefined) return words.join(", ");
  if (items !== undefined) return `list of ${items.enum === undefined ? typeOf(items) : "words"}`;
  return [type].flat().join(" or ");
}

function members({ properties = {}, required = [] }: JsonSchema): string {
  const known = new Set(required);
  const names = Object.keys(properties).map((name) => (known.has(name) ? name : `${name}?`));
  return `\`{ ${names.join(", ")} }\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
