/**
 * The verbs that keep a store in order and complete: checking it against its journal, building it again,
 * writing it anew, upkeep; and what an embedder or a model does for it: vectors, facts, links.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { MEMORY_TYPES } from "../records/types.js";
import { listOf, type ShapeOf, textField, whole, words } from "./fields.js";
import { cursor, idempotencyKey } from "./memory.js";
import { memoryIdShape, seqShape } from "./shapes.js";
import { type OnProgress, type, verb } from "./verb.js";

const count = z.int();

/** What long work takes from whoever started it. */
const progress = {
  local: ["onProgress"],
  locals: type<{ readonly onProgress?: OnProgress | undefined }>(),
} as const;

/** The same of work that can be ended early: what was done by then is kept. */
const progressAndSignal = {
  local: ["onProgress", "signal"],
  locals: type<{
    readonly onProgress?: OnProgress | undefined;
    readonly signal?: AbortSignal | undefined;
  }>(),
} as const;

const problemShape = z.object({
  code: z.string(),
  message: z.string(),
  seq: seqShape.exactOptional(),
});

/** Something that is not as it should be. */
export interface Problem extends ShapeOf<typeof problemShape> {}

const checkShape = z.object({
  ok: z.boolean(),
  entries: count,
  problems: listOf(problemShape),
  seq: seqShape,
});

/** The outcome of a check. */
export interface CheckReport extends ShapeOf<typeof checkShape> {}

/** Checks a store against its journal. */
export const check = verb("check", {
  summary: "Check journal, hashes, rows and roots against each other",
  kind: "read",
  policy: "owner",
  args: {},
  options: {},
  ...progress,
  isLong: true,
  output: checkShape,
  answer: type<CheckReport>(),
});

const scrubProblemShape = z.object({
  code: z.string(),
  /** What does not agree, and where. */
  message: z.string(),
  /** The entry that it is about. */
  seq: seqShape.exactOptional(),
  /** What the store says it must be, where that is a hash: in hex. */
  expected: z.string().exactOptional(),
  /** What was found in its place. */
  found: z.string().exactOptional(),
});

/** Something that a scrub found. */
export interface ScrubProblem extends ShapeOf<typeof scrubProblemShape> {}

const scrubShape = z.object({
  ok: z.boolean(),
  /** Entries that were read and hashed. */
  entries: count,
  /** Memories whose row was compared with what it points at. */
  memories: count,
  /** The same of links. */
  edges: count,
  /** The first of what did not agree. */
  problems: listOf(scrubProblemShape),
  /** How much more there is that is not named. */
  more: count,
  /** Whether it came to the end: false where a signal ended it, or the file is too damaged to be read. */
  complete: z.boolean(),
  /** The last entry when it began. */
  seq: seqShape,
});

/** The outcome of a scrub. */
export interface ScrubReport extends ShapeOf<typeof scrubShape> {}

/** Reads everything that is stored. */
export const scrub = verb("scrub", {
  summary: "Read everything stored and compare it with its hashes, at a given rate",
  kind: "read",
  policy: "owner",
  args: {},
  options: {
    entriesPerSecond: whole(LIMITS.scrubPerSecondLeast, LIMITS.scrubPerSecond)
      .describe("entries and rows read in a second, at most; as fast as it goes when not given")
      .optional(),
  },
  ...progressAndSignal,
  isLong: true,
  output: scrubShape,
  answer: type<ScrubReport>(),
});

const rebuildShape = z.object({
  ok: z.boolean(),
  entries: count,
  /** The root after the rebuild, in hex. */
  root: z.string(),
  seq: seqShape,
  /** Rows that the store had otherwise than its journal says. */
  differences: listOf(z.string()),
});

/** The outcome of a rebuild. */
export interface RebuildReport extends ShapeOf<typeof rebuildShape> {}

/** Builds a store again from its journal. */
export const rebuild = verb("rebuild", {
  summary: "Build everything derived again from the journal",
  kind: "write",
  policy: "owner",
  standing: "none",
  retry: "natural",
  args: {},
  options: {
    verifyOnly: z.boolean().describe("compare only; change nothing").optional(),
    idempotencyKey,
  },
  ...progress,
  isLong: true,
  output: rebuildShape,
  answer: type<RebuildReport>(),
});

const vacuumShape = z.object({
  entries: count,
  seq: seqShape,
  /** The root, in hex: the same as before. */
  root: z.string(),
  bytesBefore: count,
  bytesAfter: count,
  /** How often the store was written anew. */
  passes: count,
  /**
   * Memories forgotten during the last pass: freed pages of the new file may hold their bytes until
   * the next vacuum. 0 unless somebody keeps forgetting.
   */
  forgottenMeanwhile: count,
});

/** The outcome of a vacuum. */
export interface VacuumReport extends ShapeOf<typeof vacuumShape> {}

