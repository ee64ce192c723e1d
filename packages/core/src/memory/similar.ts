/**
 * What a write finds that says nearly the same: up to three live memories, by their words, so that
 * whoever wrote can update one instead of piling up. Exact restatements never come this far.
 *
 * Nearly the same means that at least six words in ten of the two sentences together are common to
 * both (`text/alike.ts`). A change of a value is often that near, which is why `similar` is a hint and
 * never a reason to drop or to merge anything. Only the rarest words are looked for, a dozen of them, so
 * a long text costs no more than a short one.
 */

import type { MemoryRef } from "../contract/shapes.js";
import type { Engine } from "../engine/engine.js";
import { shapeRef } from "../engine/shapes.js";
import { bodyOf, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { primaryText } from "../records/data.js";
import { type Access, OWNER } from "../scope/access.js";
import { OVERLAP_MIN, overlap, tellingWords, WORDS_MIN } from "../text/alike.js";
import { sharingWords } from "../text/text-near.js";
import { shownMemories } from "./read.js";

/** How many are named, and how many of the best hits are compared. */
const NAMED_MAX = 3;
const COMPARED_MAX = 12;

/** What to compare with. */
export interface SimilarQuery {
  readonly text: string;
  /** The memory that says it. */
  readonly self: Bytes;
  /** Others that are left out. */
  readonly except: readonly Bytes[];
}

/** Live memories that say nearly what a memory says, the nearest first. */
export async function similarTo(
  engine: Engine,
  { text, self, except }: SimilarQuery,
  access: Access = OWNER,
): Promise<readonly MemoryRef[]> {
  await engine.text.ready();
  return Reader.with(engine.kv, undefined, async (reader) => {
    const analyser = await engine.text.analyserAt(reader);
    const words = tellingWords(analyser, text);
    if (words.size < WORDS_MIN) return [];
    const left = new Set([self, ...except].map(keyString));
    const limit = COMPARED_MAX + left.size;
    const near = await sharingWords(engine.text, reader, { words, limit, own: 1 });
    const ids = near.filter((id) => !left.has(keyString(id))).slice(0, COMPARED_MAX);
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    const shown = await shownMemories(reader, access, found);
    return shown
      .flatMap((memory) => {
        if (memory === undefined || memory.row.lifecycle !== "active") return [];
        const { head } = memory.head.record;
        if (head.turn !== undefined) return [];
        const version = bodyOf(memory.body);
        const said = tellingWords(analyser, primaryText(head.type, version.data));
        const common = overlap(words, said);
        const ref = shapeRef(engine.actor, memory.id, head.type, version);
        return common < OVERLAP_MIN ? [] : [{ common, ref }];
      })
      .sort((a, b) => b.common - a.common)
      .slice(0, NAMED_MAX)
      .map(({ ref }) => ref);
  });
}
