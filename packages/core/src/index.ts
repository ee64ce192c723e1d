/** The public surface of `@cortex-memory/core`: explicit names only. */
export { type Access, GUEST, OWNER, type Policy } from "./access.js";
export { Cortex } from "./cortex.js";
export { EDGE_KINDS, type EdgeKind } from "./edges/kinds.js";
export {
  CortexError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  isCortexError,
} from "./errors.js";
export type { ExportReport } from "./history/export-journal.js";
export type { ImportReport } from "./history/import-journal.js";
export type { AsOf } from "./history/reader.js";
export type { CheckReport, Problem, RebuildReport } from "./history/rebuild.js";
export type { StoreForm, UpgradedTo } from "./history/upgrade.js";
export type { VacuumReport } from "./history/vacuum.js";
export type { Signer } from "./journal/checkpoint.js";
export type { ErasureDocument } from "./journal/erasure-list.js";
export type { Proof } from "./journal/proof.js";
export { LIMITS } from "./limits.js";
export { DATA_SCHEMAS, type Data, type DataOf } from "./memory/data.js";
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
export type {
  BatchItem,
  BatchItemResult,
  BatchOptions,
  BatchResult,
} from "./verbs/batch.js";
export type { Change, ChangesPage, MemoryChange } from "./verbs/changes.js";
export type { ConflictPolicy, GraphConfig } from "./verbs/config.js";
export type { EdgeInput, EdgeResult } from "./verbs/edges.js";
export type { EdgeId, MemoryId, Ref } from "./verbs/engine.js";
export type { ForgetOptions, ForgetResult } from "./verbs/forget.js";
export type { LogItem, LogPage, Stats } from "./verbs/journal.js";
export type { ListOptions, MemoryPage } from "./verbs/list.js";
export type { ByteSink, ExportTarget, ImportSource } from "./verbs/move-files.js";
export type { BackupOptions, MoveOptions } from "./verbs/moves.js";
export type { EdgeRef, ProveOptions, ProveRequest } from "./verbs/prove-question.js";
export type { GetOptions, ReadOptions } from "./verbs/read.js";
export type { RevertResult } from "./verbs/revert.js";
export { deriveSeed, type SeedInput } from "./verbs/seed.js";
export type { SessionPage, Turn } from "./verbs/session-read.js";
export type {
  RememberOptions,
  RememberResult,
  TurnInput,
} from "./verbs/sessions.js";
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
export type {
  CheckpointAt,
  SnapshotFilter,
  SnapshotInfo,
  SnapshotOptions,
} from "./verbs/snapshot.js";
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
