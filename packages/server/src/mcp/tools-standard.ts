/**
 * The tools of the profile `standard`. They stand apart from those of the other profiles, which bring the whole table
 * of operations along: an agent that asks for no more waits for no more at its start.
 */
import type { Tool } from "./define.js";
import { LINK_TOOLS } from "./tools-links.js";
import { MEMORY_TOOLS } from "./tools-memories.js";
import { RECALL_TOOLS, REVIEW_TOOLS } from "./tools-recall.js";
import { FEEDBACK_TOOLS, FIND_TOOLS, START_TOOLS } from "./tools-task.js";

/** The tools an agent needs, in the order in which it meets them. */
export const STANDARD_TOOLS: readonly Tool[] = [
  ...START_TOOLS,
  ...RECALL_TOOLS,
  ...MEMORY_TOOLS,
  ...FIND_TOOLS,
  ...LINK_TOOLS,
  ...FEEDBACK_TOOLS,
  ...REVIEW_TOOLS,
];
