/**
 * Times as people and models write them: a full ISO date, or a date with a time.
 */
import { noted } from "@cortex-memory/core/contract";
import * as z from "zod";

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
