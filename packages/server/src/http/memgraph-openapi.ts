/**
 * memgraph's routes in the OpenAPI document, rendered from the table of its calls.
 */
import { unwrapped } from "@cortex-memory/core/contract";
import * as z from "zod";
import type { Route } from "../memgraph/call.js";
import { fieldOf, hasBody, MEMGRAPH_ROUTES, type MemgraphRoute } from "../memgraph/routes.js";
import { EVENT_STREAM } from "./events.js";
import {
  type DocumentPart,
  failures,
  type Json,
  NAME_PATTERN,
  schemaOf,
  templateOf,
} from "./openapi.js";
import { PROBLEM_TYPE } from "./problem.js";
import { BASE } from "./routes.js";

/** The tag that these routes have in the document. */
const MEMGRAPH_TAG = "memgraph";

/** What these routes add to the document. */
export function memgraphPart(): DocumentPart {
  return { tag: MEMGRAPH_TAG, paths: memgraphPaths(), schemas: memgraphSchemas() };
}

/** The paths with what is asked for there. */
function memgraphPaths(): { readonly [path: string]: Json } {
  const paths: { [path: string]: Json } = {};
  for (const one of MEMGRAPH_ROUTES) {
    const path = templateOf(BASE + one.route.path);
    paths[path] = { ...paths[path], [one.route.method.toLowerCase()]: described(one) };
  }
  return paths;
}

/** The bodies that requests have, by name. */
function memgraphSchemas(): { readonly [name: string]: Json } {
  const inputs = MEMGRAPH_ROUTES.flatMap((one) =>
    hasBody(one.route) ? [[inputName(one.name), schemaOf(bodyOf(one))]] : [],
  );
  return Object.fromEntries(inputs);
}

function inputName(name: string): string {
  return `memgraph.${name}Input`;
}

function partsIn({ path }: Route): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, part = ""]) => part);
}

/** What a body may hold: the input without what stands in the path, read as leniently as it is. */
export function bodyOf({ input, route }: MemgraphRoute): z.ZodObject {
  const inPath = partsIn(route).map((part) => fieldOf(route, part));
  const fields = Object.entries(input.shape).filter(([name]) => !inPath.includes(name));
  if (route.method === "PATCH") return z.strictObject(Object.fromEntries(fields));
  const lenient = fields.map(([name, field]) => {
    const isOpen = field._zod.optin !== undefined || route.otherwise?.[name] !== undefined;
    const inner = unwrapped(field) as z.ZodType;
    const isWord = inner._zod.def.type === "enum";
    const plain = isWord ? z.union([inner, z.literal("")]) : inner;
    return [name, isOpen ? plain.nullable().exactOptional() : field];
  });
  return z.strictObject(Object.fromEntries(lenient));
}

function described(one: MemgraphRoute): Json {
  const { name, summary, input, output, route, isStream, takesKey } = one;
  const parameters = [
    ...partsIn(route).map((part) => ({
      name: part,
      in: "path",
      required: true,
      schema: partSchema(route, part),
    })),
    ...Object.entries(route.query ?? {}).map(([query, { field, help, isStrict }]) =>
      parameter(query, help, input.shape[field] as z.ZodType, isStrict === true),
    ),
    ...(takesKey === true ? [{ $ref: "#/components/parameters/idempotencyKey" }] : []),
  ];
  const schema = { $ref: `#/components/schemas/${inputName(name)}` };
  const { status = 200, also = {}, shown } = route;
  const problem = { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } };
  const others = Object.entries(also).map(([other, shape]) => [other, answer(shape, problem)]);
  return {
    operationId: `memgraph.${name}`,
    tags: [MEMGRAPH_TAG],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody(route)
      ? { requestBody: { required: true, content: { "application/json": { schema } } } }
      : {}),
    responses: {
      ...failures(),
      [status]:
        isStream === true
          ? { description: "Events.", content: { [EVENT_STREAM]: {} } }
          : answer(status === 204 ? undefined : (shown?.shape ?? output)),
      ...Object.fromEntries(others),
    },
  };
}

/** An answer; one that a failure may have the status of is told apart by its type. */
function answer(shape: z.ZodType | undefined, more: Json = {}): Json {
  const description = "The answer.";
  if (shape === undefined) return { description };
  return { description, content: { "application/json": { schema: schemaOf(shape) }, ...more } };
}

/** A part of a path: the name of a graph, or any text. */
function partSchema(route: Route, part: string): Json {
  const field = fieldOf(route, part);
  if (field === "graph_id") return { type: "string", pattern: NAME_PATTERN };
  if (field === "edge_id") return { type: "string", pattern: EDGE_PATTERN };
  return { type: "string", minLength: 1 };
}

/** The id of an edge: its own, and the graph that it starts in. */
const EDGE_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}@[a-z0-9][a-z0-9._-]{0,63}$";

function parameter(name: string, description: string, field: z.ZodType, isStrict: boolean): Json {
  const { properties } = schemaOf(z.object({ field })) as { readonly properties: { field: Json } };
  const { description: _, minimum, maximum, ...schema } = properties.field;
  // A number out of range counts as not given, and so is one that no rule is broken by.
  const bounds = isStrict ? { minimum, maximum } : {};
  return { name, in: "query", required: false, description, schema: { ...schema, ...bounds } };
}
