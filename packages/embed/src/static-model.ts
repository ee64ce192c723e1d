/**
 * The static model: one vector a word piece, kept in 4 bits; a text's vector is the mean of its
 * pieces' vectors plus a bias, brought to unit length.
 *
 * Promise: the same bytes of the model and the same text give the same bits on every machine: only
 * additions, multiplications, divisions and square roots of doubles, in one order, rounded once at the
 * end. The file's format is in `tools/distill/README.md`; a file that is not one is refused here.
 *
 * A text is split into pieces as the encoder does that the model was distilled from: cleaned, in lower case,
 * without accents, cut at spaces and punctuation, and every word then taken apart from the left into the
 * longest pieces that the vocabulary has. What lower case, accents and punctuation are is asked of the
 * engine's own Unicode tables, so a character that is newer than the engine may be split otherwise there.
 */

/** Pieces of one text that count: about 400 words; what a longer text begins with is its subject. */
const PIECES_MOST = 512;
const MAGIC = "cortexe1";
const HEAD_BYTES = 24;
/** Values are from -7 to 7, stored with 8 added. */
const ZERO_LEVEL = 8;

/** A model that is loaded. */
export interface StaticModel {
  readonly dimensions: number;
  vectorOf(text: string): Float32Array;
  /** Whether the words of a question are words to the model, see `isReadable`. */
  readsQuestion(text: string): boolean;
}

interface Table {
  readonly rows: number;
  readonly dimensions: number;
  /** Values that share one scale. */
  readonly group: number;
  readonly bias: Float64Array;
  readonly scales: Float64Array;
  /** Two values a byte, the first in the lower half. */
  readonly levels: Uint8Array;
  readonly rowOf: ReadonlyMap<string, number>;
  /** How long the vector of a piece is; 0 where nobody asked yet. */
  readonly lengths: Float64Array;
}

/** Reads a model from the bytes of its file. */
export function readModel(bytes: Uint8Array): StaticModel {
  const table = readTable(bytes);
  return {
    dimensions: table.dimensions,
    vectorOf: (text) => vectorOf(table, text),
    readsQuestion: (text) => isReadable(table, text),
  };
}

function readTable(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = bytes.length < HEAD_BYTES ? "" : new TextDecoder().decode(bytes.subarray(0, 8));
  if (magic !== MAGIC) throw new Error(`expected a file that begins with ${MAGIC}, got another`);
  const [rows, dimensions, group, wordBytes] = [8, 12, 16, 20].map((at) =>
    view.getUint32(at, true),
  ) as [number, number, number, number];
  const scaleCount = (rows * dimensions) / group;
  const scalesAt = HEAD_BYTES + 4 * dimensions;
  const levelsAt = scalesAt + 2 * scaleCount;
  const wordsAt = levelsAt + (rows * dimensions) / 2;
  if (bytes.length !== wordsAt + wordBytes) {
    throw new Error(`expected a file of ${wordsAt + wordBytes} bytes, got ${bytes.length}`);
  }
  const words = new TextDecoder().decode(bytes.subarray(wordsAt)).split("\n");
  return {
    rows,
    dimensions,
    group,
    bias: filled(dimensions, (at) => view.getFloat32(HEAD_BYTES + 4 * at, true)),
    scales: filled(scaleCount, (at) => halfFloat(view.getUint16(scalesAt + 2 * at, true))),
    levels: bytes.subarray(levelsAt, wordsAt),
    rowOf: new Map(words.map((word, row) => [word, row])),
    lengths: new Float64Array(rows),
  };
}

/** Numbers by their place; a plain loop is ten times as fast as `Float64Array.from` with a function. */
function filled(length: number, valueAt: (at: number) => number): Float64Array {
  const values = new Float64Array(length);
  for (let at = 0; at < length; at += 1) values[at] = valueAt(at);
  return values;
}

