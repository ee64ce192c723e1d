/**
 * The checks of everything a caller may say about a memory beside its data: tags, frames, external
 * id, kind, importance, visibility, confidence, times and provenance.
 *
 * Promise: each check returns the value in the one form that is stored, or throws a `CortexError`
 * that names the field. Lists lose duplicates, keeping the first; nothing else is changed.
 *
 * Left to others: the whitelist of kinds and uniqueness of external ids (they need the graph),
 * normal forms of slots (`codec/text.ts`), who may claim which source (`trust/`).
 */

import type * as z from "zod";
import { CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import {
  checkText,
  countField,
  type Exact,
  listField,
  parseWith,
  strictFields,
  textField,
  timeField,
  unitField,
  wordField,
} from "./fields.js";
import type { Provenance } from "./memory-record.js";
import type { Visibility } from "./types.js";
import { checkNameOf, OBJECT_KINDS, SOURCES, type Source, VERBS, VISIBILITIES } from "./types.js";
import { parseUri } from "./uri.js";

/** The schema of a frame: what is done, to what kind of thing, and which. */
export const frameSchema = strictFields({
  verb: wordField(VERBS),
  object: wordField(OBJECT_KINDS),
  ref: textField({ maxBytes: LIMITS.frameRefBytes }),
});

/** Verb × object kind × ref: the work a memory matters for. */
export type Frame = Exact<z.output<typeof frameSchema>>;

/** The schema of tags, before duplicates are dropped. */
export const tagsSchema = listField(textField({ maxBytes: LIMITS.tagBytes }), LIMITS.batchItems);

/** The schema of provenance, before URIs are read and duplicates dropped. */
export const provenanceSchema = strictFields({
  source: wordField(SOURCES).optional(),
  derivedFrom: listField(textField({ maxBytes: LIMITS.labelBytes }), LIMITS.derivedFrom).optional(),
  attestations: listField(
    textField({ maxBytes: LIMITS.labelBytes }),
    LIMITS.attestations,
  ).optional(),
  session: textField({ maxBytes: LIMITS.sessionBytes }).optional(),
  turn: countField.optional(),
});

/** Checks tags: at most 16 different ones of 1 to 64 bytes, without control characters. */
export function checkTags(input: unknown, field = "tags"): readonly string[] {
  if (arePlainTags(input)) return input;
  const tags = unique(parseWith(tagsSchema, input, field), (tag) => tag);
  checkCount(tags, { field, max: LIMITS.tags, what: "different tags" });
  return tags;
}

/** A few short ASCII tags, all different: what nearly every write has, told without a schema. */
function arePlainTags(input: unknown): input is readonly string[] {
  if (!Array.isArray(input) || input.length > LIMITS.tags) return false;
  for (let at = 0; at < input.length; at += 1) {
    const tag: unknown = input[at];
    if (typeof tag !== "string" || tag.length > LIMITS.tagBytes || !PLAIN_TAG.test(tag))
      return false;
    if (input.indexOf(tag) !== at) return false;
  }
  return true;
}

/** Printable ASCII that starts and ends with no space. */
const PLAIN_TAG = /^[!-~]([ -~]*[!-~])?$/;

/** Checks frames: at most 16 different ones. */
export function checkFrames(input: unknown, field = "frames"): readonly Frame[] {
  const parsed = parseWith(listField(frameSchema, LIMITS.batchItems), input, field);
  const frames = unique(parsed, ({ verb, object, ref }) => `${verb} ${object} ${ref}`);
  checkCount(frames, { field, max: LIMITS.frames, what: "different frames" });
  return frames;
}

/**
 * Checks an external id: 1 to 256 bytes without control characters. It is accepted wherever an id
 * is, so it may not look like a memory URI.
 */
export function checkExternalId(input: unknown, field = "externalId"): string {
  const id = checkText(input, field, { maxBytes: LIMITS.externalIdBytes });
  if (id.startsWith("cortex://")) throw invalid(field, "an id that is no memory URI", id);
  return id;
}

/** Checks the open label of a memory's kind: 1 to 64 bytes without control characters. */
export function checkKind(input: unknown, field = "kind"): string {
  return checkText(input, field, { maxBytes: LIMITS.kindBytes });
}

/** Checks an importance: a whole number from 0 to 10. */
export function checkImportance(input: unknown, field = "importance"): number {
  if (
    typeof input === "number" &&
    Number.isInteger(input) &&
    input >= 0 &&
    input <= LIMITS.importanceMax
  ) {
    return input + 0;
  }
  throw invalid(field, `a whole number from 0 to ${LIMITS.importanceMax}`, input);
}

/** Checks a visibility: private, scoped or public. */
export function checkVisibility(input: unknown, field = "visibility"): Visibility {
  return checkNameOf(VISIBILITIES, input, { field });
}

/** Checks a confidence: a number from 0 to 1. */
export function checkConfidence(input: unknown, field = "confidence"): number {
  return parseWith(unitField, input, field) + 0;
}

/** Checks a time: whole milliseconds since 1970, before or after. */
export function checkTime(input: unknown, field: string): number {
  return parseWith(timeField, input, field) + 0;
}

/**
 * Checks a provenance. `source` is the default of the door that the caller came through. URIs are
 * checked in form only: what they name may live in another graph, or be gone.
 */
export function checkProvenance(input: unknown, source: Source, field = "provenance"): Provenance {
  if (input === undefined) return { source, derivedFrom: NO_URIS, attestations: NO_URIS };
  const given = parseWith(provenanceSchema, input, field);
  const { session, turn } = given;
  if (turn !== undefined && session === undefined) {
    throw invalid(`${field}.session`, "the session that the turn belongs to", session);
  }
  return {
    source: given.source ?? source,
    derivedFrom: checkUris(given.derivedFrom ?? [], `${field}.derivedFrom`),
    attestations: checkUris(given.attestations ?? [], `${field}.attestations`),
    ...(session === undefined ? {} : { session }),
    ...(turn === undefined ? {} : { turn }),
  };
}

const NO_URIS: readonly string[] = [];

function checkUris(uris: readonly string[], field: string): readonly string[] {
  uris.forEach((uri, at) => {
    parseUri(uri, `${field}[${at}]`);
  });
  return unique(uris, (uri) => uri);
}

function unique<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  if (items.length < 2) return items;
  const byKey = new Map<string, T>();
  for (const item of items) {
    const key = keyOf(item);
    if (!byKey.has(key)) byKey.set(key, item);
  }
  return byKey.size === items.length ? items : [...byKey.values()];
}

function checkCount(
  items: readonly unknown[],
  limit: { readonly field: string; readonly max: number; readonly what: string },
): void {
  if (items.length <= limit.max) return;
  const expected = `at most ${limit.max} ${limit.what}`;
  const message = `${limit.field}: expected ${expected}, got ${items.length}`;
  const details = { field: limit.field, expected, got: String(items.length) };
  throw new CortexError("ERR_TOO_LARGE", message, details);
}
