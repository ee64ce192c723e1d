/**
 * Exports and backups over HTTP: the file goes to its sink as it comes, and is read on the way, so that
 * one that broke off or was changed is found, and the report is what the file says.
 */
import { equalBytes, toHex } from "../codec/keys.js";
import { hasherPure } from "../codec/sha256-pure.js";
import type { ByteSink, ExportReport } from "../contract/move.js";
import { CortexError, invalid } from "../errors.js";
import {
  decodeErased,
  decodeExportHeader,
  decodeExportTrailer,
  type ExportHeader,
  FRAME,
  malformed,
  readFrames,
  startErased,
} from "../journal/export-format.js";

/** Entries between two calls of `onProgress`. */
const PROGRESS_ENTRIES = 1000;

/** The sink of a target; a path needs a file system, which `node-files.ts` has. */
export function sinkOf(target: unknown): ByteSink {
  if (typeof target === "function") return target as ByteSink;
  if (typeof target !== "string") throw invalid("target", "a function that takes chunks", target);
  throw new CortexError(
    "ERR_UNSUPPORTED",
    "target: expected a function that takes chunks, because the client of a server writes no files",
    { field: "target" },
  );
}

/** Hands a file on and reads it. */
export async function download(
  body: ReadableStream<Uint8Array>,
  sink: ByteSink,
  onProgress: ((done: number, total: number) => void) | undefined,
): Promise<ExportReport> {
  const hasher = hasherPure();
  const erased = startErased();
  let header: ExportHeader | undefined;
  let entries = 0;
  for await (const { tag, payload } of readFrames(handedOn(body, sink), hasher)) {
    if (header === undefined) {
      if (tag !== FRAME.header) throw malformed("it does not start with its header");
      header = decodeExportHeader(payload);
      continue;
    }
    const total = header.size - header.from;
    if (tag === FRAME.erased) decodeErased(payload, header.size, erased);
    if (tag === FRAME.entry) {
      entries += 1;
      if (entries % PROGRESS_ENTRIES === 0) onProgress?.(entries, total);
    }
    if (tag !== FRAME.trailer) continue;
    const trailer = decodeExportTrailer(payload);
    const isWhole = entries === total && trailer.entries === total;
    if (!isWhole) throw malformed(`it holds ${entries} entries, expected ${total}`);
    if (!equalBytes(trailer.sum, hasher.digest()) || !equalBytes(trailer.root, header.root)) {
      throw malformed("its bytes are not those its trailer speaks of");
    }
    onProgress?.(entries, total);
    const { from, size, root } = header;
    return { entries, from, seq: size - 1, root: toHex(root), erased: erased.end().length };
  }
  throw malformed("it ends before its trailer");
}

async function* handedOn(
  body: ReadableStream<Uint8Array>,
  sink: ByteSink,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      await sink(value);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
