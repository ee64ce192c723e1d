/**
 * `slotHistory`: the values a slot has had, newest first, each with the time for which it held.
 *
 * A value that was replaced is archived with its validity closed, so the history of a slot is read from
 * the index of slots and nothing else. Tombstoned values are left out: they were hidden on purpose.
 */

import { checkOptions, type Engine, type MemoryId } from "../engine/engine.js";
import type { Memory } from "../engine/shapes.js";
import type { AsOf } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import type { Source, Status } from "../records/types.js";
import { type Access, OWNER } from "../scope/access.js";
import { checkLimit, list } from "./list.js";
import { checkSlot } from "./write-input.js";

/** One value of a slot. */
export interface SlotValue {
  readonly id: MemoryId;
  readonly uri: string;
  readonly text: string;
  /** Whether it is the value now. */
  readonly current: boolean;
  readonly status: Status;
  readonly source: Source;
  /** Since when it held. */
  readonly from: number;
  /** Until when; absent while it holds. */
  readonly to?: number;
}

/** The values of a slot. */
export interface SlotHistory {
  /** The name as it is stored. */
  readonly slot: string;
  readonly values: readonly SlotValue[];
  /** Whether there are older ones than were asked for. */
  readonly more: boolean;
  readonly seq: number;
}

/** How a slot's history is read. */
export interface SlotOptions {
  readonly limit?: number;
  readonly asOf?: AsOf;
  readonly access?: Access;
}

/** The values a slot has had, newest first. */
export async function slotHistory(
  engine: Engine,
  name: string,
  options: SlotOptions = {},
): Promise<SlotHistory> {
  checkOptions(options, ["limit", "asOf", "access"]);
  const slot = checkSlot(name);
  const limit = checkLimit(options.limit, LIMITS.listLimit - 1);
  const page = await list(engine, {
    slot,
    lifecycles: ["active", "archived"],
    // One more than asked for: a value and its successor enter their ranges in the same entry.
    limit: limit + 1,
    access: options.access ?? OWNER,
    ...(options.asOf === undefined ? {} : { asOf: options.asOf }),
  });
  const values = page.memories.map(shapeValue).sort(newestFirst);
  return {
    slot,
    values: values.slice(0, limit),
    more: values.length > limit,
    seq: page.seq,
  };
}

function shapeValue(memory: Memory): SlotValue {
  const { id, uri, text, head, versionRecord } = memory;
  const { validFrom, validTo, createdAt } = versionRecord;
  return {
    id,
    uri,
    text,
    current: head.lifecycle === "active",
    status: head.status,
    source: head.source,
    from: validFrom ?? createdAt,
    ...(validTo === undefined ? {} : { to: validTo }),
  };
}

/** The live value stands first whatever it says of its time; the others by when they began. */
function newestFirst(a: SlotValue, b: SlotValue): number {
  if (a.current !== b.current) return a.current ? -1 : 1;
  return b.from - a.from || (b.to ?? 0) - (a.to ?? 0) || (a.id < b.id ? 1 : -1);
}
