/**
 * Lines of a text file as JSON, one at a time: a file of any length takes the memory of its longest
 * line. Blank lines are passed over; a line that is no JSON, or longer than any record can be, is an
 * item that says so, and the lines behind it are read all the same.
 *
 * A file with one JSON value per line as a foreign file: read twice, first for its memories, then for
 * its links, because a link may stand before what it joins.
 */
import { createReadStream, statSync } from "node:fs";
import { CortexError } from "@cortex-memory/core";
import {
  attempt,
  type ForeignFile,
  isUnusable,
  jsonIn,
  type LinkRecord,
  type MemoryRecord,
  type Step,
  type Unusable,
} from "./records.js";

/** The longest line that is kept; a memory with every field at its limit is smaller. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;

const NEWLINE = 0x0a;
const MARK = Buffer.from("\uFEFF");

/** One line. */
export interface JsonLine {
  /** `line 7`. */
  readonly at: string;
  /** Its value, or why it has none. */
  readonly line: { readonly value: unknown } | Unusable;
  /** Bytes read so far, this line included. */
  readonly done: number;
}

/** The size of a file; refuses what is none. */
export function fileBytes(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return found.size;
  const what = found === undefined ? "there is no such file" : "it is no file";
  throw new CortexError("ERR_STORAGE", `cannot read ${path}: ${what}`, { field: "file" });
}

/** The chunks of a file; a failure of the disk names the file. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new CortexError("ERR_STORAGE", `cannot read ${path}: ${error.message}`, {}, error);
  }
}

/** A line as text. */
export interface TextLine {
  readonly at: string;
  readonly line: { readonly text: string } | Unusable;
  readonly done: number;
}

/** The lines of a file, without the mark that a text may begin with. */
export async function* textLines(path: string): AsyncGenerator<TextLine> {
  let number = 0;
  let done = 0;
  for await (const bytes of rawLines(path)) {
    number += 1;
    done += bytes.length + 1;
    const at = `line ${number}`;
    const { kept } = bytes;
    if (kept === undefined) {
      yield { at, line: tooLong(at), done };
      continue;
    }
    const start = number === 1 && kept.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
    yield { at, line: attempt(at, () => ({ text: utf8Text(kept.subarray(start)) })), done };
  }
}

/** The lines of a file that are not blank. */
export async function* jsonLines(path: string): AsyncGenerator<JsonLine> {
  for await (const { at, line, done } of textLines(path)) {
    if (isUnusable(line)) yield { at, line, done };
    else if (line.text.trim() !== "") {
      yield { at, line: attempt(at, () => ({ value: jsonIn(line.text, "line") })), done };
    }
  }
}

interface RawLine {
  readonly length: number;
  /** `undefined` when it was too long to keep. */
  readonly kept: Buffer | undefined;
}

async function* rawLines(path: string): AsyncGenerator<RawLine> {
  let pieces: Buffer[] = [];
  let length = 0;
  const end = (): RawLine => {
    const kept = length > LINE_BYTES_MAX ? undefined : Buffer.concat(pieces);
    const line = { length, kept };
    pieces = [];
    length = 0;
    return line;
  };
  const add = (piece: Buffer): void => {
    length += piece.length;
    if (length > LINE_BYTES_MAX) pieces = [];
    else pieces.push(piece);
  };
  for await (const chunk of chunksOf(path)) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, to));
      yield end();
      from = to + 1;
    }
    add(chunk.subarray(from));
  }
  if (length > 0) yield end();
}

const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Well-formed text, or `ERR_ILL_FORMED`. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch (cause) {
    const message = "line: expected well-formed UTF-8, got other bytes";
    throw new CortexError("ERR_ILL_FORMED", message, { field: "line" }, cause);
  }
}

function tooLong(at: string): Unusable {
  const message = `line: expected at most ${LINE_BYTES_MAX} bytes, got more`;
  return { at, unusable: "bad", code: "ERR_TOO_LARGE", message };
}

/** What the lines of a program mean; a line that is neither memory nor link is refused. */
export interface LineReader {
  /** The memories of a line; none for a line of links. */
  memories(value: unknown, at: string): readonly MemoryRecord[];
  /** The links of a line. */
  links(value: unknown, at: string): readonly LinkRecord[];
}

/** Opens a file of lines. */
export function openLines(path: string, reader: LineReader): ForeignFile {
  const bytes = fileBytes(path);
  return {
    graphs: undefined,
    total: 2 * bytes,
    unit: "bytes",
    async *memories(): AsyncGenerator<Step<MemoryRecord>> {
      for await (const { at, line, done } of jsonLines(path)) {
        const items = isUnusable(line) ? line : attempt(at, () => reader.memories(line.value, at));
        if (isUnusable(items)) yield { item: items, done };
        else for (const item of items) yield { item, done };
      }
    },
    async *links(): AsyncGenerator<Step<LinkRecord>> {
      for await (const { at, line, done } of jsonLines(path)) {
        // What is no record was met, and judged, on the first way through.
        if (isUnusable(line)) continue;
        const isMemory = attempt(at, () => reader.memories(line.value, at));
        if (isUnusable(isMemory)) continue;
        const items = attempt(at, () => reader.links(line.value, at));
        if (isUnusable(items)) yield { item: items, done: bytes + done };
        else for (const item of items) yield { item, done: bytes + done };
      }
    },
    close: async () => {},
  };
}
