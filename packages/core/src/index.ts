/** The public surface of `@cortex-memory/core`: explicit names only. */

export type { PresentOptions } from "./admission/scope-verbs.js";
export {
  type Ed25519Signer,
  signerOf,
  type VerifyEd25519,
  verifyEd25519Node as verifyEd25519,
} from "./codec/ed25519-node.js";
export type { BatchItem, BatchItemResult, BatchResult } from "./contract/batch.js";
export {
  type ConfigPatch,
  type ConflictPolicy,
  type GraphConfig,
  LANGUAGES,
  type Language,
} from "./contract/config.js";
export type {
  FindExplanation,
  FindHit,
  FindResult,
  Predicate,
  Scalar,
  Schema,
  TagCount,
  TagList,
} from "./contract/find.js";
export type { GoalChange, GoalStateInput, GoalWithState } from "./contract/goals.js";
export type { Form } from "./contract/hits.js";
export type { Answer, Options, VerbName } from "./contract/index.js";
export type {
  Change,
  ChangesPage,
  JournalEvent,
  LogItem,
  LogPage,
  MemoryChange,
  ReplicaStatus,
  RevertResult,
  Stats,
  Subscription,
} from "./contract/journal.js";
export type {
  AttestResult,
  CompactItem,
  CompactResult,
  RecordedContext,
  RecordedItem,
  WeightsAt,
} from "./contract/learning.js";
export type {
  EdgeInput,
  EdgeList,
  EdgeRemoved,
  Inspection,
  Link,
  Traversal,
} from "./contract/links.js";
export type {
  ForgetResult,
  HistoryItem,
  MemoryPage,
  SlotHistory,
  SlotValue,
  UpdateInput,
  WriteInput,
} from "./contract/memory.js";
export type { ByteSink, ExportReport, ExportTarget } from "./contract/move.js";
export type {
  CheckpointAt,
  EdgeRef,
  ProveRequest,
  RootAt,
  SharedSlice,
  SnapshotInfo,
} from "./contract/proof.js";
export type { LaneCounts, OnPlan, ReadPlan } from "./contract/read-plan.js";
export {
  type BatchQuery,
  type ContextBundle,
  type ContextItem,
  type RecallHit,
  type RecallReasons,
  type RecallResult,
  type SearchBatchHit,
  type SearchBatchResult,
  type SearchHit,
  type SearchResult,
  TIERS,
  type Tier,
} from "./contract/recall.js";
export {
  DECISIONS,
  type Decision,
  REVIEW_KINDS,
  type ReviewItem,
  type ReviewKind,
  type ReviewPage,
  type ReviewSide,
  type Settlement,
} from "./contract/review.js";
export type { PostedScope, RevokedScope, ScopeReport } from "./contract/scopes.js";
export type { RememberResult, SessionPage, Turn, TurnInput } from "./contract/sessions.js";
export type {
  Edge,
  EdgeId,
  EdgeResult,
  Memory,
  MemoryHead,
  MemoryId,
  MemoryRef,
  Ref,
  VersionRecord,
  WriteResult,
} from "./contract/shapes.js";
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
  type VacuumReport,
} from "./contract/upkeep.js";
export type { OnProgress } from "./contract/verb.js";
export type { Cortex } from "./cortex.js";
export { DEFAULT_RATE_LIMITS, type RateLimit, type RateLimits } from "./engine/rate-limits.js";
export {
  CortexError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  isCortexError,
  shortName,
} from "./errors.js";
export type { AsOf } from "./history/reader.js";
export type { FollowFailure } from "./history/replica-mark.js";
export {
  type EmbedderOptions,
  httpEmbedder,
  httpModel,
  type ModelOptions,
} from "./http-services.js";
export type { GraphProblem } from "./hub/catalogue.js";
export type { HubCheckOptions, HubCheckReport, HubRebuildReport } from "./hub/check.js";
export type { HubEvent, HubSubscribeOptions, HubSubscription } from "./hub/events.js";
export type { GraphFilter, GraphInfo, GraphInput, GraphList } from "./hub/graphs.js";
export { Hub } from "./hub/hub.js";
export { HUB_POLICIES } from "./hub/hub-policies.js";
export { type ActorForOptions, actorFor } from "./hub/names.js";
export { type OpenHubOptions, openHub } from "./hub/open-hub.js";
export type { GraphRef, SymlinkManifest, SymlinkOptions } from "./hub/symlinks.js";
export type { HubEdge, HubTraversal, HubTraverseOptions } from "./hub/walk.js";
export type { JobFailure, JobReport, JobStatus } from "./jobs/lease.js";
export type { Jobs, JobsOptions } from "./jobs.js";
export type { Signer } from "./journal/checkpoint.js";
export { ENTRY_KINDS, type EntryKind } from "./journal/entry.js";
export type { ErasureDocument } from "./journal/erasure-list.js";
export type { JournalPage } from "./journal/journal-page.js";
export type { Proof } from "./journal/proof.js";
export { deriveSeed, type SeedInput } from "./learning/seed.js";
export { LIMITS } from "./limits.js";
export type { HttpModelOptions, JsonMode } from "./model/http-model.js";
export type { Model, ModelMessage, ModelRequest } from "./model/model.js";
export type { ImportReport } from "./move/import-journal.js";
export type { ImportSource } from "./move/move-files.js";
export type { StoreForm, UpgradedTo } from "./move/upgrade.js";
export {
  type ImportOptions,
  importJournal,
  type PlaceOptions,
  type RestoreOptions,
  type RestoreReport,
  restoreBackup,
  type UpgradeOptions,
  type UpgradeReport,
  upgrade,
} from "./moves.js";
export { type OpenOptions, open } from "./open.js";
export { DATA_SCHEMAS, type Data, type DataOf } from "./records/data.js";
export { EDGE_KINDS, type EdgeKind } from "./records/edge-kinds.js";
export { FENCE_CLOSE, FENCE_OPEN, fence, flatten } from "./records/fence.js";
export type { Time } from "./records/fields.js";
export { countTokens, truncateToTokens } from "./records/forms.js";
export { type Frame, frameSchema } from "./records/frames.js";
export { type GoalState, goalStateSchema } from "./records/goal-state.js";
export {
  EVENT_KINDS,
  FRAME_VERBS,
  type FrameVerb,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  OBJECT_KINDS,
  type ObjectKind,
  SOURCES,
  type Source,
  STATUSES,
  type Status,
  TURN_ROLES,
  type TurnRole,
  VISIBILITIES,
  type Visibility,
} from "./records/types.js";
export { buildUri, checkActorName, type MemoryUri, parseUri } from "./records/uri.js";
export type { CortexApi } from "./remote/api.js";
export type { RemoteCortex } from "./remote/client.js";
export type { RemoteLocation, RemoteOptions, RequestSigner } from "./remote/settings.js";
export {
  follow,
  type PromoteReport,
  promote,
  type ReplicaEvent,
  type ReplicaOptions,
  type ReplicaSource,
} from "./replica/follow.js";
export { DECAY, type Decay, decayOf } from "./salience/decay.js";
export { type AttestOutcome, MISLED_REASONS } from "./salience/learn.js";
export { COLD_WEIGHTS, type Factors, type Salience, type Weights } from "./salience/salience.js";
export type { Counter } from "./salience/use-record.js";
export { type Access, GUEST, OWNER, type Policy, type ScopeAccess } from "./scope/access.js";
export {
  type RequestLine,
  type SignatureHeaders,
  type SignedBy,
  signRequest,
  verifyRequest,
} from "./scope/request-signature.js";
export {
  holderOf,
  isScopeText,
  issueScope,
  parseHandle,
  parseScope,
  type Scope,
  type ScopeInput,
  type ScopeSigner,
  type ScopeTerms,
} from "./scope/scope.js";
export type { Selector } from "./scope/selector.js";
export { withheld } from "./trust/scan.js";
export type { Embedder } from "./vector/embedder.js";
export { type HashEmbedderOptions, hashEmbedder } from "./vector/hash-embedder.js";
export type { HttpEmbedderOptions } from "./vector/http-embedder.js";
