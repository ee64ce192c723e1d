/**
 * Operations on the journal, what it promises and who follows it: entries, changes, undoing, checking, building again;
 * the root, checkpoints, snapshots, proofs, and checking such documents without a store; replicas, which follow the
 * journal of a server until they are made a store of their own.
 *
 * Every check is core's; where the token of a server comes from is the door's affair.
 */

import { follow, promote, type RemoteLocation } from "@cortex-memory/core";
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
  showFollowed,
  showJournalPage,
  showLog,
  showPromoted,
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
      since: noted(z.string().describe("the older checkpoint that is trusted, as text"), {
        file: true,
        flag: "a file with the older checkpoint that is trusted",
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
      document: noted(z.string().describe("the proof, slice or checkpoint to check, as text"), {
        file: true,
        flag: "the file to check; - reads stdin",
      }),
      checkpoint: noted(z.string().describe("the checkpoint that is trusted, as text"), {
        file: true,
        flag: "a file with the checkpoint that is trusted",
      }).exactOptional(),
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

const ON_THE_MACHINE = "it writes a store of the server's machine; run the command there";

/** What is told while a source is followed. */
export const followedShape = z.object({
  state: z.enum(["level", "trouble"]),
  seq: z.int(),
  root: z.string().exactOptional(),
  entries: z.int().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  retryMs: z.int().exactOptional(),
});

/** What promoting a replica did. */
export const promotedShape = z.object({
  source: z.string(),
  seq: z.int(),
  root: z.string(),
  epoch: z.int(),
  warning: z.string().exactOptional(),
});

/** The operations on replicas. */
export const REPLICA_OPERATIONS = [
  defineStream({
    name: "follow",
    verbs: [],
    place: "follow",
    kind: "write",
    summary: "Keep a read-only replica of the store of a running server",
    help: `The replica is the store at --data, which must not be there yet or be a replica; the actor is the same on
both sides, and the token of the server is in CORTEX_TOKEN. Every header, part and root is checked before it is kept;
what was forgotten there is erased here; another history is refused. A server that goes away is tried again. Ends when
it is interrupted, with 0, or with --once as soon as both are level.`,
    example: "cortex follow https://memory.example.org --data ./replica",
    input: z.strictObject({
      source: z.string().describe("the address of the server"),
      once: z
        .boolean()
        .describe("end as soon as the replica is level; try nothing again")
        .exactOptional(),
      plainHttp: z
        .boolean()
        .describe("allow http: to another machine, where whoever listens reads everything")
        .exactOptional(),
    }),
    output: followedShape,
    stream: (
      _memory,
      { source, ...options },
      { location, actor, onProgress, signal, serverToken },
    ) => {
      const token = serverToken?.();
      return follow(location, source as RemoteLocation, {
        ...options,
        actor,
        onProgress,
        signal,
        ...(token === undefined ? {} : { token }),
      });
    },
    cli: {
      command: "follow",
      group: "store",
      store: "fresh",
      arguments: [{ field: "source", label: "URL" }],
      human: showFollowed,
    },
    http: { unavailable: ON_THE_MACHINE },
  }),
  defineOperation({
    name: "promote",
    verbs: [],
    place: "promote",
    kind: "write",
    summary: "Make a replica a store of its own, which takes writes",
    help: `It follows nobody from then on and counts under the next epoch, because its history may go another way than
that of its source. Stop cortex follow first, or it ends by itself. What the source had and the replica had not is lost,
and a warning says how much that was when the source was last heard.`,
    example: "cortex promote --data ./replica",
    input: z.strictObject({}),
    output: promotedShape,
    call: (_memory, _input, { location, actor }) => promote(location, { actor }),
    cli: { command: "promote", group: "store", store: "closed", human: showPromoted },
    http: { unavailable: ON_THE_MACHINE },
  }),
];
