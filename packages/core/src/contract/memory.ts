/**
 * The verbs on memories: writing, reading, changing, hiding and forgetting them.
 */
import * as z from "zod";
import { normaliseSlot, utf8Length } from "../codec/text.js";
import { describe } from "../errors.js";
import { INDEX_MAX, LIMITS, SEQ_MAX, VERSION_MAX } from "../limits.js";
import type { DATA_SCHEMAS } from "../records/data.js";
import { complain, saying, strictFields } from "../records/fields.js";
import { countTokens } from "../records/forms.js";
import { externalIdField, type Frame, frameSchema } from "../records/frames.js";
import {
  MEMORY_TYPES,
  type MemoryType,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "../records/types.js";
import {
  anyObject,
  listOf,
  listUpTo,
  noted,
  oneOrMore,
  positionField,
  refField,
  type ShapeOf,
  textField,
  timeOf,
  whole,
  words,
} from "./fields.js";
import type { Upsert } from "./imported.js";
import {
  type Memory,
  memoryIdShape,
  memoryShape,
  positionShape,
  type Ref,
  timeShape,
  versionRecordShape,
  type WriteResult,
  writtenShape,
} from "./shapes.js";
import { type, verb } from "./verb.js";

export type { Upsert } from "./imported.js";

/** A memory that is asked for by name. */
export const memoryRef = refField("the memory: its id, URI or external id");

/** A position of the past. */
export const asOf = positionField(
  "read the past: a seq, or an ISO time such as 2026-03-01T12:00:00Z",
).optional();

/** World time. */
export const validAt = timeOf("the version of each that held in the world then").optional();

/** Who acts. */
export const by = textField({ maxBytes: LIMITS.principalBytes })
  .describe("the principal the entry names; the actor when not given")
  .optional();

/** Makes a retry harmless. */
export const idempotencyKey = textField({ maxBytes: LIMITS.idempotencyKeyBytes })
  .describe("a call repeated with the same key only gets the first answer")
  .optional();

/** The number of items on a page. */
export function limitUpTo(max: number) {
  return whole(1, max).describe("most items to return").optional();
}

/** Where the page before ended. */
export const cursor = textField({ maxBytes: 4096 })
  .describe("where the page before ended")
  .optional();

/** The type of a memory. */
export const memoryType = noted(
  words(MEMORY_TYPES).describe(`the type: ${Object.keys(MEMORY_TYPES).join(", ")}`),
  { code: "ERR_UNKNOWN_TYPE" },
);

/** The states that lists can show. */
export const lifecycles = listUpTo(
  z.enum(["active", "archived", "tombstoned"]),
  LIMITS.listItems,
  1,
)
  .describe("which states to show; active when not given; may be repeated")
  .optional();

/** Why something is hidden, forgotten or removed. */
export const reason = textField({ maxBytes: LIMITS.reasonBytes, control: true });
/** A tag. */
export const tag = textField({ maxBytes: LIMITS.tagBytes });
/** The open label of a memory. */
export const kind = textField({ maxBytes: LIMITS.kindBytes });
/** The name of a slot; the name that is stored, `normaliseSlot` of it, is neither empty nor longer. */
export const slot = textField({ maxBytes: LIMITS.slotBytes }).check((payload) => {
  const { value } = payload;
  const stored = normaliseSlot(value);
  if (stored === "") {
    const expected = "a name with at least one letter or digit";
    complain(payload, { code: "ERR_INVALID", expected, got: describe(value) }, []);
  } else if (utf8Length(stored) > LIMITS.slotBytes) {
    const expected = `at most ${LIMITS.slotBytes} bytes`;
    complain(payload, { code: "ERR_TOO_LARGE", expected, got: describe(value) }, []);
  }
});
/** The name of a conversation. */
export const session = textField({ maxBytes: LIMITS.sessionBytes, control: true });

/** A list that may repeat itself, and holds so many different items at most. */
function differingUpTo<S extends z.ZodType>(
  item: S,
  max: number,
  { what, nameOf }: { readonly what: string; readonly nameOf: (one: z.output<S>) => string },
) {
  return listUpTo(item, LIMITS.batchItems).check((payload) => {
    const items = payload.value;
    if (items.length <= max) return;
    const count = new Set(items.map(nameOf)).size;
    if (count <= max) return;
    const expected = `at most ${max} different ${what}`;
    complain(payload, { code: "ERR_TOO_LARGE", expected, got: String(count) }, []);
  });
}

/** What tells one frame from another. */
export function frameName({ verb, object, ref }: Frame): string {
  return `${verb} ${object} ${ref}`;
}

/** The head fields of a write, an update of the head, a note. */
export const headFields = {
  tags: differingUpTo(tag, LIMITS.tags, { what: "tags", nameOf: (name) => name })
    .describe("a tag; may be repeated")
    .optional(),
  kind: kind.describe("an open label").optional(),
  importance: whole(0, LIMITS.importanceMax).describe("0 to 10; 5 when not given").optional(),
  visibility: words(VISIBILITIES).describe("who may see it; private when not given").optional(),
  status: words(STATUSES).describe("how far it is taken to be true").optional(),
  freshnessAt: timeOf("when the content should be looked at again").optional(),
  frames: differingUpTo(frameSchema, LIMITS.frames, { what: "frames", nameOf: frameName })
    .describe("the work it matters for, as a JSON list of verb, object, ref")
    .optional(),
};

/** A rendering of so many tokens at most. */
function formUpTo(maxTokens: number) {
  const schema = textField({ maxBytes: LIMITS.contentBytes }).check((payload) => {
    if (countTokens(payload.value) <= maxTokens) return;
    const expected = `at most ${maxTokens} tokens`;
    complain(payload, { code: "ERR_TOO_LARGE", expected, got: describe(payload.value) }, []);
  });
  return schema.meta({ maxLength: maxTokens * LIMITS.bytesPerToken });
}

const URI_NAMES = Object.values(MEMORY_TYPES)
  .map(({ uriName }) => uriName)
  .join("|");

/** The form of a URI with its version. */
const URI_PATTERN = `^cortex://[a-z0-9][a-z0-9._-]{0,63}/(${URI_NAMES})/(?!0{26})[0-7][0-9A-HJKMNP-TV-Z]{25}#[1-9][0-9]{0,8}$`;

/** The form of an id that a caller makes. */
const ULID_PATTERN = "^(?!0{26})[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$";

/** A URI by its length; its form is read when the version is made. */
const uriText = textField({ maxBytes: LIMITS.labelBytes }).meta({ pattern: URI_PATTERN });

/** The fields of a version. */
export const versionFields = {
  // What it may be is for the type to say, which checks it: a note may be empty.
  text: z
    .string()
    .meta({ description: "the sentence or content", maxLength: LIMITS.contentBytes })
    .optional(),
  data: anyObject.describe("the structured fields of the type, as JSON").optional(),
  confidence: z.number().min(0).max(1).describe("0 to 1; 1 when not given").optional(),
  validFrom: timeOf("from when on it holds in the world").optional(),
  validTo: timeOf("until when it holds in the world").optional(),
  expiresAt: timeOf("when it stops being current").optional(),
  provenance: strictFields({
    source: words(SOURCES).optional(),
    derivedFrom: listUpTo(uriText, LIMITS.derivedFrom).optional(),
    attestations: listUpTo(uriText, LIMITS.attestations).optional(),
    session: textField({ maxBytes: LIMITS.sessionBytes }).optional(),
    turn: whole(0, INDEX_MAX).optional(),
  })
    .describe("where the version came from, as JSON")
    .optional(),
  forms: strictFields({
    short: formUpTo(LIMITS.formShortTokens),
    medium: formUpTo(LIMITS.formMediumTokens),
  })
    .describe("renderings to use instead of the templates', as JSON")
    .optional(),
};

/** Where content came from. */
export const source = words(SOURCES)
  .describe("where the content came from; user_input when not given")
  .optional();

/** What a caller may name a new memory: in words. */
export const NEW_ID = "a ULID of 26 characters other than zero";

/** The fields of a write that are not fields of the type's data. */
export const writeFields = {
  type: memoryType,
  id: noted(
    z.string(saying(NEW_ID)).meta({ description: "a new ULID of your own", pattern: ULID_PATTERN }),
    { code: "ERR_BAD_ID" },
  ).optional(),
  externalId: externalIdField.describe("a name of your own, unique in the graph").optional(),
  slot: slot.describe("the single-valued attribute this is the value of").optional(),
  source,
  supersedes: listUpTo(memoryRef)
    .describe("a memory this one replaces; may be repeated")
    .optional(),
  corrects: memoryRef.describe("a memory this one amends").optional(),
  ...headFields,
  ...versionFields,
  by,
  idempotencyKey,
};

/** Head fields, checked. */
export type HeadFields = z.output<z.ZodObject<typeof headFields>>;

/** The fields of a version, checked. */
export type VersionFields = z.output<z.ZodObject<typeof versionFields>>;

/** A write, checked; a field of the type's data may stand beside the others. */
export type WriteRequest = z.output<z.ZodObject<typeof writeFields>> & {
  readonly [dataField: string]: unknown;
};

/** The structured fields of a type, as a caller may give them. */
export type DataInput<T extends MemoryType> = z.input<(typeof DATA_SCHEMAS)[T]>;

/** What a caller may say of every memory, whatever its type. */
export interface WriteFields
  extends Omit<z.input<z.ZodObject<typeof writeFields>>, "type" | "data"> {}

/** A memory of one type to write: the fields of its type stand beside the others, or in `data`. */
export type WriteInputOf<T extends MemoryType> = WriteFields & {
  readonly type: T;
  /** The structured fields of the type. */
  readonly data?: DataInput<T> | undefined;
} & Omit<DataInput<T>, keyof WriteFields | "type" | "data">;

/** What a write may say in this process alone. */
export interface WriteLocals {
  /**
   * Makes it the next version of the memory that `externalId` names, if there is one: with its kind,
   * tags and freshness instead of those before, while the rest of the head stays.
   */
  readonly upsert?: Upsert | undefined;
  /** True gives back the memory as it was written. */
  readonly memory?: boolean | undefined;
}

/** A memory to write. Its `type` tells which other fields it has. */
export type WriteInput = { readonly [T in MemoryType]: WriteInputOf<T> }[MemoryType];

/** Writes one memory. */
export const write = verb("write", {
  summary: "Write one memory; text that is known already reinforces the memory that says it",
  kind: "write",
  policy: "write",
  standing: "claim",
  retry: "key",
  args: {},
  options: {
    ...writeFields,
    similar: z.boolean().describe("name live memories that say nearly the same").optional(),
  },
  open: true,
  local: ["upsert", "memory"],
  locals: type<WriteLocals>(),
  output: writtenShape,
  given: type<WriteInput & { readonly similar?: boolean | undefined }>(),
  answer: type<WriteResult>(),
});

/** Reads one memory. */
export const get = verb("get", {
  summary: "Read one memory by id, URI or external id",
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: {
    version: whole(1, VERSION_MAX).describe("a version other than the current one").optional(),
    asOf,
    validAt,
  },
  output: memoryShape,
  answer: type<Memory | undefined>(),
  mayMiss: true,
});

/** Reads what a URI pins. */
export const resolve = verb("resolve", {
  summary: "Read exactly what a URI pins",
  kind: "read",
  policy: "filtered",
  args: {
    uri: noted(
      z
        .string()
        .max(LIMITS.externalIdBytes)
        .meta({ description: "a URI with its version", pattern: URI_PATTERN }),
      { code: "ERR_BAD_URI" },
    ),
  },
  labels: type<[uri: string]>(),
  options: { asOf },
  output: memoryShape,
  answer: type<Memory | undefined>(),
  mayMiss: true,
});

/** One version in an answer of `history`. */
export const historyItemShape = z.object({
  uri: z.string(),
  version: z.int(),
  current: z.boolean(),
  /** There, and true, when a revert took the version back. */
  undone: z.literal(true).exactOptional(),
  text: z.string(),
  data: anyObject,
  versionRecord: versionRecordShape,
});

/** One version in a memory's history. */
export interface HistoryItem extends ShapeOf<typeof historyItemShape> {
  /** The memory at this version, with the kind, tags and freshness of then; where asked for. */
  readonly memory?: Memory;
}

/** Reads the versions of a memory. */
export const history = verb("history", {
  summary: "List the versions of a memory, newest first",
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: { asOf },
  local: ["memories"],
  locals: type<{
    /** True gives each version as a whole memory as well. */
    readonly memories?: boolean | undefined;
  }>(),
  output: z.object({ versions: listOf(historyItemShape) }),
  member: "versions",
  answer: type<readonly HistoryItem[] | undefined>(),
  mayMiss: true,
});

const memoryPageShape = z.object({
  memories: listOf(memoryShape),
  /** Give it back to read on; absent at the end. */
  cursor: z.string().exactOptional(),
  seq: positionShape,
});

/** One page of a list. */
export interface MemoryPage extends Omit<ShapeOf<typeof memoryPageShape>, "memories"> {
  readonly memories: readonly Memory[];
  /** How many there are in all, where the list goes by the latest version. */
  readonly total?: number;
}

/** How active memories are listed by their latest version. */
export const writtenQuery = strictFields({
  kinds: listOf(kind)
    .describe("any of these kinds, each exactly; a memory without a kind goes by its type")
    .optional(),
  tags: listOf(tag).describe("all of these tags, each exactly").optional(),
  siblings: z.boolean().describe("list every open version by itself").optional(),
  offset: whole(0).describe("how many to skip").default(0),
  limit: whole(0).describe("most of them; all when not given").default(SEQ_MAX),
});

/** A list of active memories, those with the latest version first, whatever else changed since. */
export interface WrittenQuery extends z.input<typeof writtenQuery> {}

/** The fields that a list goes by, one at a time. */
export const LIST_BY = ["type", "tag", "kind", "slot", "session", "frame"] as const;

/** Lists memories by one index. */
export const list = verb("list", {
  summary: "List memories by type, tag, kind, slot, session or frame",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    type: oneOrMore(memoryType).describe("a type; may be repeated").optional(),
    tag: tag.describe("memories with this tag").optional(),
    kind: kind.describe("memories of this kind").optional(),
    slot: slot.describe("memories of this slot").optional(),
    session: session.describe("the turns of this conversation").optional(),
    frame: frameSchema.describe("memories with this frame, as JSON").optional(),
    lifecycles,
    order: z.enum(["newest", "oldest"]).describe("newest when not given").optional(),
    limit: limitUpTo(LIMITS.listLimit),
    cursor,
    asOf,
    validAt,
  },
  together: [{ atMostOne: LIST_BY }],
  local: ["written"],
  locals: type<{
    /** Lists by the latest version instead of by an index; stands alone. */
    readonly written?: WrittenQuery | undefined;
  }>(),
  output: memoryPageShape,
  answer: type<MemoryPage>(),
});

