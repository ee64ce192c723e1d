/**
 * A whole hub from one place to another: a folder to a database, a database to a folder, one database to
 * the next. Each graph goes as its journal, the way an export and an import carry it.
 *
 * Promises: every hash, snapshot and root is checked on arrival, and the root that was built is compared
 * with the one that was read; a graph is there whole or not at all. A run that was stopped is continued by
 * the same call: what is there already with the same history is left as it is. A graph that cannot be
 * copied is named with the reason, and the others go on. The source is only read; it may be written to
 * meanwhile, and each graph is copied as it was at one position.
 *
 * What is derived from journals (catalogue, text index, vectors) is built again where it arrives.
 */
import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { importJournal } from "../moves.js";
import type { Hub } from "./hub.js";
import { openHub } from "./open-hub.js";

/** How far a copy is. */
interface CopyProgress {
  readonly graph: string;
  /** Entries of all graphs that are there, and entries of all graphs there are. */
  readonly done: number;
  readonly total: number;
}

/** How a hub is copied. */
export interface CopyHubOptions {
  /** Only these graphs. */
  readonly graphs?: readonly string[];
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** What became of one graph that was not copied. */
interface CopyFailure {
  readonly graph: string;
  readonly code: string;
  readonly message: string;
}

/** What became of a copy. */
export interface CopyHubReport {
  /** Whether every graph is there now. */
  readonly ok: boolean;
  /** Graphs that were copied, and those that were there already with the same history. */
  readonly copied: number;
  readonly same: number;
  /** Entries that were copied. */
  readonly entries: number;
  readonly failed: readonly CopyFailure[];
}

/** Copies every graph of the hub at one location into the hub at another. */
export async function copyHub(
  from: string,
  to: string,
  options: CopyHubOptions = {},
): Promise<CopyHubReport> {
  checkOptions(options, ["graphs", "onProgress"]);
  for (const [field, location] of Object.entries({ from, to })) refuseMemory(field, location);
  // Not named: an address has a password.
  if (from === to) {
    const message = "to: expected another place than from, got the same";
    throw new CortexError("ERR_INVALID", message, { field: "to" });
  }
  await using source = await openHub(from, { create: false });
  await using target = await openHub(to);
  const { graphs, problems } = await source.listGraphs({ includeArchived: true });
  const wanted = chosen(graphs, options.graphs);
  const named = new Set(wanted.map(({ id }) => id));
  const failed: CopyFailure[] = problems
    .filter(({ id }) => options.graphs === undefined || options.graphs.includes(id))
    .filter(({ id }) => !named.has(id))
    .map(({ id, code, message }) => ({ graph: id, code, message }));
  const total = wanted.reduce((sum, { seq }) => sum + seq + 1, 0);
  const counts = { copied: 0, same: 0, entries: 0 };
  let done = 0;
  for (const { id, seq } of wanted) {
    const tell = (entries: number): void =>
      options.onProgress?.({ graph: id, done: done + Math.min(entries, seq + 1), total });
    try {
      const entries = await copyGraph(source, target, { id, to, tell });
      if (entries === undefined) counts.same += 1;
      else counts.copied += 1;
      counts.entries += entries ?? 0;
    } catch (error) {
      if (!isCortexError(error)) throw error;
      failed.push({ graph: id, code: error.code, message: error.message });
    }
    done += seq + 1;
    tell(0);
  }
  return { ok: failed.length === 0, ...counts, failed };
}

function refuseMemory(field: string, location: string): void {
  const [scheme] = typeof location === "string" ? (/^(memory:|https?:)/.exec(location) ?? []) : [];
  if (typeof location === "string" && scheme === undefined) return;
  // An address may have a password: no more of it is named than its beginning.
  throw invalid(field, "a folder or a postgres:// address", scheme ?? location);
}

function chosen<T extends { readonly id: string }>(
  graphs: readonly T[],
  names: readonly string[] | undefined,
): readonly T[] {
  if (names === undefined) return graphs;
  const known = new Map(graphs.map((graph) => [graph.id, graph]));
  return names.map((name) => {
    const graph = known.get(name);
    if (graph !== undefined) return graph;
    throw new CortexError("ERR_NOT_FOUND", `graphs: no graph ${JSON.stringify(name)} to copy`);
  });
}

/** Copies one graph; gives its entries, or `undefined` where it is there already. */
async function copyGraph(
  source: Hub,
  target: Hub,
  { id, to, tell }: { readonly id: string; readonly to: string; tell(entries: number): void },
): Promise<number | undefined> {
  return source.use(id, async (memory) => {
    const there = await target.useIfThere(id, (copy) => copy.root());
    if (there !== undefined) {
      const here = await memory.root();
      if (here.seq === there.seq && here.root === there.root) return undefined;
      throw new CortexError(
        "ERR_EXISTS",
        `graph ${id}: another history is there already, up to seq ${there.seq}; here it reaches seq ${here.seq}. Remove it there and copy again`,
      );
    }
    const pipe = new Pipe();
    const exporting = memory
      .exportJournal((chunk) => pipe.put(chunk))
      .then(
        (report) => {
          pipe.end();
          return report;
        },
        (error: unknown) => {
          pipe.end(error);
          throw error;
        },
      );
    const importing = importJournal(to, pipe.chunks(), { actor: id, onProgress: tell });
    // Whichever fails first says why: the other one only tells that its end of the pipe is gone.
    importing.catch((error: unknown) => pipe.leave(error));
    const [written, read] = await Promise.all([exporting, importing]);
    if (written.root !== read.root) {
      throw new CortexError("ERR_ROOT_MISMATCH", `graph ${id}: the copy has another root`);
    }
    return read.entries;
  });
}

/** Chunks from one side to the other: the writer waits until each was taken. */
class Pipe {
  #waiting: {
    readonly chunk: Uint8Array;
    readonly taken: () => void;
    readonly left: (error: unknown) => void;
  }[] = [];
  #wake: () => void = () => {};
  #end: { readonly error?: unknown } | undefined;
  #left: { readonly error: unknown } | undefined;

  /** Gives a chunk; resolves when it was taken, and fails when nobody takes any more. */
  put(chunk: Uint8Array): Promise<void> {
    if (this.#left !== undefined) return Promise.reject(this.#left.error);
    return new Promise((taken, left) => {
      this.#waiting.push({ chunk, taken, left });
      this.#wake();
    });
  }

  /** No more chunks; with an error, because the writer failed. */
  end(error?: unknown): void {
    this.#end = error === undefined ? {} : { error };
    this.#wake();
  }

  /** Nobody takes any more. */
  leave(error: unknown): void {
    this.#left = { error };
    for (const { left } of this.#waiting.splice(0)) left(error);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined) {
        yield first.chunk;
        first.taken();
        continue;
      }
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
