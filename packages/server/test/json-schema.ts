/**
 * As much of JSON Schema as the OpenAPI document uses, twice: holding a value against a schema, and
 * generating values from one. A keyword that this file does not know is an error, so that no rule of a
 * schema goes unchecked in silence.
 */
import fc from "fast-check";

/** A schema. */
export type Schema = { readonly [keyword: string]: unknown };

/** Keywords that say something about a value without a rule. */
const SILENT = new Set(["description", "format", "readOnly", "title", "default", "$defs"]);

/** What is wrong with a value: places and rules; nothing when it fits. */
export function mismatches(
  value: unknown,
  schema: Schema,
  root: Schema,
  at = "",
): readonly string[] {
  return Object.entries(schema).flatMap(([keyword, rule]): readonly string[] => {
    if (SILENT.has(keyword)) return [];
    const check = CHECKS[keyword];
    if (check === undefined) throw new Error(`${at}: unknown keyword ${keyword}`);
    return check(value, rule, { schema, root, at });
  });
}

interface Place {
  readonly schema: Schema;
  readonly root: Schema;
  readonly at: string;
}

type Check = (value: unknown, rule: unknown, place: Place) => readonly string[];

const fails = (isWrong: boolean, { at }: Place, what: string): readonly string[] =>
  isWrong ? [`${at}: ${what}`] : [];

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const CHECKS: Readonly<Record<string, Check>> = {
  $ref: (value, rule, { root, at }) => mismatches(value, resolve(String(rule), root), root, at),
  type: (value, rule, place) => {
    const types = Array.isArray(rule) ? (rule as string[]) : [String(rule)];
    return fails(!types.some((type) => isOfType(value, type)), place, `is no ${types.join()}`);
  },
  const: (value, rule, place) => fails(value !== rule, place, `is not ${String(rule)}`),
  enum: (value, rule, place) =>
    fails(!(rule as unknown[]).includes(value), place, `is none of ${String(rule)}`),
  anyOf: (value, rule, { root, at }) => {
    const tried = (rule as Schema[]).map((one) => mismatches(value, one, root, at));
    return tried.some((wrong) => wrong.length === 0) ? [] : (tried[0] ?? []);
  },
  oneOf: (value, rule, { root, at }) => {
    const fitting = (rule as Schema[]).filter(
      (one) => mismatches(value, one, root, at).length === 0,
    );
    return fails(fitting.length !== 1, { schema: {}, root, at }, `fits ${fitting.length} of oneOf`);
  },
  not: (value, rule, place) => {
    const isFit = mismatches(value, rule as Schema, place.root, place.at).length === 0;
    return fails(isFit, place, `fits ${JSON.stringify(rule)}`);
  },
  allOf: (value, rule, { root, at }) =>
    (rule as Schema[]).flatMap((one) => mismatches(value, one, root, at)),
  dependentRequired: (value, rule, place) =>
    !isObject(value)
      ? []
      : Object.entries(rule as Record<string, readonly string[]>)
          .filter(([name]) => Object.hasOwn(value, name))
          .flatMap(([, needs]) => needs)
          .flatMap((name) => fails(!Object.hasOwn(value, name), place, `lacks ${name}`)),
  properties: (value, rule, { root, at }) =>
    !isObject(value)
      ? []
      : Object.entries(rule as Record<string, Schema>).flatMap(([name, one]) =>
          Object.hasOwn(value, name) ? mismatches(value[name], one, root, `${at}.${name}`) : [],
        ),
  required: (value, rule, place) =>
    !isObject(value)
      ? []
      : (rule as string[]).flatMap((name) =>
          fails(!Object.hasOwn(value, name), place, `lacks ${name}`),
        ),
  additionalProperties: (value, rule, { schema, root, at }) => {
    if (!isObject(value) || rule === true) return [];
    const known = Object.keys((schema.properties ?? {}) as object);
    const others = Object.keys(value).filter((name) => !known.includes(name));
    if (rule === false) return others.map((name) => `${at}: has ${name}`);
    return others.flatMap((name) => mismatches(value[name], rule as Schema, root, `${at}.${name}`));
  },
  propertyNames: (value, rule, { root, at }) =>
    !isObject(value)
      ? []
      : Object.keys(value).flatMap((name) => mismatches(name, rule as Schema, root, at)),
  minProperties: (value, rule, place) =>
    fails(
      isObject(value) && Object.keys(value).length < Number(rule),
      place,
      "has too few members",
    ),
  maxProperties: (value, rule, place) =>
    fails(
      isObject(value) && Object.keys(value).length > Number(rule),
      place,
      "has too many members",
    ),
  items: (value, rule, { root, at }) =>
    !Array.isArray(value)
      ? []
      : value.flatMap((one, index) => mismatches(one, rule as Schema, root, `${at}[${index}]`)),
  prefixItems: (value, rule, { root, at }) =>
    !Array.isArray(value)
      ? []
      : (rule as Schema[]).flatMap((one, index) =>
          index < value.length ? mismatches(value[index], one, root, `${at}[${index}]`) : [],
        ),
  minimum: (value, rule, place) =>
    fails(typeof value === "number" && value < Number(rule), place, `is below ${rule}`),
  maximum: (value, rule, place) =>
    fails(typeof value === "number" && value > Number(rule), place, `is above ${rule}`),
  exclusiveMinimum: (value, rule, place) =>
    fails(typeof value === "number" && value <= Number(rule), place, `is not above ${rule}`),
  exclusiveMaximum: (value, rule, place) =>
    fails(typeof value === "number" && value >= Number(rule), place, `is not below ${rule}`),
  minLength: (value, rule, place) =>
    fails(typeof value === "string" && value.length < Number(rule), place, "is too short"),
  maxLength: (value, rule, place) =>
    fails(typeof value === "string" && value.length > Number(rule), place, "is too long"),
  minItems: (value, rule, place) =>
    fails(Array.isArray(value) && value.length < Number(rule), place, "has too few"),
  maxItems: (value, rule, place) =>
    fails(Array.isArray(value) && value.length > Number(rule), place, "has too many"),
  pattern: (value, rule, place) =>
    fails(
      typeof value === "string" && !new RegExp(String(rule), "u").test(value),
      place,
      `does not match ${rule}`,
    ),
};

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