/** Hides a memory. */
export const tombstone = verb("tombstone", {
  summary: "Hide a memory; restore brings it back",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: { id: memoryRef, reason: reason.describe("why it is hidden") },
  labels: type<[id: Ref, reason: string]>(),
  options: { by, idempotencyKey },
  output: writtenShape,
  answer: type<WriteResult>(),
});

/** Every form of a type's structured fields. */
type AnyData = { readonly [T in MemoryType]: DataInput<T> }[MemoryType];
type FieldOf<T> = T extends unknown ? keyof T : never;
type ValueOf<T, K extends PropertyKey> = T extends { readonly [name in K]?: infer V } ? V : never;

/** The structured fields of all types: which of them a memory has is known by its type alone. */
export type DataFields = {
  readonly [K in Exclude<FieldOf<AnyData>, keyof WriteFields | "type" | "data">]?: ValueOf<
    AnyData,
    K
  >;
};

/** The fields of an update that are not fields of the type's data. */
export const updateFields = {
  ...versionFields,
  basedOnVersion: whole(1, VERSION_MAX).describe("the version you read").optional(),
  by,
  idempotencyKey,
};

/** An update, checked; a field of the type's data may stand beside the others. */
export type UpdateRequest = z.output<z.ZodObject<typeof updateFields>> & {
  readonly [dataField: string]: unknown;
};

