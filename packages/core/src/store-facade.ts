/**
 * The facade, half of it: the verbs on a store as a whole. Its configuration, its journal and roots, its
 * upkeep, moving it elsewhere, and letting others in. The verbs on memories are in `cortex.ts`.
 *
 * Every method admits the caller by its policy and calls the verb of the same name; nothing else
 * happens here.
 */

import { admitted } from "./admission/admission.js";
import { POLICIES } from "./admission/policies.js";
import {
  type PostedScope,
  type PresentOptions,
  postScope,
  type RevokedScope,
  revokeScope,
  type ScopeReport,
  scopeAccess,
  showScope,
} from "./admission/scope-verbs.js";
import { type ChangesPage, changes } from "./changes/changes.js";
import { type JournalPageOptions, journalPage } from "./changes/journal-page.js";
import { type LogPage, log, type Stats, stats } from "./changes/log.js";
import { type RevertResult, revert } from "./changes/revert.js";
import { type SubscribeOptions, type Subscription, subscribe } from "./changes/subscribe.js";
import { type ConfigPatch, type GraphConfig, getConfig, setConfig } from "./config/config.js";
import type { Ref } from "./contract/shapes.js";
import type { Engine } from "./engine/engine.js";
import type { AsOf } from "./history/reader.js";
import type { ErasureDocument } from "./journal/erasure-list.js";
import type { JournalPage } from "./journal/journal-page.js";
import type { Proof } from "./journal/proof.js";
import type { LifecycleOptions } from "./memory/update.js";
import {
  type BackupOptions,
  backup,
  erasures,
  exportJournal,
  type MoveOptions,
} from "./move/export.js";
import type { ExportReport } from "./move/export-journal.js";
import type { ExportTarget } from "./move/move-files.js";
import { prove } from "./proof/prove.js";
import type { ProveOptions, ProveRequest } from "./proof/prove-question.js";
import { type SharedSlice, type ShareSelector, share } from "./proof/share.js";
import {
  type CheckpointAt,
  checkpointOf,
  type SnapshotFilter,
  type SnapshotInfo,
  type SnapshotOptions,
  snapshot,
  snapshots,
} from "./proof/snapshot.js";
import { type Access, OWNER, type ScopeAccess } from "./scope/access.js";
import { type RootAt, root } from "./upkeep/whole-store.js";

/** Options that say who is asking. */
export interface AccessOption {
  readonly access?: Access;
}

/** See the file header. */
export class StoreFacade {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The graph's configuration. */
  async config(options: AccessOption = {}): Promise<GraphConfig> {
    return getConfig(this.admit("config", options));
  }

  /** Changes the graph's configuration. */
  async configure(
    patch: ConfigPatch,
    options: LifecycleOptions & AccessOption = {},
  ): Promise<GraphConfig & { readonly seq: number }> {
    return setConfig(this.admit("configure", options), patch, options);
  }

  /** Journal entries, without content. */
  async log(options: NonNullable<Parameters<typeof log>[1]> & AccessOption = {}): Promise<LogPage> {
    return log(this.admit("log", options), options);
  }

  /** A stretch of the journal with its bytes: what a replica reads; see `follow`. */
  async journalPage(options: JournalPageOptions & AccessOption = {}): Promise<JournalPage> {
    return journalPage(this.admit("journalPage", options), options);
  }

  /** Entries as they are committed, by this process or another; see `subscribe.ts`. */
  subscribe(options: SubscribeOptions & AccessOption = {}): Subscription {
    return subscribe(this.admit("subscribe", options), options);
  }

  /** How much the store holds. */
  async stats(options: AccessOption = {}): Promise<Stats> {
    return stats(this.admit("stats", options));
  }

  /** What happened after one position, up to another. */
  async changes(
    from: AsOf,
    to?: AsOf,
    options: NonNullable<Parameters<typeof changes>[3]> & AccessOption = {},
  ): Promise<ChangesPage> {
    return changes(this.admit("changes", options), from, to, options);
  }

  /** Undoes what one entry did, by a new entry. */
  async revert(seq: number, options: LifecycleOptions & AccessOption = {}): Promise<RevertResult> {
    return revert(this.admit("revert", options), seq, options);
  }

  /** The root over everything, and its position. */
  async root(options: AccessOption = {}): Promise<RootAt> {
    return root(this.admit("root", options));
  }

  /** The checkpoint of the current position: what `verify` trusts, as text; seals nothing. */
  async checkpoint(options: AccessOption = {}): Promise<CheckpointAt> {
    return checkpointOf(this.admit("checkpoint", options));
  }

  /** Seals the roots of the current position under a number; signed if a signer is given. */
  async snapshot(
    reason = "explicit",
    options: SnapshotOptions & AccessOption = {},
  ): Promise<SnapshotInfo> {
    return snapshot(this.admit("snapshot", options), reason, options);
  }

  /** The snapshots there are, newest first, or those of one position or root. */
  async snapshots(filter: SnapshotFilter & AccessOption = {}): Promise<readonly SnapshotInfo[]> {
    return snapshots(this.admit("snapshots", filter), filter);
  }

  /** Proves memories, edges and entries to whoever trusts a checkpoint; see `./verify`. */
  async prove(what: readonly Ref[] | ProveRequest, options: ProveOptions = {}): Promise<Proof> {
    return prove(this.admit("prove", options), what, options);
  }

  /** The memories that match, with a proof that can be checked offline. */
  async share(selector: ShareSelector & AccessOption = {}): Promise<SharedSlice> {
    return share(this.admit("share", selector), selector);
  }

  /** Writes the whole journal out as a portable file; `importJournal` reads it in. */
  async exportJournal(
    target: ExportTarget,
    options: MoveOptions & AccessOption = {},
  ): Promise<ExportReport> {
    return exportJournal(this.admit("exportJournal", options), target, options);
  }

  /** A consistent copy while others write: all of it, or what came after a seq. */
  async backup(
    target: ExportTarget,
    options: BackupOptions & AccessOption = {},
  ): Promise<ExportReport> {
    return backup(this.admit("backup", options), target, options);
  }

  /** The places of everything forgotten so far: keep it apart from the backups. */
  async erasures(options: AccessOption = {}): Promise<ErasureDocument> {
    return erasures(this.admit("erasures", options));
  }

  /** The access of whoever presents a scope, or a handle of one: for a door to give to the verbs. */
  async scopeAccess(presented: string, options: PresentOptions = {}): Promise<ScopeAccess> {
    return scopeAccess(this.#engine, presented, options);
  }

  /** Takes a scope in, so that its handle is enough from then on. */
  async postScope(text: string, options: AccessOption = {}): Promise<PostedScope> {
    return postScope(this.admit("postScope", options), text, options);
  }

  /** What a scope grants, and whether it holds here and now. */
  async showScope(presented: string, options: AccessOption = {}): Promise<ScopeReport> {
    return showScope(this.admit("showScope", options), presented, options);
  }

  /** Takes a scope back, for every process and for good. */
  async revokeScope(
    named: string,
    options: NonNullable<Parameters<typeof revokeScope>[2]> & AccessOption = {},
  ): Promise<RevokedScope> {
    return revokeScope(this.admit("revokeScope", options), named, options);
  }

  /** The engine, for a caller whom the verb's policy admits. */
  protected admit(verb: keyof typeof POLICIES, options: AccessOption): Engine {
    // Options that are no object are refused by the verb, which can say so.
    const access = options?.access;
    const policy = POLICIES[verb];
    return admitted(this.#engine, access === undefined ? OWNER : access, { name: verb, policy });
  }
}
