/**
 * Operations on the journal and what it promises: entries, changes, undoing, the root, checking,
 * building again.
 */
import { VERBS } from "@cortex-memory/core/contract";
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
import { defineStream, takenFrom, verbRow } from "./define.js";

const logOperation = verbRow("log", {
  help: "From the first entry on unless --from says otherwise; the answer tells where to read on.",
  example: "cortex log --from 0 --limit 20",
  cli: { command: "log", group: "history", human: showLog },
});

const journalPageOperation = verbRow("journalPage", {
  help: `Entries are base64 of what the journal holds, without what was erased; never half a batch. The answer
holds the checkpoint of the present and a proof that the journal up to its last entry leads there.`,
  example: "cortex journal-page --from 0 --limit 1",
  cli: { command: "journal-page", group: "history", human: showJournalPage },
});

const subscribeOperation = defineStream({
  ...takenFrom("subscribe"),
  summary: "Print entries as they are committed, by this process or another",
  help: `From now on unless --from says otherwise; each entry once and in order, without content. Ends when
it is interrupted, with 0, or after --limit entries. To go on later, give the last seq plus one.`,
  example: "cortex log --follow --from 0 --limit 1",
  input: VERBS.subscribe.input.extend({ limit: VERBS.log.options.limit }),
  output: VERBS.subscribe.output,
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

const changesOperation = verbRow("changes", {
  help: "Positions are seqs or ISO times; without the second, up to the end. Forgotten content is not told.",
  example: "cortex changes 0 5",
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

const revertOperation = verbRow("revert", {
  help: "Nothing is taken out of the journal. Refused with ERR_CONFLICT when later entries stand on it.",
  example: "cortex revert 1",
  cli: {
    command: "revert",
    group: "history",
    arguments: [{ field: "seq", label: "SEQ" }],
    human: showReverted,
  },
});

const rootOperation = verbRow("root", {
  help: "One hash, in hex, that stands for all entries and the state they lead to.",
  example: "cortex root",
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
