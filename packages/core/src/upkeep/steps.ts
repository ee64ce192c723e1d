/**
 * How upkeep of what is derived is done: step by step, each in bounded pieces, for as long as there is
 * time. The steps are here as well: writing out and merging the text index, removing vectors of models
 * that are not used any more, sealing a snapshot. None of them changes what an answer says.
 *
 * A step says how much there is to do and does a piece of it; everything else is the same for all of them. A dry
 * run asks and does nothing. What is not done when the time is over is reported, and the next run goes on there:
 * a step keeps no memory of its own, it looks at the store.
 *
 * Left to others: when steps are run (`maintain.ts`); steps that change memories
 * (`maintain-changes.ts`).
 */
import type { StepReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { decodeManifest } from "../history/manifest.js";
import { Reader } from "../history/reader.js";
import { KEYSPACE, prefixRange } from "../kv/keyspace.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { snapshot } from "../proof/snapshot.js";
import { OWNER } from "../scope/access.js";
import type { TextIndex } from "../text/text-index.js";
import { dropOtherModels } from "../vector/vector-changes.js";

/** One sort of upkeep. */
export interface MaintainStep {
  readonly step: string;
  /** How much there is to do, in what the step counts; only reads. */
  left(): Promise<number>;
  /** Does a bounded piece and says how much it was; 0 when there is nothing to do, for now. */
  work(): Promise<number>;
}

/** How steps are run. */
interface StepOptions {
  readonly dryRun: boolean;
  /** Whether the time is over; asked between pieces. */
  readonly isOver: () => boolean;
}

/** Runs steps in order. When the time is over, the rest is only counted. */
export async function runSteps(
  steps: readonly MaintainStep[],
  { dryRun, isOver }: StepOptions,
): Promise<readonly StepReport[]> {
  const reports: StepReport[] = [];
  for (const one of steps) {
    let done = 0;
    while (!dryRun && !isOver()) {
      const piece = await one.work();
      if (piece === 0) break;
      done += piece;
    }
    reports.push({ step: one.step, done, left: await one.left() });
  }
  return reports;
}

/** What the steps on the text index ask of it. */
export type TextUpkeep = Pick<TextIndex, "status" | "flush" | "merge">;

/** Writes the tail of the text index out; counts entries. */
export function flushText(text: TextUpkeep): MaintainStep {
  return {
    step: "text flush",
    left: async () => (await text.status()).tail,
    async work() {
      const before = (await text.status()).tail;
      return before === 0 ? 0 : Math.max(0, before - (await text.flush(1)));
    },
  };
}

/** Merges segments of the text index; counts segments that are gone, and what is left as one. */
export function mergeText(text: TextUpkeep): MaintainStep {
  return {
    step: "text merge",
    left: async () => ((await text.merge(0)).more ? 1 : 0),
    work: async () => (await text.merge(1)).gone,
  };
}

/** Rows that one piece takes away; they are counted after each, so a piece is not too small. */
const PIECE_ROWS = 10_000;

/** Removes the vectors of every model but the one in use; counts rows. */
export function dropModels(kv: Kv, keep: Bytes): MaintainStep {
  return {
    step: "vectors of other models",
    left: async () => (await dropOtherModels(kv, keep, { limit: PIECE_ROWS, dryRun: true })).left,
    work: async () => (await dropOtherModels(kv, keep, { limit: PIECE_ROWS })).done,
  };
}

/** What snapshots that are sealed by the clock give as their reason. */
const SEAL_REASON = "interval";

/** Seals a snapshot when the last one is old enough and the journal has grown; counts snapshots. */
export function sealStep(engine: Engine, everyMs: number): MaintainStep {
  return {
    step: "snapshot",
    left: async () => ((await sealedUpTo(engine, everyMs)).isDue ? 1 : 0),
    async work() {
      if (!(await sealedUpTo(engine, everyMs)).isDue) return 0;
      await seal(engine);
      return 1;
    },
  };
}

/**
 * Seals a snapshot. It signs nothing, because no key lives in here: who wants signed snapshots takes
 * them with a signer.
 */
export function seal(engine: Engine): ReturnType<typeof snapshot> {
  return snapshot(engine, { reason: SEAL_REASON, access: OWNER });
}

/** How far the store is sealed. */
interface Sealed {
  /** The first entry that no snapshot covers. */
  readonly cursor: number;
  readonly size: number;
  readonly isDue: boolean;
}

/** How far the store is sealed, and whether the next snapshot is due. */
export function sealedUpTo(engine: Engine, everyMs: number): Promise<Sealed> {
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
