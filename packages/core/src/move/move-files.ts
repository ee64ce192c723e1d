/**
 * Files of exports and backups: where chunks go, where they come from.
 *
 * Promise: a file under the name that was asked for is complete and on the disk. It is written under
 * another name beside it, synced, and renamed; whatever stops the work leaves no file of that name.
 * Files are created 0600, because they hold what the store holds.
 */
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ByteSink, ExportTarget } from "../contract/move.js";
import { CortexError, invalid } from "../errors.js";

/** Where an export comes from: the path of a file, or its chunks (a readable stream, for instance). */
export type ImportSource = string | AsyncIterable<Uint8Array>;

/** Writes chunks to a target and gives what the generator returned. */
export async function writeOut<T>(
  target: ExportTarget,
  chunks: AsyncGenerator<Uint8Array, T>,
  options: { readonly overwrite?: boolean } = {},
): Promise<T> {
  try {
    return await writeVia(target, (sink) => pump(chunks, sink), options);
  } finally {
    // Gives back what the generator holds, also when it was never asked for anything.
    await chunks.return(undefined as T);
  }
}

/** Gives `produce` the sink of a target; a file gets its name once `produce` is done. */
export async function writeVia<T>(
  target: ExportTarget,
  produce: (sink: ByteSink) => Promise<T>,
  options: { readonly overwrite?: boolean } = {},
): Promise<T> {
  if (typeof target === "function") return produce(target);
  if (typeof target === "string" && target !== "") {
    return writeFileWhole(resolve(target), produce, options.overwrite === true);
  }
  throw invalid("target", "the path of a file, or a function that takes chunks", target);
}

async function pump<T>(chunks: AsyncGenerator<Uint8Array, T>, sink: ByteSink): Promise<T> {
  for (;;) {
    const next = await chunks.next();
    if (next.done === true) return next.value;
    await sink(next.value);
  }
}

async function writeFileWhole<T>(
  path: string,
  produce: (sink: ByteSink) => Promise<T>,
  overwrite: boolean,
): Promise<T> {
  if (!overwrite && (await exists(path))) {
    throw new CortexError("ERR_EXISTS", `${path} is there already`, { field: "target" });
  }
  const partial = `${path}.partial-${process.pid}`;
  try {
    const file = await open(partial, "w", 0o600);
    let result: T;
    try {
      result = await produce((chunk) => writeAll(file, chunk));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    await rm(partial, { force: true });
    throw fileError(error, `cannot write ${path}`);
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    done += (await file.write(chunk, done, chunk.length - done)).bytesWritten;
  }
}

/** The name itself must survive a power cut; Windows has no such call and no such need. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The chunks of a source. */
export function readIn(source: ImportSource): AsyncIterable<Uint8Array> {
  if (typeof source === "string" && source !== "") return fileChunks(resolve(source));
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) {
    return source;
  }
  throw invalid("source", "the path of a file, or its chunks", source);
}

async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fileError(error, `cannot read ${path}`);
  }
}

function fileError(error: unknown, what: string): unknown {
  if (error instanceof CortexError || !(error instanceof Error) || !("code" in error)) return error;
  const code = error.code === "ENOSPC" || error.code === "EDQUOT" ? "ERR_DISK_FULL" : "ERR_STORAGE";
  return new CortexError(code, `${what}: ${error.message}`, {}, error);
}
