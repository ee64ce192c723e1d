/** The public surface of `@cortex-memory/core`: explicit names only. */

export type { PresentOptions } from "./admission/scope-verbs.js";
export {
  type Ed25519Signer,
  signerOf,
  verifyEd25519Node as verifyEd25519,
} from "./codec/node-crypto.js";
export type { BatchItem, BatchResult } from "./contract/batch.js";
export type { ConfigPatch, GraphConfig } from "./contract/config.js";
export type { FindHit, FindResult, Predicate, Schema } from "./contract/find.js";
export type { Answer, Options, VerbName } from "./contract/index.js";
export type { JournalEvent, Stats, Subscription } from "./contract/journal.js";
export type { EdgeInput, Inspection, Link, Traversal } from "./contract/links.js";
export type { MemoryPage, UpdateInput, WriteInput } from "./contract/memory.js";
export type { ExportReport, ExportTarget } from "./contract/move.js";
export type { ContextBundle, RecallHit, RecallResult } from "./contract/recall.js";
export type { ReviewPage } from "./contract/review.js";
export type { TurnInput } from "./contract/sessions.js";
export type {
  Edge,
  EdgeId,
  Memory,
  MemoryId,
  MemoryRef,
  Ref,
  WriteResult,
} from "./contract/shapes.js";
export type { OnProgress } from "./contract/verb.js";
export type { Cortex, CortexApi } from "./cortex.js";
export { DEFAULT_RATE_LIMITS, type RateLimit, type RateLimits } from "./engine/rate-limits.js";
export { CortexError, ERROR_CODES, type ErrorCode, isCortexError } from "./errors.js";
export type { AsOf } from "./history/reader.js";
export {
  type EmbedderOptions,
  httpEmbedder,
  httpModel,
  type ModelOptions,
} from "./http-services.js";
export type { HubCheckReport, HubRebuildReport } from "./hub/check.js";
export { actorFor } from "./hub/context.js";
export { type CopyHubOptions, type CopyHubReport, copyHub } from "./hub/copy.js";
export type { HubEvent, HubSubscribeOptions, HubSubscription } from "./hub/events.js";
export type { GraphFilter, GraphInfo, GraphInput, GraphList, RemovedGraph } from "./hub/graphs.js";
export type { UserMemory, UserOptions } from "./hub/hub.js";
export { Hub } from "./hub/hub.js";
export { type OpenHubOptions, openHub } from "./hub/open-hub.js";
export type { HubEdge, HubTraversal, HubTraverseOptions, SymlinkManifest } from "./hub/walk.js";
export type { JobReport, JobStatus } from "./jobs/lease.js";
export type { Jobs, JobsOptions } from "./jobs.js";
export type { Signer } from "./journal/checkpoint.js";
export type { Proof } from "./journal/proof.js";
export { deriveSeed } from "./learning/compact.js";
export { LIMITS } from "./limits.js";
export type { Model, ModelMessage, ModelRequest } from "./model/model.js";
export type { ImportReport } from "./move/import-journal.js";
export type { ImportSource } from "./move/move-files.js";
export {
  eraseAgain,
  type ImportOptions,
  importJournal,
  type RepairOptions,
  type RepairReport,
  type RestoreOptions,
  type RestoreReport,
  repair,
  restoreBackup,
  type UpgradeOptions,
  type UpgradeReport,
  upgrade,
} from "./moves.js";
export { type OpenOptions, open } from "./open.js";
export type { Time } from "./records/fields.js";
export type { Frame, GoalState } from "./records/frames.js";
export type { MemoryType, Source } from "./records/types.js";
export { buildUri, type MemoryUri, parseUri } from "./records/uri.js";
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
export type { Salience } from "./salience/salience.js";
export { type Access, GUEST, OWNER, type ScopeAccess, type Speaker } from "./scope/access.js";
export { type RequestLine, type SignatureHeaders, signRequest } from "./scope/request-signature.js";
export {
  issueScope,
  parseScope,
  type Scope,
  type ScopeInput,
  type ScopeSigner,
  type ScopeTerms,
} from "./scope/scope.js";
export type { Selector } from "./scope/selector.js";
export type { Embedder } from "./vector/embedder.js";
export { type HashEmbedderOptions, hashEmbedder } from "./vector/embedder.js";
