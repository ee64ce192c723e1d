/**
 * The OpenAPI 3.1 document, rendered from the routes: it cannot say anything that the server does not do.
 * What cannot be asked for over HTTP is not in it. Answers are open, because members may be added to them.
 * What memgraph's routes add stands in `openapi-memgraph.ts`.
 *
 * What the document would say several times it says once: parts of its schemas that are alike to the letter
 * stand under a name of their own, and a reference stands wherever they were. A part is named by the place
 * where it stands first, such as `writeInput.provenance`, so the same contract gives the same names. What is
 * hardly longer than its reference stays where it is.
 */

import {
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
import { type Field, fieldsOf } from "../operations/text-input.js";
import { EVENT_STREAM } from "./events.js";
import { REQUEST_ID_HEADER } from "./metrics.js";
import { PROBLEM_TYPE, REFUSALS } from "./respond.js";
import { ENTITY_TAG, pathsOf, type Route } from "./routes.js";

const ABOUT = `Every operation is a POST with a JSON body; one that only reads answers GET as well. Without
an actor in the path the server's own is meant. Failures are problem details (RFC 9457) with a code.`;

/** A JSON document, or a part of one. */
export type Json = { readonly [member: string]: unknown };

/** What our schemas say about themselves for other doors. */
const OWN_KEYWORDS = ["code", "file", "standard", "time"];

/** Where the document holds a schema that several places name. */
export function pointer(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Free JSON as an answer has it: there are no rules to know, as in what a caller sends. */
export const FREE_JSON: { readonly [form: string]: Json } = {
  Json: {},
  JsonObject: { type: "object" },
};

/** The JSON Schema of what a caller gets. */
export function answerOf(schema: z.ZodType): Json {
  return schemaOf(schema, (form) => FREE_JSON[form] ?? pointer(form));
}

/** The JSON Schema of what a caller sends. */
export function schemaOf(schema: z.ZodType, formOf = pointer): Json {
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
export function failures(): Json {
  return Object.fromEntries(
    FAILURES.map((status) => [String(status), { $ref: "#/components/responses/Problem" }]),
  );
}

/** A path as OpenAPI writes it. */
export function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** What routes outside the table add to the document. */
export interface DocumentPart {
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
    case "either":
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

/** Schemas by their names. */
type Named = { readonly [name: string]: Json };

/** What a schema becomes, and the name that it would have. */
type Visit = (schema: Json, name: string) => Json;

/** A shorter part is not worth a name. */
const SHORTEST = 90;

/** The keywords that hold a schema, and those that hold a list of them. */
const HOLDS_ONE = new Set(["items", "additionalProperties", "propertyNames", "not"]);
const HOLDS_SEVERAL = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);

/** The schemas and paths of a document, with every repeated part of a schema once, by its name. */
export function withoutRepeats(
  { schemas, paths }: { readonly schemas: Named; readonly paths: Named },
  pointer: (name: string) => Json,
): { readonly schemas: Named; readonly paths: Named } {
  const nameOf = namesOfRepeats(schemas, paths);
  const parts: { [name: string]: Json } = {};
  const shorten: Visit = (schema, place) => {
    const name = nameOf.get(JSON.stringify(schema));
    if (name === undefined) return mapParts(schema, place, shorten);
    if (schemas[name] === undefined) parts[name] ??= mapParts(schema, place, shorten);
    return pointer(name);
  };
  const own = Object.entries(schemas).map(([name, schema]) => {
    const first = nameOf.get(JSON.stringify(schema)) ?? name;
    return [name, first === name ? mapParts(schema, name, shorten) : pointer(first)];
  });
  const shortPaths = mapSchemas(paths, "", shorten) as Named;
  return { schemas: { ...Object.fromEntries(own), ...parts }, paths: shortPaths };
}

/** The names of the parts that stand in several places, by their text. */
function namesOfRepeats(schemas: Named, paths: Named): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  const names = new Map<string, string>();
  const taken = new Set(Object.keys(schemas));
  const count: Visit = (schema, place) => {
    const text = JSON.stringify(schema);
    if (text.length < SHORTEST || names.has(text)) return schema;
    const before = first.get(text);
    // What stands inside a part that is named once more is no further place of its own.
    if (before !== undefined) names.set(text, freeName(before, taken));
    else mapParts(schema, place, count);
    first.set(text, place);
    return schema;
  };
  // A schema that has a name lends it to the parts that say the same.
  for (const [name, schema] of Object.entries(schemas)) {
    const text = JSON.stringify(schema);
    if (text.length >= SHORTEST && !names.has(text)) names.set(text, name);
  }
  for (const [name, schema] of Object.entries(schemas)) mapParts(schema, name, count);
  mapSchemas(paths, "", count);
  return names;
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}${number}`;
  taken.add(name);
  return name;
}

/** A schema with what `visit` makes of its parts. */
function mapParts(schema: Json, place: string, visit: Visit): Json {
  const mapped = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (HOLDS_ONE.has(keyword) && isObject(value)) return [keyword, visit(value, place)];
    if (HOLDS_SEVERAL.has(keyword)) {
      return [keyword, (value as readonly Json[]).map((one) => visit(one, place))];
    }
    return keyword === "properties"
      ? [keyword, mapMembers(value as Named, place, visit)]
      : [keyword, value];
  });
  return Object.fromEntries(mapped);
}

function mapMembers(members: Named, place: string, visit: Visit): Named {
  const mapped = Object.entries(members).map(([name, schema]) => [
    name,
    visit(schema, `${place}.${name.replaceAll(/[^\w-]/g, "_")}`),
  ]);
  return Object.fromEntries(mapped) as Named;
}

/** Whatever holds schemas under the name `schema`, with what `visit` makes of them. */
function mapSchemas(value: unknown, place: string, visit: Visit): unknown {
  if (Array.isArray(value)) return value.map((one) => mapSchemas(one, place, visit));
  if (!isObject(value)) return value;
  const said = [value.operationId, value.in === undefined ? undefined : value.name];
  const here = [place, ...said].filter((one) => typeof one === "string" && one !== "").join(".");
  const mapped = Object.entries(value).map(([name, one]) => [
    name,
    name === "schema" && isObject(one) ? visit(one, here) : mapSchemas(one, here, visit),
  ]);
  return Object.fromEntries(mapped);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