/** The part of a document that a reference names. */
export function resolve(ref: string, root: Schema): Schema {
  if (!ref.startsWith("#/")) throw new Error(`a reference that leaves the document: ${ref}`);
  const found = ref
    .slice(2)
    .split("/")
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], root);
  if (!isObject(found)) throw new Error(`a reference to nothing: ${ref}`);
  return found;
}

/** Texts that mean something to a store of the test, and texts that are trouble. */
const TEXTS = [
  "home",
  "rule",
  "trip",
  "chat-0",
  "fact",
  "related_to",
  "",
  " ",
  "\u0000",
  "x".repeat(300),
];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20, unit: "grapheme" }) },
  { weight: 1, arbitrary: fc.constantFrom("\ud800", "2026-03-01T12:00:00Z", "../../etc", "1e309") },
);

/** Names of members that nobody declared. */
const memberName = fc.oneof(text, fc.constantFrom("name", "\u005f_proto__", "constructor"));

/** How many levels of a schema that holds itself are made. */
const DEEPEST = 3;

/** Values that fit a schema, mostly. */
export function arbitraryOf(schema: Schema, root: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string") return arbitraryOf(resolve(schema.$ref, root), root, depth);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  if (isObject(schema.properties) && (schema.anyOf ?? schema.allOf) !== undefined) {
    return fc.oneof(...formsOf(schema, root).map((one) => arbitraryOf(one, root, depth)));
  }
  const either = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined;
  // What holds itself goes on in its first form, which is a plain one, or nothing would end it.
  const forms = depth > DEEPEST ? either?.slice(0, 1) : either;
  if (forms !== undefined) return fc.oneof(...forms.map((one) => arbitraryOf(one, root, depth)));
  const types = [schema.type].flat() as (string | undefined)[];
  if (types.length > 1) {
    return fc.oneof(...types.map((type) => arbitraryOf({ ...schema, type }, root, depth)));
  }
  const [type] = types;
  const min = Math.max(Number(schema.minimum ?? -5), Number.MIN_SAFE_INTEGER);
  switch (type) {
    case "string":
      return text;
    case "boolean":
      return fc.boolean();
    case "integer": {
      const low = Math.max(min, -5);
      return fc.integer({ min: low, max: Math.min(Number(schema.maximum ?? low + 20), low + 20) });
    }
    case "number":
      return fc.oneof(
        fc.double({ min, max: Number(schema.maximum ?? 10), noNaN: true }),
        fc.constantFrom(min, Number(schema.maximum ?? 10)),
      );
    case "null":
      return fc.constant(null);
    case "array":
      if (schema.prefixItems !== undefined) {
        const places = schema.prefixItems as readonly Schema[];
        return fc.tuple(...places.map((one) => arbitraryOf(one, root, depth + 1)));
      }
      return fc.array(arbitraryOf((schema.items ?? {}) as Schema, root, depth + 1), {
        maxLength: 3,
      });
    case "object":
      return objectOf(schema, root, depth);
    default:
      return depth > 3 ? fc.constant(1) : fc.jsonValue({ maxDepth: 2 });
  }
}

