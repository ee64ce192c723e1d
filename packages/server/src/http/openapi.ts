/**
 * The OpenAPI 3.1 document, rendered from the routes and from the table of memgraph's calls: it cannot say
 * anything that the server does not do. What cannot be asked for over HTTP is not in it. Answers are open,
 * because members may be added to them.
 */

import {
  CONTROLS,
  describedInput,
  FREE_NAME,
  NAME_FORM,
  namedForms,
  unwrapped,
  VERBS,
  type Verb,
} from "@cortex-memory/core/contract";
import * as z from "zod";
import { ERROR_STATUS } from "../error-status.js";
import type { Route as CallRoute } from "../memgraph/call.js";
import {
  fieldOf,
  hasBody,
  MEMGRAPH_ROUTES,
  type MemgraphRoute,
  takesKey,
} from "../memgraph/routes.js";
import { type Field, fieldsOf } from "../operations/text-input.js";
import { EVENT_STREAM } from "./events.js";
import { ENTITY_TAG } from "./input.js";
import { REQUEST_ID_HEADER } from "./metrics.js";
import { PROBLEM_TYPE, REFUSALS } from "./problem.js";
import { withoutRepeats } from "./repeats.js";
import { BASE, pathsOf, type Route } from "./routes.js";

const ABOUT = `Every operation is a POST with a JSON body; one that only reads answers GET as well. Without
an actor in the path the server's own is meant. Failures are problem details (RFC 9457) with a code.`;

/** A JSON document, or a part of one. */
type Json = { readonly [member: string]: unknown };

/** What our schemas say about themselves for other doors. */
const OWN_KEYWORDS = ["code", "file", "standard", "time"];

/** Where the document holds a schema that several places name. */
function pointer(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Free JSON as an answer has it: there are no rules to know, as in what a caller sends. */
const FREE_JSON: { readonly [form: string]: Json } = {
  Json: {},
  JsonObject: { type: "object" },
};

/** The JSON Schema of what a caller gets. */
function answerOf(schema: z.ZodType): Json {
  return schemaOf(schema, (form) => FREE_JSON[form] ?? pointer(form));
}

/** The JSON Schema of what a caller sends. */
function schemaOf(schema: z.ZodType, formOf = pointer): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    // Answers, too, are described as what may come: members that are not named are no error.
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      const own: { [keyword: string]: unknown } = jsonSchema;
      for (const keyword of OWN_KEYWORDS) delete own[keyword];
      const { form, description, not, additionalProperties: others } = own;
      if (typeof others === "object" && formOf === pointer) own.propertyNames ??= FREE_NAME;
      if (typeof form !== "string") return;
      for (const keyword of Object.keys(own)) delete own[keyword];
      Object.assign(own, formOf(form), description === undefined ? {} : { description });
      if (not !== undefined) own.not = not;
    },
  });
  return json;
}

/** Statuses of failures that any request may meet. */
const FAILURES: readonly number[] = [
  ...new Set([
    ...Object.values(REFUSALS).map(({ status }) => status),
    ...Object.values(ERROR_STATUS).map(({ http }) => http),
    500,
  ]),
].sort((one, other) => one - other);

/** The responses that any request may meet when it fails. */
function failures(): Json {
  return Object.fromEntries(
    FAILURES.map((status) => [String(status), { $ref: "#/components/responses/Problem" }]),
  );
}

/** A path as OpenAPI writes it. */
export function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** What routes outside the table add to the document. */
interface DocumentPart {
  readonly tag: string;
  readonly paths: { readonly [path: string]: Json };
  readonly schemas: { readonly [name: string]: Json };
}

