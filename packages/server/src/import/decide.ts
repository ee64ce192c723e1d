/**
 * What a record means for a store that may have it already, and the items that bring it in. Pure.
 */
import { isDeepStrictEqual } from "node:util";
import type { BatchItem, Memory, Options, UpdateInput, WriteInput } from "@cortex-memory/core";
import { headFields, versionFields, writeFields } from "@cortex-memory/core/contract";
import type { MemoryRecord } from "./records.js";

/** Who writes what an import brings, unless the file names somebody. */
export const IMPORTER = "import";

/** What is to be done about a record. */
export type Decision =
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
export function decide(record: MemoryRecord, memory: Memory | undefined): Decision {
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
  return isDeepStrictEqual(plain(a), plain(b));
}

/** A value as JSON says it: a stored object has no prototype, and that is no difference. */
function plain(value: unknown): unknown {
  if (typeof value === "object" && value !== null) return JSON.parse(JSON.stringify(value));
  return value === "" || value === null ? undefined : value;
}

/** The item that writes a record. */
export function addItem({ input }: MemoryRecord): BatchItem {
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
export function appendItem({ ref, input }: MemoryRecord): BatchItem {
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
export function headPatch(
  { input }: MemoryRecord,
  memory: Memory,
): Options<"updateHead"> | undefined {
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
