/**
 * Every verb with its function: where the contract meets the features. A function that is missing, or
 * that takes or answers something else than its contract says, does not compile.
 */

import { type Callable, callable } from "./admission/call.js";
import { settle } from "./admission/proposals.js";
import { postScope, revokeScope, showScope } from "./admission/scope-verbs.js";
import { batch } from "./batch/batch.js";
import { changes, journalPage, log, stats } from "./changes/log.js";
import { revert } from "./changes/revert.js";
import { subscribe } from "./changes/subscribe.js";
import { config, configure } from "./config/config.js";
import { context } from "./context/context.js";
import { type Run, VERBS, type VerbName } from "./contract/index.js";
import type { Verb } from "./contract/verb.js";
import { embedPending } from "./embedding/embed.js";
import type { Engine } from "./engine/engine.js";
import { extract } from "./extract/extract.js";
import { relink } from "./extract/relink.js";
import { find } from "./find/find.js";
import { describeSchema, listTags } from "./find/schema.js";
import { attest, weights } from "./learning/attest.js";
import { compactContext, contextRecord } from "./learning/compact.js";
import { addEdge, getEdge, removeEdge, removeEdgeById } from "./links/edges.js";
import { backlinksTo, edgesIn, edgesOut, inspect, linksFrom, traverse } from "./links/walk.js";
import { forget } from "./memory/forget.js";
import { deleteGoalState, goalState, goalStates, setGoalState } from "./memory/goals.js";
import { history } from "./memory/history.js";
import { list, slotHistory } from "./memory/list.js";
import { get, resolve } from "./memory/read.js";
import { restore } from "./memory/restore.js";
import { tombstone, update, updateHead } from "./memory/update.js";
import { write } from "./memory/write.js";
import { backup, erasures } from "./move/export-journal.js";
import { prove, share } from "./proof/prove.js";
import { checkpoint, root, snapshot, snapshots } from "./proof/snapshot.js";
import { recall } from "./recall/recall.js";
import { review } from "./review/review.js";
import { search, searchBatch } from "./search/search.js";
import { remember } from "./sessions/remember.js";
import { session, sessions } from "./sessions/session-read.js";
import { maintain } from "./upkeep/maintain.js";
import { scrub } from "./upkeep/scrub.js";
import { check, rebuild, vacuum } from "./upkeep/whole-store.js";

const RUN: { readonly [V in VerbName]: Run<V, Engine> } = {
  forget,
  deleteGoalState,
  goalState,
  goalStates,
  setGoalState,
  list,
  slotHistory,
  get,
  history,
  resolve,
  restore,
  tombstone,
  update,
  updateHead,
  write,
  addEdge,
  link: addEdge,
  getEdge,
  removeEdge,
  removeEdgeById,
  backlinksTo,
  edgesIn,
  edgesOut,
  inspect,
  linksFrom,
  traverse,
  remember,
  session,
  sessions,
  batch,
  find,
  describeSchema,
  listTags,
  search,
  searchBatch,
  recall,
  context,
  review,
  attest,
  weights,
  compactContext,
  contextRecord,
  maintain,
  scrub,
  check,
  rebuild,
  vacuum,
  extract,
  relink,
  embedPending,
  config,
  configure,
  changes,
  journalPage,
  log,
  stats,
  revert,
  subscribe,
  prove,
  share,
  checkpoint,
  root,
  snapshot,
  snapshots,
  backup,
  exportJournal: backup,
  erasures,
  settle,
  postScope,
  revokeScope,
  showScope,
};

/** Every verb, ready to be called. */
export const CALLABLES: readonly Callable[] = Object.values(VERBS).map((verb: Verb) =>
  callable(verb, RUN[verb.name as VerbName]),
);