/** Writes a store anew. */
export const vacuum = verb("vacuum", {
  summary: "Write the store anew, so that its file keeps no byte of what was forgotten",
  kind: "write",
  policy: "owner",
  standing: "none",
  retry: "natural",
  args: {},
  options: { idempotencyKey },
  ...progress,
  isLong: true,
  output: vacuumShape,
  answer: type<VacuumReport>(),
});

/** The steps of upkeep that change memories, in the order in which they are planned. */
export const CHANGE_STEPS = ["expire", "confirm", "merge", "relate"] as const;

const stepShape = z.object({
  step: z.string(),
  done: count,
  /** What is left to do; in a dry run, what would be done. */
  left: count,
});

/** What became of a step of upkeep. */
export interface StepReport extends ShapeOf<typeof stepShape> {}

const changeShape = z.object({
  step: z.enum(CHANGE_STEPS),
  /** What it is about: what is changed first, then what that rests on. */
  memories: listOf(memoryIdShape),
  reason: z.string(),
  /** The entry, for `revert`; absent in a dry run. */
  seq: seqShape.exactOptional(),
});

/** One change of memories that upkeep made, or would make. */
export interface MaintainChange extends ShapeOf<typeof changeShape> {}

const maintainedShape = z.object({
  dryRun: z.boolean(),
  steps: listOf(stepShape),
  /** Changes of memories, in order. */
  changes: listOf(changeShape),
  /** Whether nothing is left to do. */
  complete: z.boolean(),
  seq: seqShape,
});

/** What upkeep did. */
export interface MaintainReport extends ShapeOf<typeof maintainedShape> {}

/** How long upkeep may take unless told otherwise. */
export const MAINTAIN_BUDGET_MS = 60_000;

/** Does the upkeep. */
export const maintain = verb("maintain", {
  summary: "Do what keeps the store quick, small and in order",
  kind: "write",
  policy: "owner",
  standing: "owner",
  retry: "natural",
  args: {},
  options: {
    dryRun: z.boolean().describe("say what there is to do; change nothing").optional(),
    archiveExpired: z
      .boolean()
      .describe("archive what has expired, by its expiresAt or the ttlDays of its kind")
      .optional(),
    merge: z.boolean().describe("merge memories that say the same in the same words").optional(),
    relate: z
      .boolean()
      .describe("join memories that name the same rare thing, by same_topic")
      .optional(),
    snapshotEveryMs: whole(1)
      .describe("seal a snapshot if the last one is older than so many milliseconds")
      .optional(),
    maxChanges: whole(1, LIMITS.maintainChanges)
      .describe(
        `most changes of memories in this run; ${LIMITS.maintainChangesDefault} when not given`,
      )
      .optional(),
    budgetMs: whole(1)
      .describe(
        `how long it may take, about, in milliseconds; ${MAINTAIN_BUDGET_MS} when not given`,
      )
      .optional(),
    idempotencyKey,
  },
  local: ["signal"],
  /** Ends it after the piece at hand. */
  locals: type<{ readonly signal?: AbortSignal | undefined }>(),
  isLong: true,
  output: maintainedShape,
  answer: type<MaintainReport>(),
});

const embeddedShape = z.object({
  model: z.string(),
  /** Texts that the embedder was asked for and gave a vector of. */
  texts: count,
  /** Memories that got a vector, or another than before. */
  memories: count,
  /** Texts that the embedder refused. */
  refused: count,
  /** Forgotten memories whose vectors were taken away. */
  purged: count,
  /** The first entry that was not looked at yet. */
  cursor: count,
  /** Entries that are left to look at. */
  lag: count,
  /** The last entry of the journal. */
  seq: seqShape,
});

/** What embedding did. */
export interface EmbedReport extends ShapeOf<typeof embeddedShape> {}

/** Gives memories the vectors they lack. */
export const embedPending = verb("embedPending", {
  summary: "Give every memory the vector of its current text",
  kind: "write",
  policy: "owner",
  standing: "none",
  retry: "natural",
  args: {},
  options: { idempotencyKey },
  ...progressAndSignal,
  isLong: true,
  output: embeddedShape,
  answer: type<EmbedReport>(),
});

/** Why an entry of a model's reply is dropped, in the order in which it is judged. */
export const DROP_RULES = {
  shape: "an entry is not an object of the agreed members",
  too_many: "a reply says more than counts",
  text: "a fact has no text, or too much of it, or repeats rendered memory",
  type: "a fact is of no type that may be extracted",
  protected: "words from outside state an identity, a preference or a constraint",
  turn: "a fact names no turn that was offered",
  slot: "a slot has no letter or digit, or is too long",
  importance: "an importance is not an integer from 0 to 10",
  replaces: "a fact replaces what was not offered",
  repeated: "a reply says the same twice",
  reference: "a link names what was not offered, or what was dropped",
  kind: "a link is of no kind that may be extracted",
  reason: "a link has no reason",
  strength: "a strength is not an integer from 1 to 5",
  weak: "a link is too weak to be kept",
  topics: "a memory gets more links of the same topic than count",
} as const;

