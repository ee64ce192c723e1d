/**
 * Memories of a file into a store, a thousand items to a commit; what a record means for a store that may
 * have it already, and the items that bring it in.
 *
 * Each record is compared with what the store has under the same id: what says the same is left alone, what is
 * new is written, what the file says anew becomes a version, and what was changed or hidden here since stays as
 * it is. So a run that was cut off goes on with the next one, and one that was not adds nothing.
 *
 * A dry run takes every step but the last: what it would write is written to a store in memory that
 * is thrown away, so that it finds the same bad records.
 */

import { isDeepStrictEqual } from "node:util";
import {
  type BatchItem,
  type Cortex,
  type CortexError,
  type ErrorCode,
  isCortexError,
  type Memory,
  type Options,
  open,
  type UpdateInput,
  type WriteInput,
} from "@cortex-memory/core";
import { headFields, versionFields, writeFields } from "@cortex-memory/core/contract";
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

/** Who writes what an import brings, unless the file names somebody. */
export const IMPORTER = "import";

/** What is to be done about a record. */
type Decision =
  | { readonly what: "add" }
  /** It says something else than the memory that is there. */
  | { readonly what: "append"; readonly memory: Memory }
  | { readonly what: "unchanged" }
  | { readonly what: "skip"; readonly reason: string };

const HEAD_FIELDS = Object.keys(headFields) as readonly (keyof typeof headFields)[];

/** Why what was changed here is left alone. */
export const CHANGED_HERE = "the memory was changed here since; it stays as it is";
/** Why what was hidden here is left alone. */
export const HIDDEN_HERE = "the memory was hidden here since; it stays hidden";

/** Compares a record with the memory that the store has under its id. */
function decide(record: MemoryRecord, memory: Memory | undefined): Decision {
  if (memory === undefined) return { what: "add" };
  const { input } = record;
  if (memory.head.lifecycle === "tombstoned") return { what: "skip", reason: HIDDEN_HERE };
  if (memory.type !== input.type) {
    return { what: "skip", reason: `a memory of type ${memory.type} has this id here` };
  }
  if (saysTheSame(memory, input)) return { what: "unchanged" };
  const isOurs = memory.versionRecord.createdBy === (input.by ?? IMPORTER);
  return isOurs ? { what: "append", memory } : { what: "skip", reason: CHANGED_HERE };
}

/** Whether a memory says what a write would say; what a note does not say counts as well. */
function saysTheSame(memory: Memory, input: WriteInput): boolean {
  if (input.text !== undefined && input.text !== memory.text) return false;
  const loose = Object.entries(input).filter(([name]) => !Object.hasOwn(writeFields, name));
  const said: { readonly [name: string]: unknown } = {
    ...Object.fromEntries(loose),
    ...input.data,
  };
  const stored = memory.data as unknown as { readonly [name: string]: unknown };
  const names = new Set(Object.keys(said));
  if (memory.type === "note") for (const name of Object.keys(stored)) names.add(name);
  return [...names].every((name) => {
    if (name === "content" && input.text !== undefined) return true;
    return isSame(stored[name], said[name]);
  });
}

/** Whether two values are the same JSON; what is empty is as good as not there. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(asJson(a), asJson(b));
}

/** A value as JSON says it: a stored object has no prototype, and that is no difference. */
function asJson(value: unknown): unknown {
  if (typeof value === "object" && value !== null) return JSON.parse(JSON.stringify(value));
  return value === "" || value === null ? undefined : value;
}

/** The item that writes a record. */
function addItem({ input }: MemoryRecord): BatchItem {
  const said = Object.entries(input).filter(([, value]) => value !== undefined);
  const { type, by = IMPORTER, source = "imported" } = input;
  return { write: { ...Object.fromEntries(said), type, by, source } };
}

/** Whether a field of a write is given once, with the first version, and not with later ones. */
function isOnce(name: string): boolean {
  const isLater = Object.hasOwn(versionFields, name) || name === "by";
  return Object.hasOwn(writeFields, name) && !isLater;
}

/** The item that appends what a record says as a version. */
function appendItem({ ref, input }: MemoryRecord): BatchItem {
  const body = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => value !== undefined && !isOnce(name)),
  ) as UpdateInput;
  return {
    update: {
      ...body,
      id: ref,
      by: input.by ?? IMPORTER,
      provenance: { ...input.provenance, source: input.source ?? "imported" },
    },
  };
}

/** What a record changes beside the content; `undefined` when nothing. */
function headPatch({ input }: MemoryRecord, memory: Memory): Options<"updateHead"> | undefined {
  const head = memory.head as unknown as { readonly [name: string]: unknown };
  const changed = HEAD_FIELDS.filter(
    (name) => input[name] !== undefined && !isSame(input[name], head[name]),
  );
  if (changed.length === 0) return undefined;
  const patch = Object.fromEntries(
    changed.map((name) => [name, input[name]]),
  ) as Options<"updateHead">;
  return { ...patch, by: input.by ?? IMPORTER, source: input.source ?? "imported" };
}

/** About how much a write holds. */
export function charsOf(value: unknown, depth = 4): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth === 0) return 8;
  return Object.values(value).reduce<number>((sum, member) => sum + charsOf(member, depth - 1), 8);
}