/** What `update` changes: the fields of the memory's type stand beside the others, or in `data`. */
export type UpdateInput = z.input<z.ZodObject<typeof updateFields>> & DataFields;

/** Appends a version. */
export const update = verb("update", {
  summary: "Append a version to a memory",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: updateFields,
  open: true,
  output: writtenShape,
  given: type<{ readonly id: Ref } & UpdateInput>(),
  answer: type<WriteResult>(),
});

/** Changes the head. */
export const updateHead = verb("updateHead", {
  summary: "Change tags, importance and the like, without a new version",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: { ...headFields, source, by, idempotencyKey },
  together: [{ atLeastOne: Object.keys(headFields) }],
  output: writtenShape,
  answer: type<WriteResult>(),
});

/** Brings a memory back. */
export const restore = verb("restore", {
  summary: "Bring back what was hidden or archived",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: {
    swap: z.boolean().describe("archive what took its place, instead of refusing").optional(),
    by,
    idempotencyKey,
  },
  output: writtenShape,
  answer: type<WriteResult>(),
});

const slotValueShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  text: z.string(),
  /** Whether it is the value now. */
  current: z.boolean(),
  /** Set for a value to come: it takes the slot at `from`. */
  waits: z.boolean().exactOptional(),
  status: words(STATUSES),
  source: words(SOURCES),
  /** Since when it held. */
  from: timeShape,
  /** Until when; absent while it holds. */
  to: timeShape.exactOptional(),
});

/** One value of a slot. */
export interface SlotValue extends ShapeOf<typeof slotValueShape> {}

const slotHistoryShape = z.object({
  /** The name as it is stored. */
  slot: z.string(),
  values: listOf(slotValueShape),
  /** Whether there are older ones than were asked for. */
  more: z.boolean(),
  seq: positionShape,
});

/** The values of a slot. */
export interface SlotHistory extends ShapeOf<typeof slotHistoryShape> {}

/** Reads the values of a slot. */
export const slotHistory = verb("slotHistory", {
  summary: "List the values a slot has had, newest first, each with the time for which it held",
  kind: "read",
  policy: "filtered",
  args: { slot: slot.describe("the name of the slot") },
  labels: type<[slot: string]>(),
  options: { limit: limitUpTo(LIMITS.listLimit - 1), asOf },
  output: slotHistoryShape,
  answer: type<SlotHistory>(),
});
