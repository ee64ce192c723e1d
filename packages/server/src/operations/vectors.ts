/**
 * Operations on vectors: giving memories the ones they lack.
 */
import * as z from "zod";
import { showEmbedded } from "../render/vectors.js";
import { defineOperation } from "./define.js";

const count = z.int();

/** What embedding did. */
export const embeddedShape = z.object({
  model: z.string(),
  texts: count,
  memories: count,
  refused: count,
  purged: count,
  cursor: count,
  lag: count,
  seq: count,
});

const embedOperation = defineOperation({
  name: "embedPending",
  verbs: ["embedPending"],
  kind: "write",
  summary: "Give every memory the vector of its current text",
  help: `Asks the embedder that the settings name for the texts that have no vector yet, and stops at the entries
there are now. What was embedded is kept when it is interrupted, and the next run goes on from there. A text that
the embedder refuses is left without a vector and counted.`,
  example: "cortex embed",
  input: z.strictObject({}),
  output: embeddedShape,
  call: (memory, _, { access, onProgress }) => memory.embedPending({ access, onProgress }),
  cli: { command: "embed", group: "store", human: showEmbedded },
});

/** The operations on vectors. */
export const VECTOR_OPERATIONS = [embedOperation];
