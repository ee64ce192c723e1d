/**
 * What a file of another program is read as, whatever program it was: memories, or nodes as memgraph has
 * them with all their versions, then links between them, each with the place in the file that it came
 * from.
 *
 * Left to others: reading files (`lines.ts`, `sqlite-file.ts`), what the fields of a
 * program mean (`from-*.ts`), what the store has already and what is new (`memories.ts`, `links.ts`).
 */
import { CortexError, type ErrorCode, isCortexError, type WriteInput } from "@cortex-memory/core";
import {
  type ConflictPolicy,
  type ImportedEdge,
  type ImportedVersion,
  isoTimeMs,
} from "@cortex-memory/core/contract";
import type { Speech } from "../speech.js";

/** A memory to be. */
export interface MemoryRecord {
  /** Where it stands, such as `line 7`. */
  readonly at: string;
  /** The graph it belongs to, where the file has several. */
  readonly graph?: string;
  /** By what it is known again: its external id, or its own. */
  readonly ref: string;
  /** Everything about it, as a write would say it. */
  readonly input: WriteInput;
}

/** A version of a memory to be, to be kept as another program had it. */
export interface NodeRecord {
  readonly at: string;
  readonly graph: string;
  /** The lineage. */
  readonly ref: string;
  readonly input: WriteInput;
  readonly imported: ImportedVersion;
  /** The first and the last version that the file has of the lineage. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly lacking?: Lacking;
  /** What is kept of it otherwise than it was, and why. */
  readonly notes?: readonly string[];
}

/** A link to be. */
export interface LinkRecord {
  readonly at: string;
  readonly graph?: string;
  readonly from: string;
  readonly kind: string;
  readonly to: string;
  /** The graph of the far end, where it is another one. */
  readonly toGraph?: string;
  readonly ordinal?: number;
  readonly reason?: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly validFrom?: number;
  readonly by?: string;
  /** What it is known again by where another program made it: it is kept as it was there. */
  readonly imported?: ImportedEdge;
  /** The member of `metadata` by which the link is known again, in a file that may repeat links. */
  readonly mark?: string;
  readonly lacking?: Lacking;
}

/** Why an edge is passed over that leaves a lineage which never was, or was left out. */
export const NO_LINEAGE =
  "from_lineage: names a lineage that is not there, and an edge is kept with its lineage";

/** A turn of a conversation to be. */
export interface TurnRecord extends Speech {
  readonly at: string;
  /** Its place in the conversation: by it the turn is known again. */
  readonly index: number;
}

/** A graph that a file has. */
export interface GraphPlan {
  /** The id it gets here: the same in every run. */
  readonly id: string;
  readonly name: string;
  readonly conflictPolicy: ConflictPolicy;
  readonly kindWhitelist: readonly string[];
  readonly metadata: { readonly [key: string]: unknown };
  /** What another program knew it by, and when it was made there. */
  readonly origin?: GraphOrigin;
  /** What is not kept of it, and why. */
  readonly notes?: readonly string[];
  readonly lacking?: Lacking;
}

/** What another program knew a graph by. */
interface GraphOrigin {
  readonly id: string;
  readonly createdAt: number;
  readonly nanos?: number;
}

/** A record that cannot be used, or a link that leads nowhere; the file goes on behind it. */
export interface Unusable {
  readonly at: string;
  /** `bad` ends the import unless bad records are passed over; `skip` is only reported. */
  readonly unusable: "bad" | "skip";
  readonly code: ErrorCode;
  readonly message: string;
}

/** Pieces that a record is kept without, because they have no place here; each is as bad as a record. */
export type Lacking = readonly Unusable[];

/** How far the reading has come. */
export interface Step<R> {
  readonly item: R | Unusable;
  /** In the unit of `total`. */
  readonly done: number;
}

/** An open file of another program. */
export interface ForeignFile {
  /** The graphs it has; `undefined` when all of it goes into one store. */
  readonly graphs: readonly GraphPlan[] | undefined;
  /** Graphs of it that cannot be used, with all that they hold. */
  readonly unusable?: readonly Unusable[];
  /** The work of both passes together, in bytes or rows. */
  readonly total: number;
  /** What `total` counts where it is not records. */
  readonly unit?: "bytes";
  memories(): AsyncIterable<Step<MemoryRecord>>;
  /** Versions that are kept as they were, where the file has such; then there are no memories. */
  nodes?(): AsyncIterable<Step<NodeRecord>>;
  /** The turns of a conversation, where the file is one; then there are no memories. */
  readonly turns?: {
    readonly session: string;
    items(): AsyncIterable<Step<TurnRecord>>;
  };
  links(): AsyncIterable<Step<LinkRecord>>;
  close(): Promise<void>;
}

/** Whether an item is one that cannot be used. */
export function isUnusable(item: object): item is Unusable {
  return "unusable" in item;
}

/** The record that stands for a failure. */
export function badRecord(at: string, error: unknown): Unusable {
  if (!isCortexError(error)) throw error;
  return { at, unusable: "bad", code: error.code, message: error.message };
}

/** Reads one record; what is wrong with it becomes an item of its own. */
export function attempt<R>(at: string, read: () => R): R | Unusable {
  try {
    return read();
  } catch (error) {
    return badRecord(at, error);
  }
}

/** A failure that says which member of a record is wrong; never what it holds. */
export function wrong(field: string, expected: string, value: unknown): CortexError {
  return new CortexError("ERR_INVALID", `${field}: expected ${expected}, got ${kindOf(value)}`, {
    field,
    expected,
  });
}

/** A member that must be a text. */
export function textIn(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw wrong(field, "a text", value);
}

/** A member that must be a list of texts. */
export function textsIn(value: unknown, field: string): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw wrong(field, "a list of texts", value);
}

/** A member that must be an object. */
export function objectIn(value: unknown, field: string): { readonly [name: string]: unknown } {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as { readonly [name: string]: unknown };
  }
  throw wrong(field, "an object", value);
}

/** The value of a JSON text; a failure names the field, not the text. */
export function jsonIn(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `${field}: expected JSON, got a text that is none`;
    throw new CortexError("ERR_INVALID", message, { field }, cause);
  }
}

/** Date, time, fraction and offset, with a `T` or a space between date and time. */
const TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d+)?(?: ?(Z|[+-]\d{2}:?\d{2}))?(?: [A-Z]{3,4}(?: m=.*)?)?)?$/;

/**
 * A time in whole milliseconds: of an ISO text with any number of digits behind the second, or of a
 * number of milliseconds. Without an offset it is UTC.
 */
export function timeIn(value: unknown, field: string): number {
  return fineTimeIn(value, field).ms;
}

/** The same, with the billionths of a second that are beyond the milliseconds. */
export function fineTimeIn(
  value: unknown,
  field: string,
): { readonly ms: number; readonly nanos: number } {
  if (typeof value === "number" && Number.isSafeInteger(value)) return { ms: value, nanos: 0 };
  const [, date, minute = "00:00", second = ":00", fraction = ".0", offset = "Z"] =
    typeof value === "string" ? (TIME.exec(value) ?? []) : [];
  const zone =
    offset === "Z" || offset.includes(":") ? offset : `${offset.slice(0, 3)}:${offset.slice(3)}`;
  const ms = isoTimeMs(`${date}T${minute}${second}${fraction.padEnd(4, "0").slice(0, 4)}${zone}`);
  if (ms === undefined) throw wrong(field, "an ISO time such as 2026-03-01T12:00:00Z", value);
  return { ms, nanos: Number(fraction.slice(4, 10).padEnd(6, "0")) };
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `another ${typeof value}`;
}
