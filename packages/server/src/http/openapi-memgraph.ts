/**
 * What memgraph's routes add to the OpenAPI document, rendered from the table of its calls. Bodies and
 * parameters are described as leniently as they are read (`memgraph-routes.ts`).
 */
import { CONTROLS, namedForms, unwrapped } from "@cortex-memory/core/contract";
import * as z from "zod";
import { fieldOf, hasBody, type Route, takesKey } from "../memgraph/call.js";
import { MEMGRAPH_ROUTES, type MemgraphRoute } from "../memgraph/table.js";
import { EVENT_STREAM } from "./events.js";
import {
  answerOf,
  type DocumentPart,
  FREE_JSON,
  failures,
  type Json,
  pointer,
  schemaOf,
  templateOf,
} from "./openapi.js";
import { PROBLEM_TYPE } from "./respond.js";
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
    hasBody(one.route) ? [[inputName(one.name), schemaOf(callBodyOf(one), memgraphForm)]] : [],
  );
  const { Json, JsonObject } = namedForms(memgraphForm);
  const { propertyNames: _, ...anyObject } = JsonObject ?? {};
  const free = { [memgraphName("Json")]: Json, [memgraphName("JsonObject")]: anyObject };
  return { ...free, ...Object.fromEntries(inputs) };
}

/** Where a form of memgraph's bodies stands: free JSON may name its members as it likes. */
function memgraphForm(form: string): Json {
  return pointer(FREE_JSON[form] === undefined ? form : memgraphName(form));
}

function memgraphName(name: string): string {
  return `memgraph.${name}`;
}

function inputName(name: string): string {
  return memgraphName(`${name}Input`);
}

function partsIn({ path }: Route): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, part = ""]) => part);
}

/** What a body may hold: the input without what stands in the path, read as leniently as it is. */
export function callBodyOf({ input, route }: MemgraphRoute): z.ZodObject {
  const inPath = partsIn(route).map((part) => fieldOf(route, part));
  const fields = Object.entries(input.shape).filter(([name]) => !inPath.includes(name));
  const lenient = fields.map(([name, field]) => {
    const isOpen = field._zod.optin !== undefined || route.otherwise?.[name] !== undefined;
    if (!isOpen) return [name, field];
    // What is null, or an empty text, counts as not given, whatever the field holds else.
    const inner = unwrapped(field) as z.ZodType;
    return [
      name,
      z
        .union([inner, z.literal("")])
        .nullable()
        .exactOptional(),
    ];
  });
  return z.strictObject(Object.fromEntries(lenient));
}

function described(one: MemgraphRoute): Json {
  const { name, summary, input, output, route, isStream } = one;
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
    ...(takesKey(route) ? [{ $ref: "#/components/parameters/idempotencyKey" }] : []),
  ];
  const schema = pointer(inputName(name));
  const { status = 200, also = {}, shown } = route;
  const problem = { [PROBLEM_TYPE]: { schema: pointer("Problem") } };
  const others = Object.entries(also).map(([other, shape]) => [other, answer(shape, problem)]);
  return {
    operationId: `memgraph.${name}`,
    tags: [MEMGRAPH_TAG],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody(route)
      ? { requestBody: { required: needsBody(one), content: { "application/json": { schema } } } }
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

/** Whether something has to be in the body: an empty change changes nothing. */
function needsBody(one: MemgraphRoute): boolean {
  return Object.values(callBodyOf(one).shape).some((field) => field._zod.optin === undefined);
}

/** An answer; where a failure may have the same status, the type of the document says which it is. */
function answer(shape: z.ZodType | undefined, more: Json = {}): Json {
  const description = "The answer.";
  if (shape === undefined) return { description };
  return { description, content: { "application/json": { schema: answerOf(shape) }, ...more } };
}

/** A part of a path: the name of a graph, or any text. */
function partSchema(route: Route, part: string): Json {
  const field = fieldOf(route, part);
  if (field === "graph_id") return pointer("GraphId");
  if (field === "edge_id") return { type: "string", pattern: EDGE_PATTERN };
  return { type: "string", minLength: 1 };
}

/** The id of an edge: its own, and the graph that it starts in. */
const EDGE_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}@[a-z0-9][a-z0-9._-]{0,63}$";

/** What counts as not given. */
const BLANK = { type: "string", pattern: "^\\s*$" };

function parameter(name: string, description: string, field: z.ZodType, isStrict: boolean): Json {
  const { properties } = schemaOf(z.object({ field })) as { readonly properties: { field: Json } };
  const { description: _, ...schema } = properties.field;
  return { name, in: "query", required: false, description, schema: readForm(schema, isStrict) };
}

/** What a parameter may be, as leniently as it is read. */
function readForm(schema: Json, isStrict: boolean): Json {
  const { minimum: _, maximum: __, ...unbounded } = schema;
  // What cannot be read, or is out of range, counts as not given: any text breaks no rule.
  const isNumber = schema.type === "integer" || schema.type === "boolean";
  if (isNumber && !isStrict) return { ...unbounded, type: [schema.type, "string"] };
  if (schema.type === "array") return { ...schema, items: wordForm(schema.items as Json) };
  return schema.type === "string" && schema.enum === undefined
    ? schema
    : { anyOf: [schema, BLANK] };
}

/** An item of a list in a parameter: words between commas; what stands around each is cut off, and what is blank is none. */
function wordForm(item: Json): Json {
  if (typeof item.$ref !== "string") return item;
  const { maxLength } = namedForms(pointer)[item.$ref.replace(/.*\//, "")] ?? {};
  const word = `\\s*[^,${CONTROLS}]{0,${maxLength}}\\s*`;
  return { type: "string", pattern: `^${word}(,${word})*$` };
}
