/**
 * The fields that predicates and orders may name: a closed list, each with the kinds of value it can
 * hold and how to read it from a memory.
 *
 * Names are the property paths of the memory that callers get: `head.` and `version.` for its two
 * records, `data.` for what its type says, and `text` for its sentence. The list under `data.` is drawn
 * from the schemas of the types, so a field that a type gains can be asked for at once. A field may
 * mean different kinds in different types (`data.strength` is a number or a word); where a type holds
 * any JSON, deeper paths are open. A list is looked at item by item.
 *
 * Left to others: what a comparison does with the values (`evaluate.ts`), which literals fit
 * (`predicate.ts`).
 */
import type * as z from "zod";
import { ulidText } from "../codec/ulid.js";
import type { Read } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { DATA_SCHEMAS, turnData } from "../records/data.js";
import { amountField, timeField } from "../records/fields.js";
import {
  type Head,
  type MemoryRecord,
  primaryText,
  type Version,
} from "../records/memory-record.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  MEMORY_TYPES,
  type MemoryType,
  namesOf,
  OBJECT_KINDS,
  SOURCES,
  STATUSES,
  VISIBILITIES,
  type WordTable,
} from "../records/types.js";

/** What a predicate looks at: a memory and one of its versions. */
export interface Subject {
  readonly actor: string;
  readonly id: Bytes;
  readonly head: Read<MemoryRecord>;
  readonly body: Read<MemoryRecord>;
}

/** What a field can hold. */
type FieldKind = "text" | "word" | "id" | "number" | "time" | "flag" | "amount" | "json";

/** One field. */
export interface Field {
  readonly name: string;
  readonly kinds: readonly FieldKind[];
  /** The words of a closed vocabulary; empty where the field is free. */
  readonly words: readonly string[];
  /** Whether a memory may hold several values. */
  readonly many: boolean;
  /** The types that have the field; all when empty. */
  readonly types: readonly MemoryType[];
  /** The value; a list where there are several, `undefined` where there is none. */
  readonly read: (subject: Subject) => unknown;
}

/** The field of a name; `undefined` when no memory can have one. */
export function fieldOf(name: string): Field | undefined {
  return FIELDS.get(name) ?? jsonField(name);
}

/** Every field but the open paths inside JSON, in the order of the documentation. */
export function allFields(): readonly Field[] {
  return [...FIELDS.values()];
}

/** A field whose last word is that of `name`, to be named in a refusal. */
export function similarField(name: string): string | undefined {
  const last = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const plain = (text: string) => text.slice(text.lastIndexOf(".") + 1).toLowerCase();
  return [...FIELDS.keys()].find((known) => plain(known) === last);
}

type Kinds = Pick<Field, "kinds" | "words" | "many">;

const one = (kind: FieldKind): Kinds => ({ kinds: [kind], words: [], many: false });
const several = (kind: FieldKind): Kinds => ({ kinds: [kind], words: [], many: true });
const word = (table: WordTable, many = false): Kinds => ({
  kinds: ["word"],
  words: namesOf(table),
  many,
});

function versionOf({ body }: Subject): Version | undefined {
  return body.record.version;
}

const headOf = ({ head }: Subject): Head => head.record.head;

const HEAD: readonly (readonly [string, Kinds, Field["read"]])[] = [
  ["id", one("id"), ({ id }) => ulidText(id)],
  ["type", word(MEMORY_TYPES), (subject) => headOf(subject).type],
  ["actor", one("text"), ({ actor }) => actor],
  ["version", one("number"), (subject) => headOf(subject).version],
  ["lifecycle", word(LIFECYCLES), (subject) => headOf(subject).lifecycle],
  ["tombstoned", one("flag"), (subject) => headOf(subject).lifecycle === "tombstoned"],
  ["status", word(STATUSES), (subject) => headOf(subject).status],
  ["visibility", word(VISIBILITIES), (subject) => headOf(subject).visibility],
  ["importance", one("number"), (subject) => headOf(subject).importance],
  ["source", word(SOURCES), (subject) => headOf(subject).source],
  ["tags", several("text"), (subject) => headOf(subject).tags],
  [
    "frames.verb",
    word(FRAME_VERBS, true),
    (subject) => headOf(subject).frames.map(({ verb }) => verb),
  ],
  [
    "frames.object",
    word(OBJECT_KINDS, true),
    (subject) => headOf(subject).frames.map(({ object }) => object),
  ],
  ["frames.ref", several("text"), (subject) => headOf(subject).frames.map(({ ref }) => ref)],
  ["slot", one("text"), (subject) => headOf(subject).slot],
  ["kind", one("text"), (subject) => headOf(subject).kind],
  ["externalId", one("text"), (subject) => headOf(subject).externalId],
  ["createdAt", one("time"), (subject) => headOf(subject).createdAt],
  ["updatedAt", one("time"), ({ head }) => head.header.at],
  ["freshnessAt", one("time"), (subject) => headOf(subject).freshnessAt],
  ["siblings", several("number"), (subject) => headOf(subject).siblings],
  ["tombstone.reason", one("text"), (subject) => headOf(subject).tombstone?.reason],
  ["tombstone.at", one("time"), (subject) => headOf(subject).tombstone?.at],
  ["tombstone.by", one("text"), (subject) => headOf(subject).tombstone?.by],
];

