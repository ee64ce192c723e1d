/**
 * A store that counts what is asked of it, for tests that bound the number of reads of an
 * operation.
 *
 * Promise: behaves exactly like the store inside; counts what its callers asked for, whether or not
 * it succeeded. A batch is one `getMany` or one `ranges` call: over a network it is one round trip.
 */
import { around, type Bytes, type Kv, type KvRange, type KvSnapshot } from "../kv/kv.js";

/** What was asked of the store since the last `reset`. */
export interface KvCounts {
  readonly snapshots: number;
  /** Calls of `getMany` and `ranges`. */
  readonly batches: number;
  /** Keys asked for by `getMany`, and one by one by `getNow` and `lookNow`. */
  readonly keys: number;
  /** Ranges asked for by `ranges`, and one by one by `rangeNow`. */
  readonly ranges: number;
  /** Rows that ranges gave back. */
  readonly rows: number;
  /** Commits tried, lost races included. */
  readonly commits: number;
  /** Snapshots taken and not given back; `reset` leaves it alone. */
  readonly openSnapshots: number;
}

/** A store with counters. */
export interface CountingKv extends Kv {
  counts(): KvCounts;
  reset(): void;
}

const NOTHING = { snapshots: 0, batches: 0, keys: 0, ranges: 0, rows: 0, commits: 0 };

/** Wraps a store; closing the wrapper closes it. */
export function countingKv(inner: Kv): CountingKv {
  let counts = { ...NOTHING };
  let openSnapshots = 0;

  const counted = (snapshot: KvSnapshot): KvSnapshot => {
    let open = true;
    return {
      getMany(keys: readonly Bytes[]) {
        counts.batches += 1;
        counts.keys += keys.length;
        return snapshot.getMany(keys);
      },
      ...(snapshot.getNow === undefined
        ? {}
        : {
            getNow(key: Bytes) {
              counts.keys += 1;
              return snapshot.getNow?.(key);
            },
            lookNow<T>(key: Bytes, look: (value: Bytes) => T) {
              counts.keys += 1;
              return snapshot.lookNow?.(key, look);
            },
            rangeNow(range: KvRange) {
              counts.ranges += 1;
              const found = snapshot.rangeNow?.(range) ?? [];
              counts.rows += found.length;
              return found;
            },
          }),
      async ranges(ranges: readonly KvRange[]) {
        counts.batches += 1;
        counts.ranges += ranges.length;
        const found = await snapshot.ranges(ranges);
        for (const rows of found) counts.rows += rows.length;
        return found;
      },
      close() {
        if (open) openSnapshots -= 1;
        open = false;
        snapshot.close();
      },
    };
  };

  const kv = around(inner, {
    async snapshot() {
      counts.snapshots += 1;
      const snapshot = await inner.snapshot();
      openSnapshots += 1;
      return counted(snapshot);
    },
    commit(change) {
      counts.commits += 1;
      return inner.commit(change);
    },
    commitCaches(change) {
      counts.commits += 1;
      return inner.commitCaches(change);
    },
  });
  return {
    ...kv,
    counts: () => ({ ...counts, openSnapshots }),
    reset() {
      counts = { ...NOTHING };
    },
  };
}