/** The document for some routes. */
export function openApiDocument(
  routes: readonly Route[],
  version: string,
  others: DocumentPart,
): Json {
  const offered = routes.filter(({ unavailable }) => unavailable === undefined);
  const inputs = offered.map((route) => [`${route.operation.name}Input`, inputSchema(route)]);
  const answers = offered
    .filter(({ file }) => file === undefined)
    .map(({ operation }) => [`${operation.name}Answer`, answerOf(operation.output)]);
  const { schemas, paths } = withoutRepeats(
    {
      schemas: {
        Problem: answerOf(problemSchema),
        ...namedForms(pointer),
        ...Object.fromEntries(inputs),
        ...Object.fromEntries(answers),
        ...others.schemas,
      },
      paths: { ...Object.fromEntries(offered.flatMap(pathItems)), ...others.paths },
    },
    pointer,
  );
  return {
    openapi: "3.1.0",
    info: { title: "Cortex", version, description: ABOUT },
    servers: [{ url: "/" }],
    security: [{}, { token: [] }],
    tags: [...new Set(routes.map(({ operation }) => operation.cli.group)), others.tag].map(
      (name) => ({ name }),
    ),
    paths,
    components: {
      schemas,
      responses: { Problem: problemAnswer },
      parameters: { actor: actorParameter, ...headerParameters },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function verbOf(name: string): Verb | undefined {
  return (VERBS as { readonly [name: string]: Verb })[name];
}

/** The input of a route: what the row says, without the field whose file is the response. */
function inputSchema({ operation, file }: Route): Json {
  const verb = verbOf(operation.name);
  const isWhole = verb !== undefined && verb.input === operation.input;
  const schema = schemaOf(isWhole ? describedInput(verb) : operation.input);
  if (file === undefined) return schema;
  const { [file.field]: _, ...properties } = schema.properties as Json;
  const required = (schema.required as readonly string[]).filter((name) => name !== file.field);
  return { ...schema, properties, required };
}

const problemSchema = z.object({
  type: z.string().describe("where the code is explained"),
  title: z.string().describe("what the code means"),
  status: z.int(),
  detail: z.string().describe("what happened this time"),
  code: z.string(),
  field: z.string().exactOptional(),
  expected: z.string().exactOptional(),
  got: z.string().exactOptional(),
  seq: z.int().exactOptional(),
  requestId: z.string(),
  error: z.string().describe("the same, as memgraph's clients read it").exactOptional(),
  error_code: z.string().describe("memgraph's own code").exactOptional(),
});

const problemAnswer = {
  description: "What went wrong: the code says which of the listed errors it is.",
  headers: { [REQUEST_ID_HEADER]: { schema: { type: "string" } } },
  content: { [PROBLEM_TYPE]: { schema: pointer("Problem") } },
};

const actorParameter = {
  name: "actor",
  in: "path",
  required: true,
  description: "whose memory",
  schema: { type: "string", ...NAME_FORM },
};

const headerParameters = {
  idempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: "the same as the member idempotencyKey",
    schema: schemaOf(unwrapped(VERBS.write.input.shape.idempotencyKey) as z.ZodType),
  },
  ifMatch: {
    name: "If-Match",
    in: "header",
    description: "the entity tag of the version that was read: the same as basedOnVersion",
    schema: { type: "string", pattern: `^(\\*|${ENTITY_TAG})$` },
  },
  lastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "the id of the last event that was seen: the next one follows",
    schema: { type: "string" },
  },
  ifNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "the entity tag of an answer that is at hand",
    schema: { type: "string" },
  },
};

function pathItems(route: Route): readonly (readonly [string, Json])[] {
  const [own, any] = pathsOf(route);
  const actor = { $ref: "#/components/parameters/actor" };
  // Made once for both paths: most of the time that the document takes goes into schemas.
  const parameters = route.methods.includes("GET") ? parametersOf(route) : undefined;
  return [
    [own, pathItem(route, "", parameters)],
    [templateOf(any), { parameters: [actor], ...pathItem(route, "Of", parameters) }],
  ];
}

