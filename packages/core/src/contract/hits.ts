/**
 * What the verbs that look for memories share: the words asked for, filters, the fields of a hit, and
 * the forms in which a memory is shown.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { MEMORY_TYPES } from "../records/types.js";
import { listUpTo, noted, textField, words } from "./fields.js";
import { kind, memoryType, tag } from "./memory.js";
import type { OnPlan } from "./read-plan.js";
import { memoryIdShape } from "./shapes.js";
import { type } from "./verb.js";

/** Renderings of a memory, the briefest first. */
export const FORMS = ["short", "medium", "full"] as const;

/** Which rendering of a memory is shown. */
export type Form = (typeof FORMS)[number];

/** How memories in an answer are rendered. */
export const form = z.enum(FORMS).describe("how hits are rendered").optional();

/** Words to look for; a text without words finds nothing. */
export const wordsAsked = noted(
  textField({ maxBytes: LIMITS.queryBytes, blank: true, control: true }),
  { prose: true },
);

/** Which memories `search` and `recall` show. */
export const filterFields = {
  types: listUpTo(memoryType).describe("only memories of this type; may be repeated").optional(),
  kinds: listUpTo(kind)
    .describe("only memories of this kind; may be repeated, any of them will do")
    .optional(),
  tags: listUpTo(tag)
    .describe("only memories with this tag; may be repeated, all must be there")
    .optional(),
};

/** What every hit of a find, a search or a recall has. */
export const hitFields = {
  id: memoryIdShape,
  uri: z.string(),
  type: words(MEMORY_TYPES),
  text: z.string(),
  score: z.number(),
};

/** What a read that tells its plan takes from whoever runs the program. */
export const planLocals = {
  local: ["onPlan"],
  locals: type<{
    /** Told how the read was carried out; for logs, because it counts what the caller may not see. */
    readonly onPlan?: OnPlan | undefined;
  }>(),
} as const;
