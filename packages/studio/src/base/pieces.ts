/**
 * Texts in pieces, for the eye: what changed from one text to the next, word by word, and which words of a
 * question a text holds. The pieces make up the whole text again. Pure.
 */

/** A piece of two texts that are compared. */
interface Piece {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Words beyond this are compared as one piece: the table of the comparison grows with their product. */
const WORDS_MAX = 1500;

/** The pieces of both texts, in order: the longest common run of words stays, the rest went or came. */
export function diffOf(before: string, after: string): readonly Piece[] {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  const a = withSpaces(before);
  const b = withSpaces(after);
  if (a.length > WORDS_MAX || b.length > WORDS_MAX) {
    return joined([
      { kind: "gone", text: before },
      { kind: "new", text: after },
    ]);
  }
  return joined(walk(a, b, lengths(a, b)));
}

/** Words with the space after them, so that the pieces make up the text again. */
function withSpaces(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** For each pair of places, how many words the rest of both has in common. */
function lengths(a: readonly string[], b: readonly string[]): readonly Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = table[i + 1]?.[j] ?? 0;
      const right = table[i]?.[j + 1] ?? 0;
      const both = (table[i + 1]?.[j + 1] ?? 0) + 1;
      const row = table[i];
      if (row !== undefined) row[j] = a[i] === b[j] ? both : Math.max(below, right);
    }
  }
  return table;
}

function walk(a: readonly string[], b: readonly string[], table: readonly Uint16Array[]): Piece[] {
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      pieces.push({ kind: "same", text: left });
      i += 1;
      j += 1;
    } else if (
      right === undefined ||
      (left !== undefined && (table[i + 1]?.[j] ?? 0) >= (table[i]?.[j + 1] ?? 0))
    ) {
      pieces.push({ kind: "gone", text: left ?? "" });
      i += 1;
    } else {
      pieces.push({ kind: "new", text: right });
      j += 1;
    }
  }
  return pieces;
}

/** Neighbours of one kind as one piece. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    if (last?.kind === piece.kind)
      found[found.length - 1] = { ...last, text: last.text + piece.text };
    else if (piece.text !== "") found.push(piece);
  }
  return found;
}

/** A stretch of a text. */
interface Stretch {
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

/**
 * The text in stretches, those that match a word of the question marked. A hint for the eye and not the index
 * itself: a word counts as the same when one begins with the other, apart from short endings.
 */
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
