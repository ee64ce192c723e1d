/**
 * The facade: one actor's memory graph as an object.
 *
 * Every method admits the caller by its policy and calls the verb of the same name; nothing else
 * happens here. `policies.ts` is the policy column: one line per verb, read by the doors as well.
 */
import { type Access, admit, OWNER } from "./access.js";
import type { ExportReport } from "./history/export-journal.js";
import type { AsOf } from "./history/reader.js";
import type { CheckReport, RebuildReport } from "./history/rebuild.js";
import type { VacuumReport } from "./history/vacuum.js";
import type { ErasureDocument } from "./journal/erasure-list.js";
import type { Proof } from "./journal/proof.js";
import type { KvManifest } from "./kv/kv.js";
import type { GoalState } from "./memory/goal-state.js";
import { POLICIES } from "./policies.js";
import { type BatchItem, type BatchOptions, type BatchResult, batch } from "./verbs/batch.js";
import type { Genesis } from "./verbs/birth.js";
import { type ChangesPage, changes } from "./verbs/changes.js";
import { type GraphConfig, getConfig, setConfig } from "./verbs/config.js";
import {
  addEdge,
  type EdgeInput,
  type EdgeResult,
  getEdge,
  removeEdge,
  removeEdgeById,
} from "./verbs/edges.js";
import type { Engine, MemoryId, Ref } from "./verbs/engine.js";
import { type ForgetOptions, type ForgetResult, forget } from "./verbs/forget.js";
import { deleteGoalState, goalState, goalStates, setGoalState } from "./verbs/goals.js";
import { type LogPage, log, type Stats, stats } from "./verbs/journal.js";
import { type ListOptions, list, type MemoryPage } from "./verbs/list.js";
import type { ExportTarget } from "./verbs/move-files.js";
import {
  type BackupOptions,
  backup,
  erasures,
  exportJournal,
  type MoveOptions,
  vacuum,
} from "./verbs/moves.js";
import { prove } from "./verbs/prove.js";
import type { ProveOptions, ProveRequest } from "./verbs/prove-question.js";
import { type GetOptions, get, history, type ReadOptions, resolve } from "./verbs/read.js";
import { type RevertResult, revert } from "./verbs/revert.js";
import { type SessionPage, session } from "./verbs/session-read.js";
import {
  type RememberOptions,
  type RememberResult,
  remember,
  type TurnInput,
} from "./verbs/sessions.js";
import type { Edge, HistoryItem, Memory, WriteResult } from "./verbs/shapes.js";
import { type SharedSlice, type ShareSelector, share } from "./verbs/share.js";
import {
  type CheckpointAt,
  checkpointOf,
  type SnapshotFilter,
  type SnapshotInfo,
  type SnapshotOptions,
  snapshot,
  snapshots,
} from "./verbs/snapshot.js";
import {
  type HeadPatch,
  type LifecycleOptions,
  restore,
  tombstone,
  type UpdateInput,
  update,
  updateHead,
} from "./verbs/update.js";
import { check, type RootAt, rebuild, root } from "./verbs/upkeep.js";
import {
  backlinksTo,
  type EdgeList,
  type EdgeListOptions,
  edgesIn,
  edgesOut,
  type Inspection,
  inspect,
  type Link,
  linksFrom,
  type Traversal,
  type TraverseOptions,
  traverse,
} from "./verbs/walk.js";
import { write } from "./verbs/write.js";
import type { WriteInput } from "./verbs/write-input.js";

/** Options that say who is asking. */
export interface AccessOption {
  readonly access?: Access;
}

