/**
 * Bytes with their reading beside them: canonical CBOR taken apart item by item, for the examples
 * of docs/data-format.md.
 *
 * Promise: the hex of all lines, joined, is exactly the input, so that a reader can put it together
 * again. It reads bytes by itself instead of through the codec it explains. What the members mean
 * is an argument.
 */

/** What the page says about a value, and about what is inside it. */
export interface Shape {
  /** Stands before the value: the name of the field. */
  readonly label?: string;
  /** Shapes of map members by key, and of array members by position. */
  readonly members?: Readonly<Record<string, Shape>>;
  /** The shape of every member that `members` does not name. */
  readonly each?: Shape;
  /** Takes a byte string apart that is more than bytes. */
  readonly inside?: (bytes: Uint8Array, depth: number) => readonly Line[];
  /** Says what a byte string is, or what a number stands for. */
  readonly say?: (value: unknown) => string;
}

/** One line: some bytes at a depth, and their reading. */
export interface Line {
  readonly depth: number;
  readonly hex: string;
  readonly text: string;
}

/** Bytes of hex on one line of the page. */
const LINE_BYTES = 16;
/** Where the reading starts; the hex stands before it. */
export const TEXT_COLUMN = 50;

/** Takes one CBOR value apart. */
export function annotate(bytes: Uint8Array, shape: Shape = {}, depth = 0): readonly Line[] {
  const cursor: Cursor = { bytes, at: 0 };
  const lines = readItem(cursor, shape, { depth, before: "" });
  if (cursor.at !== bytes.length) throw new Error("bytes follow the value");
  return lines;
}

/** A line of bytes that are no CBOR. */
export function raw(bytes: Uint8Array, text: string, depth = 0): Line {
  return { depth, hex: hexOf(bytes), text };
}

/** The lines as text; long hex goes on below, under its first byte. */
export function showLines(lines: readonly Line[]): string {
  return lines
    .flatMap(({ depth, hex, text }) => {
      const indent = "  ".repeat(depth);
      const pieces = cut(hex);
      const [first = "", ...rest] = pieces.map((piece) => `${indent}${piece}`);
      return [`${first.padEnd(TEXT_COLUMN)}${text}`.trimEnd(), ...rest];
    })
    .join("\n");
}

/** Two digits a byte. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

/** Where an item stands: how deep, and the bytes of its key, which share its line. */
interface Place {
  readonly depth: number;
  readonly before: string;
}

/** A head: major type, argument, and the bytes it took. */
interface Head {
  readonly major: number;
  readonly argument: number;
  readonly hex: string;
}

function readItem(cursor: Cursor, shape: Shape, place: Place): readonly Line[] {
  const head = readHead(cursor);
  const { depth } = place;
  const open = `${place.before}${place.before === "" ? "" : " "}${head.hex}`;
  const name = shape.label === undefined ? "" : `${shape.label}: `;
  switch (head.major) {
    case 0:
    case 1: {
      const value = head.major === 0 ? head.argument : -1 - head.argument;
      const said = shape.say === undefined ? "" : `, ${shape.say(value)}`;
      return [{ depth, hex: open, text: `${name}${value}${said}` }];
    }
    case 2:
      return readBytes(take(cursor, head.argument), shape, { depth, before: open });
    case 3: {
      const bytes = take(cursor, head.argument);
      const value = new TextDecoder().decode(bytes);
      return [{ depth, hex: `${open} ${hexOf(bytes)}`, text: `${name}${JSON.stringify(value)}` }];
    }
    case 4:
      return [
        { depth, hex: open, text: `${name}array of ${head.argument}` },
        ...readArray(cursor, head.argument, shape, depth + 1),
      ];
    case 5:
      return [
        { depth, hex: open, text: `${name}map of ${head.argument}` },
        ...readMap(cursor, head.argument, shape, depth + 1),
      ];
    default:
      return [{ depth, hex: open, text: `${name}${simpleValue(head)}` }];
  }
}

function readBytes(bytes: Uint8Array, shape: Shape, place: Place): readonly Line[] {
  const { depth, before } = place;
  const name = shape.label === undefined ? "" : `${shape.label}: `;
  if (shape.inside !== undefined) {
    const text = `${name}${bytes.length} bytes, which are`;
    return [{ depth, hex: before, text }, ...shape.inside(bytes, depth + 1)];
  }
  const said = shape.say === undefined ? `${bytes.length} bytes` : shape.say(bytes);
  return [{ depth, hex: `${before} ${hexOf(bytes)}`, text: `${name}${said}` }];
}

function readArray(cursor: Cursor, count: number, shape: Shape, depth: number): Line[] {
  const lines: Line[] = [];
  for (let i = 0; i < count; i++) {
    const member = shape.members?.[String(i)] ?? shape.each ?? {};
    lines.push(...readItem(cursor, member, { depth, before: "" }));
  }
  return lines;
}

function readMap(cursor: Cursor, count: number, shape: Shape, depth: number): Line[] {
  const lines: Line[] = [];
  for (let i = 0; i < count; i++) {
    const key = readHead(cursor);
    if (key.major === 0) {
      const member = shape.members?.[String(key.argument)] ?? shape.each ?? {};
      const label = `${key.argument} ${member.label ?? ""}`.trimEnd();
      lines.push(...readItem(cursor, { ...member, label }, { depth, before: key.hex }));
    } else {
      const bytes = take(cursor, key.argument);
      const name = new TextDecoder().decode(bytes);
      lines.push({ depth, hex: `${key.hex} ${hexOf(bytes)}`, text: `key ${JSON.stringify(name)}` });
      const member = shape.members?.[name] ?? shape.each ?? {};
      lines.push(...readItem(cursor, member, { depth, before: "" }));
    }
  }
  return lines;
}

function readHead(cursor: Cursor): Head {
  const start = cursor.at;
  const [initial = 0] = take(cursor, 1);
  const info = initial & 0x1f;
  const more = info < 24 ? 0 : 2 ** (info - 24);
  let argument = info;
  if (more > 0) argument = take(cursor, more).reduce((value, byte) => value * 256 + byte, 0);
  return { major: initial >> 5, argument, hex: hexOf(cursor.bytes.subarray(start, cursor.at)) };
}

function simpleValue(head: Head): string {
  const simple: Readonly<Record<string, string>> = { f4: "false", f5: "true", f6: "null" };
  return simple[head.hex] ?? `float, bits ${head.hex.slice(2)}`;
}

function take(cursor: Cursor, count: number): Uint8Array {
  const end = cursor.at + count;
  if (end > cursor.bytes.length) throw new Error("the value ends early");
  const piece = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return piece;
}

/** Cuts hex into lines: a group that fits stays on its line, a long one is broken and goes on. */
function cut(hex: string): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const group of hex.split(" ")) {
    for (const [at, piece] of (group.match(PIECES) ?? []).entries()) {
      const fits = at === 0 && line.length + piece.length <= 2 * LINE_BYTES + 6;
      if (line !== "" && !fits) lines.push(line);
      line = line !== "" && fits ? `${line} ${piece}` : piece;
    }
  }
  return [...lines, line];
}

const PIECES = new RegExp(`.{1,${2 * LINE_BYTES}}`, "g");
