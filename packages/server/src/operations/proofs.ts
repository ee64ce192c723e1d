/**
 * Operations on commitments: checkpoints, snapshots, proofs, and checking them without a store.
 */
import { type VerifyResult, verify, verifyCheckpoint } from "@cortex-memory/core/verify";
import * as z from "zod";
import {
  showCheckpoint,
  showDocument,
  showSnapshot,
  showSnapshots,
  showVerified,
} from "../render/proofs.js";
import { defineOperation } from "./define.js";
import { checkpointText, documentIn } from "./documents.js";
import { by, headFields, lifecycles, limit, listOf, memoryType } from "./fields.js";
import {
  checkpointShape,
  proofShape,
  sliceShape,
  snapshotShape,
  snapshotsShape,
  verifiedShape,
} from "./shapes.js";

const checkpointOperation = defineOperation({
  name: "checkpoint",
  verbs: ["checkpoint"],
  kind: "read",
  summary: "Show the checkpoint of the current position",
  help: "A text to pin, mail or publish: whoever trusts it can check proofs. Seals nothing.",
  example: "cortex checkpoint",
  input: z.strictObject({}),
  output: checkpointShape,
  call: (memory, _, { access }) => memory.checkpoint({ access }),
  cli: { command: "checkpoint", group: "history", human: showCheckpoint },
});

const snapshotOperation = defineOperation({
  name: "snapshot",
  verbs: ["snapshot"],
  kind: "write",
  summary: "Seal the roots of the current position under a number",
  help: "The answer holds the checkpoint. Snapshots change no root and survive a rebuild.",
  example: 'cortex snapshot "before the trip"',
  input: z.strictObject({
    reason: z.string().describe("why; explicit when not given").exactOptional(),
    by,
  }),
  output: snapshotShape,
  call: (memory, { reason, ...options }, { access }) =>
    memory.snapshot(reason, { ...options, access }),
  cli: {
    command: "snapshot",
    group: "history",
    arguments: [{ field: "reason", label: "REASON", optional: true }],
    human: showSnapshot,
  },
});

const snapshotsOperation = defineOperation({
  name: "snapshots",
  verbs: ["snapshots"],
  kind: "read",
  summary: "List snapshots, newest first",
  help: "All of them, or those of one position or root.",
  example: "cortex snapshots --limit 5",
  input: z.strictObject({
    seq: z.int().min(0).describe("only those of this position").exactOptional(),
    root: z.string().describe("only those of this root, in hex").exactOptional(),
    limit,
  }),
  output: snapshotsShape,
  call: async (memory, filter, { access }) => ({
    snapshots: await memory.snapshots({ ...filter, access }),
  }),
  cli: { command: "snapshots", group: "history", human: showSnapshots },
});

const edgeRef = z.strictObject({
  from: z.string(),
  kind: z.string(),
  to: z.string(),
  n: z.int().min(0).exactOptional(),
});

const proveOperation = defineOperation({
  name: "prove",
  verbs: ["prove"],
  kind: "read",
  summary: "Prove memories, edges and entries to whoever trusts a checkpoint",
  help: `Prints the proof document, which verify accepts. What is not there is proved absent, what was
forgotten is proved forgotten. --since shows that the journal extends an older checkpoint.`,
  example: "cortex prove home rule --seq 1",
  input: z.strictObject({
    memories: listOf(z.string())
      .describe("the memories: ids, URIs or external ids")
      .exactOptional(),
    edges: listOf(z.union([z.string(), edgeRef]))
      .describe("an edge by its id; may be repeated")
      .exactOptional(),
    seqs: listOf(z.int().min(0)).describe("a journal entry; may be repeated").exactOptional(),
    since: z
      .string()
      .meta({ description: "a file with the older checkpoint that is trusted", file: true })
      .exactOptional(),
  }),
  output: proofShape,
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
});

const shareOperation = defineOperation({
  name: "share",
  verbs: ["share"],
  kind: "read",
  summary: "Hand out the memories that match, with a proof",
  help: "Prints memories, proof and checkpoint in one document, which verify accepts.",
  example: "cortex share --type fact --limit 10",
  input: z.strictObject({
    ids: listOf(z.string()).describe("a memory; may be repeated").exactOptional(),
    types: listOf(memoryType).describe("a type; may be repeated").exactOptional(),
    tags: listOf(z.string()).describe("a tag they must have; may be repeated").exactOptional(),
    kind: headFields.kind,
    slot: z.string().describe("memories of this slot").exactOptional(),
    session: z.string().describe("the turns of this conversation").exactOptional(),
    lifecycles,
    limit,
  }),
  output: sliceShape,
  call: (memory, selector, { access }) => memory.share({ ...selector, access }),
  cli: {
    command: "share",
    group: "history",
    flags: { ids: "id", types: "type", tags: "tag", lifecycles: "lifecycle" },
    human: showDocument,
  },
});

const verifyOperation = defineOperation({
  name: "verify",
  verbs: [],
  kind: "read",
  summary: "Check a proof, a shared slice or a checkpoint, without any store",
  help: `A proof is only as good as the checkpoint the reader already trusts: give it with --checkpoint.
Without one the answer is anchored: false. Exits with 1 when it does not hold.`,
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
    return "proof" in found
      ? plain(verify(found.proof, trusted))
      : verifyCheckpoint(found.checkpoint, trusted);
  },
  cli: {
    command: "verify",
    group: "history",
    store: "none",
    arguments: [{ field: "document", label: "FILE|-" }],
    human: showVerified,
  },
});

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
  checkpointOperation,
  snapshotOperation,
  snapshotsOperation,
  proveOperation,
  shareOperation,
  verifyOperation,
];
