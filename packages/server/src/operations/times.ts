/**
 * Times as people and models write them: a full ISO date, or a date with a time.
 */

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** The example that messages give. */
export const ISO_EXAMPLE = "an ISO time such as 2026-03-01T12:00:00Z";

/** Milliseconds since 1970 of an ISO date or time; `undefined` when the text is neither. */
export function isoTimeMs(text: string): number | undefined {
  const ms = ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
