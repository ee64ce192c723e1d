/**
 * From a finished fold to a commit: trees and tiles updated, head row written, classes checked. Used
 * by the writer and by replay, so that both leave the same bytes. The benchmark `trees` puts its clock between this
 * file and the trees.
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { classOfKey } from "../kv/keyspace.js";
import type { Bytes, KvCommit, KvSnapshot } from "../kv/kv.js";
import type { Fold } from "./fold-state.js";
import { encodeHeadRow, type HeadRow } from "./head-row.js";
import { appendTiles, missingRows, updateTrees } from "./trees.js";
import { Unread, type WriteView } from "./write-view.js";

/** A fold that is complete but for the trees. */
interface FinishedFold {
  readonly view: WriteView;
  readonly fold: Fold;
  readonly headBytes: Bytes | undefined;
  /** The head the fold started from. */
  readonly head: HeadRow;
  /** Time of the last entry folded. */
  readonly at: number;
  /** Leaves of the journal tree, one per entry folded. */
  readonly leafHashes: readonly Uint8Array[];
}

/**
 * Builds the commit of a fold. Tree pages that it lacks are read one after another where that waits for nobody, else in
 * one batch unless they are very many. Which ones it lacks is worked out only once one was: mostly all are cached.
 */
export async function sealCommit(
  sha256: Sha256,
  snapshot: KvSnapshot,
  done: FinishedFold,
): Promise<KvCommit> {
  const { view, fold, head, leafHashes } = done;
  try {
    changeTrees(sha256, snapshot, done);
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    for (;;) {
      const missing = missingRows(fold.leaves, view, head.size);
      if (missing.length === 0) break;
      view.load(missing, await snapshot.getMany(missing));
    }
    changeTrees(sha256, snapshot, done);
  }
  const size = head.size + leafHashes.length;
  const commit = {
    expectHead: done.headBytes,
    head: encodeHeadRow({ ...head, size, at: done.at, counts: fold.counts }),
    ...view.changes(),
  };
  checkClasses(commit, true);
  return commit;
}

/** Puts the rows of all trees; throws `Unread` where one that they start from is not loaded. */
function changeTrees(sha256: Sha256, snapshot: KvSnapshot, done: FinishedFold): void {
  const { view, fold, head, leafHashes } = done;
  const { getNow } = snapshot;
  const readNow = getNow === undefined ? undefined : (key: Bytes) => snapshot.getNow?.(key);
  appendTiles(sha256, view, { size: head.size, leafHashes }, readNow);
  updateTrees(sha256, view, fold.leaves, readNow);
}

/** Refuses a commit that touches exact keys without an entry, or caches with one. */
export function checkClasses(commit: Pick<KvCommit, "puts" | "deletes">, hasEntry: boolean): void {
  for (const { key } of commit.puts) checkClass(key, hasEntry);
  for (const key of commit.deletes) checkClass(key, hasEntry);
}

function checkClass(key: Bytes, hasEntry: boolean): void {
  const keyClass = classOfKey(key);
  const fits = hasEntry
    ? keyClass === "exact" || keyClass === "journal"
    : keyClass === "cache" || keyClass === "snapshot";
  if (fits) return;
  throw new CortexError(
    "ERR_BATCH_NO_JOURNAL",
    `a commit ${hasEntry ? "with" : "without"} a journal entry touches a key of class ${keyClass}`,
  );
}
