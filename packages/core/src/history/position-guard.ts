/**
 * A store that says when it was set back: a standby that was behind became the server, or somebody
 * restored the database to an earlier time. What this handle has read or written last is then not there
 * any more, and whoever goes on as if it were builds on something that is gone.
 *
 * Promise: once a snapshot ends before a position that this handle had seen when it asked for it, in the same
 * epoch, it and every later call fail with `ERR_ROLLED_BACK`, which names both positions. Opening the store again
 * accepts where it stands. A restore of ours continues under a new epoch and is not held to be one.
 */
import { CortexError } from "../errors.js";
import {
  around,
  type Bytes,
  HEAD_KEY,
  isMovedHead,
  type Kv,
  type KvSnapshot,
  type KvSoon,
} from "../kv/kv.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";

/** Watches the positions of a store. */
export function guardPosition(kv: Kv): Kv {
  let seen: Position | undefined;
  let failure: CortexError | undefined;
  // A snapshot is of a state not older than its call: what was seen meanwhile says nothing about it.
  const note = (head: Bytes | undefined, before: Position | undefined): void => {
    if (head === undefined || isMovedHead(head)) return;
    const { size, epoch } = decodeHeadRow(head);
    if (isBehind({ size, epoch }, before)) {
      failure ??= setBack((before?.size ?? 0) - 1, size - 1);
      throw failure;
    }
    if (!isBehind({ size, epoch }, seen)) seen = { size, epoch };
  };
  const watched = (inner: KvSnapshot, before: Position | undefined): KvSnapshot => ({
    async getMany(keys) {
      const values = await inner.getMany(keys);
      const at = keys.findIndex((key) => key.length === 1 && key[0] === HEAD_KEY[0]);
      if (at >= 0) note(values[at], before);
      return values;
    },
    ranges: (ranges) => inner.ranges(ranges),
    ...(inner.soon === undefined ? {} : { soon: (what: KvSoon) => inner.soon?.(what) }),
    close: () => inner.close(),
  });
  const refuse = (): void => {
    if (failure !== undefined) throw failure;
  };
  return around(kv, {
    async snapshot(options) {
      refuse();
      const before = seen;
      return watched(await kv.snapshot(options), before);
    },
    async commit(change) {
      refuse();
      const result = await kv.commit(change);
      // A commit that was overtaken starts over from a snapshot, which is looked at.
      if (result.ok) note(change.head, undefined);
      return result;
    },
  });
}

/** Where a store stands. */
type Position = Pick<HeadRow, "size" | "epoch">;

function isBehind({ size, epoch }: Position, before: Position | undefined): boolean {
  return before !== undefined && epoch <= before.epoch && size < before.size;
}

function setBack(seq: number, last: number): CortexError {
  return new CortexError(
    "ERR_ROLLED_BACK",
    `the store ends at seq ${last}, and seq ${seq} was there before: the database was set back. What came after seq ${last} is lost; open the store again to go on from there`,
    { expected: `seq ${seq} or later`, got: `seq ${last}`, seq: last },
  );
}
