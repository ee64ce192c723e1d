/**
 * `slotHistory`: the values a slot has had, newest first, each with the time for which it held.
 *
 * A value that was replaced is archived with its validity closed, so the history of a slot is read from
 * the index of slots and nothing else. Tombstoned values are left out: they were hidden on purpose.
 */

import type { Asked } from "../contract/index.js";
import type { SlotHistory, SlotValue } from "../contract/memory.js";
import type { Memory } from "../contract/shapes.js";
import type { Engine } from "../engine/engine.js";
import { LIMITS } from "../limits.js";
import { list } from "./list.js";
import { checkSlot } from "./write-input.js";

/** The values a slot has had, newest first. */
export async function slotHistory(
  engine: Engine,
  { slot: name, limit = LIMITS.listLimitDefault, asOf, access }: Asked<"slotHistory">,
): Promise<SlotHistory> {
  const slot = checkSlot(name);
  const page = await list(engine, {
    slot,
    lifecycles: ["active", "archived"],
    // One more than asked for: a value and its successor enter their ranges in the same entry.
    limit: limit + 1,
    asOf,
    access,
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
