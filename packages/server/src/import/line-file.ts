/**
 * A file with one JSON value per line as a foreign file: read twice, first for its memories, then for
 * its links, because a link may stand before what it joins.
 */
import { fileBytes, jsonLines } from "./lines.js";
import {
  attempt,
  type ForeignFile,
  isUnusable,
  type LinkRecord,
  type MemoryRecord,
  type Step,
} from "./records.js";

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
