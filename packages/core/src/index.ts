/** The public surface of `@cortex-memory/core`: explicit names only. */
export { type Access, GUEST, OWNER, type Policy, type ScopeAccess } from "./access.js";
export {
  type Ed25519Signer,
  signerOf,
  type VerifyEd25519,
  verifyEd25519Node as verifyEd25519,
} from "./codec/ed25519-node.js";
export type { Form } from "./context/prompt-text.js";
export { TIERS, type Tier } from "./context/tiers.js";
export { Cortex } from "./cortex.js";
export { EDGE_KINDS, type EdgeKind } from "./edges/kinds.js";
export {
  CortexError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  isCortexError,
  shortName,
} from "./errors.js";
export { LINK_KINDS, type LinkKind } from "./extract/prompt.js";
export { DROP_RULES, type DropRule } from "./extract/reply.js";
export {
  follow,
  type PromoteReport,
  promote,
  type ReplicaEvent,
  type ReplicaOptions,
  type ReplicaSource,
} from "./follow.js";
export type { ExportReport } from "./history/export-journal.js";
export type { ImportReport } from "./history/import-journal.js";
export type { AsOf } from "./history/reader.js";
export type { CheckReport, Problem, RebuildReport } from "./history/rebuild.js";
export type { FollowFailure } from "./history/replica-mark.js";
export type { StoreForm, UpgradedTo } from "./history/upgrade.js";
export type { VacuumReport } from "./history/vacuum.js";
export type { GraphProblem } from "./hub/catalogue.js";
export type { HubCheckOptions, HubCheckReport, HubRebuildReport } from "./hub/check.js";
export type { GraphEdge } from "./hub/edge.js";
export type { GraphEdgeInput, GraphEdgeResult } from "./hub/edge-write.js";
export type { EdgesOptions, GraphEdges, GraphTraverseOptions } from "./hub/edges.js";
export type { HubEvent, HubSubscribeOptions, HubSubscription } from "./hub/events.js";
export type { GraphFilter, GraphInfo, GraphInput, GraphList } from "./hub/graph.js";
export { Hub } from "./hub/hub.js";
export { HUB_POLICIES } from "./hub/hub-policies.js";
export { memgraphText } from "./hub/memgraph-text.js";
export { type ActorForOptions, actorFor } from "./hub/names.js";
export type { CompactNode, GraphNode } from "./hub/node.js";
export type { NodeFilter, NodePage } from "./hub/node-list.js";
export type { NodeInput, NodeResult } from "./hub/node-write.js";
export type {
  GetNodeOptions,
  LineageOptions,
  NodeConflict,
  NodeConflicts,
  ResolveInput,
} from "./hub/nodes.js";
export { type OpenHubOptions, openHub } from "./hub/open-hub.js";
export type { GraphSchema, GraphTag, GraphTagOptions } from "./hub/schema.js";
export type {
  NodeBatchHit,
  NodeBatchOptions,
  NodeBatchSearch,
  NodeHit,
  NodeQuery,
  NodeSearch,
} from "./hub/search.js";
export type {
  SubgraphEdge,
  SubgraphInput,
  SubgraphNode,
  SubgraphOptions,
  SubgraphResult,
} from "./hub/subgraph.js";
export type { GraphRef, SymlinkManifest, SymlinkOptions } from "./hub/symlinks.js";
export type { GraphWalk } from "./hub/traverse.js";
export type { EmbedOptions, EmbedReport } from "./jobs/embed.js";
export {
  type EmbedderOptions,
  httpEmbedder,
  httpModel,
  type ModelOptions,
} from "./jobs/embedders.js";
export type { Jobs, JobsOptions } from "./jobs/jobs.js";
export type { JobFailure, JobReport, JobStatus } from "./jobs/lease.js";
export type { Signer } from "./journal/checkpoint.js";
export { ENTRY_KINDS, type EntryKind } from "./journal/entry.js";
export type { ErasureDocument } from "./journal/erasure-list.js";
export type { JournalPage } from "./journal/journal-page.js";
export type { Proof } from "./journal/proof.js";
export { LIMITS } from "./limits.js";
export { DATA_SCHEMAS, type Data, type DataOf } from "./memory/data.js";
export { FENCE_CLOSE, FENCE_OPEN, fence, flatten } from "./memory/fence.js";
export { countTokens, truncateToTokens } from "./memory/forms.js";
export { type Frame, frameSchema, provenanceSchema } from "./memory/frames.js";
export { type GoalState, goalStateSchema } from "./memory/goal-state.js";
export {
  EVENT_KINDS,
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
  VERBS,
  type Verb,
  VISIBILITIES,
  type Visibility,
} from "./memory/types.js";
export { buildUri, checkActorName, type MemoryUri, parseUri } from "./memory/uri.js";
export type { HttpModelOptions, JsonMode } from "./model/http-model.js";
export type { Model, ModelMessage, ModelRequest } from "./model/model.js";
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
export { POLICIES } from "./policies.js";
export type { OrderClause } from "./query/order.js";
export type { Predicate, Scalar } from "./query/predicate.js";
export type { CortexApi, VerbName } from "./remote/api.js";
export type { RemoteCortex } from "./remote/client.js";
export type { RemoteLocation, RemoteOptions, RequestSigner } from "./remote/settings.js";
export { DECAY, type Decay, decayOf } from "./salience/decay.js";
export { type AttestOutcome, MISLED_REASONS } from "./salience/learn.js";
export { COLD_WEIGHTS, type Factors, type Salience, type Weights } from "./salience/salience.js";
export type { Counter } from "./salience/use-record.js";
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
export { LANGUAGES, type Language } from "./text/languages.js";
export { withheld } from "./trust/scan.js";
export type { Embedder } from "./vector/embedder.js";
export { type HashEmbedderOptions, hashEmbedder } from "./vector/hash-embedder.js";
export type { HttpEmbedderOptions } from "./vector/http-embedder.js";
export type { AttestInput, AttestResult, WeightsAt } from "./verbs/attest.js";
export type {
  BatchItem,
  BatchItemResult,
  BatchOptions,
  BatchResult,
} from "./verbs/batch.js";
export type { Change, ChangesPage, MemoryChange } from "./verbs/changes.js";
export type {
  CompactInput,
  CompactItem,
  CompactResult,
  RecordedContext,
  RecordedItem,
} from "./verbs/compact.js";
export type { ConfigPatch, ConflictPolicy, GraphConfig } from "./verbs/config.js";
export type { ContextBundle, ContextItem, ContextOptions } from "./verbs/context.js";
export type { EdgeInput, EdgeResult } from "./verbs/edges.js";
export type { EdgeId, MemoryId, Ref } from "./verbs/engine.js";
export type {
  ExtractedFact,
  ExtractFailure,
  ExtractOptions,
  ExtractReport,
  FactOutcome,
} from "./verbs/extract.js";
export type { FindExplanation, FindHit, FindResult } from "./verbs/find.js";
export type { FindQuery, FollowOptions } from "./verbs/find-input.js";
export type { NearQuery } from "./verbs/find-near.js";
export type { ForgetOptions, ForgetResult } from "./verbs/forget.js";
export type { LogItem, LogPage, ReplicaStatus, Stats } from "./verbs/journal.js";
export type { JournalPageOptions } from "./verbs/journal-page.js";
export type { ListOptions, MemoryPage } from "./verbs/list.js";
export type { MaintainChange, MaintainOptions, MaintainReport } from "./verbs/maintain.js";
export type { ByteSink, ExportTarget, ImportSource } from "./verbs/move-files.js";
export type { BackupOptions, MoveOptions } from "./verbs/moves.js";
export type { EdgeRef, ProveOptions, ProveRequest } from "./verbs/prove-question.js";
export { DEFAULT_RATE_LIMITS, type RateLimit, type RateLimits } from "./verbs/rate-limits.js";
export type { GetOptions, ReadOptions } from "./verbs/read.js";
export type { LaneCounts, OnPlan, PlanOption, ReadPlan } from "./verbs/read-plan.js";
export type {
  RecallHit,
  RecallOptions,
  RecallReasons,
  RecallResult,
} from "./verbs/recall.js";
export type { FoundLink, RelinkOptions, RelinkReport } from "./verbs/relink.js";
export type { RestoreMemoryOptions } from "./verbs/restore.js";
export type { RevertResult } from "./verbs/revert.js";
export {
  REVIEW_KINDS,
  type ReviewItem,
  type ReviewKind,
  type ReviewOptions,
  type ReviewPage,
  type ReviewSide,
} from "./verbs/review.js";
export type { ListTagsOptions, Schema, TagCount, TagList } from "./verbs/schema.js";
export type {
  PostedScope,
  PresentOptions,
  RevokedScope,
  ScopeReport,
} from "./verbs/scopes.js";
export type {
  BatchQuery,
  SearchBatchHit,
  SearchBatchOptions,
  SearchBatchResult,
  SearchFilter,
  SearchHit,
  SearchOptions,
  SearchResult,
} from "./verbs/search.js";
export { deriveSeed, type SeedInput } from "./verbs/seed.js";
export type { SessionPage, Turn } from "./verbs/session-read.js";
export type {
  RememberOptions,
  RememberResult,
  TurnInput,
} from "./verbs/sessions.js";
export { DECISIONS, type Decision, type SettleInput, type Settlement } from "./verbs/settle.js";
export type {
  Edge,
  HistoryItem,
  Memory,
  MemoryHead,
  MemoryRef,
  VersionRecord,
  WriteResult,
} from "./verbs/shapes.js";
export type { SharedSlice, ShareSelector } from "./verbs/share.js";
export type { SlotHistory, SlotOptions, SlotValue } from "./verbs/slots.js";
export type {
  CheckpointAt,
  SnapshotFilter,
  SnapshotInfo,
  SnapshotOptions,
} from "./verbs/snapshot.js";
export type { JournalEvent, SubscribeOptions, Subscription } from "./verbs/subscribe.js";
export type { HeadPatch, UpdateInput } from "./verbs/update.js";
export type { OnProgress, RootAt } from "./verbs/upkeep.js";
export type {
  EdgeList,
  EdgeListOptions,
  Inspection,
  Link,
  Traversal,
  TraverseOptions,
} from "./verbs/walk.js";
export type { HeadInput, VersionInput, WriteInput } from "./verbs/write-input.js";
export { HEAD_FIELDS, VERSION_FIELDS, WRITE_FIELDS } from "./verbs/write-input.js";
