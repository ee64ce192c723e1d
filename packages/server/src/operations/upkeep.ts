/**
 * Operations that keep a graph in order: configuration and counts, upkeep, vectors, what a model distils and links, what
 * waits for a decision, and what is learned from how tasks ended.
 */

import { shownLocation } from "../config.js";
import {
  showExtracted,
  showRelinked,
  showReview,
  showSettled,
  showSlot,
} from "../render/memories.js";
import { showConfig, showStats, showVacuum } from "../render/store.js";
import {
  showAttested,
  showCompacted,
  showContext,
  showContextRecord,
  showEmbedded,
  showMaintained,
  showScrubbed,
  showWeights,
} from "../render/upkeep.js";
import { defineOperation, takenFrom, verbRow } from "./define.js";
import { configShape, statsShape } from "./fields.js";

/** The operations that keep a store in order. */
export const UPKEEP_OPERATIONS = [
  verbRow("maintain", {
    help: `The text index is written out and merged, vectors of models that are not used any more are removed,
and claims that independent voices back are confirmed. Archiving what has expired, merging memories that
say the same in the same words, and relating those that name the same rare thing are asked for one by one.
Every change of a memory is an entry that revert takes back. --dry-run says what there is to do.`,
    example: "cortex maintain --dry-run",
    cli: { command: "maintain", group: "store", human: showMaintained },
  }),
  verbRow("embedPending", {
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
  }),
  verbRow("vacuum", {
    help: `Run it after forget: a page that was freed keeps its bytes until then. The root stays, others may read
and write meanwhile, and the disk needs room for a second copy.`,
    example: "cortex vacuum",
    cli: {
      command: "vacuum",
      group: "store",
      broken: "The store is as it was; cortex vacuum starts anew.",
      human: showVacuum,
    },
  }),
  verbRow("scrub", {
    help: `Every page, every entry, every memory and link, while others read and write. Changes nothing. Exits with 1
when something does not agree: the first hundred are named, the rest is counted. --entries-per-second limits its pace.`,
    example: "cortex scrub --entries-per-second 1000",
    cli: { command: "scrub", group: "store", human: showScrubbed },
  }),
];

/** The operations on the store itself. */
export const STORE_OPERATIONS = [
  defineOperation({
    ...takenFrom("config"),
    summary: "Show the settings in force and the graph's configuration",
    help: "Settings say where they came from: a flag, a variable, a folder or the default.",
    example: "cortex config",
    output: configShape,
    call: async (memory, _, { access, settings }) => ({
      settings,
      graph: await memory.config({ access }),
    }),
    cli: { command: "config", group: "store", store: "optional", human: showConfig },
  }),
  defineOperation({
    ...takenFrom("configure"),
    help: `With --set key=value, which may be repeated; lists are separated by commas. The configuration is
journaled in the graph: conflictPolicy is lww or manual, kindWhitelist names the kinds allowed,
language says by which endings words are searched, trustedIssuers whose scopes are honoured,
ttlDays after how many days memories of a kind expire: ttlDays={"scrap":7}.`,
    example: "cortex config --set conflictPolicy=manual",
    output: configShape,
    call: async (memory, patch, { access, settings }) => {
      const { seq, ...graph } = await memory.configure(patch, { access });
      return { settings, graph, seq };
    },
    cli: {
      command: "config",
      group: "store",
      assign: "set",
      when: "set",
      store: "create",
      human: showConfig,
    },
  }),
  defineOperation({
    ...takenFrom("stats"),
    summary: "Show where the store is and how much it holds",
    help: "Counts of memories, edges and entries, the size in bytes, and the formats.",
    example: "cortex stats",
    output: statsShape,
    call: async (memory, _, { access, location }) => ({
      data: shownLocation(location),
      ...(await memory.stats({ access })),
    }),
    cli: { command: "stats", group: "store", human: showStats },
  }),
];