/** An object of which rules say what it holds at least, once for each way to say it: as plain objects. */
export function formsOf(schema: Schema, root: Schema): readonly Schema[] {
  const { anyOf, allOf, ...base } = schema;
  const rules = [{ anyOf }, ...((allOf ?? []) as readonly Schema[])];
  const least = rules.flatMap((rule) => (rule.anyOf ?? rule.oneOf ?? []) as readonly Schema[]);
  return least.length === 0 ? [base] : least.map((one) => joined(base, one, root));
}

/** What keeps to two schemas of an object; where both speak of a member, it keeps to both. */
function joined(one: Schema, other: Schema, root: Schema): Schema {
  const whole = typeof one.$ref === "string" ? resolve(one.$ref, root) : one;
  const mine = (whole.properties ?? {}) as Record<string, Schema>;
  const theirs = Object.entries((other.properties ?? {}) as Record<string, Schema>);
  const both = theirs.map(([name, rule]) => [name, joined(mine[name] ?? {}, rule, root)]);
  const required = [...((whole.required ?? []) as []), ...((other.required ?? []) as [])];
  return {
    ...whole,
    ...other,
    ...(isObject(whole.properties) ? { properties: { ...mine, ...Object.fromEntries(both) } } : {}),
    ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
  };
}

function objectOf(schema: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  if (properties.length === 0) {
    const others = schema.additionalProperties as Schema | boolean | undefined;
    const isSaid = typeof others === "object" && Object.keys(others).length > 0;
    const value = isSaid ? arbitraryOf(others, root, depth + 1) : fc.jsonValue({ maxDepth: 1 });
    return fc.dictionary(memberName, value, { maxKeys: 2 });
  }
  const required = (schema.required ?? []) as string[];
  const model = Object.fromEntries(
    properties.map(([name, one]) => [name, arbitraryOf(one, root, depth + 1)]),
  );
  const known = fc.record(model, { requiredKeys: required });
  const others = schema.additionalProperties;
  if (typeof others !== "object" || others === null) return known;
  const more = fc.dictionary(memberName, arbitraryOf(others as Schema, root, depth + 1), {
    maxKeys: 2,
  });
  return fc.tuple(known, more).map(([one, other]) => ({ ...other, ...(one as object) }));
}

/** Texts of every form that a pattern asks for. */
const SAMPLES = [
  "word",
  "2026-03-01T12:00:00Z",
  "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "cortex://default/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1",
  "12.50",
  "rule",
  `${"A".repeat(43)}=`,
];

/** One plain value that fits a schema, with as few members as may be. */
export function sampleOf(schema: Schema, root: Schema): unknown {
  if (typeof schema.$ref === "string") return sampleOf(resolve(schema.$ref, root), root);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [form] = (schema.anyOf ?? []) as readonly Schema[];
  if (form !== undefined && schema.properties === undefined) return sampleOf(form, root);
  switch (schema.type) {
    case "string": {
      const fitting = SAMPLES.find((one) => mismatches(one, schema, root).length === 0);
      if (fitting === undefined) throw new Error(`no sample fits ${JSON.stringify(schema)}`);
      return fitting;
    }
    case "boolean":
      return true;
    case "integer":
    case "number":
      return Math.max(Number(schema.minimum ?? 0), 0);
    case "null":
      return null;
    case "array":
      return [sampleOf((schema.items ?? {}) as Schema, root)];
    default: {
      const required = (schema.required ?? []) as readonly string[];
      const properties = (schema.properties ?? {}) as Record<string, Schema>;
      return Object.fromEntries(
        required.map((name) => [name, sampleOf(properties[name] ?? {}, root)]),
      );
    }
  }
}

/** The same with one thing wrong: a member of another kind, one too many, or one that is missing. */
export function spoiled(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  const forms = schema.anyOf as readonly Schema[] | undefined;
  if (forms !== undefined && schema.properties === undefined) {
    return fc.oneof(...forms.map((one) => spoiled(one, root)));
  }
  const numbers = [1e300, { n: 2 ** 53 }, { n: [-1e300] }];
  const wrong = fc.constantFrom<unknown>(
    ...[null, 7, -1, 1.5, "", [], {}, [null], true, "x"],
    ...numbers,
  );
  const names = Object.keys((schema.properties ?? {}) as object);
  return fc
    .tuple(arbitraryOf(schema, root), fc.constantFrom(...names, "unheardOf"), wrong, fc.boolean())
    .map(([value, name, other, isTakenAway]) => {
      const { [name]: _, ...rest } = value as Record<string, unknown>;
      return isTakenAway ? rest : { ...rest, [name]: other };
    });
}
