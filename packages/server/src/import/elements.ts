/**
 * The objects of a JSON document, one at a time, without holding the document: those of a list, those
 * of lists inside one object (`{ "results": [...], "relations": [...] }`), or objects one after the
 * other. Only the object at hand is in memory.
 *
 * Promise: every object is found exactly once, with the line it starts on. Whether an object is good
 * JSON inside is found by parsing it; a document that ends early, or is none, gives a last item that
 * says so.
 */
import { CortexError } from "@cortex-memory/core";
import { chunksOf, utf8Text } from "./lines.js";
import { attempt, jsonIn, type Unusable } from "./records.js";

/** The longest object that is kept. */
const OBJECT_BYTES_MAX = 4 * 1024 * 1024;

/** One object of a document. */
export interface JsonElement {
  /** `line 7`: where it starts. */
  readonly at: string;
  /** The member whose list it stands in; empty for a list or objects without one. */
  readonly section: string;
  readonly element: { readonly value: unknown } | Unusable;
  /** Bytes read so far. */
  readonly done: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
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
