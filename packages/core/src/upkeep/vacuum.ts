/**
 * `vacuum`: the store written anew, so that no page of its file keeps bytes that were forgotten.
 *
 * A page that the engine freed keeps its bytes until it is used again. The new file is built from
 * the journal as it stands, where forgotten parts are gone already, so it never sees them; snapshots
 * and caches are copied row by row. Before it takes over it must equal the old store: every row byte
 * for byte at one position, then head row and root at the last. A store that is not what its journal
 * says is left alone: that is for `check` and `rebuild`.
 *
 * What is forgotten *while* the new file is built may have been written into it before; then the
 * work is done once more.
 */
import { toHex } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import {
  type BuildParts,
  headOf,
  type Level,
  startBuilding,
  takeOver,
  withSnapshot,
} from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { compareAtLevel } from "../history/rebuild.js";
import { readRoots } from "../history/roots.js";
import { sameBytes } from "../kv/kv.js";

/** The outcome of a vacuum. */
export interface VacuumReport {
  readonly entries: number;
  readonly seq: number;
  /** The root, in hex: the same as before. */
  readonly root: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** How often the store was written anew. */
  readonly passes: number;
  /**
   * Memories forgotten during the last pass: freed pages of the new file may hold their bytes until
   * the next vacuum. 0 unless somebody keeps forgetting.
   */
  readonly forgottenMeanwhile: number;
}

/** How often the work is done at most when memories are forgotten meanwhile. */
const PASSES = 3;

/** Writes the store anew; see the file header. */
export async function vacuumStore(parts: BuildParts): Promise<VacuumReport> {
  const bytesBefore = await parts.kv.sizeBytes();
  for (let passes = 1; ; passes += 1) {
    const { level, forgottenMeanwhile } = await writeAnew(parts);
    if (forgottenMeanwhile > 0 && passes < PASSES) continue;
    const { size } = level.head;
    const bytesAfter = await parts.kv.sizeBytes();
    const moved = { bytesBefore, bytesAfter, passes, forgottenMeanwhile };
    return { entries: size, seq: size - 1, root: level.root, ...moved };
  }
}

async function writeAnew(
  parts: BuildParts,
): Promise<{ readonly level: Level; readonly forgottenMeanwhile: number }> {
  const before = await headOf(parts.kv);
  const generation = await parts.kv.nextGeneration();
  try {
    const building = startBuilding(generation.kv);
    const { differences } = await compareAtLevel(parts, building);
    if (differences.length > 0) throw unsound(differences);
    const level = await takeOver(parts, generation, building, {
      carried: "all",
      finish: async (reached, source) => {
        const headBytes = await withSnapshot(building.target, headBytesAt);
        const { overall } = await readRoots(parts.sha256, source, reached.head);
        if (sameBytes(headBytes, reached.headBytes) && toHex(overall) === reached.root) return;
        throw unsound(["the head row or the root differs from what the journal says"]);
      },
    });
    const forgottenMeanwhile = level.head.counts.erased - before.counts.erased;
    return { level, forgottenMeanwhile };
  } finally {
    await generation.abandon();
  }
}

function unsound(differences: readonly string[]): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `the store is not what its journal says, nothing was moved; run check, then rebuild: ${differences[0]}`,
  );
}
