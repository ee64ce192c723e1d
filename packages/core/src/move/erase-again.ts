/**
 * Erasing again in a store that is there: what a database, or a disk, that was set back to an earlier point has
 * brought back.
 *
 * The store is built anew from its own journal, without the parts that a list names, and takes its own place; its root
 * stays the same, because headers keep the hashes. It counts under the next epoch, as a restored one does: from the
 * point on its history may go another way. Whoever reads or writes meanwhile goes on. A run that is stopped leaves the
 * store as it was.
 */
import { toHex } from "../codec/keys.js";
import { CortexError, isCortexError } from "../errors.js";
import {
  type BuildParts,
  headOf,
  startBuilding,
  takeOver,
  withSnapshot,
} from "../history/build-beside.js";
import { refuseOnReplica } from "../history/replica-mark.js";
import { readRoots } from "../history/trees.js";
import type { ErasureList } from "../journal/erasure-list.js";
import { eraseListed, startGate } from "./erase-listed.js";
import { genesisAt } from "./export-journal.js";
import type { ImportReport } from "./import-journal.js";

/** Erases in a store what a list names; the list must be of that very store. */
export async function eraseListedAgain(
  parts: BuildParts,
  list: ErasureList,
  storeId: string,
): Promise<ImportReport> {
  const { kv } = parts;
  await refuseOnReplica(kv);
  if ((await headOf(kv)).size === 0) {
    throw new CortexError("ERR_FORMAT_UNKNOWN", "the store is empty: nothing was ever written");
  }
  const genesis = await withSnapshot(kv, genesisAt);
  if (genesis.storeId !== storeId) {
    throw new CortexError("ERR_FORK", "the list of erasures is of another store", { seq: 0 });
  }
  const gate = startGate();
  const erasing: BuildParts = {
    ...parts,
    newEpoch: true,
    admit: (checked) => eraseListed(list, gate, checked),
  };
  const generation = await kv.nextGeneration();
  try {
    const level = await takeOver(erasing, generation, startBuilding(generation.kv), {
      carried: "vectors",
      finish: async ({ head, root }, source) => {
        const { overall } = await readRoots(parts.sha256, source, head);
        if (toHex(overall) !== root) throw unlike(toHex(overall), root, head.size - 1);
      },
    });
    const { size, epoch } = level.head;
    const report = { entries: size, seq: size - 1, root: level.root, epoch: epoch + 1 };
    return { ...report, erasedAgain: gate.applied };
  } catch (error) {
    if (isCortexError(error, "ERR_EXPORT_MALFORMED")) throw otherHistory(error);
    throw error;
  } finally {
    await generation.abandon();
  }
}

/** A list that names a part of a memory and leaves a later one was made of entries that are not those of the store. */
function otherHistory(error: CortexError): CortexError {
  const { seq } = error.details;
  return new CortexError(
    "ERR_FORK",
    "the list of erasures is of another history, nothing was changed: it names parts of a memory and not the later ones",
    seq === undefined ? {} : { seq },
    error,
  );
}

function unlike(expected: string, got: string, seq: number): CortexError {
  return new CortexError(
    "ERR_ROOT_MISMATCH",
    `at seq ${seq} the store has root ${expected}, its journal gives ${got}; run check, then rebuild`,
    { seq, expected, got },
  );
}
