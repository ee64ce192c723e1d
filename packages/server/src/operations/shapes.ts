/**
 * The answers of operations as schemas: what documentation shows, what later doors will announce,
 * and what the tests hold every answer against. Members may be added, never taken away.
 */
import { listOf, VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";

const timeMs = z.int();
const seq = z.int();

const setting = z.object({
  name: z.string(),
  value: z.string(),
  from: z.string(),
  flag: z.string(),
  variable: z.string(),
});

/** Settings of the door and configuration of the graph. */
export const configShape = z.object({
  settings: listOf(setting),
  ...VERBS.config.output.shape,
  seq: seq.exactOptional(),
});

/** How much a store holds, and where. */
export const statsShape = z.object({ data: z.string(), ...VERBS.stats.output.shape });

/** What a proof or checkpoint shows. */
export const verifiedShape = z.object({
  ok: z.boolean(),
  anchored: z.boolean(),
  anchoredBy: z.enum(["checkpoint", "consistency"]).exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  checkpoint: z
    .object({ origin: z.string(), size: z.int(), root: z.string(), at: timeMs })
    .exactOptional(),
  memories: listOf(
    z.looseObject({
      id: z.string(),
      status: z.enum(["present", "absent", "erased"]),
      text: z.string().exactOptional(),
    }),
  ).exactOptional(),
  edges: listOf(
    z.looseObject({ key: z.string(), status: z.enum(["present", "absent"]), from: z.string() }),
  ).exactOptional(),
  entries: listOf(z.looseObject({ seq, kind: z.string() })).exactOptional(),
  since: z.object({ size: z.int(), root: z.string() }).exactOptional(),
  signatures: listOf(z.object({ name: z.string(), keyHint: z.string() })).exactOptional(),
});
