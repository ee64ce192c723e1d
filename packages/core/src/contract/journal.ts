/**
 * The verbs on the journal itself: its entries and their bytes, following it, what it led to, and taking
 * an entry back. For the owner alone, because the journal is about every memory.
 */
import * as z from "zod";
import { ENTRY_KINDS, type EntryKind } from "../journal/entry.js";
import type { JournalPage } from "../journal/journal-page.js";
import { LIMITS } from "../limits.js";
import { LIFECYCLES, MEMORY_TYPES } from "../records/types.js";
import {
  type AsOf,
  listOf,
  listUpTo,
  positionField,
  type ShapeOf,
  whole,
  words,
} from "./fields.js";
import type { Following } from "./following.js";
import { by, idempotencyKey, limitUpTo } from "./memory.js";
import { edgeShape, memoryIdShape, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** The kind of an entry in an answer: later releases may write others. */
const entryKindShape = z.string() as unknown as z.ZodType<EntryKind, EntryKind>;

const logItemShape = z.object({
  seq: seqShape,
  kind: entryKindShape,
  at: timeShape,
  by: z.string(),
  parts: listOf(
    z.object({
      subject: z.string(),
      /** Hex; absent when the part removes a leaf. */
      hash: z.string().exactOptional(),
      erased: z.boolean(),
    }),
  ),
  batch: z.object({ first: z.int(), length: z.int() }).exactOptional(),
});

/** One entry, without content. */
export interface LogItem extends ShapeOf<typeof logItemShape> {}

const logPageShape = z.object({
  entries: listOf(logItemShape),
  /** The seq to read on from; absent at the end. */
  next: z.int().exactOptional(),
  seq: seqShape,
});

/** A page of the journal. */
export interface LogPage extends ShapeOf<typeof logPageShape> {}

/** Reads entries. */
export const log = verb("log", {
  summary: "Show journal entries, without content",
  kind: "read",
  policy: "owner",
  args: {},
  options: {
    from: whole(0).describe("the seq to start at").optional(),
    limit: limitUpTo(LIMITS.listLimit),
  },
  output: logPageShape,
  answer: type<LogPage>(),
});

/** Reads entries with their bytes. */
export const journalPage = verb("journalPage", {
  summary: "Show a stretch of the journal with its bytes, as a replica reads it",
  kind: "read",
  policy: "owner",
  args: {},
  options: {
    from: whole(0).describe("the seq to start at; 0 when not given").optional(),
    limit: whole(1, LIMITS.journalPageEntries)
      .describe("how many entries, or a few more to end a batch; 1,000 when not given")
      .optional(),
  },
  output: z.object({
    from: seqShape,
    fromRoot: z.string(),
    entries: listOf(z.string()),
    consistency: listOf(z.string()),
    checkpoint: z.string(),
    epoch: z.int(),
    seq: seqShape,
  }),
  answer: type<JournalPage>(),
  isLong: true,
});

const journalEventShape = logItemShape.extend({
  memories: listOf(
    z.object({
      id: memoryIdShape,
      type: words(MEMORY_TYPES).exactOptional(),
      /** What the entry said of it was destroyed by a forget. */
      erased: z.boolean(),
    }),
  ),
});

/** One entry, and the memories it is about. */
export interface JournalEvent extends ShapeOf<typeof journalEventShape> {}

/** Entries as they come: an async iterable that ends, and can be ended. */
export interface Subscription extends Following<JournalEvent> {}

/** Follows the journal. */
export const subscribe = verb("subscribe", {
  summary: "Follow the journal: entries as they are committed, by this process or another",
  kind: "read",
  policy: "owner",
  args: {},
  options: {
    from: whole(0)
      .describe("the seq to start at; without it, what is written from now on")
      .optional(),
    kinds: listUpTo(z.enum(ENTRY_KINDS), LIMITS.listItems, 1)
      .describe("only entries of this kind; may be repeated")
      .optional(),
    pollMs: whole(LIMITS.pollMsMin, LIMITS.pollMsMax)
      .describe("the longest pause between looks at what others wrote, in ms; 500 when not given")
      .optional(),
  },
  local: ["signal"],
  /** Ends the subscription when it is aborted. */
  locals: type<{ readonly signal?: AbortSignal | undefined }>(),
  output: journalEventShape,
  answer: type<Subscription>(),
  sends: "events",
});

const replicaStatusShape = z.object({
  source: z.string(),
  /** Entries of the source, as last heard, that are not here yet. */
  lag: z.int(),
  /** When the source was last heard; absent before the first time. */
  heardAt: timeShape.exactOptional(),
  /** What went wrong since, if something did. */
  lastError: z.object({ code: z.string(), message: z.string(), at: timeShape }).exactOptional(),
});

/** How a replica stands to its source. */
export interface ReplicaStatus extends ShapeOf<typeof replicaStatusShape> {}

const jobStatusShape = z.object({
  name: z.string(),
  owner: z.string(),
  leased: z.boolean(),
  expiresAt: timeShape,
  cursor: z.int(),
  lag: z.int(),
  done: z.int(),
  lastRunAt: timeShape.exactOptional(),
  lastError: z
    .object({ at: timeShape, code: z.string(), message: z.string(), count: z.int() })
    .exactOptional(),
});

const statsShape = z.object({
  actor: z.string(),
  backend: z.string(),
  durable: z.boolean(),
  syncMode: z.string(),
  entries: z.int(),
  seq: seqShape,
  lastAt: timeShape,
  epoch: z.int(),
  format: z.int(),
  foldVersion: z.int(),
  memories: z.object({
    active: z.int(),
    archived: z.int(),
    tombstoned: z.int(),
    erased: z.int(),
  }),
  /** Active memories by type, the most frequent first. */
  types: listOf(z.object({ type: words(MEMORY_TYPES), count: z.int() })),
  edges: z.object({ live: z.int(), removed: z.int(), openKinds: z.int() }),
  /** How far the text index has come. */
  text: z.object({
    analyser: z.string(),
    cursor: z.int(),
    segments: z.int(),
    documents: z.int(),
    tail: z.int(),
    lag: z.int(),
    failure: z.string().exactOptional(),
  }),
  /** The vectors of the configured model; absent without an embedder. */
  vectors: z
    .object({
      model: z.string(),
      dimensions: z.int(),
      memories: z.int(),
      cursor: z.int(),
      lag: z.int(),
    })
    .exactOptional(),
  /** Background jobs that any process has run on this store. */
  jobs: listOf(jobStatusShape),
  /** What the store follows, and how far; absent unless it is a replica. */
  replica: replicaStatusShape.exactOptional(),
  sizeBytes: z.int(),
  /** What this process and the server have had to do with each other; only for stores in a database. */
  database: z
    .object({
      commits: z.int(),
      /** Milliseconds that a commit took on average. */
      commitMs: z.number(),
      /** Commits that another writer was faster than, and those that waited for a store being rebuilt. */
      lostRaces: z.int(),
      heldWaits: z.int(),
      /** Connections open, in use and allowed; calls that wait for one. */
      connections: z.int(),
      busy: z.int(),
      most: z.int(),
      waiting: z.int(),
      /** Connections of this database that wait for a lock at the moment; absent where the server does not say. */
      lockWaits: z.int().exactOptional(),
      /** Seconds that the last of its standbys is behind; absent without standbys or without the right to ask. */
      lagSeconds: z.number().exactOptional(),
    })
    .exactOptional(),
});

/** How much a store holds and where it stands. */
export interface Stats extends ShapeOf<typeof statsShape> {}

/** Counts what a store holds. */
export const stats = verb("stats", {
  summary: "Show how much the store holds and how far its indexes and jobs have come",
  kind: "read",
  policy: "owner",
  args: {},
  options: {},
  output: statsShape,
  answer: type<Stats>(),
});

const memoryChangeShape = z.object({
  id: memoryIdShape,
  /** True when the content was forgotten since: the rest is gone. */
  erased: z.boolean(),
  type: words(MEMORY_TYPES).exactOptional(),
  uri: z.string().exactOptional(),
  version: z.int().exactOptional(),
  lifecycle: words(LIFECYCLES).exactOptional(),
  /** The short form, when the entry brought a version, new or back again. */
  text: z.string().exactOptional(),
});

/** What an entry did to one memory. */
export interface MemoryChange extends ShapeOf<typeof memoryChangeShape> {}

const changeShape = z.object({
  seq: seqShape,
  kind: entryKindShape,
  at: timeShape,
  by: z.string(),
  memories: listOf(memoryChangeShape),
  edges: listOf(edgeShape),
});

/** What an entry did. */
export interface Change extends ShapeOf<typeof changeShape> {}

const changesPageShape = z.object({
  changes: listOf(changeShape),
  from: seqShape,
  to: seqShape,
  /** The position to go on from; absent at the end. */
  next: seqShape.exactOptional(),
  seq: seqShape,
});

/** A page of changes. */
export interface ChangesPage extends ShapeOf<typeof changesPageShape> {}

/** Reads what entries did. */
export const changes = verb("changes", {
  summary: "Show what happened after one position, up to another",
  kind: "read",
  policy: "owner",
  args: {
    from: positionField("the position after which to start"),
    to: positionField("the last position; the end when not given").optional(),
  },
  labels: type<[from: AsOf, to?: AsOf | undefined]>(),
  options: { limit: limitUpTo(LIMITS.listLimit) },
  output: changesPageShape,
  answer: type<ChangesPage>(),
});

const revertedShape = z.object({
  reverted: seqShape,
  seq: seqShape,
  memories: listOf(memoryIdShape),
  edges: z.int(),
});

/** What a revert did. */
export interface RevertResult extends ShapeOf<typeof revertedShape> {}

/** Undoes an entry. */
export const revert = verb("revert", {
  summary: "Undo what one entry did, by a new entry",
  kind: "write",
  policy: "owner",
  standing: "overrule",
  retry: "key",
  args: { seq: whole(0).describe("the entry to undo") },
  labels: type<[seq: number]>(),
  options: { by, idempotencyKey },
  output: revertedShape,
  answer: type<RevertResult>(),
});
