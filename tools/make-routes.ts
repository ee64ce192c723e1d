/**
 * The routes of the remote client, written from the contract: paths, kinds and the order of arguments.
 * The client runs at the edge and loads no schema, so what it needs is kept as plain data; a test
 * compares the file with the contract, and rewrites it on request.
 */
import { VERBS } from "../packages/core/src/contract/index.js";
import type { Verb } from "../packages/core/src/contract/verb.js";

/** Where the routes are kept. */
export const ROUTES_FILE = "packages/core/src/remote/routes.ts";

const HEAD = `/**
 * How each declared verb is asked for over HTTP: generated from \`contract/\` by \`tools/make-routes.ts\`.
 * Plain data, because the client loads no schema.
 */
import type { VerbName } from "../contract/index.js";
import type { RoutePlan } from "./table.js";

/** Every declared verb. */
export const ROUTE_PLANS: { readonly [V in VerbName]: RoutePlan } = {
`;

/** The text of the file, for the verbs of this tree or of another. */
export function routesText(verbs: { readonly [name: string]: Verb } = VERBS): string {
  const rows = Object.values(verbs).map((verb: Verb) => `  ${verb.name}: ${rowOf(verb)},\n`);
  return `${HEAD}${rows.join("")}};\n`;
}

function rowOf(verb: Verb): string {
  const { path, kind, sends, member, mayMiss, isLong, sent } = verb;
  const members = {
    path,
    kind,
    names: Object.keys(verb.args),
    ...(verb.objectArgs.size === 0 ? {} : { objects: [...verb.objectArgs] }),
    ...(verb.open === true ? { rest: "input" } : {}),
    ...(sends === "json" ? {} : { sends }),
    ...(member === undefined ? {} : { member }),
    ...(mayMiss === undefined ? {} : { mayMiss }),
    ...(isLong === undefined ? {} : { isLong }),
    ...(sent === undefined ? {} : { sent }),
  };
  return JSON.stringify(members).replaceAll(/"(\w+)":/g, "$1:");
}
