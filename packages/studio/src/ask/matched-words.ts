/**
 * The words of a question inside a text, for marking them. A hint for the eye and not the index itself:
 * a word counts as the same when one begins with the other, apart from short endings. Pure.
 */

/** A stretch of the text. */
export interface Stretch {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Words too common to mark. */
const COMMON = new Set(
  "a an and are as at be by did do does for from had has have he her his how i in is it its me my not of on or our she so that the their them then there they this to was we were what when where which who whom why will with you your".split(
    " ",
  ),
);

/** How much of a longer word may be ending. */
const ENDING_MAX = 3;

/** The text in stretches, those that match a word of the question marked. */
export function marksIn(text: string, question: string): readonly Stretch[] {
  const sought = wordsOf(question).filter((word) => word.length > 1 && !COMMON.has(word));
  const found: Stretch[] = [];
  for (const piece of text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? []) {
    const isMatch = sought.some((word) => isAlike(word, piece.toLowerCase()));
    const last = found.at(-1);
    if (last !== undefined && last.isMatch === isMatch && !isMatch) {
      found[found.length - 1] = { text: last.text + piece, isMatch };
    } else {
      found.push({ text: piece, isMatch });
    }
  }
  return found;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function isAlike(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= 4 && long.startsWith(short) && long.length - short.length <= ENDING_MAX;
}