/** A positive number of 16 bits: 5 of exponent, 10 of fraction. */
function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  return exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function vectorOf(table: Table, text: string): Float32Array {
  const { dimensions, bias } = table;
  const pieces = piecesOf(text, table.rowOf, PIECES_MOST);
  const sum = new Float64Array(dimensions);
  for (const row of pieces.length === 0 ? [UNKNOWN] : pieces) addRow(table, row, sum);
  const count = Math.max(1, pieces.length);
  let square = 0;
  for (let at = 0; at < dimensions; at += 1) {
    const value = (sum[at] as number) / count + (bias[at] as number);
    sum[at] = value;
    square += value * value;
  }
  const length = Math.sqrt(square);
  const unit = new Float32Array(dimensions);
  for (let at = 0; at < dimensions; at += 1) unit[at] = (sum[at] as number) / length;
  return unit;
}

/** Adds one piece's vector: the innermost loop, whose places are all inside by the check of the file. */
function addRow(
  { dimensions, group, scales, levels }: Table,
  row: number,
  sum: Float64Array,
): void {
  let level = (row * dimensions) / 2;
  let scale = (row * dimensions) / group;
  for (let begin = 0; begin < dimensions; begin += group, scale += 1) {
    const by = scales[scale] as number;
    for (let at = begin; at < begin + group; at += 2, level += 1) {
      const pair = levels[level] as number;
      sum[at] = (sum[at] as number) + by * ((pair & 15) - ZERO_LEVEL);
      sum[at + 1] = (sum[at + 1] as number) + by * ((pair >> 4) - ZERO_LEVEL);
    }
  }
}

/**
 * A piece is common where its vector is shorter than this: training made short what every text holds. "The", "is", "what"
 * and "my" have .7 to 1.5; "ist", "est", "que" and "mi" 3 to 4, as "peanut" and "animal".
 */
const COMMON_LENGTH = 2.2;
/** A piece that no text of the training held kept the length it began with. */
const UNTRAINED = { least: 0.98, most: 1.02 };
/**
 * A question is another language's where the share of its words that are common, and WHOLE times the share that are no
 * pieces put together, add up to less than LEAST, and it has a word of up to SHORT letters that is not common: nearly all
 * of those join words, as "ist", "mi" and "que" do. So 67 of 75 German, Spanish and French sentences are told, and 9 of
 * 14 in others with Latin letters; none of 1,267 English questions is taken for one, and of the same without
 * their function words ("Noor born?") 38. Without SHORT 70 and 14, and 116 of those. WHOLE and LEAST from .5 to .8, and
 * lengths from 2 to 2.4, are level. Statements hold fewer common words, so they are not asked about.
 */
const READABLE = { whole: 0.6, least: 0.6, short: 3 };
/** Letters by themselves ("a", "j'") are a word in every language. */
const WORDS = /\p{L}{2,}/gu;
/** Words that are looked at. */
const WORDS_MOST = 64;

/** Whether a text holds what texts of the model's language hold. */
function isReadable(table: Table, text: string): boolean {
  const begin = text.slice(0, WORDS_MOST * WORD_MOST);
  const words = begin.normalize("NFD").replace(ACCENTS, "").toLowerCase().match(WORDS) ?? [];
  const seen = words.slice(0, WORDS_MOST);
  let [common, whole, strange] = [0, 0, 0];
  for (const word of seen) {
    const row = table.rowOf.get(word);
    if (row !== undefined) whole += 1;
    if (row !== undefined && isCommon(lengthOf(table, row))) common += 1;
    else if (word.length <= READABLE.short) strange += 1;
  }
  return strange === 0 || common + READABLE.whole * whole >= READABLE.least * seen.length;
}

function isCommon(length: number): boolean {
  return length < COMMON_LENGTH && (length < UNTRAINED.least || length > UNTRAINED.most);
}

/** How long the vector of a piece is. */
function lengthOf(table: Table, row: number): number {
  const known = table.lengths[row] as number;
  if (known > 0) return known;
  const vector = new Float64Array(table.dimensions);
  addRow(table, row, vector);
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  table.lengths[row] = length;
  return length;
}

/** The row of "[UNK]": what stands for a word without pieces. */
const UNKNOWN = 100;
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
