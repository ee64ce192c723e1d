/**
 * The records of a foreign file, one at a time: a file of any length takes the memory of its longest record.
 *
 * Lines as JSON: blank lines are passed over; a line that is no JSON, or longer than any record can be, is an
 * item that says so, and the lines behind it are read all the same. Such a file is read twice, first for its memories,
 * then for its links, because a link may stand before what it joins.
 *
 * Objects of one JSON document, without holding the document: those of a list, those of lists inside one object
 * (`{ "results": [...], "relations": [...] }`), or objects one after the other. Every object is found exactly once,
 * with the line it starts on. Whether it is good JSON inside is found by parsing it; a document that ends early, or is
 * none, gives a last item that says so.
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

/** The size of a file; refuses what is none. */
export function fileBytes(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return found.size;
  const what = found === undefined ? "there is no such file" : "it is no file";
  throw new CortexError("ERR_STORAGE", `cannot read ${path}: ${what}`, { field: "file" });
}

/** The chunks of a file; a failure of the disk names the file. */
async function* chunksOf(path: string): AsyncGenerator<Buffer> {
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
export async function* jsonLines(path: string): AsyncGenerator<JsonElement> {
  for await (const { at, line, done } of textLines(path)) {
    if (isUnusable(line)) yield { at, section: "", element: line, done };
    else if (line.text.trim() !== "") {
      const element = attempt(at, () => ({ value: jsonIn(line.text, "line") }));
      yield { at, section: "", element, done };
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
function utf8Text(bytes: Uint8Array): string {
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

/** Where the elements of a file come from, and what they mean; one that is neither memory nor link is refused. */
interface ElementReader {
  /** Read twice from its start on. */
  elements(path: string): AsyncIterable<JsonElement>;
  /** The memories of an element; none for one of links. */
  memories(value: unknown, at: string, section: string): readonly MemoryRecord[];
  /** The links of an element. */
  links(value: unknown, at: string, section: string): readonly LinkRecord[];
}

/** Opens a file of lines, or of one document. */
export function openElements(path: string, reader: ElementReader): ForeignFile {
  const bytes = fileBytes(path);
  return {
    graphs: undefined,
    total: 2 * bytes,
    unit: "bytes",
    async *memories(): AsyncGenerator<Step<MemoryRecord>> {
      for await (const { at, section, element, done } of reader.elements(path)) {
        const items = isUnusable(element)
          ? element
          : attempt(at, () => reader.memories(element.value, at, section));
        if (isUnusable(items)) yield { item: items, done };
        else for (const item of items) yield { item, done };
      }
    },
    async *links(): AsyncGenerator<Step<LinkRecord>> {
      for await (const { at, section, element, done } of reader.elements(path)) {
        // What is no record was met, and judged, on the first way through.
        if (isUnusable(element)) continue;
        const { value } = element;
        const memories = attempt(at, () => reader.memories(value, at, section));
        if (isUnusable(memories)) continue;
        const items = attempt(at, () => reader.links(value, at, section));
        if (isUnusable(items)) yield { item: items, done: bytes + done };
        else for (const item of items) yield { item, done: bytes + done };
      }
    },
    close: async () => {},
  };
}

/** The longest object that is kept. */
const OBJECT_BYTES_MAX = 4 * 1024 * 1024;

/** One line, or one object of a document. */
interface JsonElement {
  /** `line 7`: where it starts. */
  readonly at: string;
  /** The member whose list it stands in; empty for lines, and for a list or objects without one. */
  readonly section: string;
  readonly element: { readonly value: unknown } | Unusable;
  /** Bytes read so far. */
  readonly done: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set(Buffer.from("{["));
const CLOSING: ReadonlySet<number> = new Set(Buffer.from("}]"));
const [CURLY = 0, SQUARE = 0] = Buffer.from("{[");
/** What may stand between objects. */
const BETWEEN: ReadonlySet<number> = new Set(Buffer.from(" \t\r\n,\uFEFF"));
/** Longer names are none that anybody asks for. */
const NAME_BYTES_MAX = 64;

/** The objects of a document; `sections` are the members whose lists hold them. */
export async function* jsonElements(
  path: string,
  sections: readonly string[],
): AsyncGenerator<JsonElement> {
  const scanner = new Scanner(sections);
  let read = 0;
  for await (const chunk of chunksOf(path)) {
    for (const found of scanner.scan(chunk)) yield { ...found, done: read + found.done };
    read += chunk.length;
    if (scanner.hasFailed) return;
  }
  const end = scanner.end();
  if (end !== undefined) yield { ...end, done: read };
}

class Scanner {
  readonly #sections: readonly string[];
  /** Brackets that are open. */
  #depth = 0;
  /** How many brackets are open around an object that is looked for; grows when a list is met. */
  #level = 0;
  #line = 1;
  #inText = false;
  #isEscaped = false;
  #section: string | undefined = "";
  /** The text that was read last where names of members stand. */
  #name: number[] = [];
  #pieces: Buffer[] | undefined;
  #bytes = 0;
  #startLine = 1;
  hasFailed = false;

  constructor(sections: readonly string[]) {
    this.#sections = sections;
  }

  *scan(chunk: Buffer): Generator<JsonElement> {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === NEWLINE) this.#line += 1;
      if (this.#inText) {
        this.#text(byte);
      } else if (byte === QUOTE) {
        this.#inText = true;
        this.#name = [];
      } else if (OPENING.has(byte)) {
        if (this.#opens(byte)) from = at;
      } else if (CLOSING.has(byte)) {
        if (this.#closes()) {
          this.#keep(chunk.subarray(from, at + 1));
          yield this.#finish(at + 1);
        }
      }
      if (this.#isStray(byte)) {
        yield this.#fail("expected a JSON list or objects, got something else", at);
        return;
      }
    }
    if (this.#pieces !== undefined) this.#keep(chunk.subarray(from));
  }

  /** What is wrong with the end of the document, if anything. */
  end(): JsonElement | undefined {
    if (this.#depth === 0 && !this.#inText) return undefined;
    return this.#fail("expected a whole document, got one that ends early", 0);
  }

  #text(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#inText = false;
    else if (this.#depth === 1 && this.#name.length < NAME_BYTES_MAX) this.#name.push(byte);
  }

  /** Opens a bracket; whether an object that is looked for begins with it. */
  #opens(byte: number): boolean {
    const outer = this.#depth;
    this.#depth += 1;
    if (byte === SQUARE && outer === 0) {
      this.#level = 1;
      return false;
    }
    const name = Buffer.from(this.#name).toString("latin1");
    if (byte === SQUARE && outer === 1 && this.#level !== 1 && this.#sections.includes(name)) {
      // The object around it is a frame and no record.
      this.#pieces = undefined;
      this.#level = 2;
      this.#section = name;
      return false;
    }
    if (byte !== CURLY || outer !== this.#level || this.#section === undefined) return false;
    this.#pieces = [];
    this.#bytes = 0;
    this.#startLine = this.#line;
    return true;
  }

  /** Closes a bracket; whether an object that was looked for ends with it. */
  #closes(): boolean {
    this.#depth -= 1;
    if (this.#level === 2 && this.#depth === 1) this.#section = undefined;
    return this.#pieces !== undefined && this.#depth === this.#level;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes <= OBJECT_BYTES_MAX) this.#pieces?.push(piece);
  }

  #finish(done: number): JsonElement {
    const at = `line ${this.#startLine}`;
    const pieces = this.#pieces ?? [];
    const isKept = this.#bytes <= OBJECT_BYTES_MAX;
    this.#pieces = undefined;
    const element = attempt(at, () => {
      if (!isKept) {
        const message = `record: expected at most ${OBJECT_BYTES_MAX} bytes, got more`;
        throw new CortexError("ERR_TOO_LARGE", message, { field: "record" });
      }
      return { value: jsonIn(utf8Text(Buffer.concat(pieces)), "record") };
    });
    return { at, section: this.#section ?? "", element, done };
  }

  /** Whether a byte stands where only objects may, and is none of them. */
  #isStray(byte: number): boolean {
    if (this.#depth < 0) return true;
    if (this.#pieces !== undefined || this.#section === undefined) return false;
    if (this.#depth !== this.#level) return false;
    return !(OPENING.has(byte) || CLOSING.has(byte) || BETWEEN.has(byte));
  }

  #fail(message: string, done: number): JsonElement {
    this.hasFailed = true;
    const at = `line ${this.#line}`;
    const element = {
      at,
      unusable: "bad",
      code: "ERR_INVALID",
      message: `file: ${message}`,
    } as const;
    return { at, section: "", element, done };
  }
}
