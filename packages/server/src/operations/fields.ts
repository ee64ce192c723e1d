/**
 * Schemas that are the server's own: the shapes of answers that hold more than the library's, times as models write
 * them, and what a schema says about itself.
 */

import {
  type FieldNote,
  ISO_EXAMPLE,
  isoTimeMs,
  listOf,
  noted,
  noteOf,
  VERBS,
} from "@cortex-memory/core/contract";
import * as z from "zod";

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
    .meta({ description: `${description}; ISO date`, form: "IsoTime" });
  return noted(schema, { time: true }).exactOptional();
}

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