const VERSION: readonly (readonly [string, Kinds, Field["read"]])[] = [
  ["number", one("number"), (subject) => versionOf(subject)?.number],
  ["createdAt", one("time"), (subject) => versionOf(subject)?.createdAt],
  ["createdBy", one("text"), (subject) => versionOf(subject)?.createdBy],
  ["confidence", one("number"), (subject) => versionOf(subject)?.confidence],
  ["validFrom", one("time"), (subject) => versionOf(subject)?.validFrom],
  ["validTo", one("time"), (subject) => versionOf(subject)?.validTo],
  ["expiresAt", one("time"), (subject) => versionOf(subject)?.expiresAt],
  ["supersedes", several("number"), (subject) => versionOf(subject)?.supersedes],
  ["seq", one("number"), ({ body }) => body.header.seq],
  ["provenance.source", word(SOURCES), (subject) => versionOf(subject)?.provenance.source],
  [
    "provenance.derivedFrom",
    several("text"),
    (subject) => versionOf(subject)?.provenance.derivedFrom,
  ],
  [
    "provenance.attestations",
    several("text"),
    (subject) => versionOf(subject)?.provenance.attestations,
  ],
  ["provenance.session", one("text"), (subject) => versionOf(subject)?.provenance.session],
  ["provenance.turn", one("number"), (subject) => versionOf(subject)?.provenance.turn],
  ["forms.short", one("text"), (subject) => versionOf(subject)?.forms.short],
  ["forms.medium", one("text"), (subject) => versionOf(subject)?.forms.medium],
];

function sentenceOf(subject: Subject): string | undefined {
  const version = versionOf(subject);
  if (version === undefined) return undefined;
  return primaryText(headOf(subject).type, version.data) || version.forms.short;
}

const FIELDS: ReadonlyMap<string, Field> = (() => {
  const fields = new Map<string, Field>();
  const add = (name: string, kinds: Kinds, read: Field["read"]) =>
    fields.set(name, { name, ...kinds, types: [], read });
  add("text", one("text"), sentenceOf);
  for (const [name, kinds, read] of HEAD) add(`head.${name}`, kinds, read);
  for (const [name, kinds, read] of VERSION) add(`version.${name}`, kinds, read);
  for (const type of namesOf(MEMORY_TYPES)) addData(fields, type, DATA_SCHEMAS[type]);
  addData(fields, "note", turnData);
  return fields;
})();

/** Adds the fields of one type; a name that another type has as well gains the kinds of this one. */
function addData(fields: Map<string, Field>, type: MemoryType, schema: z.core.$ZodType): void {
  for (const { path, ...kinds } of leavesOf(schema, [], false)) {
    const name = `data.${path.join(".")}`;
    const known = fields.get(name);
    fields.set(name, {
      name,
      kinds: [...new Set([...(known?.kinds ?? []), ...kinds.kinds])],
      words: [...new Set([...(known?.words ?? []), ...kinds.words])],
      many: known?.many === true || kinds.many,
      types: [...new Set([...(known?.types ?? []), type])],
      read: readerOf(path),
    });
  }
}

interface Leaf extends Kinds {
  readonly path: readonly string[];
}

/** The values inside a schema, with the paths to them. */
function leavesOf(
  schema: z.core.$ZodType,
  path: readonly string[],
  many: boolean,
): readonly Leaf[] {
  const leaf = (kind: FieldKind, words: readonly string[] = []): readonly Leaf[] => [
    { path, kinds: [kind], words, many },
  ];
  // Times and amounts are recognised among numbers and texts by the very schema they share.
  if (schema === timeField) return leaf("time");
  if (schema === amountField) return leaf("amount");
  const { def } = schema._zod as { readonly def: SchemaDef };
  switch (def.type) {
    case "optional":
      return leavesOf(def.innerType, path, many);
    case "object":
      return Object.entries(def.shape).flatMap(([name, inner]) =>
        leavesOf(inner, [...path, name], many),
      );
    case "array":
      return leavesOf(def.element, path, true);
    case "enum":
      return leaf("word", Object.values(def.entries));
    case "string":
      return leaf("text");
    case "number":
      return leaf("number");
    case "boolean":
      return leaf("flag");
    case "custom":
      return leaf("json");
    default:
      throw new Error(`data.${path.join(".")}: a schema that predicates do not know`);
  }
}

type SchemaDef =
  | { readonly type: "optional"; readonly innerType: z.core.$ZodType }
  | { readonly type: "object"; readonly shape: { readonly [name: string]: z.core.$ZodType } }
  | { readonly type: "array"; readonly element: z.core.$ZodType }
  | { readonly type: "enum"; readonly entries: { readonly [name: string]: string } }
  | { readonly type: "string" | "number" | "boolean" | "custom" };

function readerOf(path: readonly string[]): Field["read"] {
  const [name = "", ...rest] = path;
  if (rest.length === 0) return (subject) => memberOf(versionOf(subject)?.data, name);
  return (subject) => valueAt(versionOf(subject)?.data, path, 0);
}

function valueAt(value: unknown, path: readonly string[], at: number): unknown {
  const name = path[at];
  if (name === undefined) return value;
  if (!Array.isArray(value)) return valueAt(memberOf(value, name), path, at + 1);
  return value.flatMap((item: unknown) => {
    const found = valueAt(item, path, at);
    return found === undefined ? [] : found;
  });
}

/** An own member: what objects inherit was never written. */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as { readonly [name: string]: unknown })[name];
}

/** A path that leads into the JSON of a field, such as `data.metadata.ticket.priority`. */
function jsonField(name: string): Field | undefined {
  const steps = name.split(".");
  if (steps.length > LIMITS.metadataDepth || steps.some((step) => step === "")) return undefined;
  for (let length = steps.length - 1; length > 1; length -= 1) {
    const outer = FIELDS.get(steps.slice(0, length).join("."));
    if (outer?.kinds.includes("json") !== true) continue;
    return { ...outer, name, kinds: ["json"], words: [], read: readerOf(steps.slice(1)) };
  }
  return undefined;
}
