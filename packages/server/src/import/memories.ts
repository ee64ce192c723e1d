/**
 * Memories of a file into a store, a thousand items to a commit.
 *
 * Each record is held against what the store has under the same id: what says the same is left alone,
 * what is new is written, what the file says anew becomes a version, and what was changed or hidden
 * here since stays as it is. So a run that was cut off goes on with the next one, and one that was
 * not adds nothing.
 *
 * A dry run takes every step but the last: what it would write is written to a store in memory that
 * is thrown away, so that it finds the same bad records.
 */
import {
  type BatchItem,
  type Cortex,
  type CortexError,
  type ErrorCode,
  isCortexError,
  type Memory,
  open,
} from "@cortex-memory/core";
import { addItem, appendItem, charsOf, type Decision, decide, headPatch } from "./decide.js";
import type { Target } from "./foreign.js";
import { badRecord, type ForeignFile, type MemoryRecord } from "./records.js";
import { drain, type Tally } from "./tally.js";

/** What an import works with. */
export interface ImportWork {
  readonly file: ForeignFile;
  readonly target: Target;
  readonly tally: Tally;
  readonly dryRun: boolean;
  /** In a dry run: the memories that the file has, for its links. */
  readonly known: KnownRefs;
  readonly onProgress: (done: number) => void;
}

/** Which memories a file has, by graph. */
export class KnownRefs {
  readonly #refs = new Map<string, Set<string>>();

  add(graph: string | undefined, ref: string): void {
    const refs = this.#refs.get(graph ?? "") ?? new Set();
    this.#refs.set(graph ?? "", refs.add(ref));
  }

  has(graph: string | undefined, ref: string): boolean {
    return this.#refs.get(graph ?? "")?.has(ref) === true;
  }
}

/** Brings the memories of a file in. */
export async function importMemories(work: ImportWork): Promise<void> {
  await drain(
    work.file.memories(),
    {
      bringIn: (records) => bringIn(work, records),
      charsOf: ({ input }) => charsOf(input),
      nameOf: ({ ref }) => ref,
    },
    work,
  );
}

interface Planned {
  readonly record: MemoryRecord;
  readonly decision: Extract<Decision, { readonly what: "add" | "append" }>;
}

/**
 * Brings records in. A store that is new is not asked what it has: a record that the file repeats is
 * refused by the write, and then looked up.
 */
async function bringIn(
  work: ImportWork,
  records: readonly MemoryRecord[],
  lookUp = !work.target.isNew(records[0]?.graph),
): Promise<void> {
  const { target, tally, dryRun, known } = work;
  const graph = records[0]?.graph;
  const repeated = await target.use(graph, async (memory) => {
    const planned: Planned[] = [];
    const existing = await Promise.all(
      records.map((record) => (lookUp ? existingOf(memory, record.ref) : undefined)),
    );
    for (const [at, record] of records.entries()) {
      const found = existing[at];
      if (isCortexError(found)) {
        tally.unusable(badRecord(record.at, found));
        if (tally.hasStopped) break;
        continue;
      }
      if (dryRun) known.add(graph, record.ref);
      const decision = decide(record, found);
      if (decision.what === "skip") tally.skip(record.at, decision.reason);
      else if (decision.what === "unchanged") tally.memory(graph, "unchanged");
      else planned.push({ record, decision });
    }
    if (planned.length === 0) return [];
    if (dryRun || memory === undefined) return tryOut(work, planned);
    return writeAll(work, memory, planned, lookUp);
  });
  if (repeated.length > 0) await bringIn(work, repeated, true);
}

/** How a text that can be no id is refused. */
const NO_ID: readonly ErrorCode[] = [
  "ERR_BAD_ID",
  "ERR_BAD_URI",
  "ERR_ACTOR_MISMATCH",
  "ERR_ILL_FORMED",
];

/** What the store has under the id of a record; the failure when it can be no id at all. */
export async function existingOf(
  memory: Cortex | undefined,
  ref: string,
): Promise<Memory | CortexError | undefined> {
  try {
    return await memory?.get(ref);
  } catch (error) {
    if (isCortexError(error) && NO_ID.includes(error.code)) return error;
    throw error;
  }
}

/** Writes what is planned and counts what became of it; gives what proved to be there unasked. */
async function writeAll(
  work: ImportWork,
  memory: Cortex,
  planned: readonly Planned[],
  lookedUp: boolean,
): Promise<readonly MemoryRecord[]> {
  // Tags and the like first: a run that is cut off in between finds the version still missing.
  await Promise.all(
    planned.flatMap(({ record, decision }) => {
      const patch = decision.what === "append" ? headPatch(record, decision.memory) : undefined;
      return patch === undefined ? [] : [memory.updateHead(record.ref, patch)];
    }),
  );
  const items = planned.map(({ record, decision }) =>
    decision.what === "add" ? addItem(record) : appendItem(record),
  );
  return commit(work, memory, { planned, items, lookedUp });
}

/** Writes what is planned to a store that is thrown away. */
async function tryOut(
  work: ImportWork,
  planned: readonly Planned[],
): Promise<readonly MemoryRecord[]> {
  await using scratch = await open("memory:");
  const items = planned.map(({ record }) => addItem(record));
  return await commit(work, scratch, { planned, items, lookedUp: true });
}

async function commit(
  { tally }: ImportWork,
  memory: Cortex,
  what: {
    readonly planned: readonly Planned[];
    readonly items: readonly BatchItem[];
    readonly lookedUp: boolean;
  },
): Promise<readonly MemoryRecord[]> {
  const { planned, items, lookedUp } = what;
  // A bad item leaves nothing and does not disturb the others of its commit.
  const { results } = await memory.batch(items, { atomic: false });
  const repeated: MemoryRecord[] = [];
  for (const [at, { record, decision }] of planned.entries()) {
    const result = results[at];
    const failure = result?.ok === false ? result.error : undefined;
    if (failure?.code === "ERR_EXISTS" && !lookedUp) repeated.push(record);
    else if (failure !== undefined) tally.unusable(badRecord(record.at, plain(failure)));
    else tally.memory(record.graph, decision.what === "add" ? "added" : "updated");
  }
  return repeated;
}

/** The failure of an item without its place in the batch, which says nothing about the file. */
export function plain(error: CortexError): CortexError {
  return isCortexError(error.cause) ? error.cause : error;
}
