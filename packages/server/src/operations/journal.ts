/**
 * Operations on the journal and what it promises: entries, changes, undoing, checking, building again; the root,
 * checkpoints, snapshots, proofs, and checking such documents without a store.
 */

import { noted, VERBS } from "@cortex-memory/core/contract";
import {
  type VerifyResult,
  verify,
  verifyCheckpoint,
  verifySlice,
} from "@cortex-memory/core/verify";
import * as z from "zod";
import {
  showCheckpoint,
  showDocument,
  showSnapshot,
  showSnapshots,
  showVerified,
} from "../render/proofs.js";
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
import { defineOperation, defineStream, takenFrom, verbRow } from "./define.js";
import { verifiedShape } from "./fields.js";

/** The operations on the journal, its roots and its replay. */
export const JOURNAL_OPERATIONS = [
  verbRow("log", {
    help: "From the first entry on unless --from says otherwise; the answer tells where to read on.",
    example: "cortex log --from 0 --limit 20",
    cli: { command: "log", group: "history", human: showLog },
  }),
  verbRow("journalPage", {
    help: `Entries are base64 of what the journal holds, without what was erased; never half a batch. The answer
holds the checkpoint of the present and a proof that the journal up to its last entry leads there.`,
    example: "cortex journal-page --from 0 --limit 1",
    cli: { command: "journal-page", group: "history", human: showJournalPage },
  }),
  defineStream({
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
  }),
  verbRow("changes", {
    help: "Positions are seqs or ISO times; without the second, up to the end. Forgotten content is not told.",
    example: "cortex changes 0 5",
    cli: { command: "changes", group: "history", human: showChanges },
  }),
  verbRow("revert", {
    help: "Nothing is taken out of the journal. Refused with ERR_CONFLICT when later entries stand on it.",
    example: "cortex revert 1",
    cli: { command: "revert", group: "history", human: showReverted },
  }),
  verbRow("root", {
    help: "One hash, in hex, that stands for all entries and the state they lead to.",
    example: "cortex root",
    cli: { command: "root", group: "history", human: showRoot },
  }),
  verbRow("check", {
    help: "Repairs nothing. Exits with 1 when something does not agree.",
    example: "cortex check",
    cli: { command: "check", group: "history", human: showCheck },
  }),
  verbRow("rebuild", {
    help: "Exits with 1 when the roots do not match. --verify-only compares and changes nothing.",
    example: "cortex rebuild --verify-only",
    cli: { command: "rebuild", group: "history", human: showRebuild },
  }),
];

/** A checkpoint's text, also out of the JSON that `checkpoint`, `snapshot` and `share` print. */
export function checkpointText(text: string): string {
  const { checkpoint } = objectIn(text);
  return typeof checkpoint === "string" ? checkpoint : text;
}

/**
 * What a document is: a slice claims something beside its proof, a checkpoint has several lines, everything
 * else is taken for a proof.
 */
export function documentIn(
  text: string,
): { readonly proof: string } | { readonly slice: string } | { readonly checkpoint: string } {
  const { cortex, proof, memories, checkpoint } = objectIn(text);
  if (typeof cortex === "string") return { proof: text };
  if (proof !== undefined || memories !== undefined) return { slice: text };
  if (typeof checkpoint === "string") return { checkpoint };
  const isLines = !/^\s*[{[]/.test(text) && text.trim().includes("\n");
  return isLines ? { checkpoint: text } : { proof: text.trim() };
}

function objectIn(text: string): { readonly [name: string]: unknown } {
  if (!/^\s*\{/.test(text)) return {};
  try {
    return JSON.parse(text) as { readonly [name: string]: unknown };
  } catch {
    return {};
  }
}

/** The same answer as plain objects, which a shape with open members can describe. */
function plain(answer: VerifyResult) {
  if (!answer.ok) return answer;
  return {
    ...answer,
    memories: answer.memories.map((one) => ({ ...one })),
    edges: answer.edges.map((one) => ({ ...one })),
    entries: answer.entries.map((one) => ({ ...one })),
  };
}

/** The operations on commitments. */
export const PROOF_OPERATIONS = [
  verbRow("checkpoint", {
    help: "A text to pin, mail or publish: whoever trusts it can check proofs. Seals nothing.",
    example: "cortex checkpoint",
    cli: { command: "checkpoint", group: "history", human: showCheckpoint },
  }),
  verbRow("snapshot", {
    help: "The answer holds the checkpoint. Snapshots change no root and survive a rebuild.",
    example: 'cortex snapshot "before the trip"',
    cli: {
      command: "snapshot",
      group: "history",
      arguments: [{ field: "reason", label: "REASON", optional: true, words: true }],
      human: showSnapshot,
    },
  }),
  verbRow("snapshots", {
    help: "All of them, or those of one position or root.",
    example: "cortex snapshots --limit 5",
    cli: { command: "snapshots", group: "history", human: showSnapshots },
  }),
  defineOperation({
    ...takenFrom("prove"),
    help: `Prints the proof document, which verify accepts. What is not there is proved absent, what was
forgotten is proved forgotten. --since shows that the journal extends an older checkpoint.`,
    example: "cortex prove home rule --seq 1",
    input: VERBS.prove.input.extend({
      since: noted(z.string().describe("a file with the older checkpoint that is trusted"), {
        file: true,
        code: "ERR_CHECKPOINT_MALFORMED",
      }).optional(),
    }),
    output: VERBS.prove.output,
    call: (memory, { since, ...what }, { access }) =>
      memory.prove(what, {
        access,
        ...(since === undefined ? {} : { since: checkpointText(since) }),
      }),
    cli: {
      command: "prove",
      group: "history",
      arguments: [{ field: "memories", label: "ID", optional: true, rest: true }],
      flags: { memories: "memory", edges: "edge", seqs: "seq" },
      human: showDocument,
    },
  }),
  verbRow("share", {
    help: "Prints memories, proof and checkpoint in one document, which verify accepts.",
    example: "cortex share --type fact --limit 10",
    cli: {
      command: "share",
      group: "history",
      flags: { ids: "id", types: "type", tags: "tag", lifecycles: "lifecycle" },
      human: showDocument,
    },
  }),
  defineOperation({
    name: "verify",
    verbs: [],
    kind: "read",
    summary: "Check a proof, a shared slice or a checkpoint, without any store",
    help: `A proof is only as good as the checkpoint the reader already trusts: give it with --checkpoint.
Without one the answer is anchored: false. Of a slice every member is compared with what its proof commits
to. Exits with 1 when it does not hold.`,
    example: "cortex prove home | cortex verify -",
    input: z.strictObject({
      document: z.string().meta({ description: "the file to check; - reads stdin", file: true }),
      checkpoint: z
        .string()
        .meta({ description: "a file with the checkpoint that is trusted", file: true })
        .exactOptional(),
    }),
    output: verifiedShape,
    call: async (_memory, { document, checkpoint }) => {
      const trusted = checkpoint === undefined ? undefined : checkpointText(checkpoint);
      const found = documentIn(document);
      if ("checkpoint" in found) return verifyCheckpoint(found.checkpoint, trusted);
      return plain(
        "slice" in found ? verifySlice(found.slice, trusted) : verify(found.proof, trusted),
      );
    },
    cli: {
      command: "verify",
      group: "history",
      store: "none",
      arguments: [{ field: "document", label: "FILE|-" }],
      human: showVerified,
    },
  }),
];
