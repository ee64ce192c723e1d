/**
 * What a document for machines, such as OpenAPI, says where the schema of a field says too little: free
 * JSON, predicates, the fields that a memory's type decides, the items of a batch.
 *
 * Promise: what is described here is what is checked, member by member; a generated test of the server
 * holds the two together. Nothing is made before it is asked for, so that a start costs nothing.
 *
 * Left to others: the checks themselves (`records/`, `find/predicate.ts`, `batch/`), rules between
 * members, and whatever depends on what a store holds.
 */
import * as z from "zod";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import { DATA_SCHEMAS, enoughFor, sentenceField, turnData } from "../records/data.js";
import { ISO_PATTERN } from "../records/fields.js";
import { externalIdField } from "../records/frames.js";
import { MEMORY_TYPES, type MemoryType, namesOf } from "../records/types.js";
import { NAME_FORM } from "../records/uri.js";
import { batch, batchLink } from "./batch.js";
import { listUpTo, textField } from "./fields.js";
import { COMPARISONS } from "./find.js";
import { edgeKind } from "./links.js";
import { kind, tag, update, updateFields, write, writeFields } from "./memory.js";
import type { Together, Verb } from "./verb.js";

/** A JSON Schema, or a part of one. */
type JsonSchema = { readonly [keyword: string]: unknown };

/** What a member of a free object may be called over HTTP: not what every object has, which copying would drop. */
export const FREE_NAME = { pattern: "^(?!__proto__$)" };

/** How a document points at a form that stands in it once, by its name. */
type Pointer = (name: string) => JsonSchema;

/** The forms that fields name by the keyword `form`, each once; they hold one another. */
export function namedForms(to: Pointer): { readonly [name: string]: JsonSchema } {
  const number = { type: "number", minimum: -INTEGER_MAX, maximum: INTEGER_MAX };
  return {
    ...freeJson("Json", number, to),
    // What is looked into later, and then refused by itself.
    ...freeJson("AnyJson", { type: "number" }, to),
    Predicate: { anyOf: predicateForms(to("Predicate")) },
    GraphId: { type: "string", ...NAME_FORM },
    IsoTime: { type: "string", pattern: ISO_PATTERN },
    Kind: schemaOf(kind),
    EdgeKind: schemaOf(edgeKind),
    Tag: schemaOf(tag),
    ExternalId: schemaOf(externalIdField),
    // Empty where a new one is to be made.
    Lineage: { anyOf: [to("ExternalId"), { type: "string", const: "" }] },
    Principal: schemaOf(textField({ maxBytes: LIMITS.principalBytes })),
    Title: schemaOf(textField({ maxBytes: LIMITS.labelBytes })),
    Content: { type: "string", maxLength: LIMITS.contentBytes },
    LongContent: { type: "string", maxLength: LIMITS.importedContentBytes },
  };
}

/** Free JSON with numbers of some kind, and an object of it. */
function freeJson(name: string, number: JsonSchema, to: Pointer): { [name: string]: JsonSchema } {
  const object = `${name}Object`;
  const flat = [{ type: "null" }, { type: "boolean" }, { type: "string" }, number];
  return {
    [name]: { anyOf: [...flat, { type: "array", items: to(name) }, to(object)] },
    [object]: { type: "object", propertyNames: FREE_NAME, additionalProperties: to(name) },
  };
}

function schemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return json;
}

/** A predicate: one operator with what it takes. Which fields there are, and what they hold, its check knows. */
function predicateForms(predicate: JsonSchema): readonly JsonSchema[] {
  const field = { type: "string", minLength: 1 };
  const scalar = { type: ["string", "number", "boolean", "null"] };
  const pair = (second: JsonSchema): JsonSchema => ({
    type: "array",
    prefixItems: [field, second],
    minItems: 2,
    maxItems: 2,
  });
  const values = { type: "array", items: scalar, maxItems: LIMITS.predicateValues };
  const predicates = { type: "array", items: predicate };
  const operators: { readonly [operator: string]: JsonSchema } = {
    ...Object.fromEntries(COMPARISONS.map((name) => [name, pair(scalar)])),
    in: pair(values),
    hasTag: schemaOf(tag),
    matches: pair({ type: "string" }),
    and: predicates,
    or: predicates,
    not: predicate,
  };
  return Object.entries(operators).map(([operator, argument]) => ({
    type: "object",
    properties: { [operator]: argument },
    required: [operator],
    additionalProperties: false,
  }));
}

/**
 * The input of a verb as a document describes it: for most what the contract checks, and for those whose
 * members depend on one another's values every form that there is.
 */
export function describedInput(verb: Verb): z.ZodType {
  switch (verb.name) {
    case "write":
      return writeForms();
    case "update":
      return updateForm();
    case "batch":
      return batchForms();
    default:
      return withRules(verb.input, verb.together ?? []);
  }
}

/** An input with the rules about which of its fields go together. */
function withRules(input: z.ZodObject, rules: readonly Together[]): z.ZodType {
  if (rules.length === 0) return input;
  return input.meta({ allOf: rules.map((rule) => ruleSchema(rule, input)) });
}

