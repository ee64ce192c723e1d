/**
 * The map from the table of operations to paths: one rule, no list of its own.
 *
 * Every operation is `POST /v1/<name>` with its input as a JSON body, for the server's own actor, and
 * `POST /v1/actors/<actor>/<name>` for another; `<name>` is the operation's name in small letters with
 * dashes. One that only reads answers `GET` as well, with the fields of its input as parameters, and one
 * that goes on answering answers `GET` alone, as a stream of events. What
 * cannot be asked for over HTTP has a reason in its row, and its path answers with that reason.
 */

import { kebab } from "@cortex-memory/core/contract";
import type { HttpSpec, Operation } from "../operations/define.js";
import { fieldsOf } from "../operations/text-input.js";

/** Where every version of this interface starts. */
export const BASE = "/v1";

/** First words of paths that belong to routes outside the table. */
const TAKEN_PATHS: readonly string[] = ["actors", "stream", "info", "graphs", "nodes", "edges"];

/** One operation as HTTP sees it. */
export interface Route {
  readonly operation: Operation;
  /** The last part of its path. */
  readonly name: string;
  readonly methods: readonly ("GET" | "POST")[];
  /** Fields that have a parameter or member; the file that a response is has none. */
  readonly fields: readonly string[];
  /** The field whose file is the response. */
  readonly file?: { readonly field: string; readonly mediaType: string };
  /** Why it cannot be asked for. */
  readonly unavailable?: string;
}

/** The routes of a table of operations; a name that is taken fails at load. */
export function routesOf(operations: readonly Operation[]): readonly Route[] {
  const routes = operations.map(routeOf);
  const names = [...TAKEN_PATHS, ...routes.map(({ name }) => name)];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two routes are called ${twice}`);
  return routes;
}

function routeOf(operation: Operation): Route {
  const http: HttpSpec = operation.http ?? { path: kebab(operation.name) };
  const base = { operation, name: "path" in http ? http.path : kebab(operation.name) };
  const fields = fieldsOf(operation).map(({ name }) => name);
  if ("unavailable" in http) {
    return { ...base, methods: ["POST"], fields: [], unavailable: http.unavailable };
  }
  const methods = methodsOf(operation);
  if (!("sends" in http)) return { ...base, methods, fields };
  return {
    ...base,
    methods,
    fields: fields.filter((name) => name !== http.sends),
    file: { field: http.sends, mediaType: http.mediaType },
  };
}

function methodsOf({ kind, stream }: Operation): Route["methods"] {
  if (stream !== undefined) return ["GET"];
  return kind === "read" ? ["GET", "POST"] : ["POST"];
}

/** The paths of a route: for the server's own actor, and for any. */
export function pathsOf({ name }: Pick<Route, "name">): readonly [string, string] {
  return [`${BASE}/${name}`, `${BASE}/actors/:actor/${name}`];
}

/** Longer paths are no slip of a finger. */
const SLIP_CHARS = 120;

/** The path that was probably meant: the one with the fewest letters to change, if they are few. */
export function nearestPath(path: string, routes: readonly string[]): string | undefined {
  if (path.length > SLIP_CHARS) return undefined;
  const near = [...new Set(routes)]
    .filter((route) => !route.includes("*"))
    .map((route) => filledFrom(route, path))
    .map((route) => ({ route, slips: slipsBetween(path.toLowerCase(), route.toLowerCase()) }))
    .sort((a, b) => a.slips - b.slips);
  const [first] = near;
  return first === undefined || first.slips > Math.max(3, path.length / 3)
    ? undefined
    : first.route;
}

/** A route with the parts that it leaves open taken from a path. */
function filledFrom(route: string, path: string): string {
  const given = path.split("/");
  return route
    .split("/")
    .map((part, at) => (part.startsWith(":") ? (given[at] ?? part) : part))
    .join("/");
}

/** How many letters have to be added, left out or changed to make one text of the other. */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (const [to, wanted] of [...other].entries()) {
      const changed = (row[to] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
