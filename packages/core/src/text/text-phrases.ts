/**
 * Phrases: whether a memory holds words next to each other. The index does not know places, so the
 * text of candidates is read and taken apart again, in batches, the best candidates first.
 */
import type { FoundMemory, Reader } from "../history/reader.js";
import type { Analyser } from "./analyse.js";
import { documentTexts } from "./document.js";
import { holdsPhrase } from "./query.js";
import type { Accept } from "./text-rank.js";
import { sourcesOf } from "./text-sources.js";

/** Accepts memories that hold every phrase, and that `accept` lets pass. */
export function acceptPhrases(
  reader: Reader,
  analyser: Analyser,
  phrases: readonly (readonly string[])[],
  accept: Accept | undefined,
): Accept {
  return async (found: readonly FoundMemory[]) => {
    const passed = (await accept?.(found)) ?? found.map(() => true);
    const sources = await sourcesOf(reader, found);
    return sources.map((source, at) => {
      if (passed[at] !== true) return false;
      const texts = documentTexts(source).map((text) =>
        analyser.tokens(text).map(({ word }) => word),
      );
      return phrases.every((phrase) => texts.some((words) => holdsPhrase(words, phrase)));
    });
  };
}
