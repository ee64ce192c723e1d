/**
 * The fields that inputs and answers are made of. A field carries its bounds, so that OpenAPI, a tool's
 * schema and the error all say the same; what doors and messages need beside that (the code of a
 * refusal, that a number is a time) is kept in a registry of our own and never sent.
 */
import * as z from "zod";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { describe, type ErrorCode } from "../errors.js";
import { LIMITS, SEQ_MAX } from "../limits.js";
import {
  complain,
  ISO_EXAMPLE,
  ISO_PATTERN,
  isoTimeMs,
  type ListSchema,
  saying,
  timeField,
} from "../records/fields.js";
import { namesOf, type WordTable } from "../records/types.js";

/** What a field says about itself beside its rules. */
export interface FieldNote {
  /** The error code when a value is refused. */
  readonly code?: ErrorCode;
  /** A point in time. */
  readonly time?: true;
  /** A position of the journal. */
  readonly position?: true;
  /** The value is a document; a command line names the file that holds it. */
  readonly file?: true;
  /** What a flag does, where that is not what the value says: one that turns something off, or names a file. */
  readonly flag?: string;
  /** A sentence: a comma in it separates nothing. */
  readonly prose?: true;
  /** Of the two values of a switch, this one holds when none is given. */
  readonly standard?: boolean;
}

const NOTES = z.registry<FieldNote>();

/** Adds a note to a field. */
export function noted<S extends z.ZodType>(schema: S, note: FieldNote): S {
  NOTES.add(schema, { ...NOTES.get(schema), ...note });
  return schema;
}

/** The note of a field, wherever among its wrappers it was given. */
export function noteOf(schema: z.core.$ZodType): FieldNote {
  const own = NOTES.get(schema as z.ZodType);
  if (own !== undefined) return own;
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return innerType === undefined ? {} : noteOf(innerType);
}

/** The type of a schema's value: read-only all through. */
export type ShapeOf<S extends z.ZodType> = DeepReadonly<z.output<S>>;

type DeepReadonly<T> = T extends string | number | boolean | null | undefined | Uint8Array
  ? T
  : T extends (...args: never) => unknown
    ? T
    : T extends readonly (infer U)[]
      ? readonly DeepReadonly<U>[]
      : T extends object
        ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
        : T;

/** A list. */
export function listOf<S extends z.ZodType>(item: S): ListSchema<S> {
  return z.array(item) as unknown as ListSchema<S>;
}

/** A list of at most `max` items, and at least `min`. */
export function listUpTo<S extends z.ZodType>(
  item: S,
  max: number = LIMITS.listItems,
  min = 0,
): ListSchema<S> {
  const list = z.array(item).max(max);
  return (min === 0 ? list : list.min(min)) as unknown as ListSchema<S>;
}

/** A list of one item or more, which may be given as its one item. */
export function oneOrMore<S extends z.ZodType>(item: S, max: number = LIMITS.listItems) {
  return z.union([listUpTo(item, max, 1), item]);
}

/** One word of a vocabulary. */
export function words<T extends WordTable>(table: T) {
  return z.enum(namesOf(table));
}

/** An object of any members, kept as it is: a record of zod's leaves out the member `__proto__`. */
export const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    saying("an object"),
  )
  .meta({ type: "object", additionalProperties: {}, form: "JsonObject" });

/** A whole number between two bounds, both included; without an upper one, as large as can be counted on from. */
export function whole(min: number, max: number = SEQ_MAX) {
  const within = `a whole number from ${min} to ${max}`;
  const expected = max === SEQ_MAX ? `a whole number of at least ${min}` : within;
  const schema = z.number(saying(expected)).check((payload) => {
    const { value } = payload;
    if (Number.isSafeInteger(value) && value >= min && value <= max) return;
    const said = value > max ? within : expected;
    complain(payload, { code: "ERR_INVALID", expected: said, got: String(value) }, []);
  });
  return schema.meta({ type: "integer", minimum: min, maximum: max });
}

/** A time, which every field of that kind takes in the same three forms; it is kept in milliseconds. */
export function timeOf(description: string) {
  return noted(timeField.meta({ description }), { time: true });
}

/** A reference to a memory: its id, its URI, or its external id. */
export function refField(description: string) {
  const expected = "an id, a URI or an external id";
  const schema = z.string(saying(expected)).check((payload) => {
    const { value } = payload;
    if (value === "") {
      complain(payload, { code: "ERR_BAD_ID", expected, got: "an empty string" }, []);
    } else if (!isWellFormed(value)) {
      const got = "a string with a lone surrogate";
      complain(payload, { code: "ERR_ILL_FORMED", expected: "well-formed text", got }, []);
    } else if (
      value.length > LIMITS.externalIdBytes &&
      utf8Length(value) > LIMITS.externalIdBytes
    ) {
      const expected = `at most ${LIMITS.externalIdBytes} bytes`;
      complain(payload, { code: "ERR_BAD_ID", expected, got: describe(value) }, []);
    }
  });
  return noted(schema.meta({ description, minLength: 1, maxLength: LIMITS.externalIdBytes }), {
    code: "ERR_BAD_ID",
  });
}

/** The id of an edge; whether there is such an edge, its verb says. */
export const edgeIdField = noted(
  z.string().max(64).meta({ pattern: "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$" }),
  { code: "ERR_BAD_ID" },
);

export { textField } from "../records/fields.js";

/** A position of the journal as callers may give it: a seq, a `Date`, or an ISO time. */
export type AsOf = number | Date | string;

/** A position of the journal: a seq, or a time. */
export function positionField(description: string) {
  const schema = z.custom<AsOf>().check((payload) => {
    const { value } = payload;
    const isSeq = Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= SEQ_MAX;
    const isTime = value instanceof Date ? !Number.isNaN(value.getTime()) : isIso(value);
    if (isSeq || isTime) return;
    const expected = `a seq of at least 0, a Date or ${ISO_EXAMPLE}`;
    complain(payload, { code: "ERR_AS_OF", expected, got: describe(value) }, []);
  });
  const json = {
    anyOf: [
      { type: "integer", minimum: 0, maximum: SEQ_MAX },
      { type: "string", pattern: ISO_PATTERN },
    ],
  };
  return noted(schema.meta({ description, ...json }), { position: true, code: "ERR_AS_OF" });
}

function isIso(value: unknown): boolean {
  return typeof value === "string" && isoTimeMs(value) !== undefined;
}
