/**
 * The fields that inputs share. Kinds and vocabularies are checked here; lengths, limits and what
 * fits together are checked once, by core.
 */
import {
  anyObject,
  frameSchema,
  MEMORY_TYPES,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "@cortex-memory/core/contract";
import * as z from "zod";

export { anyObject };

/** A schema for one word of a vocabulary. */
export function words<T extends object>(table: T) {
  return z.enum(Object.keys(table) as [keyof T & string, ...(keyof T & string)[]]);
}

/** A schema for a list. */
export function listOf<S extends z.ZodType>(item: S) {
  return z.array(item).readonly();
}

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