/** A rule by which entries are dropped. */
export type DropRule = keyof typeof DROP_RULES;

/** Kinds of the links that a model may find: relations of the world, none that the store mints. */
export const LINK_KINDS = [
  "causes",
  "caused_by",
  "part_of",
  "precedes",
  "follows",
  "enables",
  "blocks",
  "co_constrains",
  "located_at",
  "uses",
  "works_on",
  "refines",
  "contrasts_with",
  "relates_to",
  "related_to",
  "same_topic",
] as const;

/** A kind that a link may have. */
export type LinkKind = (typeof LINK_KINDS)[number];

/** What `extract` and `relink` take. */
const modelOptions = {
  limit: whole(1, LIMITS.extractCalls)
    .describe(`calls of the model at the most; ${LIMITS.extractCallsDefault} when not given`)
    .optional(),
  dryRun: z
    .boolean()
    .describe("ask the model and say what would be written; change nothing")
    .optional(),
};

/** What both answer with first. */
const modelAnswer = {
  model: z.string(),
  dryRun: z.boolean(),
  /** How often the model was asked. */
  calls: count,
};

/** Entries of replies that broke a rule, by rule. */
const droppedShape = listOf(
  z.object({ rule: z.enum(Object.keys(DROP_RULES) as [DropRule, ...DropRule[]]), count }),
);

const factShape = z.object({
  session: z.string(),
  text: z.string(),
  type: words(MEMORY_TYPES),
  /** What became of it: a `rival` stands beside what it may not replace, and waits for review. */
  outcome: z.enum(["new", "changed", "rival", "restated", "proposed", "refused"]),
  slot: z.string().exactOptional(),
  id: memoryIdShape.exactOptional(),
});

/** A fact that a model found. */
export interface ExtractedFact extends ShapeOf<typeof factShape> {}

const failureShape = z.object({ session: z.string(), code: z.string(), message: z.string() });

/** A window of turns whose reply was refused. */
export interface ExtractFailure extends ShapeOf<typeof failureShape> {}

const extractedShape = z.object({
  ...modelAnswer,
  /** Turns that were distilled. */
  turns: count,
  facts: listOf(factShape),
  /** Facts that were known already, and so were not written. */
  known: count,
  /** Links between memories that were added. */
  links: count,
  dropped: droppedShape,
  failures: listOf(failureShape),
  /** Turns that wait. */
  waiting: count,
  /** The first entry that may hold a turn that waits. */
  cursor: count,
  seq: seqShape,
});

/** What distilling did, or would do. */
export interface ExtractReport extends ShapeOf<typeof extractedShape> {}

/** Distils turns. */
export const extract = verb("extract", {
  summary: "Distil the turns that wait into facts and links",
  kind: "write",
  policy: "owner",
  standing: "claim",
  retry: "natural",
  args: {},
  options: {
    session: textField({ maxBytes: LIMITS.sessionBytes, control: true })
      .describe("one conversation alone")
      .optional(),
    ...modelOptions,
    idempotencyKey,
  },
  ...progressAndSignal,
  isLong: true,
  output: extractedShape,
  answer: type<ExtractReport>(),
});

const foundLinkShape = z.object({
  from: memoryIdShape,
  kind: z.enum(LINK_KINDS),
  to: memoryIdShape,
  reason: z.string(),
  strength: z.int(),
  /** `known` was there already; `refused` is one more than a memory may have. */
  outcome: z.enum(["new", "known", "proposed", "refused"]),
});

/** A link that a model found. */
export interface FoundLink extends ShapeOf<typeof foundLinkShape> {}

const relinkedShape = z.object({
  ...modelAnswer,
  /** Memories whose neighbours were looked at. */
  memories: count,
  links: listOf(foundLinkShape),
  dropped: droppedShape,
  failures: listOf(z.object({ code: z.string(), message: z.string() })),
  /** Give it back to go on; absent at the end of the graph. */
  cursor: z.string().exactOptional(),
  seq: seqShape,
});

/** What looking for links did, or would do. */
export interface RelinkReport extends ShapeOf<typeof relinkedShape> {}

/** Looks for links in the whole graph. */
export const relink = verb("relink", {
  summary: "Look for links between memories in the whole graph",
  kind: "write",
  policy: "owner",
  standing: "claim",
  retry: "natural",
  args: {},
  options: {
    limit: modelOptions.limit,
    cursor: cursor.describe("where the call before ended"),
    dryRun: modelOptions.dryRun,
    idempotencyKey,
  },
  ...progressAndSignal,
  isLong: true,
  output: relinkedShape,
  answer: type<RelinkReport>(),
});
