/**
 * What a record means for a store that may have it already, and the items that bring it in. Pure.
 */
import { isDeepStrictEqual } from "node:util";
import type { BatchItem, Memory, Options, UpdateInput, WriteInput } from "@cortex-memory/core";
import { headFields, VERSION_MAX, versionFields, writeFields } from "@cortex-memory/core/contract";
import type { MemoryRecord, VersionDraft } from "./records.js";

/** Who writes what an import brings, unless the file names somebody. */
export const IMPORTER = "import";

/** What is to be done about a record. */
export type Decision =
  | { readonly what: "add" }
  /** Versions from this place of the list on are missing. */
  | { readonly what: "append"; readonly from: number; readonly memory: Memory }
  | { readonly what: "unchanged" }
  | { readonly what: "skip"; readonly reason: string };

const HEAD_FIELDS = Object.keys(headFields) as readonly (keyof typeof headFields)[];

const CHANGED_HERE = "the memory was changed here since; it stays as it is";

/** Compares a record with the memory that the store has under its id. */
export function decide(record: MemoryRecord, memory: Memory | undefined): Decision {
  if (memory === undefined) return { what: "add" };
  const { versions } = record;
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error("a record has no version");
  if (memory.head.lifecycle === "tombstoned") {
    return { what: "skip", reason: "the memory was hidden here since; it stays hidden" };
  }
  if (memory.type !== newest.input.type) {
    return { what: "skip", reason: `a memory of type ${memory.type} has this id here` };
  }
  if (record.numbered === true) return byNumber(versions, memory);
  if (saysTheSame(memory, newest.input)) return { what: "unchanged" };
  const isOurs = memory.versionRecord.createdBy === (newest.input.by ?? IMPORTER);
  if (!isOurs) return { what: "skip", reason: CHANGED_HERE };
  return { what: "append", from: versions.length - 1, memory };
}

/** Version n there is version n here, so what is missing is what comes behind. */
function byNumber(versions: readonly VersionDraft[], memory: Memory): Decision {
  const count = memory.head.version;
  const last = versions[count - 1];
  if (last === undefined || !saysTheSame(memory, last.input)) {
    return { what: "skip", reason: CHANGED_HERE };
  }
  return count === versions.length
    ? { what: "unchanged" }
    : { what: "append", from: count, memory };
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
  return isDeepStrictEqual(plain(a), plain(b));
}

/** A value as JSON says it: a stored object has no prototype, and that is no difference. */
function plain(value: unknown): unknown {
  if (typeof value === "object" && value !== null) return JSON.parse(JSON.stringify(value));
  return value === "" || value === null ? undefined : value;
}

/** The items that write a record with all its versions. */
export function addItems({ ref, versions }: MemoryRecord): readonly BatchItem[] {
  const [first, ...later] = versions;
  const newest = versions.at(-1);
  if (first === undefined || newest === undefined) throw new Error("a record has no version");
  // Tags, kind and the like belong to the memory: from the start those of its newest version.
  const head = Object.fromEntries(
    HEAD_FIELDS.map((name) => [name, newest.input[name]] as const).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const body = Object.fromEntries(
    Object.entries(first.input).filter(
      ([name, value]) => value !== undefined && !Object.hasOwn(headFields, name),
    ),
  );
  const { type, by = IMPORTER, source = "imported" } = first.input;
  return [
    { write: { ...body, ...head, type, by, source } },
    ...later.map((draft) => updateItem(ref, draft)),
  ];
}

/** The items that append the versions of a record from one on. */
export function appendItems({ ref, versions }: MemoryRecord, from: number): readonly BatchItem[] {
  return versions.slice(from).map((draft) => updateItem(ref, draft));
}

/** Whether a field of a write is given once, with the first version, and not with later ones. */
function isOnce(name: string): boolean {
  const isLater = Object.hasOwn(versionFields, name) || name === "by";
  return Object.hasOwn(writeFields, name) && !isLater;
}

function updateItem(id: string, { input, rival }: VersionDraft): BatchItem {
  const body = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => value !== undefined && !isOnce(name)),
  ) as UpdateInput;
  return {
    update: {
      ...body,
      id,
      by: input.by ?? IMPORTER,
      provenance: { ...input.provenance, source: input.source ?? "imported" },
      // A version that no memory reaches: under policy manual the update becomes a rival.
      ...(rival === true ? { basedOnVersion: VERSION_MAX } : {}),
    },
  };
}

/** What the newest version of a record changes beside the content; `undefined` when nothing. */
export function headPatch(
  { versions }: MemoryRecord,
  memory: Memory,
): Options<"updateHead"> | undefined {
  const input = versions.at(-1)?.input;
  if (input === undefined) return undefined;
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
