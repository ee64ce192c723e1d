/**
 * Collapsing memories that say the same: of several, the best ranked is shown and names the others.
 *
 * Promise: pure. Two memories say the same when they hold the same words; a word more or less is
 * allowed in long ones, but never a different one in its place: "deploys on Fridays" and "deploys on
 * Mondays" are two answers, however alike. Numbers and names are words like others here.
 */

/** A memory as the set of its words. */
export interface WordSet {
  readonly key: string;
  readonly words: ReadonlySet<string>;
}

/** Words from which on one may be missing. */
const LONG = 8;

/**
 * For each memory that is shown, the keys of those it stands for; in the order given, until so many
 * are shown. Memories are given one by one, since most need never be taken apart.
 */
export function collapse(
  ranked: Iterable<WordSet>,
  most = Number.POSITIVE_INFINITY,
): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  const kept: WordSet[] = [];
  const exact = new Map<string, string>();
  for (const item of ranked) {
    const spelled = [...item.words].sort().join(" ");
    const twin = spelled === "" ? undefined : (exact.get(spelled) ?? nearTwin(item, kept)?.key);
    if (twin === undefined) {
      groups.set(item.key, []);
      kept.push(item);
      exact.set(spelled, item.key);
      if (kept.length === most) break;
    } else {
      groups.get(twin)?.push(item.key);
    }
  }
  return groups;
}

function nearTwin(item: WordSet, kept: readonly WordSet[]): WordSet | undefined {
  return kept.find((other) => isNear(item.words, other.words));
}

/** One holds every word of the other, and at most one in `LONG` beyond them. */
function isNear(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  if (small.size < LONG || large.size - small.size > small.size / LONG) return false;
  for (const word of small) if (!large.has(word)) return false;
  return true;
}
