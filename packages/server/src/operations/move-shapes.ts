/**
 * The answers of moves that are no verbs: a store in from a file, up to this release.
 */
import { listOf } from "@cortex-memory/core/contract";
import * as z from "zod";

const seq = z.int();
const position = { entries: z.int(), seq, root: z.string() };

/** What was read in from a file. */
export const importedShape = z.object({
  ...position,
  epoch: z.int(),
  erasedAgain: z.int(),
});

/** What was restored, and what to be warned of. */
export const restoredShape = importedShape.extend({ warning: z.string().exactOptional() });

/** How much a list of erasures names. */
export const erasuresShape = z.object({ entries: z.int(), seq, erased: z.int() });

const form = z.object({ format: z.int(), foldVersion: z.int() });

/** What a repair did, or would do. */
export const repairShape = z.object({
  ok: z.boolean(),
  needed: z.boolean(),
  dryRun: z.boolean(),
  problems: listOf(z.string()),
  entries: z.int(),
  taken: z.int(),
  missing: z.int(),
  lost: listOf(seq),
  aside: z.string().exactOptional(),
});

/** What an upgrade did, or would do. */
export const upgradeShape = z.object({
  needed: z.boolean(),
  from: form,
  to: form,
  steps: listOf(z.string()),
  backup: z.string().exactOptional(),
  upgraded: z.object(position).exactOptional(),
});
