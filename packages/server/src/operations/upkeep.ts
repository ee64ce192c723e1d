/**
 * Operations that keep a store in order: upkeep, vectors, writing the store anew.
 */
import { showVacuum } from "../render/moves.js";
import { showEmbedded, showMaintained, showScrubbed } from "../render/upkeep.js";
import { verbRow } from "./define.js";

const maintainOperation = verbRow("maintain", {
  help: `The text index is written out and merged, vectors of models that are not used any more are removed,
and claims that independent voices back are confirmed. Archiving what has expired, merging memories that
say the same in the same words, and relating those that name the same rare thing are asked for one by one.
Every change of a memory is an entry that revert takes back. --dry-run says what there is to do.`,
  example: "cortex maintain --dry-run",
  cli: { command: "maintain", group: "store", human: showMaintained },
});

const embedOperation = verbRow("embedPending", {
  help: `Asks the embedder that the settings name for the texts that have no vector yet, and stops at the entries
there are now. What was embedded is kept when it is interrupted, and the next run goes on from there. A text that
the embedder refuses is left without a vector and counted.`,
  example: "cortex embed",
  cli: {
    command: "embed",
    group: "store",
    broken: "Vectors that were stored are kept; cortex embed goes on from there.",
    human: showEmbedded,
  },
});

const vacuumOperation = verbRow("vacuum", {
  help: `Run it after forget: a page that was freed keeps its bytes until then. The root stays, others may read
and write meanwhile, and the disk needs room for a second copy.`,
  example: "cortex vacuum",
  cli: {
    command: "vacuum",
    group: "store",
    broken: "The store is as it was; cortex vacuum starts anew.",
    human: showVacuum,
  },
});

const scrubOperation = verbRow("scrub", {
  help: `Every page, every entry, every memory and link, while others read and write. Changes nothing. Exits with 1
when something does not agree: the first hundred are named, the rest is counted. --entries-per-second keeps it gentle.`,
  example: "cortex scrub --entries-per-second 1000",
  cli: { command: "scrub", group: "store", human: showScrubbed },
});

/** The operations that keep a store in order. */
export const UPKEEP_OPERATIONS = [
  scrubOperation,
  maintainOperation,
  embedOperation,
  vacuumOperation,
];
