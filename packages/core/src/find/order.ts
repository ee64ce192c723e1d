/**
 * The order of hits, and the cursor that says where a page ended.
 *
 * Unless told otherwise hits come newest first: by the entry with which each entered its present state.
 * That order needs no more candidates than it shows. Every other order needs them all. What a memory has
 * no value for comes last, whichever way the order goes; ties are settled by the id, ascending.
 *
 * A cursor belongs to one query, which it names by a hash. In the order of arrival it holds the last hit
 * and the path it was read from; in other orders the last hit, its values and the position of the first
 * page, so that later pages are of the same state.
 */

import { type CborValue, decode, encode } from "../codec/cbor.js";
import { isCount } from "../codec/cbor-value.js";
import { equalBytes, fromHex, toHex } from "../codec/keys.js";
import type { OrderClause } from "../contract/find.js";
import { invalid } from "../errors.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { compareText } from "./evaluate.js";
import { type Field, fieldOf } from "./find-fields.js";

/** What hits can be ordered by beside the fields that hold a number or a time. */
export const ORDERS = ["arrival", "salience", "near.distance", "hop", "text.score"] as const;

/** A clause that was checked. */
export interface Order {
  readonly by: (typeof ORDERS)[number] | Field;
  readonly name: string;
  readonly descending: boolean;
}

/** The value of a hit under one clause. */
export type SortValue = number | string | undefined;

/** Newest first. */
export const NEWEST: readonly Order[] = [{ by: "arrival", name: "arrival", descending: true }];

/** Checks the clauses of an order: what they go by must be something that can be ordered. */
export function checkOrders(clauses: readonly OrderClause[]): readonly Order[] {
  return clauses.map(({ field, direction }, at) => {
    const by = ORDERS.find((one) => one === field) ?? orderedField(field, `orderBy[${at}].field`);
    const nearestFirst = by === "near.distance" || by === "hop";
    const descending = direction === undefined ? !nearestFirst : direction === "desc";
    return { by, name: field, descending };
  });
}

function orderedField(name: string, path: string): Field {
  const expected = `one of ${ORDERS.join(", ")}, or a field that holds a number or a time`;
  const field = fieldOf(name);
  if (field === undefined) throw invalid(path, expected, name, "ERR_UNKNOWN_FIELD");
  if (!field.many && (field.kinds.includes("number") || field.kinds.includes("time"))) return field;
  throw invalid(path, expected, name);
}

/** Whether the order is that in which candidates are read. */
export function isNewest(orders: readonly Order[]): boolean {
  const [first] = orders;
  return first?.by === "arrival" && first.descending;
}

/** Something that stands in an order. */
export interface Placed {
  readonly values: readonly SortValue[];
  /** The id as a key string. */
  readonly id: string;
}

