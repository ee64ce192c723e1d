/**
 * memgraph's routes in the OpenAPI document, rendered from their table.
 */
import type * as z from "zod";
import { EVENT_STREAM } from "./events.js";
import { MEMGRAPH_ROUTES, type MemgraphRoute } from "./memgraph-table.js";
import { type DocumentPart, failures, type Json, schemaOf, templateOf } from "./openapi.js";
import { PROBLEM_TYPE } from "./problem.js";
import { BASE } from "./routes.js";

/** The tag that these routes have in the document. */
const MEMGRAPH_TAG = "memgraph";

const ROUTES: readonly (readonly [string, MemgraphRoute])[] = Object.entries(MEMGRAPH_ROUTES);

/** What these routes add to the document. */
export function memgraphPart(): DocumentPart {
  return { tag: MEMGRAPH_TAG, paths: memgraphPaths(), schemas: memgraphSchemas() };
}

/** The paths with what is asked for there. */
function memgraphPaths(): { readonly [path: string]: Json } {
  const paths: { [path: string]: Json } = {};
  for (const [name, route] of ROUTES) {
    const path = templateOf(BASE + route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: described(name, route) };
  }
  return paths;
}

/** The bodies that requests have, by name. */
function memgraphSchemas(): { readonly [name: string]: Json } {
  const inputs = ROUTES.flatMap(([name, { body }]) =>
    body === undefined ? [] : [[inputName(name), schemaOf(body)]],
  );
  return Object.fromEntries(inputs);
}

function inputName(name: string): string {
  return `memgraph.${name}Input`;
}

function described(name: string, route: MemgraphRoute): Json {
  const { summary, body } = route;
  const parameters = [...pathParameters(route.path), ...queryParameters(route.parameters)];
  const schema = { $ref: `#/components/schemas/${inputName(name)}` };
  return {
    operationId: `memgraph.${name}`,
    tags: [MEMGRAPH_TAG],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema } } } }),
    responses: responsesOf(route),
  };
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(parameters: z.ZodObject | undefined): readonly Json[] {
  if (parameters === undefined) return [];
  const properties = schemaOf(parameters).properties as { readonly [name: string]: Json };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema,
  }));
}

function responsesOf({ answers, events }: MemgraphRoute): Json {
  const all: { [status: string]: Json } = { ...(failures() as { [status: string]: Json }) };
  for (const [status, shape] of Object.entries(answers)) {
    all[status] = answerOf(shape, events === true, all[status] !== undefined);
  }
  return all;
}

/** A good answer; one that a failure may have the status of is told apart by its type. */
function answerOf(shape: z.ZodType | undefined, isStream: boolean, isFailure: boolean): Json {
  const problem = { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } };
  const json = shape === undefined ? {} : { "application/json": { schema: schemaOf(shape) } };
  const content = { ...(isStream ? { [EVENT_STREAM]: {} } : json), ...(isFailure ? problem : {}) };
  return {
    description: isStream ? "Events." : "The answer.",
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}
