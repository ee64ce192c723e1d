/**
 * Splits a text into the word pieces of a vocabulary, as the encoder that the model was distilled from
 * does: cleaned, in lower case, without accents, cut at spaces and punctuation, and every word then
 * taken apart from the left into the longest pieces that the vocabulary has.
 *
 * Promise: the pieces depend on the text and the vocabulary alone. What lower case, accents and
 * punctuation are is asked of the engine's own Unicode tables, so a character that is newer than the
 * engine may be split otherwise there.
 */

/** The row of "[UNK]": what stands for a word without pieces. */
export const UNKNOWN = 100;
/** A longer word is noise (an address, a hash): one unknown piece. */
const WORD_MOST = 100;
/** What continues a word begins so in the vocabulary. */
const INSIDE = "##";

const ACCENTS = /\p{Mn}/gu;
const SPACES = /[\s\u200b\u2028\u2029]+/u;
/** Ideographs are words of their own. */
const IDEOGRAPHS =
  /[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const CONTROLS = /\ufffd|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;
const PUNCTUATION = /([!-/:-@[-`{-~]|\p{P})/gu;

/** The pieces of a text, as rows of the vocabulary, at most so many. */
export function piecesOf(
  text: string,
  rowOf: ReadonlyMap<string, number>,
  most: number,
): readonly number[] {
  const rows: number[] = [];
  const words = text
    .replace(CONTROLS, "")
    .replace(IDEOGRAPHS, " $& ")
    .normalize("NFD")
    .replace(ACCENTS, "")
    .toLowerCase()
    .replace(PUNCTUATION, " $1 ")
    .split(SPACES);
  for (const word of words) {
    if (word === "") continue;
    addPieces(word, rowOf, rows);
    if (rows.length >= most) return rows.slice(0, most);
  }
  return rows;
}

/** Adds the pieces of one word; a word with a stretch that no piece covers is unknown as a whole. */
function addPieces(word: string, rowOf: ReadonlyMap<string, number>, rows: number[]): void {
  const whole = rowOf.get(word);
  if (whole !== undefined) {
    rows.push(whole);
    return;
  }
  const letters = [...word];
  const before = rows.length;
  let from = 0;
  while (from < letters.length && letters.length <= WORD_MOST) {
    let to = letters.length;
    let row: number | undefined;
    for (; to > from && row === undefined; to -= 1) {
      const piece = letters.slice(from, to).join("");
      row = rowOf.get(from === 0 ? piece : INSIDE + piece);
    }
    if (row === undefined) break;
    rows.push(row);
    from = to + 1;
  }
  if (from < letters.length) rows.splice(before, rows.length - before, UNKNOWN);
}