/** One actor's memory graph, open. Close it, or let `await using` do so. */
export class Cortex implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #end: () => Promise<void>;
  /** Who the memories are about when nothing else is said. */
  readonly actor: string;
  readonly genesis: Genesis;
  readonly manifest: KvManifest;

  constructor(engine: Engine, genesis: Genesis, end: () => Promise<void>) {
    this.#engine = engine;
    this.#end = end;
    this.actor = engine.actor;
    this.genesis = genesis;
    this.manifest = engine.kv.manifest;
  }

  /** Writes one memory; text that is known already reinforces the memory that says it. */
  async write(input: WriteInput, options: AccessOption = {}): Promise<WriteResult> {
    return write(this.#admit("write", options), input);
  }

  /** One memory by id, URI or external id; `undefined` when there is none. */
  async get(ref: Ref, options: GetOptions = {}): Promise<Memory | undefined> {
    return get(this.#admit("get", options), ref, options);
  }

  /** The memory that a URI pins. */
  async resolve(uri: string, options: ReadOptions = {}): Promise<Memory | undefined> {
    return resolve(this.#admit("resolve", options), uri, options);
  }

  /** Appends a version. */
  async update(ref: Ref, input: UpdateInput, options: AccessOption = {}): Promise<WriteResult> {
    return update(this.#admit("update", options), ref, input);
  }

  /** Changes tags, frames, importance and the like, without a new version. */
  async updateHead(ref: Ref, patch: HeadPatch, options: AccessOption = {}): Promise<WriteResult> {
    return updateHead(this.#admit("updateHead", options), ref, patch);
  }

  /** Hides a memory; `restore` brings it back. */
  async tombstone(
    ref: Ref,
    reason: string,
    options: LifecycleOptions & AccessOption = {},
  ): Promise<WriteResult> {
    return tombstone(this.#admit("tombstone", options), ref, reason, options);
  }

  /** Brings back what was hidden or archived. */
  async restore(ref: Ref, options: LifecycleOptions & AccessOption = {}): Promise<WriteResult> {
    return restore(this.#admit("restore", options), ref, options);
  }

  /** Every version of a memory, newest first; `undefined` when there is no such memory. */
  async history(ref: Ref, options: ReadOptions = {}): Promise<readonly HistoryItem[] | undefined> {
    return history(this.#admit("history", options), ref, options);
  }

  /** Memories by one index, page by page. */
  async list(options: ListOptions = {}): Promise<MemoryPage> {
    return list(this.#admit("list", options), options);
  }

  /** Many writes, updates and links in one commit. */
  async batch(
    items: readonly BatchItem[],
    options: BatchOptions & AccessOption = {},
  ): Promise<BatchResult> {
    return batch(this.#admit("batch", options), items, options);
  }

  /** Keeps the turns of a conversation verbatim; safe to repeat. */
  async remember(
    turns: readonly TurnInput[],
    options: RememberOptions & AccessOption,
  ): Promise<RememberResult> {
    return remember(this.#admit("remember", options ?? {}), turns, options);
  }

  /** The turns of a conversation, in order. */
  async session(name: string, options: Parameters<typeof session>[2] = {}): Promise<SessionPage> {
    return session(this.#admit("session", options), name, options);
  }

  /** Joins two memories by a kind of edge. */
  async addEdge(
    from: Ref,
    kind: string,
    to: Ref,
    input: EdgeInput = {},
    options: AccessOption = {},
  ): Promise<EdgeResult> {
    return addEdge(this.#admit("addEdge", options), from, kind, to, input);
  }

  /** `addEdge`, by its friendly name. */
  async link(
    from: Ref,
    kind: string,
    to: Ref,
    input: EdgeInput = {},
    options: AccessOption = {},
  ): Promise<EdgeResult> {
    return addEdge(this.#admit("link", options), from, kind, to, input);
  }

  /** Removes an edge softly. */
  async removeEdge(
    from: Ref,
    kind: string,
    to: Ref,
    options: NonNullable<Parameters<typeof removeEdge>[4]> & AccessOption = {},
  ): ReturnType<typeof removeEdge> {
    return removeEdge(this.#admit("removeEdge", options), from, kind, to, options);
  }

  /** Removes an edge softly, by its id. */
  async removeEdgeById(
    id: string,
    options: NonNullable<Parameters<typeof removeEdgeById>[2]> & AccessOption = {},
  ): ReturnType<typeof removeEdgeById> {
    return removeEdgeById(this.#admit("removeEdgeById", options), id, options);
  }

  /** One edge, removed ones included; `undefined` when it never was. */
  async getEdge(
    from: Ref,
    kind: string,
    to: Ref,
    options: ReadOptions = {},
  ): Promise<Edge | undefined> {
    return getEdge(this.#admit("getEdge", options), from, kind, to, options);
  }

  /** The edges that leave a memory. */
  async edgesOut(ref: Ref, options: EdgeListOptions = {}): Promise<EdgeList> {
    return edgesOut(this.#admit("edgesOut", options), ref, options);
  }

  /** The edges that reach a memory. */
  async edgesIn(ref: Ref, options: EdgeListOptions = {}): Promise<EdgeList> {
    return edgesIn(this.#admit("edgesIn", options), ref, options);
  }

  /** A bounded walk along edges. */
  async traverse(ref: Ref, options: TraverseOptions = {}): Promise<Traversal> {
    return traverse(this.#admit("traverse", options), ref, options);
  }

  /** What a memory points at, without repeats. */
  async linksFrom(ref: Ref, options: ReadOptions = {}): Promise<readonly Link[]> {
    return linksFrom(this.#admit("linksFrom", options), ref, options);
  }

  /** What points at a memory, without repeats. */
  async backlinksTo(ref: Ref, options: ReadOptions = {}): Promise<readonly Link[]> {
    return backlinksTo(this.#admit("backlinksTo", options), ref, options);
  }

  /** A memory with its links, backlinks, versions and counters. */
  async inspect(ref: Ref, options: ReadOptions = {}): Promise<Inspection | undefined> {
    return inspect(this.#admit("inspect", options), ref, options);
  }

  /** The runtime state of a goal. */
  async goalState(ref: Ref, options: AccessOption = {}): Promise<GoalState | undefined> {
    return goalState(this.#admit("goalState", options), ref);
  }

  /** Writes the runtime state of a goal. */
  async setGoalState(
    ref: Ref,
    state: GoalState,
    options: LifecycleOptions & AccessOption = {},
  ): Promise<{ readonly id: MemoryId; readonly seq: number }> {
    return setGoalState(this.#admit("setGoalState", options), ref, state, options);
  }

  /** Takes the runtime state of a goal away. */
  async deleteGoalState(
    ref: Ref,
    options: LifecycleOptions & AccessOption = {},
  ): Promise<{ readonly id: MemoryId; readonly seq: number }> {
    return deleteGoalState(this.#admit("deleteGoalState", options), ref, options);
  }

  /** Every goal with a runtime state. */
  async goalStates(
    options: AccessOption = {},
  ): Promise<readonly { readonly id: MemoryId; readonly state: GoalState }[]> {
    return goalStates(this.#admit("goalStates", options));
  }

  /** The graph's configuration. */
  async config(options: AccessOption = {}): Promise<GraphConfig> {
    return getConfig(this.#admit("config", options));
  }

  /** Changes the graph's configuration. */
  async configure(
    patch: Partial<GraphConfig>,
    options: LifecycleOptions & AccessOption = {},
  ): Promise<GraphConfig & { readonly seq: number }> {
    return setConfig(this.#admit("configure", options), patch, options);
  }

  /** Journal entries, without content. */
  async log(options: NonNullable<Parameters<typeof log>[1]> & AccessOption = {}): Promise<LogPage> {
    return log(this.#admit("log", options), options);
  }

  /** How much the store holds. */
  async stats(options: AccessOption = {}): Promise<Stats> {
    return stats(this.#admit("stats", options));
  }

  /** What happened after one position, up to another. */
  async changes(
    from: AsOf,
    to?: AsOf,
    options: NonNullable<Parameters<typeof changes>[3]> & AccessOption = {},
  ): Promise<ChangesPage> {
    return changes(this.#admit("changes", options), from, to, options);
  }

  /** Undoes what one entry did, by a new entry. */
  async revert(seq: number, options: LifecycleOptions & AccessOption = {}): Promise<RevertResult> {
    return revert(this.#admit("revert", options), seq, options);
  }

  /** Destroys a memory's content for good; proofs made before still verify. */
  async forget(
    ref: Ref,
    reason: string,
    options: ForgetOptions & AccessOption = {},
  ): Promise<ForgetResult> {
    return forget(this.#admit("forget", options), ref, reason, options);
  }

  /** The root over everything, and its position. */
  async root(options: AccessOption = {}): Promise<RootAt> {
    return root(this.#admit("root", options));
  }

  /** The checkpoint of the current position: what `verify` trusts, as text; seals nothing. */
  async checkpoint(options: AccessOption = {}): Promise<CheckpointAt> {
    return checkpointOf(this.#admit("checkpoint", options));
  }

  /** Seals the roots of the current position under a number; signed if a signer is given. */
  async snapshot(
    reason = "explicit",
    options: SnapshotOptions & AccessOption = {},
  ): Promise<SnapshotInfo> {
    return snapshot(this.#admit("snapshot", options), reason, options);
  }

  /** The snapshots there are, newest first, or those of one position or root. */
  async snapshots(filter: SnapshotFilter & AccessOption = {}): Promise<readonly SnapshotInfo[]> {
    return snapshots(this.#admit("snapshots", filter), filter);
  }

  /** Proves memories, edges and entries to whoever trusts a checkpoint; see `./verify`. */
  async prove(what: readonly Ref[] | ProveRequest, options: ProveOptions = {}): Promise<Proof> {
    return prove(this.#admit("prove", options), what, options);
  }

  /** The memories that match, with a proof that can be checked offline. */
  async share(selector: ShareSelector & AccessOption = {}): Promise<SharedSlice> {
    return share(this.#admit("share", selector), selector);
  }

  /** Checks journal, hashes, rows and roots against each other; repairs nothing. */
  async check(
    options: NonNullable<Parameters<typeof check>[1]> & AccessOption = {},
  ): Promise<CheckReport> {
    return check(this.#admit("check", options), options);
  }

  /** Builds every derived row again from the journal. */
  async rebuild(
    options: NonNullable<Parameters<typeof rebuild>[1]> & AccessOption = {},
  ): Promise<RebuildReport> {
    return rebuild(this.#admit("rebuild", options), options);
  }

  /** Writes the store anew, so that its file keeps no byte of what was forgotten. */
  async vacuum(options: MoveOptions & AccessOption = {}): Promise<VacuumReport> {
    return vacuum(this.#admit("vacuum", options), options);
  }

  /** Writes the whole journal out as a portable file; `importJournal` reads it in. */
  async exportJournal(
    target: ExportTarget,
    options: MoveOptions & AccessOption = {},
  ): Promise<ExportReport> {
    return exportJournal(this.#admit("exportJournal", options), target, options);
  }

  /** A consistent copy while others write: all of it, or what came after a seq. */
  async backup(
    target: ExportTarget,
    options: BackupOptions & AccessOption = {},
  ): Promise<ExportReport> {
    return backup(this.#admit("backup", options), target, options);
  }

  /** The places of everything forgotten so far: keep it apart from the backups. */
  async erasures(options: AccessOption = {}): Promise<ErasureDocument> {
    return erasures(this.#admit("erasures", options));
  }

  /** Finishes what is queued and closes the store; idempotent. */
  async close(): Promise<void> {
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #admit(verb: keyof typeof POLICIES, options: AccessOption): Engine {
    // Options that are no object are refused by the verb, which can say so.
    const access = options?.access;
    admit(access === undefined ? OWNER : access, POLICIES[verb], verb);
    return this.#engine;
  }
}
