/**
 * Fields that stand beside a memory's data and that more than one contract takes: frames, external
 * ids, kinds, times. What else a caller may say is declared in `contract/memory.ts`.
 *
 * Left to others: the whitelist of kinds and uniqueness of external ids (they need the graph), normal
 * forms of slots (`codec/text.ts`), who may claim which source (`trust/`).
 */

import type * as z from "zod";
import { describe } from "../errors.js";
import { LIMITS } from "../limits.js";
import {
  checkText,
  complain,
  type Exact,
  parseWith,
  strictFields,
  textField,
  timeField,
  wordField,
} from "./fields.js";
import { FRAME_VERBS, OBJECT_KINDS } from "./types.js";

/** The schema of a frame: what is done, to what kind of thing, and which. */
export const frameSchema = strictFields({
  verb: wordField(FRAME_VERBS),
  object: wordField(OBJECT_KINDS),
  ref: textField({ maxBytes: LIMITS.frameRefBytes }),
});

/** Verb × object kind × ref: the work a memory matters for. */
export type Frame = Exact<z.output<typeof frameSchema>>;

/** A schema for a name of the caller's own. It is accepted wherever an id is, so it is no memory URI. */
export const externalIdField = textField({ maxBytes: LIMITS.externalIdBytes }).check((payload) => {
  const { value } = payload;
  if (!value.startsWith("cortex://")) return;
  const expected = "an id that is no memory URI";
  complain(payload, { code: "ERR_INVALID", expected, got: describe(value) }, []);
});

/** Checks an external id. */
export function checkExternalId(input: unknown, field = "externalId"): string {
  return parseWith(externalIdField, input, field);
}

/** Checks the open label of a memory's kind: 1 to 64 bytes without control characters. */
export function checkKind(input: unknown, field = "kind"): string {
  return checkText(input, field, { maxBytes: LIMITS.kindBytes });
}

/** Checks a time: whole milliseconds since 1970, before or after. */
export function checkTime(input: unknown, field: string): number {
  return parseWith(timeField, input, field) + 0;
}
