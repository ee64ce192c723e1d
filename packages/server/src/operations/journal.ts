/**
 * Operations on the journal and what it promises: entries, changes, undoing, the root, checking,
 * building again.
 */
import { ENTRY_KINDS } from "@cortex-memory/core";
import * as z from "zod";
import {
  showChanges,
  showCheck,
  showEvent,
  showJournalPage,
  showLog,
  showRebuild,
  showReverted,
  showRoot,
} from "../render/store.js";
import { defineOperation, defineStream, verbRow } from "./define.js";
import { by, limit, listOf, position } from "./fields.js";
import {
  changesShape,
  eventShape,
  journalPageShape,
  logShape,
  revertedShape,
  rootShape,
} from "./shapes.js";

const logOperation = defineOperation({
  name: "log",
  verbs: ["log"],
  kind: "read",
  summary: "Show journal entries, without content",
  help: "From the first entry on unless --from says otherwise; the answer tells where to read on.",
  example: "cortex log --from 0 --limit 20",
  input: z.strictObject({
    from: z.int().min(0).describe("the seq to start at").exactOptional(),
    limit,
  }),
  output: logShape,
  call: (memory, options, { access }) => memory.log({ ...options, access }),
  cli: { command: "log", group: "history", human: showLog },
});

const journalPageOperation = defineOperation({
  name: "journalPage",
  verbs: ["journalPage"],
  kind: "read",
  summary: "Show a stretch of the journal with its bytes, as a replica reads it",
  help: `Entries are base64 of what the journal holds, without what was erased; never half a batch. The answer
holds the checkpoint of the present and a proof that the journal up to its last entry leads there.`,
  example: "cortex journal-page --from 0 --limit 1",
  input: z.strictObject({
    from: z.int().min(0).describe("the seq to start at; 0 when not given").exactOptional(),
    limit: z
      .int()
      .min(1)
      .describe("how many entries, or a few more to end a batch; 1,000 when not given")
      .exactOptional(),
  }),
  output: journalPageShape,
  call: (memory, options, { access }) => memory.journalPage({ ...options, access }),
  cli: { command: "journal-page", group: "history", human: showJournalPage },
});

const subscribeOperation = defineStream({
  name: "subscribe",
  verbs: ["subscribe"],
  kind: "read",
  summary: "Print entries as they are committed, by this process or another",
  help: `From now on unless --from says otherwise; each entry once and in order, without content. Ends when
it is interrupted, with 0, or after --limit entries. To go on later, give the last seq plus one.`,
  example: "cortex log --follow --from 0 --limit 1",
  input: z.strictObject({
    from: z.int().min(0).describe("the seq to start at").exactOptional(),
    limit,
    kinds: listOf(z.enum(ENTRY_KINDS))
      .describe("only entries of this kind; may be repeated")
      .exactOptional(),
    pollMs: z
      .int()
      .min(20)
      .describe("the longest pause between looks at what others wrote, in ms; 500 when not given")
      .exactOptional(),
  }),
  output: eventShape,
  stream: async function* (memory, { limit: most, ...options }, { access, signal }) {
    let left = most ?? Number.POSITIVE_INFINITY;
    for await (const event of memory.subscribe({ ...options, access, signal })) {
      yield event;
      left -= 1;
      if (left === 0) return;
    }
  },
  cli: {
    command: "log",
    group: "history",
    flags: { kinds: "kind" },
    when: "follow",
    whenMeans: "go on printing entries as they come",
    human: showEvent,
  },
});

const changesOperation = defineOperation({
  name: "changes",
  verbs: ["changes"],
  kind: "read",
  summary: "Show what happened after one position, up to another",
  help: "Positions are seqs or ISO times; without the second, up to the end. Forgotten content is not told.",
  example: "cortex changes 0 5",
  input: z.strictObject({
    from: position("the position after which to start"),
    to: position("the last position; the end when not given").exactOptional(),
    limit,
  }),
  output: changesShape,
  call: (memory, { from, to, ...options }, { access }) =>
    memory.changes(from, to, { ...options, access }),
  cli: {
    command: "changes",
    group: "history",
    arguments: [
      { field: "from", label: "FROM" },
      { field: "to", label: "TO", optional: true },
    ],
    human: showChanges,
  },
});

const revertOperation = defineOperation({
  name: "revert",
  verbs: ["revert"],
  kind: "write",
  summary: "Undo what one entry did, by a new entry",
  help: "Nothing is taken out of the journal. Refused with ERR_CONFLICT when later entries stand on it.",
  example: "cortex revert 1",
  input: z.strictObject({ seq: z.int().min(0).describe("the entry to undo"), by }),
  output: revertedShape,
  call: (memory, { seq, ...options }, { access }) => memory.revert(seq, { ...options, access }),
  cli: {
    command: "revert",
    group: "history",
    arguments: [{ field: "seq", label: "SEQ" }],
    human: showReverted,
  },
});

const rootOperation = defineOperation({
  name: "root",
  verbs: ["root"],
  kind: "read",
  summary: "Show the root over everything",
  help: "One hash, in hex, that stands for all entries and the state they lead to.",
  example: "cortex root",
  input: z.strictObject({}),
  output: rootShape,
  call: (memory, _, { access }) => memory.root({ access }),
  cli: { command: "root", group: "history", human: showRoot },
});

const checkOperation = verbRow("check", {
  help: "Repairs nothing. Exits with 1 when something does not agree.",
  example: "cortex check",
  cli: { command: "check", group: "history", human: showCheck },
});

const rebuildOperation = verbRow("rebuild", {
  help: "Exits with 1 when the roots do not match. --verify-only compares and changes nothing.",
  example: "cortex rebuild --verify-only",
  cli: { command: "rebuild", group: "history", human: showRebuild },
});

/** The operations on the journal, its roots and its replay. */
export const JOURNAL_OPERATIONS = [
  logOperation,
  journalPageOperation,
  subscribeOperation,
  changesOperation,
  revertOperation,
  rootOperation,
  checkOperation,
  rebuildOperation,
];
