/**
 * The entry `@cortex-memory/core/contract`: every verb as it is declared, for whoever builds a door of
 * their own. It loads no engine and nothing of Node.
 */

export { CONTROLS } from "../codec/text.js";
export { describe, type ErrorDetails, shortName } from "../errors.js";
export { ENTRY_KINDS, type EntryKind } from "../journal/entry.js";
export type { ErasureDocument } from "../journal/erasure-list.js";
export type { JournalPage } from "../journal/journal-page.js";
export { VERSION_MAX } from "../limits.js";
export { DATA_SCHEMAS, type Data, type DataOf } from "../records/data.js";
export { EDGE_KINDS, type EdgeKind } from "../records/edge-kinds.js";
export { breakMarks, cutToTokens, FENCE_CLOSE, FENCE_OPEN, fence } from "../records/fence.js";
export {
  expectedOf,
  ISO_EXAMPLE,
  ISO_PATTERN,
  isoTimeMs,
  type ListSchema,
} from "../records/fields.js";
export { countTokens, truncateToTokens } from "../records/forms.js";
export { frameSchema, goalStateSchema } from "../records/frames.js";
export {
  EVENT_KINDS,
  FRAME_VERBS,
  type FrameVerb,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  OBJECT_KINDS,
  type ObjectKind,
  SOURCES,
  STATUSES,
  type Status,
  type TurnRole,
  VISIBILITIES,
  type Visibility,
} from "../records/types.js";
export { NAME_FORM } from "../records/uri.js";
export type { Counter } from "../salience/salience.js";
export {
  type AttestOutcome,
  COLD_WEIGHTS,
  DECAY,
  type Decay,
  decayOf,
  type Factors,
  MISLED_REASONS,
  type Weights,
} from "../salience/salience.js";
export { isPlainJson, quoted, threatsIn, withheld } from "../trust/scan.js";
export type { BatchItemResult } from "./batch.js";
export { type ConflictPolicy, LANGUAGES, type Language } from "./config.js";
export { describedInput, FREE_NAME, namedForms } from "./document.js";
export {
  anyObject,
  type FieldNote,
  listOf,
  listUpTo,
  noted,
  noteOf,
  oneOrMore,
  positionField,
  refField,
  type ShapeOf,
  textField,
  timeOf,
  whole,
  words,
} from "./fields.js";
export type { FindExplanation, Scalar, TagCount, TagList } from "./find.js";
export type { ForgetGroup, ForgetResult } from "./forget.js";
export type { GoalChange, GoalStateInput, GoalWithState } from "./goals.js";
export type { Form, LaneCounts, OnPlan, ReadPlan } from "./hits.js";
export type { ImportedEdge, ImportedVersion } from "./imported.js";
export { type Output, VERBS, type VerbName, type Verbs } from "./index.js";
export type {
  Change,
  ChangesPage,
  LogItem,
  LogPage,
  MemoryChange,
  ReplicaStatus,
  RevertResult,
} from "./journal.js";
export type {
  AttestResult,
  CompactItem,
  CompactResult,
  RecordedContext,
  RecordedItem,
  WeightsAt,
} from "./learning.js";
export type { EdgeList, EdgeRemoved } from "./links.js";
export type { HistoryItem, SlotHistory, SlotValue } from "./memory.js";
export {
  asOf,
  by,
  headFields,
  idempotencyKey,
  memoryRef,
  memoryType,
  source,
  versionFields,
  writeFields,
} from "./memory.js";
export type { ByteSink } from "./move.js";
export type {
  CheckpointAt,
  EdgeRef,
  ProveRequest,
  RootAt,
  SharedSlice,
  SnapshotInfo,
} from "./proof.js";
export {
  type BatchQuery,
  type ContextItem,
  LANES,
  type RecallReasons,
  type SearchBatchHit,
  type SearchBatchResult,
  type SearchHit,
  type SearchResult,
  TIERS,
  type Tier,
} from "./recall.js";
export {
  checkInput,
  codeIn,
  namesIn,
  refusalOf,
  renamed,
  shownPath,
  unwrapped,
} from "./refusal.js";
export {
  DECISIONS,
  type Decision,
  REVIEW_KINDS,
  type ReviewItem,
  type ReviewKind,
  type ReviewSide,
  type Settlement,
} from "./review.js";
export type { PostedScope, RevokedScope, ScopeReport } from "./scopes.js";
export { GIVEN_ROLES, type RememberResult, type SessionPage, type Turn } from "./sessions.js";
export type { EdgeResult, MemoryHead, VersionRecord } from "./shapes.js";
export {
  edgeShape,
  memoryRefShape,
  memoryShape,
  versionRecordShape,
  writtenShape,
} from "./shapes.js";
export {
  type CheckReport,
  DROP_RULES,
  type DropRule,
  type EmbedReport,
  type ExtractedFact,
  type ExtractFailure,
  type ExtractReport,
  type FoundLink,
  LINK_KINDS,
  type LinkKind,
  type MaintainChange,
  type MaintainReport,
  type Problem,
  type RebuildReport,
  type RelinkReport,
  type ScrubProblem,
  type ScrubReport,
  type VacuumReport,
} from "./upkeep.js";
export { kebab, type Policy, type Verb } from "./verb.js";
