/**
 * What makes a store a replica: one row that names the source, outside every root, and a cache row in
 * which whoever follows keeps how far that went.
 *
 * The first row is read by every write, in the same snapshot as what the write reads, so no process can
 * append an entry of its own. It is put by the commit that brings the first entries and taken away by
 * `promote`, both together with another head row, so a write that was prepared before loses its race.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList, readText } from "../codec/cbor-value.js";
import { CortexError } from "../errors.js";
import { FOLLOW_KEY, REPLICA_KEY } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { withSnapshot } from "./build-beside.js";
import { checkClasses } from "./commit.js";
import { decodeHeadRow, encodeHeadRow, type HeadRow } from "./head-row.js";

/** A failure of following, fit to be shown. */
interface FollowFailure {
  readonly code: string;
  readonly message: string;
  /** When it was met, in milliseconds. */
  readonly at: number;
}

/** How far following went. */
export interface FollowStatus {
  /** Entries with which the replica was last seen to agree with its source in everything. */
  readonly levelSize: number;
  /** Entries of the source, as last seen. */
  readonly sourceSize: number;
  /** When the source was last heard, in milliseconds. */
  readonly heardAt: number;
  /** What went wrong since. */
  readonly failure?: FollowFailure;
}

/** Before anything was heard of a source. */
export const UNHEARD: FollowStatus = { levelSize: 0, sourceSize: 0, heardAt: 0 };

/** The row that makes a store a replica of `source`. */
export function replicaRow(source: string): KvRow {
  return { key: REPLICA_KEY, value: encode([source]) };
}

/** The row of a replica whose source is not known any more: it takes no writes until it is promoted. */
export function replicaRowOf(kept: Bytes | undefined): KvRow {
  const isReadable = kept !== undefined && isMark(kept);
  return isReadable ? { key: REPLICA_KEY, value: kept } : replicaRow("a source that was lost");
}

function isMark(row: Bytes): boolean {
  try {
    return sourceIn(row) !== "";
  } catch {
    return false;
  }
}

/** The source that a replica's row names. */
export function sourceIn(row: Bytes): string {
  return readText(readList(decode(row))[0]);
}

/** Refuses a write: `row` is what stands under `REPLICA_KEY`. */
export function refuseReplica(row: Bytes | undefined): void {
  if (row === undefined) return;
  const source = sourceIn(row);
  throw new CortexError(
    "ERR_READ_ONLY",
    `the store follows ${source} and takes no writes of its own; write there, or promote this one`,
    { subject: source },
  );
}

/** Refuses to begin something that would end in a write, before it costs anything. */
export async function refuseOnReplica(kv: Kv): Promise<void> {
  refuseReplica(await replicaMark(kv));
}

/** Whether a store follows another. */
export async function isReplica(kv: Kv): Promise<boolean> {
  return (await replicaMark(kv)) !== undefined;
}

async function replicaMark(kv: Kv): Promise<Bytes | undefined> {
  const [row] = await withSnapshot(kv, (snapshot) => snapshot.getMany([REPLICA_KEY]));
  return row;
}

/** Reads how far following went. */
export function decodeFollowStatus(row: Bytes | undefined): FollowStatus {
  if (row === undefined) return UNHEARD;
  const [levelSize, sourceSize, heardAt, failed] = readList(decode(row));
  const status = {
    levelSize: readIntegerOr(levelSize, 0),
    sourceSize: readIntegerOr(sourceSize, 0),
    heardAt: readIntegerOr(heardAt, 0),
  };
  if (failed === null || failed === undefined) return status;
  const [code, message, at] = readList(failed);
  return {
    ...status,
    failure: { code: readText(code), message: readText(message), at: readIntegerOr(at, 0) },
  };
}

/** Keeps how far following went; of two processes that follow, the later word stands. */
export async function putFollowStatus(kv: Kv, status: FollowStatus): Promise<void> {
  const { levelSize, sourceSize, heardAt, failure } = status;
  const failed = failure === undefined ? null : [failure.code, failure.message, failure.at];
  const value = encode([levelSize, sourceSize, heardAt, failed]);
  await kv.commitCaches({ expect: [], puts: [{ key: FOLLOW_KEY, value }], deletes: [] });
}

/** What a store says of itself as a replica. */
interface ReplicaAt {
  readonly source: string;
  readonly status: FollowStatus;
}

/** Whether a store is a replica, and how far it went: the values of `REPLICA_KEY` and `FOLLOW_KEY`. */
export function replicaOf([mark, status]: readonly (Bytes | undefined)[]): ReplicaAt | undefined {
  return mark === undefined
    ? undefined
    : { source: sourceIn(mark), status: decodeFollowStatus(status) };
}

/** A replica that is one no more. */
interface Promoted extends ReplicaAt {
  /** The head row as it is now. */
  readonly head: HeadRow;
}

/**
 * Makes a replica a store of its own: from here on its history may go another way than the source's,
 * so it counts under the next epoch. Whoever still follows for it loses its race against the new head.
 */
export async function promoteReplica(kv: Kv): Promise<Promoted> {
  for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt += 1) {
    const [expectHead, ...rows] = await withSnapshot(kv, (snapshot) =>
      snapshot.getMany([HEAD_KEY, REPLICA_KEY, FOLLOW_KEY]),
    );
    if (expectHead === undefined) {
      throw new CortexError("ERR_FORMAT_UNKNOWN", "the store is empty: nothing was ever written");
    }
    const replica = replicaOf(rows);
    if (replica === undefined) {
      throw new CortexError("ERR_NO_CHANGE", "the store follows nobody: it takes writes already");
    }
    const before = decodeHeadRow(expectHead);
    const head = { ...before, epoch: before.epoch + 1 };
    const change = { puts: [], deletes: [REPLICA_KEY] };
    checkClasses(change, false);
    const result = await kv.commit({ ...change, expectHead, head: encodeHeadRow(head) });
    if (!result.ok) continue;
    await kv.commitCaches({ expect: [], puts: [], deletes: [FOLLOW_KEY] });
    return { ...replica, head };
  }
  throw new CortexError("ERR_CONTENDED", "somebody moved the replica on too often to promote it");
}
