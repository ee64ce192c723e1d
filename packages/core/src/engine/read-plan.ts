/**
 * Counts what a read reads, for the plan that `onPlan` gets; what a plan says is in `contract/hits.ts`.
 */
import type { Lane, LaneCounts } from "../contract/hits.js";
import type { Kv, KvSoon } from "../kv/kv.js";

/** A store to read from, and how many rows were read so far. */
export interface Meter {
  readonly kv: Pick<Kv, "snapshot">;
  readonly rows: () => number;
}

/** A store that counts the rows read from it, where anybody wants to know. */
export function meterOf(kv: Kv, isWanted: boolean): Meter {
  if (!isWanted) return { kv, rows: () => 0 };
  let rows = 0;
  const snapshot: Kv["snapshot"] = async (options) => {
    const inner = await kv.snapshot(options);
    return {
      // What a snapshot knows of its caller goes with it: whoever counts must not see more.
      ...inner,
      async getMany(keys) {
        const values = await inner.getMany(keys);
        for (const value of values) if (value !== undefined) rows += 1;
        return values;
      },
      async ranges(ranges) {
        const found = await inner.ranges(ranges);
        for (const one of found) rows += one.length;
        return found;
      },
      ...(inner.soon === undefined ? {} : { soon: (what: KvSoon) => inner.soon?.(what) }),
      close: () => inner.close(),
    };
  };
  return { kv: { snapshot }, rows: () => rows };
}

/** The name of a path without what it was asked for: `tag`, not `tag travel`. */
export function indexName({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name: string;
}): string {
  return kind === "index" || kind === "session" ? (name.split(" ")[0] ?? name) : name;
}

/** How many memories each lane has something to say about. */
export function countLanes(all: Iterable<LaneCounts>): LaneCounts {
  const counts: { [lane in Lane]?: number } = {};
  for (const lanes of all) {
    for (const lane of Object.keys(lanes) as Lane[]) {
      counts[lane] = (counts[lane] ?? 0) + 1;
    }
  }
  return counts;
}
