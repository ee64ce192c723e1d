/**
 * What a document says several times, said once: parts of its schemas that are alike to the letter stand
 * under a name of their own, and a reference stands wherever they were.
 *
 * Promise: the document means what it meant. A part is named by the place where it stands first, such as
 * `writeInput.provenance`, so the same contract gives the same names. What is hardly longer than its
 * reference stays where it is.
 *
 * Left to others: what the schemas say (`openapi.ts`).
 */

/** A JSON document, or a part of one. */
type Json = { readonly [member: string]: unknown };

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
