/**
 * The verbs that carry a store out of itself: its journal as a file, and the list of what was forgotten.
 */
import * as z from "zod";
import type { ErasureDocument } from "../journal/erasure-list.js";
import { listOf, type ShapeOf, whole } from "./fields.js";
import { seqShape } from "./shapes.js";
import { type OnProgress, type, verb } from "./verb.js";

/** Takes chunks one after another; the next comes when the promise has resolved. */
export type ByteSink = (chunk: Uint8Array) => Promise<void> | void;

/** Where an export goes: the path of a new file, or a function that takes its chunks. */
export type ExportTarget = string | ByteSink;

const exportedShape = z.object({
  /** Entries in the file. */
  entries: z.int(),
  /** The first seq in the file; 0 in a full one. */
  from: seqShape,
  /** The last seq: the position of the file, and where the next backup goes on. */
  seq: seqShape,
  /** The root over everything at that position, in hex. */
  root: z.string(),
  /** Erased parts that the file lists. */
  erased: z.int(),
});

/** What was written out. */
export interface ExportReport extends ShapeOf<typeof exportedShape> {}

const writingOut = {
  kind: "read",
  policy: "owner",
  args: {
    target: z.custom<ExportTarget>().describe("a new file, or a function that takes chunks"),
  },
  labels: type<[target: ExportTarget]>(),
  local: ["target", "onProgress"],
  locals: type<{ readonly onProgress?: OnProgress | undefined }>(),
  output: exportedShape,
  answer: type<ExportReport>(),
  sends: "file",
  isLong: true,
} as const;

/** Writes the journal out. */
export const exportJournal = verb("exportJournal", {
  ...writingOut,
  summary: "Write the whole journal to a portable file",
  options: {},
  path: "export",
});

/** Makes a backup. */
export const backup = verb("backup", {
  ...writingOut,
  summary: "Make a consistent copy while others write",
  options: {
    since: whole(0).describe("only what came after: the seq of the backup before").optional(),
  },
});

/** Lists the places of what was forgotten. */
export const erasures = verb("erasures", {
  summary: "List the places of what was forgotten, for restores",
  kind: "read",
  policy: "owner",
  args: {},
  options: {},
  output: z.object({
    cortex: z.literal("erasures"),
    format: z.literal(1),
    actor: z.string(),
    storeId: z.string(),
    size: z.int(),
    erased: listOf(z.tuple([z.int(), z.int()]).readonly()),
  }),
  answer: type<ErasureDocument>(),
  isLong: true,
});