/** What one path offers; `parameters` are those of a read, where the route has one. */
function pathItem(route: Route, suffix: string, parameters: readonly Json[] | undefined): Json {
  const { operation } = route;
  const base = {
    tags: [operation.cli.group],
    summary: operation.summary,
    description: operation.help.replaceAll("\n", " "),
    responses: responsesOf(route),
  };
  const get = {
    ...base,
    operationId: `${operation.name}${suffix}Get`,
    parameters: [...(parameters ?? []), { $ref: "#/components/parameters/ifNoneMatch" }],
  };
  const post = {
    ...base,
    operationId: `${operation.name}${suffix}`,
    ...headersOf(route),
    requestBody: bodyOf(route),
  };
  return {
    ...(parameters === undefined ? {} : { get }),
    ...(route.methods.includes("POST") ? { post } : {}),
  };
}

function responsesOf({ operation, file }: Route): Json {
  const problems = failures();
  const schema = pointer(`${operation.name}Answer`);
  const isStream = operation.stream !== undefined;
  const content =
    file !== undefined
      ? { [file.mediaType]: {} }
      : isStream
        ? { [EVENT_STREAM]: {} }
        : { "application/json": { schema } };
  const said = isStream ? "Events: the data of each is an answer of this kind." : "The answer.";
  const ok = {
    description: file === undefined ? said : "The file.",
    headers: { ETag: { schema: { type: "string" } } },
    content,
  };
  const same = { description: "The answer at hand is still right." };
  return { "200": ok, ...(operation.kind === "read" ? { "304": same } : {}), ...problems };
}

function headersOf({ fields }: Route): Json {
  const parameters = [
    ...(fields.includes("idempotencyKey") ? ["idempotencyKey"] : []),
    ...(fields.includes("basedOnVersion") ? ["ifMatch"] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return parameters.length === 0 ? {} : { parameters };
}

function bodyOf({ operation, file }: Route): Json {
  const isAsked = fieldsOf(operation).some((one) => one.required && one.name !== file?.field);
  const rules = verbOf(operation.name)?.together ?? [];
  const isSome = rules.some(
    (rule) => "exactlyOne" in rule || "atLeastOne" in rule || "notEmpty" in rule,
  );
  const schema = pointer(`${operation.name}Input`);
  return { required: isAsked || isSome, content: { "application/json": { schema } } };
}

function parametersOf(route: Route): readonly Json[] {
  const properties = inputSchema(route).properties as { readonly [name: string]: Json };
  return fieldsOf(route.operation)
    .filter(({ name }) => route.fields.includes(name))
    .map((field) => ({
      name: field.name,
      in: "query",
      required: field.required,
      description: field.description,
      ...parameterForm(field, properties[field.name] ?? {}),
    }));
}

/** How a parameter is written: a list by repeating it, an object as JSON, anything else as text. */
function parameterForm(field: Field, schema: Json): Json {
  switch (field.syntax) {
    case "json":
    case "pairs":
      return { content: { "application/json": { schema } } };
    case "list": {
      const list = listForm(schema);
      return {
        style: "form",
        explode: true,
        schema: { ...list, items: textForm(list.items as Json) },
      };
    }
    case "position":
      return { schema: textForm(schema) };
    default:
      return { schema };
  }
}

/** Of a list that may be given as its one item, the list: as a parameter the two look the same. */
function listForm(schema: Json): Json {
  const forms = (schema.anyOf ?? [schema]) as readonly Json[];
  return forms.find(({ type }) => type === "array") ?? schema;
}

/** Of the forms of a value, those that one word can give. */
function textForm(items: Json): Json {
  const forms = (items.anyOf ?? [items]) as readonly Json[];
  const words = forms.filter((one) => one.type !== "object");
  return words.length === 1 ? (words[0] ?? items) : { anyOf: words };
}

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

function partsIn({ path }: CallRoute): readonly string[] {
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

/** An answer; one that a failure may have the status of is told apart by its type. */
function answer(shape: z.ZodType | undefined, more: Json = {}): Json {
  const description = "The answer.";
  if (shape === undefined) return { description };
  return { description, content: { "application/json": { schema: answerOf(shape) }, ...more } };
}

/** A part of a path: the name of a graph, or any text. */
function partSchema(route: CallRoute, part: string): Json {
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
