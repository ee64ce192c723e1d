/**
 * Expiry: memories whose `expiresAt` has passed, and those of a kind that the graph's configuration
 * gives so many days (`ttlDays`), counted from when their current version was written.
 *
 * Opt-in: readers rank expired memories out anyway, and nothing is archived unless somebody asked. How
 * often a memory was read has no say. Time makes memories expire, not entries, so a pass looks at all
 * active memories, oldest first.
 */
import { decode, encode } from "../codec/cbor.js";
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { INDEX } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { openMembers } from "../memory/members.js";
import { list } from "../records/memory-record.js";
import { LIFECYCLES, MEMORY_TYPES } from "../records/types.js";
import {
  addChange,
  hasRoom,
  isOpenToChange,
  type PlanStep,
  type PlanWorld,
  planned,
} from "./maintain-plan.js";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Memories that are looked at together. */
const PIECE_MEMORIES = 512;

const ACTIVE = Object.values(MEMORY_TYPES).map(({ code }) => ({
  index: INDEX.type,
  lifecycle: LIFECYCLES.active.code,
  term: Uint8Array.of(code),
}));

/** Plans what is to be archived because its time is over. */
export const planExpiry: PlanStep = async (world, start) => {
  let cursor = start === undefined ? undefined : readMember(start);
  const query = { terms: ACTIVE, pageItems: PIECE_MEMORIES, reverse: false, cursor };
  const source = await openMembers(world.reader, query);
  for (;;) {
    if (world.isOver() || !hasRoom(world)) return { cursor: memberCursor(cursor), finished: false };
    const page = await source.next(PIECE_MEMORIES);
    const ids = page.members.map((member) => member.subarray(member.length - 16));
    const found = await world.reader.memories(ids, await world.reader.memoryRows(ids));
    for (const [at, memory] of found.entries()) {
      const reason = memory === undefined ? undefined : whyExpired(world, memory);
      if (memory === undefined || reason === undefined || !isOpenToChange(world, memory)) continue;
      if (!hasRoom(world)) {
        const before = page.members[at - 1] ?? cursor;
        return { cursor: memberCursor(before), finished: false };
      }
      addChange(world, { step: "expire", memory: planned(memory), reason });
    }
    cursor = page.end;
    if (!page.more || cursor === undefined) return { cursor: undefined, finished: true };
  }
};

/** Why a memory has expired; `undefined` when it has not. */
function whyExpired({ nowMs, ttlDays }: PlanWorld, found: FoundMemory): string | undefined {
  const { expiresAt, createdAt } = bodyOf(found.body);
  if (expiresAt !== undefined && expiresAt <= nowMs) {
    return `expired at ${new Date(expiresAt).toISOString()}`;
  }
  const { kind } = found.head.record.head;
  const days = kind !== undefined && Object.hasOwn(ttlDays, kind) ? ttlDays[kind] : undefined;
  if (days === undefined || createdAt + days * DAY_MS > nowMs) return undefined;
  return `older than the ${days} days that its kind is kept`;
}

function memberCursor(member: Bytes | undefined): Bytes | undefined {
  return member === undefined ? undefined : encode([member]);
}

function readMember(cursor: Bytes): Bytes | undefined {
  const [member] = list(decode(cursor));
  return member instanceof Uint8Array ? member : undefined;
}
