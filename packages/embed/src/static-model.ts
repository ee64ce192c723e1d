/**
 * The static model: one vector a word piece, kept in 4 bits; a text's vector is the mean of its
 * pieces' vectors plus a bias, brought to unit length.
 *
 * Promise: the same bytes of the model and the same text give the same bits on every machine: only
 * additions, multiplications, divisions and square roots of doubles, in one order, rounded once at the
 * end. The file's format is in `tools/distill/README.md`; a file that is not one is refused here.
 */
import { piecesOf, UNKNOWN } from "./word-pieces.js";

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
}

/** Reads a model from the bytes of its file. */
export function readModel(bytes: Uint8Array): StaticModel {
  const table = readTable(bytes);
  return { dimensions: table.dimensions, vectorOf: (text) => vectorOf(table, text) };
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
