/**
 * What changed from one text to the next, word by word: the longest common run of words stays, the rest
 * went or came. Pure.
 */

/** A piece of the two texts. */
export interface Piece {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Words beyond this are compared as one piece: the table of the comparison grows with their product. */
const WORDS_MAX = 1500;

/** The pieces of both texts, in order. */
export function diffOf(before: string, after: string): readonly Piece[] {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  const a = wordsOf(before);
  const b = wordsOf(after);
  if (a.length > WORDS_MAX || b.length > WORDS_MAX) {
    return joined([
      { kind: "gone", text: before },
      { kind: "new", text: after },
    ]);
  }
  return joined(walk(a, b, lengths(a, b)));
}

/** Words with the space after them, so that the pieces make up the text again. */
function wordsOf(text: string): readonly string[] {
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
