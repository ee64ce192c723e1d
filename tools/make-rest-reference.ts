/**
 * The reference page of REST, rendered from the routes: every path, its methods, its members. Pure.
 */
import { templateOf } from "../packages/server/src/http/openapi.js";
import { callBodyOf } from "../packages/server/src/http/openapi-memgraph.js";
import {
  type Field,
  fieldsOf,
  GROUPS,
  OPERATIONS,
  placeholder,
  type Route,
  routesOf,
} from "../packages/server/src/index.js";
import { hasBody } from "../packages/server/src/memgraph/call.js";
import { MEMGRAPH_ROUTES } from "../packages/server/src/memgraph/table.js";

/** The page; `made` says where it comes from. */
export function restPage(made: string): string {
  const routes = routesOf(OPERATIONS);
  const groups = Object.entries(GROUPS).flatMap(([group, heading]) => {
    const own = routes.filter(({ operation }) => operation.cli.group === group);
    return own.length === 0 ? [] : [[`## ${heading}`, ...own.map(section)].join("\n\n")];
  });
  return `${[`${INTRODUCTION}\n\n${made}`, ...groups, memgraphSection()].join("\n\n")}\n`;
}

const INTRODUCTION = `# REST, path by path

How to use it is on the [page about REST](../rest.md); a running server describes itself at
\`/openapi.json\`. Every path below also stands under \`/v1/actors/{actor}\`, for the store of that actor;
without it, the server's own is meant. Members of a JSON body are listed; GET takes them as parameters.`;

/** The routes that programs written for memgraph know, which stand under no actor. */
function memgraphSection(): string {
  const rows = MEMGRAPH_ROUTES.map((one) => {
    const { method, path, query = {} } = one.route;
    const asked = hasBody(one.route) ? callBodyOf(one).shape : query;
    const names = Object.keys(asked).map((name) => `\`${name}\``);
    return `| \`${method} /v1${templateOf(path)}\` | ${one.summary} | ${names.join(", ")} |`;
  });
  return [
    "## memgraph's routes",
    "For programs written for memgraph, for whom [they keep their form](../rest.md#memgraphs-routes).",
    ["| route | what | parameters or members |", "|---|---|---|", ...rows].join("\n"),
  ].join("\n\n");
}

function section(route: Route): string {
  const { operation, name, methods, file, unavailable } = route;
  const heading = `### /v1/${name}`;
  if (unavailable !== undefined) {
    return `${heading}\n\n${operation.summary}. Not over HTTP: ${unavailable}.`;
  }
  const answer =
    file !== undefined
      ? `The response is a file, \`${file.mediaType}\`.`
      : operation.stream === undefined
        ? ""
        : "The response is a stream of events.";
  const fields = fieldsOf(operation).filter((field) => route.fields.includes(field.name));
  const rows = fields.map(row);
  const table = ["| member | what |", "|---|---|", ...rows].join("\n");
  return [
    heading,
    `\`${methods.join("`, `")}\` ${operation.summary}. ${answer}`.trimEnd(),
    ...(rows.length === 0 ? [] : [table]),
  ].join("\n\n");
}

function row(field: Field): string {
  const needed = field.required ? " (required)" : "";
  const choices =
    field.choices.length === 0 || field.description.includes(field.choices.join(", "))
      ? ""
      : ` (${field.choices.join(", ")})`;
  const kind = field.syntax === "switch" ? "true or false" : KINDS[placeholder(field)];
  const shown = kind === undefined ? "" : `; ${kind}`;
  const text = `${field.description}${choices}${shown}`.replaceAll("|", "\\|");
  return `| \`${field.name}\`${needed} | ${text} |`;
}

/** What a placeholder of the command line is in JSON, where the description does not say. */
const KINDS: Readonly<Record<string, string>> = {
  N: "a number",
  T: "a seq, or an ISO time as text",
  TIME: "milliseconds; as a parameter also an ISO time",
};
