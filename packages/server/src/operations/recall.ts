/**
 * Recalling what answers a question.
 */
import { showRecalled } from "../render/recall.js";
import { verbRow } from "./define.js";

const recallOperation = verbRow("recall", {
  help: `Plain words; --also gives another way of putting it. Ranks by words, conversation,
names, slots, links, time and use, and by meaning when an embedder is configured. "weak" means that
nothing is a reliable answer. Asking how things were ("before", "used to") opens history.`,
  example: 'cortex recall "where does Ada live?" --budget 400',
  cli: {
    command: "recall",
    group: "memories",
    arguments: [{ field: "question", label: "TEXT", stdin: true, words: true }],
    flags: { budgetTokens: "budget", types: "type", kinds: "kind", tags: "tag" },
    human: showRecalled,
  },
});

/** The operations that recall. */
export const RECALL_OPERATIONS = [recallOperation];
