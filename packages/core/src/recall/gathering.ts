/**
 * Answers to questions that ask for all of something: one hit for each thing rather than several for the
 * first, and what happened first standing first where an order is asked for.
 *
 * Promise: pure; nothing is left out or brought in, the order alone changes.
 */

/** A hit, and where it stands in a conversation. */
export interface PlacedHit {
  readonly ranked: { readonly score: number };
  readonly place: { readonly session: string; readonly index: number } | undefined;
}

/** Turns before and after a hit that most likely speak of the same thing. */
const REACH = 2;
/** What a turn beside a better hit still counts. BEAM, R@10: 1 gives .552, .85 gives .559; LoCoMo gains .001. */
const BESIDE_BETTER = 0.85;

/** Hits, best first, those beside a better one held back. */
export function spreadOut<Hit extends PlacedHit>(hits: readonly Hit[]): readonly Hit[] {
  const taken = new Set<string>();
  const weighed = hits.map((hit, at) => {
    const { place } = hit;
    if (place === undefined) return { hit, at, score: hit.ranked.score };
    let isBeside = false;
    for (let index = place.index - REACH; index <= place.index + REACH; index += 1) {
      isBeside ||= taken.has(`${index} ${place.session}`);
    }
    taken.add(`${place.index} ${place.session}`);
    return { hit, at, score: hit.ranked.score * (isBeside ? BESIDE_BETTER : 1) };
  });
  weighed.sort((a, b) => b.score - a.score || a.at - b.at);
  return weighed.map(({ hit }) => hit);
}

/** Lines in the order of their times; those of one time as they were given. */
export function inOrderOfTime<Line extends { readonly atMs: number }>(
  lines: readonly Line[],
): readonly Line[] {
  return [...lines].sort((a, b) => a.atMs - b.atMs);
}
