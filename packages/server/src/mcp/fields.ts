/**
 * The arguments that tools share: those of the operations, in as few words as a model needs.
 */
import { TURN_ROLES } from "@cortex-memory/core/contract";
import * as z from "zod";
import { words } from "../operations/fields.js";

/** A reference to a memory. */
export const memoryRef = z.string().describe("id, URI or external id");

/** One turn of a conversation. */
export const turnFields = {
  role: words(TURN_ROLES),
  content: z.string(),
  speaker: z.string().exactOptional(),
};