/** Compares two hits under an order. */
export function comparePlaced(orders: readonly Order[], a: Placed, b: Placed): number {
  for (const [at, { descending }] of orders.entries()) {
    const order = compareValues(a.values[at], b.values[at], descending);
    if (order !== 0) return order;
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  if (a === undefined || b === undefined) {
    return (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0);
  }
  const order =
    typeof a === "string" || typeof b === "string" ? compareText(String(a), String(b)) : a - b;
  return descending ? -order : order;
}

/** Where a page in the order of arrival ended. */
interface ArrivalCursor {
  readonly kind: "arrival";
  readonly path: string;
  /** The mark of the last hit; absent when there was none yet. */
  readonly emitted?: string;
  /** Below which mark to read on, when it is not that of the last hit. */
  readonly before?: string;
}

/** Where a page in another order ended. */
interface SortedCursor {
  readonly kind: "sorted";
  /** The position of the first page; absent when the order knows only the present. */
  readonly seq?: number;
  /** The time at which the first page was scored. */
  readonly nowMs: number;
  readonly last: Placed;
}

/** Where a page ended. */
export type FindCursor = ArrivalCursor | SortedCursor;

const ARRIVAL = 1;
const SORTED = 2;

/** The cursor with every place in it mapped. */
export async function mapPlaces(
  cursor: FindCursor,
  map: (place: Bytes) => Promise<Bytes>,
): Promise<FindCursor> {
  const mapped = async (mark: string): Promise<string> => keyString(await map(keyBytes(mark)));
  if (cursor.kind === "arrival") {
    const { emitted, before } = cursor;
    return {
      ...cursor,
      ...(emitted === undefined ? {} : { emitted: await mapped(emitted) }),
      ...(before === undefined ? {} : { before: await mapped(before) }),
    };
  }
  const values = cursor.last.values.map((value) =>
    typeof value === "string" ? mapped(value) : value,
  );
  return { ...cursor, last: { ...cursor.last, values: await Promise.all(values) } };
}

/** A cursor as text; `query` is the hash of the query it belongs to. */
export function showCursor(cursor: FindCursor, query: Bytes): string {
  if (cursor.kind === "arrival") {
    const { path, emitted, before } = cursor;
    return toHex(encode([ARRIVAL, query, path, markBytes(emitted), markBytes(before)]));
  }
  const { seq, nowMs, last } = cursor;
  // Marks hold every byte there is; as text in a record they would not.
  const values = last.values.map((value) =>
    value === undefined ? null : typeof value === "string" ? keyBytes(value) : value,
  );
  return toHex(encode([SORTED, query, seq ?? null, nowMs, values, keyBytes(last.id)]));
}

function markBytes(mark: string | undefined): Bytes | null {
  return mark === undefined ? null : keyBytes(mark);
}

/** Reads a cursor back; one of another query, or none at all, is refused. */
export function readCursor(text: string, query: Bytes): FindCursor {
  const cursor = parseCursor(text, query);
  if (cursor !== undefined) return cursor;
  throw invalid("cursor", "the cursor of a page of the same query", text);
}

function parseCursor(text: string, query: Bytes): FindCursor | undefined {
  const value = decoded(text);
  if (!Array.isArray(value)) return undefined;
  const [kind, owner, ...rest] = value as readonly CborValue[];
  if (!(owner instanceof Uint8Array) || !equalBytes(owner, query)) return undefined;
  return kind === ARRIVAL ? arrivalCursor(rest) : kind === SORTED ? sortedCursor(rest) : undefined;
}

function decoded(text: string): CborValue | undefined {
  const bytes = fromHex(text);
  if (bytes === undefined) return undefined;
  try {
    return decode(bytes);
  } catch {
    // Whatever is wrong with the bytes, they are no cursor.
    return undefined;
  }
}

const MARK_BYTES = 24;

function arrivalCursor(parts: readonly CborValue[]): ArrivalCursor | undefined {
  const [path, emitted, before] = parts;
  if (typeof path !== "string" || !isMark(emitted) || !isMark(before)) return undefined;
  return {
    kind: "arrival",
    path,
    ...(emitted === null ? {} : { emitted: keyString(emitted) }),
    ...(before === null ? {} : { before: keyString(before) }),
  };
}

function isMark(value: CborValue | undefined): value is Uint8Array | null {
  return value === null || (value instanceof Uint8Array && value.length === MARK_BYTES);
}

function sortedCursor(parts: readonly CborValue[]): SortedCursor | undefined {
  const [seq, nowMs, values, id] = parts;
  if ((seq !== null && !isCount(seq)) || typeof nowMs !== "number") return undefined;
  if (!Array.isArray(values) || !(id instanceof Uint8Array)) return undefined;
  const read = (values as readonly CborValue[]).map((value) =>
    value instanceof Uint8Array ? keyString(value) : typeof value === "number" ? value : undefined,
  );
  return {
    kind: "sorted",
    ...(seq === null ? {} : { seq }),
    nowMs,
    last: { values: read, id: keyString(id) },
  };
}
