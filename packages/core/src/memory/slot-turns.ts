/**
 * Whose turn it is in a slot. A value that was given for a time to come waits beside the value of today:
 * both are active, and the time of the read decides which of them answers. Nothing has to happen at that
 * time, and no read changes anything.
 *
 * Promise: of the memories in one slot, the one that began last by the time answers; a value that has not
 * begun does not, nor does one whose turn has passed to a later one. Only what `show` leaves counts.
 * A store where nothing waits pays one empty range.
 */
import { WAITING_TERM } from "../history/fold-state.js";
import { bodyOf, type FoundMemory, type Read, type Reader } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import type { KvRange } from "../kv/kv.js";
import type { MemoryRecord, Version } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import { firstPages, openMembers } from "./members.js";

/** Since when a version holds in the world, as far as it says. */
export function startOf({ validFrom, createdAt }: Version): number {
  return validFrom ?? createdAt;
}

/** Whether a memory answers for its slot; one without a slot always answers. `body` is the version looked at. */
export type SlotTurns = (memory: FoundMemory, body?: Read<MemoryRecord>) => boolean;

/** Everybody answers: where nothing waits, and where states are asked for as they are stored. */
export const ALL_TURNS: SlotTurns = () => true;

/** Of memories found at the position, those the caller may see. */
type Show = (
  found: readonly (FoundMemory | undefined)[],
) => Promise<readonly (FoundMemory | undefined)[]>;

/** Rows of the index that one read takes. */
const PAGE_ROWS = 256;

/** Tells whose turn it is at a time. */
export async function slotTurns(reader: Reader, show: Show, timeMs: number): Promise<SlotTurns> {
  const waiting = await waitingIn(reader, show);
  if (waiting.size === 0) return ALL_TURNS;
  return (memory, body = memory.body) => {
    const { slot, waits } = memory.head.record.head;
    if (slot === undefined) return true;
    const start = startOf(bodyOf(body));
    if (waits === true && start > timeMs) return false;
    const others = waiting.get(slot) ?? [];
    return !others.some((other) => {
      const version = bodyOf(other.body);
      const [begun, { validTo }] = [startOf(version), version];
      const isItsTurn = begun <= timeMs && (validTo === undefined || timeMs < validTo);
      return isItsTurn && begun > start && keyString(other.id) !== keyString(memory.id);
    });
  };
}

/** What every look at the present of slots reads first. */
export function waitingRanges(): readonly KvRange[] {
  return firstPages([WAITING], { limit: PAGE_ROWS, reverse: true });
}

const WAITING = { index: INDEX.waiting, lifecycle: LIFECYCLES.active.code, term: WAITING_TERM };

/** The active memories that were given for a time to come, by slot; some may have had their turn since. */
async function waitingIn(
  reader: Reader,
  show: Show,
): Promise<ReadonlyMap<string, readonly FoundMemory[]>> {
  const query = { terms: [WAITING], pageItems: PAGE_ROWS, reverse: true, cursor: undefined };
  const source = await openMembers(reader, query);
  const bySlot = new Map<string, FoundMemory[]>();
  for (let more = true; more; ) {
    const page = await source.next(PAGE_ROWS);
    const ids = page.members.map((member) => member.subarray(member.length - 16));
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    for (const memory of await show(found)) {
      const slot = memory?.head.record.head.slot;
      if (memory === undefined || slot === undefined) continue;
      const known = bySlot.get(slot);
      if (known === undefined) bySlot.set(slot, [memory]);
      else known.push(memory);
    }
    more = page.more;
  }
  return bySlot;
}
