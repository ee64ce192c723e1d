/**
 * The words of a `find`: memories that hold every one of them. The text index gives those memories, or
 * each candidate of another path is looked through, whichever is less work; both see the same words.
 */

import type { Engine } from "../engine/engine.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { bodyOf } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { versionOf } from "../memory/read.js";
import type { Lifecycle } from "../records/types.js";
import type { Analyser } from "../text/analyse.js";
import { eachDocumentWord } from "../text/document.js";
import { everyWord } from "../text/query.js";
import type { Path } from "./find-plan.js";
import { type Candidate, markAfterSeq, markOf, type Stream, tooManyCandidates } from "./sources.js";

/** The words of a query at a reader's position. */
export interface Words {
  readonly text: string;
  readonly words: readonly string[];
  readonly analyser: Analyser;
  readonly lifecycles: readonly Lifecycle[];
  /** About how many memories hold all of them. */
  readonly estimate: number;
}

/** Takes the words of a query apart and asks how many memories hold them. */
export async function wordsOf(
  engine: Engine,
  reader: Reader,
  text: string,
  states: ReadonlySet<Lifecycle>,
): Promise<Words> {
  const lifecycles = [...states];
  const { analyser } = await engine.text.parse(reader, text);
  const estimate = await engine.text.estimate(reader, text, lifecycles);
  return { text, words: everyWord(analyser, text), analyser, lifecycles, estimate };
}

/** The path of the text index. */
export const TEXT_PATH: Path = { kind: "text", name: "text" };

/** Memories asked for first, and how much wider every further look is. */
const ASKED_FIRST = 64;
const WIDER = 8;

/** The memories that hold every word, by the entry that changed them last. */
export function textStream(
  engine: Engine,
  reader: Reader,
  { text, lifecycles }: Words,
  before: string | undefined,
): Stream {
  let ids: readonly Bytes[] = [];
  let isAll = false;
  let asked = ASKED_FIRST / WIDER;
  let from = 0;
  const readAhead = async (wanted: number): Promise<void> => {
    while (!isAll && ids.length < wanted) {
      if (asked >= LIMITS.findCandidates) throw tooManyCandidates();
      asked = Math.min(LIMITS.findCandidates, Math.max(WIDER * asked, wanted));
      const found = await engine.text.matching(reader, text, lifecycles, asked);
      ids = found.ids;
      isAll = found.complete;
    }
  };
  return {
    async next(limit) {
      await readAhead(from + limit);
      const some = ids.slice(from, from + limit);
      from += some.length;
      const rows = await reader.memoryRows(some);
      let oldest = reader.seq;
      const candidates = some.flatMap((id, at): readonly Candidate[] => {
        const row = rows[at];
        if (row === undefined) return [];
        oldest = Math.min(oldest, row.seq);
        const mark = markOf(row.seq, id);
        return before === undefined || mark < before ? [{ id, mark, row }] : [];
      });
      const isEnd = isAll && from >= ids.length;
      // Memories of one entry come in no order of their own: the next may be of the same.
      const frontier = isEnd ? undefined : markAfterSeq(oldest);
      return { candidates, frontier, rows: some.length };
    },
  };
}

/** Whether a memory holds every word, in its current version or an open rival of it. */
export async function holdsWords(
  reader: Reader,
  { words, analyser }: Words,
  found: FoundMemory,
): Promise<boolean> {
  const missing = new Set(words);
  if (missing.size === 0) return false;
  const { head } = found.head.record;
  const rivals = await Promise.all(head.siblings.map((number) => versionOf(reader, found, number)));
  const bodies = [found.body, ...rivals.flatMap((body) => body ?? [])].map(bodyOf);
  eachDocumentWord(analyser, { head, bodies }, (word) => missing.delete(word));
  return missing.size === 0;
}

/** How well memories fit the words, by key string. */
export async function textScores(
  engine: Engine,
  reader: Reader,
  { text, lifecycles }: Words,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  // Every word is required already: quotes would ask for phrases on top.
  const plain = text.replace(/["“”„]/g, " ");
  const ranked = await engine.text.rank(reader, {
    text: plain,
    limit: ids.size,
    lifecycles,
    accept: (found) => found.map(({ id }) => ids.has(keyString(id))),
  });
  return new Map(
    ranked.map(({ id, score }: { readonly id: Bytes; readonly score: number }) => [
      keyString(id),
      score,
    ]),
  );
}
