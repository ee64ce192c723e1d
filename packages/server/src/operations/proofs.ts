/**
 * Operations on commitments: checkpoints, snapshots, proofs, and checking them without a store.
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
import { defineOperation, takenFrom, verbRow } from "./define.js";
import { checkpointText, documentIn } from "./documents.js";
import { verifiedShape } from "./shapes.js";

const checkpointOperation = verbRow("checkpoint", {
  help: "A text to pin, mail or publish: whoever trusts it can check proofs. Seals nothing.",
  example: "cortex checkpoint",
  cli: { command: "checkpoint", group: "history", human: showCheckpoint },
});

const snapshotOperation = verbRow("snapshot", {
  help: "The answer holds the checkpoint. Snapshots change no root and survive a rebuild.",
  example: 'cortex snapshot "before the trip"',
  cli: {
    command: "snapshot",
    group: "history",
    arguments: [{ field: "reason", label: "REASON", optional: true, words: true }],
    human: showSnapshot,
  },
});

const snapshotsOperation = verbRow("snapshots", {
  help: "All of them, or those of one position or root.",
  example: "cortex snapshots --limit 5",
  cli: { command: "snapshots", group: "history", human: showSnapshots },
});

const proveOperation = defineOperation({
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
});

const shareOperation = verbRow("share", {
  help: "Prints memories, proof and checkpoint in one document, which verify accepts.",
  example: "cortex share --type fact --limit 10",
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
