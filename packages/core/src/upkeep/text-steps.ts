/**
 * Upkeep of the text index: writing out what searches still read from the journal, and merging
 * segments, so that a search touches few. Neither changes what a search finds.
 */
import type { TextIndex } from "../text/text-index.js";
import type { MaintainStep } from "./steps.js";

/** What these steps ask of the index. */
export type TextUpkeep = Pick<TextIndex, "status" | "flush" | "merge">;

/** Writes the tail of the text index out; counts entries. */
export function flushText(text: TextUpkeep): MaintainStep {
  return {
    step: "text flush",
    left: async () => (await text.status()).tail,
    async work() {
      const before = (await text.status()).tail;
      return before === 0 ? 0 : Math.max(0, before - (await text.flush(1)));
    },
  };
}

/** Merges segments of the text index; counts segments that are gone, and what is left as one. */
export function mergeText(text: TextUpkeep): MaintainStep {
  return {
    step: "text merge",
    left: async () => ((await text.merge(0)).more ? 1 : 0),
    work: async () => (await text.merge(1)).gone,
  };
}
