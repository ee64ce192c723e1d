/** A store as one across a network is: nothing is at hand, and every row is copied and comes with a promise. */
import { around, type Kv } from "../src/kv/kv.js";

/** The same store, whose snapshots give rows by the batch alone. */
export function byTheBatch(kv: Kv): Kv {
  return around(kv, {
    async snapshot(options) {
      const snapshot = await kv.snapshot(options);
      return {
        getMany: (keys) => snapshot.getMany(keys),
        ranges: (ranges) => snapshot.ranges(ranges),
        close: () => snapshot.close(),
      };
    },
  });
}