/** The operations on context and learning. */
export const LEARNING_OPERATIONS = [
  verbRow("context", {
    help: `Every identity, hard constraint and active goal; with --verb and --object also what came of the
same work before, and what else is filed under it. What does not fit the budget is named under
reachable, the least salient left out first. Prints the text for the prompt; --json gives the parts.`,
    example: "cortex context --verb schedule --object plan=trip --budget 1000",
    cli: {
      command: "context",
      group: "learning",
      flags: { objects: "object", budgetTokens: "budget", tiers: "tier", nowMs: "now" },
      human: showContext,
    },
  }),
  verbRow("attest", {
    help: `A success counts a use and a citation of each and pulls the weights of salience toward them. A
failure with the reason factual_error or wrong_assumption takes a citation away and pushes the weights
off. Any other failure notes the use and teaches nothing. Unknown, hidden and forgotten memories are
skipped.`,
    example: "cortex attest trip-1 success home",
    cli: {
      command: "attest",
      group: "learning",
      arguments: [
        { field: "intentId", label: "TASK" },
        { field: "outcome", label: "OUTCOME" },
        { field: "cited", label: "ID", rest: true },
      ],
      human: showAttested,
    },
  }),
  verbRow("weights", {
    help: "How much each factor counts, as learned from attestations so far.",
    example: "cortex weights",
    cli: { command: "weights", group: "learning", human: showWeights },
  }),
  verbRow("compactContext", {
    help: `Pinned and load-bearing memories stay in their medium form, all others in their short one. Nothing is
dropped: what does not fit the budget even so fails with ERR_BUDGET. The same task and step replace the
record before.`,
    example: "cortex compact trip-1 step-3 home rule --load-bearing home",
    cli: {
      command: "compact",
      group: "learning",
      arguments: [
        { field: "intentId", label: "TASK" },
        { field: "stepId", label: "STEP" },
        { field: "inContext", label: "ID", rest: true },
      ],
      flags: { budgetTokens: "budget" },
      human: showCompacted,
    },
  }),
  verbRow("contextRecord", {
    help: "Texts are read now: what was forgotten since is marked, not told.",
    example: "cortex context-record trip-1 step-3",
    absent: ({ intentId, stepId }) => `stepId: no record of ${intentId}, ${stepId}`,
    cli: {
      command: "context-record",
      group: "learning",
      arguments: [
        { field: "intentId", label: "TASK" },
        { field: "stepId", label: "STEP" },
      ],
      human: showContextRecord,
    },
  }),
];

/** The operations by which a model reads conversations and memories. */
export const EXTRACT_OPERATIONS = [
  verbRow("extract", {
    help: `Asks the model that the settings name what is worth remembering of the turns that were not distilled yet.
Facts are written with the session and turn they come from, under the source extraction; one that contradicts your own
words waits for review beside them. A reply that is not what was asked for changes nothing, and its turns are tried
again.`,
    example: "cortex extract --dry-run",
    cli: {
      command: "extract",
      group: "sessions",
      unit: "turns",
      broken: "What was distilled is kept; cortex extract goes on with the turns that wait.",
      human: showExtracted,
    },
  }),
  verbRow("relink", {
    help: `Shows every fact with its neighbours in the whole graph to the model that the settings name, and links those
that it has a reason for. A link that is there stays as it is, so it is safe to repeat. The answer says where to go on.`,
    example: "cortex relink --dry-run --limit 5",
    cli: {
      command: "relink",
      group: "edges",
      unit: "memories",
      broken:
        "Links that were made are kept; cortex relink may be run again, and makes none twice.",
      human: showRelinked,
    },
  }),
];

/** The review and its decisions, and the history of slots. */
export const REVIEW_OPERATIONS = [
  verbRow("review", {
    help: `Contradictions between live memories, rivals that a source may not put in the place of a more
trusted one, versions that a conflict left open, disputed and provisional memories. Near duplicates are
listed when their kind is named: they are looked for among all memories. A page may be short; the cursor
reads on.`,
    example: "cortex review ls --kind rival",
    cli: {
      command: "review ls",
      group: "memories",
      flags: { kinds: "kind" },
      human: showReview,
    },
  }),
  verbRow("settle", {
    help: `keep_one keeps the side named by --keep and archives the other; keep_both says they do not
contradict each other, or are not duplicates; merge writes --text in the place of both; retract takes back what is not kept.
The entry can be reverted, which brings everything back as it was.`,
    example: `cortex review settle "$ITEM" --decision keep_one --keep home --reason "Ada said so"`,
    cli: { command: "review settle", group: "memories", human: showSettled },
  }),
  verbRow("slotHistory", {
    help: "A slot nobody used has no values.",
    example: 'cortex slot "home city"',
    cli: {
      command: "slot",
      group: "memories",
      arguments: [{ field: "slot", label: "NAME" }],
      human: showSlot,
    },
  }),
];