function ruleSchema(rule: Together, { shape }: z.ZodObject): JsonSchema {
  const each = (names: readonly string[]) => names.map((name) => ({ required: [name] }));
  if ("exactlyOne" in rule) return { oneOf: each(rule.exactlyOne) };
  if ("atLeastOne" in rule) return { anyOf: each(rule.atLeastOne) };
  if ("notEmpty" in rule) {
    return { anyOf: rule.notEmpty.map((name) => filled(name, shape[name])) };
  }
  if ("field" in rule) return { dependentRequired: { [rule.field]: [rule.needs] } };
  const names = rule.atMostOne;
  const pairs = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other]));
  return { not: { anyOf: pairs.map((required) => ({ required })) } };
}

/** Holds for an object that has a member, and something in it where it is a list. */
function filled(name: string, field: z.ZodType | undefined): JsonSchema {
  const isList = field !== undefined && schemaOf(field).type === "array";
  const required = [name];
  return isList ? { required, properties: { [name]: { minItems: 1 } } } : { required };
}

const TYPES = namesOf(MEMORY_TYPES);

/** The fields of a type's data that may stand beside the others. */
function looseFields(type: MemoryType, known: object): { readonly [name: string]: z.ZodType } {
  const fields = Object.entries<z.ZodType>(DATA_SCHEMAS[type].shape);
  return Object.fromEntries(fields.filter(([name]) => !Object.hasOwn(known, name)));
}

/** A memory to write, type by type. */
function writeForms(): z.ZodType {
  const forms = TYPES.map((type) =>
    z
      .strictObject({
        ...write.input.shape,
        type: z.literal(type),
        text: sentenceField(type).describe("the sentence or content").optional(),
        data: DATA_SCHEMAS[type].optional(),
        ...looseFields(type, writeFields),
      })
      .meta({ anyOf: leastToWrite(type) }),
  );
  return z.union(forms);
}

/** What a memory to write says at least: a sentence, or fields that say enough, in `data` or beside it. */
function leastToWrite(type: MemoryType): readonly JsonSchema[] {
  const beside = Object.keys(looseFields(type, writeFields));
  const ways = enoughFor(type).flatMap((fields) =>
    subsetsOf(fields).flatMap((inData): JsonSchema[] => {
      const others = fields.filter((name) => !inData.includes(name));
      // The label of an event is its kind as well, where it is one of the kinds of events.
      const isLabel = type === "event" && others.includes("kind");
      if (others.some((name) => !beside.includes(name) && !(isLabel && name === "kind"))) return [];
      const properties = {
        ...(inData.length === 0 ? {} : { data: { required: inData } }),
        ...(isLabel ? { kind: schemaOf(DATA_SCHEMAS.event.shape.kind) } : {}),
      };
      const required = [...(inData.length === 0 ? [] : ["data"]), ...others];
      return [Object.keys(properties).length === 0 ? { required } : { properties, required }];
    }),
  );
  return [{ required: ["text"] }, ...ways];
}

function subsetsOf(names: readonly string[]): readonly (readonly string[])[] {
  const [first, ...others] = names;
  if (first === undefined) return [[]];
  return subsetsOf(others).flatMap((set) => [set, [first, ...set]]);
}

/** A change of a memory: the fields of every type, of which it has those of its own. */
function updateForm(): z.ZodType {
  const schemas: readonly z.ZodType[] = [...Object.values(DATA_SCHEMAS), turnData];
  const loose = new Map<string, z.ZodType[]>();
  for (const type of TYPES) {
    for (const [name, schema] of Object.entries(looseFields(type, updateFields))) {
      const known = loose.get(name) ?? [];
      loose.set(name, known.includes(schema) ? known : [...known, schema]);
    }
  }
  const fields = [...loose].map(([name, forms]) => [name, z.union(forms).optional()]);
  const { id: _, basedOnVersion: __, by: ___, idempotencyKey: ____, ...said } = update.input.shape;
  const form = z.strictObject({
    ...update.input.shape,
    ...(Object.fromEntries(fields) as { readonly [name: string]: z.ZodType }),
    data: z.union(schemas).describe("the structured fields of the type, as JSON").optional(),
  });
  return withRules(form, [{ atLeastOne: [...Object.keys(said), ...loose.keys()] }]);
}

/**
 * A batch: where one bad item fails all of it, every item in full; where good items stand without the bad
 * ones, what each item is at all, because the answer says of each what is wrong with it.
 */
function batchForms(): z.ZodType {
  const { items: _, ...others } = batch.input.shape;
  const formed = (form: string): z.ZodType => z.custom().meta({ form });
  const free = formed("AnyJsonObject");
  // What is similar is told of a memory that is written by itself.
  const write = z.custom().meta({ form: "writeInput", not: { required: ["similar"] } });
  const whole = itemsOf(write, formed("updateInput"), batchLink);
  return z.union([
    z.strictObject({ ...others, items: whole, atomic: z.literal(true).optional() }),
    z.strictObject({ ...others, items: itemsOf(free, free, free), atomic: z.literal(false) }),
  ]);
}

/** The items of a batch: each is one of the three, and may have a name. */
function itemsOf(write: z.ZodType, update: z.ZodType, link: z.ZodType): z.ZodType {
  const ref = z.string().min(1).optional();
  const forms = [{ write }, { update }, { link }].map((one) => z.strictObject({ ...one, ref }));
  return listUpTo(z.union(forms), LIMITS.batchItems, 1).describe("what to do, in order");
}
