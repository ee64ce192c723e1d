/**
 * What operations are made of beside the contract: the fields that inputs share, the shapes of answers that are the
 * server's own, times as people and models write them, and how a schema refuses. How a refusal is worded is the
 * contract's, so that an input refused here fails as the library would fail.
 */

import {
  anyObject,
  type FieldNote,
  frameSchema,
  listOf,
  MEMORY_TYPES,
  noted,
  noteOf,
  SOURCES,
  STATUSES,
  VERBS,
  VISIBILITIES,
} from "@cortex-memory/core/contract";
import * as z from "zod";

export { anyObject };

/** A schema for one word of a vocabulary. */
export function words<T extends object>(table: T) {
  return z.enum(Object.keys(table) as [keyof T & string, ...(keyof T & string)[]]);
}

export { listOf };

/** A time in whole milliseconds since 1970, or an ISO time where a door reads text. */
export function timeField(description: string) {
  return z.int().meta({ description, time: true });
}

/** Who acts. */
export const by = z
  .string()
  .describe("the principal the entry names; the actor when not given")
  .exactOptional();

/** Which kinds of edges. */
export const edgeKinds = listOf(z.string())
  .describe("only edges of this kind; may be repeated")
  .exactOptional();

/** The type of a memory. */
export const memoryType = words(MEMORY_TYPES).meta({
  description: `the type: ${Object.keys(MEMORY_TYPES).join(", ")}`,
  code: "ERR_UNKNOWN_TYPE",
});

/** The head fields of a write, an update of the head, a note. */
export const headFields = {
  tags: listOf(z.string()).describe("a tag; may be repeated").exactOptional(),
  kind: z.string().describe("an open label").exactOptional(),
  importance: z.int().min(0).max(10).describe("0 to 10; 5 when not given").exactOptional(),
  visibility: words(VISIBILITIES)
    .describe("who may see it; private when not given")
    .exactOptional(),
  status: words(STATUSES).describe("how far it is taken to be true").exactOptional(),
  freshnessAt: timeField("when the content should be looked at again").exactOptional(),
  frames: listOf(frameSchema)
    .describe("the work it matters for, as a JSON list of verb, object, ref")
    .exactOptional(),
};

/** The fields of a version. */
export const versionFields = {
  text: z.string().describe("the sentence or content").exactOptional(),
  data: anyObject.describe("the structured fields of the type, as JSON").exactOptional(),
  confidence: z.number().min(0).max(1).describe("0 to 1; 1 when not given").exactOptional(),
  validFrom: timeField("from when on it holds in the world").exactOptional(),
  validTo: timeField("until when it holds in the world").exactOptional(),
  expiresAt: timeField("when it stops being current").exactOptional(),
  provenance: z
    .strictObject({
      source: words(SOURCES).exactOptional(),
      derivedFrom: listOf(z.string()).exactOptional(),
      attestations: listOf(z.string()).exactOptional(),
      session: z.string().exactOptional(),
      turn: z.int().min(0).exactOptional(),
    })
    .describe("where the version came from, as JSON")
    .exactOptional(),
  forms: z
    .strictObject({ short: z.string(), medium: z.string() })
    .describe("renderings to use instead of the templates', as JSON")
    .exactOptional(),
};

const timeMs = z.int();
const seq = z.int();

const setting = z.object({
  name: z.string(),
  value: z.string(),
  from: z.string(),
  flag: z.string(),
  variable: z.string(),
});

/** Settings of the door and configuration of the graph. */
export const configShape = z.object({
  settings: listOf(setting),
  ...VERBS.config.output.shape,
  seq: seq.exactOptional(),
});

/** How much a store holds, and where. */
export const statsShape = z.object({ data: z.string(), ...VERBS.stats.output.shape });

/** What a proof or checkpoint shows. */
export const verifiedShape = z.object({
  ok: z.boolean(),
  anchored: z.boolean(),
  anchoredBy: z.enum(["checkpoint", "consistency"]).exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  checkpoint: z
    .object({ origin: z.string(), size: z.int(), root: z.string(), at: timeMs })
    .exactOptional(),
  memories: listOf(
    z.looseObject({
      id: z.string(),
      status: z.enum(["present", "absent", "erased"]),
      text: z.string().exactOptional(),
    }),
  ).exactOptional(),
  edges: listOf(
    z.looseObject({ key: z.string(), status: z.enum(["present", "absent"]), from: z.string() }),
  ).exactOptional(),
  entries: listOf(z.looseObject({ seq, kind: z.string() })).exactOptional(),
  since: z.object({ size: z.int(), root: z.string() }).exactOptional(),
  signatures: listOf(z.object({ name: z.string(), keyHint: z.string() })).exactOptional(),
});

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** The example that messages give. */
export const ISO_EXAMPLE = "an ISO time such as 2026-03-01T12:00:00Z";

/** Milliseconds since 1970 of an ISO date or time; `undefined` when the text is neither. */
export function isoTimeMs(text: string): number | undefined {
  const ms = ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** A time in ISO form; the call gets milliseconds. */
export function isoTime(description: string) {
  const schema = z
    .string()
    .transform((text, context) => {
      const ms = isoTimeMs(text);
      if (ms !== undefined) return ms;
      context.addIssue({ code: "custom", message: ISO_EXAMPLE, input: text });
      return z.NEVER;
    })
    .describe(`${description}; ISO date`);
  return noted(schema, { time: true }).exactOptional();
}

export {
  codeIn,
  describe as shortly,
  expectedOf as expectedBy,
  refusalOf as inputError,
  unwrapped as innerSchema,
} from "@cortex-memory/core/contract";

/** What a schema says about itself beside its rules. */
export interface FieldMeta extends FieldNote {
  readonly description?: string;
}

/** What a schema says about itself, wherever among its wrappers it was given; notes of the contract win. */
export function metaOf(schema: z.core.$ZodType): FieldMeta {
  return { ...ownMeta(schema), ...noteOf(schema) };
}

function ownMeta(schema: z.core.$ZodType): FieldMeta {
  const own = (schema as z.ZodType).meta?.() as FieldMeta | undefined;
  if (own !== undefined) return own;
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return innerType === undefined ? {} : ownMeta(innerType);
}
