/**
 * The arguments that tools share: those of the operations, in as few words as a model needs.
 */
import { TURN_ROLES } from "@cortex-memory/core";
import * as z from "zod";
import { words } from "../operations/fields.js";
import { ISO_EXAMPLE, isoTimeMs } from "../operations/times.js";

/** A reference to a memory. */
export const memoryRef = z.string().describe("id, URI or external id");

/** A time in ISO form; the tool gets milliseconds. */
export function isoTime(description: string) {
  return z
    .string()
    .transform((text, context) => {
      const ms = isoTimeMs(text);
      if (ms !== undefined) return ms;
      context.addIssue({ code: "custom", message: ISO_EXAMPLE, input: text });
      return z.NEVER;
    })
    .describe(`${description}; ISO date`)
    .exactOptional();
}

/** One turn of a conversation. */
export const turnFields = {
  role: words(TURN_ROLES),
  content: z.string(),
  speaker: z.string().exactOptional(),
};
