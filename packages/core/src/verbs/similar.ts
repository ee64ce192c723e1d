/**
 * What a write finds that says nearly the same: up to three live memories, by their words, so that
 * whoever wrote can update one instead of piling up. Exact restatements never come this far.
 *
 * Nearly the same means that at least six words in ten of the two sentences together are common to
 * both, after endings are cut and words that carry nothing are left out. A change of a value is often
 * that near, which is why `similar` is a hint and never a reason to drop or to merge anything.
 */
import { type Access, OWNER } from "../access.js";
import { bodyOf, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { primaryText } from "../memory/data.js";
import type { Analyser } from "../text/analyse.js";
import type { Engine } from "./engine.js";
import { shownMemories } from "./read.js";
import { type MemoryRef, shapeRef } from "./shapes.js";

/** How many are named, and how many of the best hits are compared. */
const NAMED_MAX = 3;
const COMPARED_MAX = 12;
/** Words in common, of all words of both. */
const OVERLAP_MIN = 0.6;
/** Sentences of fewer words are alike by chance. */
const WORDS_MIN = 3;

/** Live memories that say nearly what `text` says, the nearest first; `except` are left out. */
export async function similarTo(
  engine: Engine,
  text: string,
  except: readonly Bytes[],
  access: Access = OWNER,
): Promise<readonly MemoryRef[]> {
  await engine.text.ready();
  return Reader.with(engine.kv, undefined, async (reader) => {
    const analyser = await engine.text.analyserAt(reader);
    const words = wordsOf(analyser, text);
    if (words.size < WORDS_MIN) return [];
    // Quotes ask for phrases; here they are part of what was said.
    const plain = text.replace(/["“”„]/g, " ");
    const ranked = await engine.text.rank(reader, { text: plain, limit: COMPARED_MAX });
    const left = new Set(except.map(keyString));
    const ids = ranked.map(({ id }) => id).filter((id) => !left.has(keyString(id)));
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    const shown = await shownMemories(reader, access, found);
    return shown
      .flatMap((memory) => {
        if (memory === undefined || memory.row.lifecycle !== "active") return [];
        const { head } = memory.head.record;
        if (head.turn !== undefined) return [];
        const version = bodyOf(memory.body);
        const near = overlap(words, wordsOf(analyser, primaryText(head.type, version.data)));
        const ref = shapeRef(engine.actor, memory.id, head.type, version);
        return near < OVERLAP_MIN ? [] : [{ near, ref }];
      })
      .sort((a, b) => b.near - a.near)
      .slice(0, NAMED_MAX)
      .map(({ ref }) => ref);
  });
}

function wordsOf(analyser: Analyser, text: string): ReadonlySet<string> {
  const telling = analyser
    .tokens(text)
    .filter(({ start, end }) => !analyser.isStopWord(text.slice(start, end)));
  return new Set(telling.map(({ word }) => word));
}

/** Words in common, of all words of both: 0 to 1. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((word) => b.has(word)).length;
  return common === 0 ? 0 : common / (a.size + b.size - common);
}
