/**
 * Sealing by the clock: a snapshot whenever the journal has grown and the last one is old enough. It
 * signs nothing, because no key lives in here; who wants signed snapshots takes them with a signer.
 */

import type { Engine } from "../engine/engine.js";
import { decodeManifest } from "../history/manifest.js";
import { Reader } from "../history/reader.js";
import type { Job } from "../jobs/runner.js";
import { KEYSPACE, prefixRange } from "../kv/keyspace.js";
import { snapshot } from "../proof/snapshot.js";
import type { MaintainStep } from "./steps.js";

/** What the snapshots of this job give as their reason. */
export const SEAL_REASON = "interval";

/** The job that seals the store every so often. */
export function sealJob(engine: Engine, everyMs: number): Job {
  return {
    name: "snapshot",
    pending: async () => (await sealedUpTo(engine, everyMs)).isDue,
    async run() {
      const before = await sealedUpTo(engine, everyMs);
      if (!before.isDue) {
        return { done: 0, cursor: before.cursor, lag: before.size - before.cursor };
      }
      const { seq } = await snapshot(engine, SEAL_REASON);
      return { done: 1, cursor: seq + 1, lag: 0 };
    },
  };
}

/** The same as a step of upkeep; counts snapshots. */
export function sealStep(engine: Engine, everyMs: number): MaintainStep {
  return {
    step: "snapshot",
    left: async () => ((await sealedUpTo(engine, everyMs)).isDue ? 1 : 0),
    async work() {
      if (!(await sealedUpTo(engine, everyMs)).isDue) return 0;
      await snapshot(engine, SEAL_REASON);
      return 1;
    },
  };
}

interface Sealed {
  /** The first entry that no snapshot covers. */
  readonly cursor: number;
  readonly size: number;
  readonly isDue: boolean;
}

function sealedUpTo(engine: Engine, everyMs: number): Promise<Sealed> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const prefix = Uint8Array.of(KEYSPACE.snapshot.byte);
    const [rows] = await reader.ranges([prefixRange(prefix, 1, true)]);
    const row = rows?.[0];
    const last = row === undefined ? undefined : decodeManifest(row.value);
    const { size } = reader.head;
    const cursor = last?.size ?? 0;
    const isOld = last === undefined || engine.clock() - last.at >= everyMs;
    return { cursor, size, isDue: isOld && size > Math.max(1, cursor) };
  });
}
