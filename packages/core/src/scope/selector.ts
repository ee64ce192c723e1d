/**
 * Which memories a scope is about: lists of types, kinds, tags, slots, frames and ids.
 *
 * A selector matches a memory when any one of its lists does; an empty one matches nothing. Whether a
 * caller may see what matches is for `access.ts` to say, which looks at visibility as well.
 */
import { type CborValue, encode, type Fields, fields } from "../codec/cbor.js";
import { readBytesOf, readInteger, readList, readMap, readText } from "../codec/cbor-value.js";
import { equalBytes } from "../codec/keys.js";
import { normaliseSlot } from "../codec/text.js";
import { isZeroUlid, parseUlid, ULID_BYTES, ulidText } from "../codec/ulid.js";
import { CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import { checkText, parseWith } from "../records/fields.js";
import { checkKind, type Frame, frameSchema } from "../records/frames.js";
import type { Head } from "../records/memory-record.js";
import {
  checkMemoryType,
  FRAME_VERBS,
  MEMORY_TYPES,
  type MemoryType,
  nameOf,
  OBJECT_KINDS,
} from "../records/types.js";

/** Lists of what matches; any one of them is enough. */
export interface Selector {
  readonly types?: readonly MemoryType[];
  readonly kinds?: readonly string[];
  /** One shared tag is enough. */
  readonly tags?: readonly string[];
  readonly slots?: readonly string[];
  readonly frames?: readonly Frame[];
  /** Memories by their id; a scope that names some proves that they were there. */
  readonly ids?: readonly string[];
}

/** What of a memory a selector looks at. */
export type Selected = Pick<Head, "type" | "kind" | "tags" | "slot" | "frames">;

const LISTS = ["types", "kinds", "tags", "slots", "frames", "ids"] as const;

/** Whether a selector matches a memory. */
export function selects(selector: Selector, head: Selected, id: Uint8Array): boolean {
  const { types, kinds, tags, slots, frames, ids } = selector;
  const { kind, slot } = head;
  return (
    types?.includes(head.type) === true ||
    (kind !== undefined && kinds?.includes(kind) === true) ||
    (slot !== undefined && slots?.includes(slot) === true) ||
    tags?.some((tag) => head.tags.includes(tag)) === true ||
    frames?.some((frame) => head.frames.some((other) => isSameFrame(frame, other))) === true ||
    ids?.includes(ulidText(id)) === true
  );
}

/** Whether two frames name the same work. */
export function isSameFrame(a: Frame, b: Frame): boolean {
  return a.verb === b.verb && a.object === b.object && a.ref === b.ref;
}

/** Whether a selector can match nothing. */
export function isEmptySelector(selector: Selector): boolean {
  return LISTS.every((name) => (selector[name]?.length ?? 0) === 0);
}

/** Checks a selector as an issuer gives it; every list without repeats, slots in their one spelling. */
export function checkSelector(input: unknown, field: string): Selector {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw invalid(field, "an object", input);
  }
  const given = input as { readonly [name: string]: unknown };
  for (const name of Object.keys(given)) {
    if ((LISTS as readonly string[]).includes(name)) continue;
    const message = `${field}.${name}: expected one of ${LISTS.join(", ")}, got an unknown field`;
    throw new CortexError("ERR_UNKNOWN_FIELD", message, { field: `${field}.${name}` });
  }
  const list = <T>(name: (typeof LISTS)[number], check: (value: unknown, at: string) => T) => {
    const items = checkList(given[name], `${field}.${name}`, check);
    return items === undefined ? {} : { [name]: items };
  };
  return {
    ...list("types", checkMemoryType),
    ...list("kinds", checkKind),
    ...list("tags", (tag, at) => checkText(tag, at, { maxBytes: LIMITS.tagBytes, control: true })),
    ...list("slots", checkSlotName),
    ...list("frames", (frame, at) => parseWith(frameSchema, frame, at)),
    ...list("ids", checkId),
  };
}

function checkList<T>(
  input: unknown,
  field: string,
  check: (value: unknown, at: string) => T,
): readonly T[] | undefined {
  if (input === undefined) return undefined;
  if (!Array.isArray(input)) throw invalid(field, "a list", input);
  if (input.length > LIMITS.scopeItems) {
    throw invalid(field, `at most ${LIMITS.scopeItems} items`, input, "ERR_TOO_LARGE");
  }
  const checked = input.map((value, at) => check(value, `${field}[${at}]`));
  const unique = new Map(checked.map((value) => [JSON.stringify(value), value]));
  return unique.size === 0 ? undefined : [...unique.values()];
}

function checkSlotName(input: unknown, field: string): string {
  const slot = normaliseSlot(checkText(input, field, { maxBytes: LIMITS.slotBytes }));
  if (slot === "") throw invalid(field, "a name with at least one letter or digit", input);
  return slot;
}

function checkId(input: unknown, field: string): string {
  const id = typeof input === "string" ? parseUlid(input) : undefined;
  if (id !== undefined && !isZeroUlid(id)) return ulidText(id);
  throw invalid(field, "an id of 26 characters", input, "ERR_BAD_ID");
}

/** The fields of a selector; `undefined` for an empty one, which has no bytes. */
export function selectorFields(selector: Selector): Fields | undefined {
  if (isEmptySelector(selector)) return undefined;
  const { types, kinds, tags, slots, frames, ids } = selector;
  return fields([
    undefined,
    types?.map((type) => MEMORY_TYPES[type].code),
    tags,
    ids?.map((id) => parseUlid(id) ?? new Uint8Array(ULID_BYTES)),
    frames?.map((one) => [FRAME_VERBS[one.verb].code, OBJECT_KINDS[one.object].code, one.ref]),
    kinds,
    slots,
  ]);
}

/** Reads a selector; what `selectorFields` would not have made is `ERR_CORRUPT`. */
export function readSelector(value: CborValue | undefined, what: string): Selector {
  if (value === undefined) return {};
  const at = readMap(value, what);
  const list = <T>(key: number, read: (item: CborValue) => T): readonly T[] | undefined =>
    at[key] === undefined ? undefined : readList(at[key], what).map(read);
  const read = {
    types: list(1, (code) => nameOf(MEMORY_TYPES, readInteger(code, what), what)),
    tags: list(2, (tag) => readText(tag, what)),
    ids: list(3, (id) => ulidText(readBytesOf(id, ULID_BYTES, what))),
    frames: list(4, (frame) => readFrame(frame, what)),
    kinds: list(5, (kind) => readText(kind, what)),
    slots: list(6, (slot) => readText(slot, what)),
  };
  const present = Object.entries(read).filter(([, items]) => items !== undefined);
  const selector = checkSelector(Object.fromEntries(present), what);
  const again = selectorFields(selector);
  if (again !== undefined && equalBytes(encode(again), encode(value))) return selector;
  throw new CortexError("ERR_CORRUPT", `${what}: expected a selector in its one spelling`);
}

function readFrame(value: CborValue, what: string): Frame {
  const [verb, object, ref] = readList(value, what);
  return {
    verb: nameOf(FRAME_VERBS, verb, what),
    object: nameOf(OBJECT_KINDS, object, what),
    ref: readText(ref, what),
  };
}
