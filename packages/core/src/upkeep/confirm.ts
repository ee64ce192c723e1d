/**
 * Confirming: a claim that independent voices back becomes `confirmed`. Being read, found, cited or
 * restated by the same voice confirms nothing.
 *
 * A voice is a principal, as its door knows it: under however many names of sources, sessions or parts
 * of itself it speaks, it is one. All that was imported is one voice at most, as files name their
 * authors themselves. A claim is confirmed when two voices other than its own back it by an edge
 * `supports`. Each of them is a live memory that makes the same claim, or one whose edge is the owner's
 * own word. Words from outside, words with threats in them, what was
 * computed from other memories, and what was derived from the claim itself are no voices. What only the
 * owner may assert is confirmed only with the owner among them, and nothing that is contradicted is
 * confirmed.
 *
 * Expiry: memories whose `expiresAt` has passed, and those of a kind that the graph's configuration
 * gives so many days (`ttlDays`), counted from when their current version was written.
 *
 * Opt-in: readers rank expired memories out anyway, and nothing is archived unless somebody asked. How
 * often a memory was read has no say. Time makes memories expire, not entries, so a pass looks at all
 * active memories, oldest first.
 */

import { decode, encode } from "../codec/cbor.js";
import { readList } from "../codec/cbor-value.js";
import { normaliseClaim } from "../codec/text.js";
import { ulidText } from "../codec/ulid.js";
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { adjacent } from "../links/adjacency.js";
import { openMembers } from "../memory/members.js";
import { claimText } from "../records/data.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { EdgeRecord } from "../records/edge-record.js";
import { LIFECYCLES, MEMORY_TYPES, type Source } from "../records/types.js";
import { OWNERS_TYPES, standingOf, voiceOf } from "../trust/gate.js";
import {
  addChange,
  contestedOf,
  followJournal,
  hasRoom,
  isOpenToChange,
  isTrusted,
  memoriesById,
  type PlanStep,
  type PlanWorld,
  planned,
} from "./maintain-changes.js";

/** Voices, besides the claim's own, that confirm it. */
const VOICES_MIN = 2;
/** Backing of one memory that is looked at. */
const SUPPORTS_MAX = 64;

const SUPPORTS = {
  codes: [canonicalKind("supports")?.kind.code ?? 0],
  includeTombstoned: false,
  limit: SUPPORTS_MAX,
} as const;

/** Sources that speak of other memories rather than of the world. */
const ECHOES: ReadonlySet<Source> = new Set(["derived", "dream"]);

/** Plans what is to be confirmed. */
export const planConfirm: PlanStep = (world, cursor) =>
  followJournal(world, cursor, {
    pieceEntries: 512,
    edges: true,
    lookAt: (ids) => confirmAmong(world, ids),
  });

/** A memory with those that say the same. */
interface Backed {
  readonly memory: FoundMemory;
  readonly voices: readonly FoundMemory[];
}

async function confirmAmong(world: PlanWorld, touched: readonly Bytes[]): Promise<void> {
  const { reader } = world;
  // A memory that changed may have become, or ceased to be, evidence for another.
  const out = await adjacent(reader, touched, { side: "out", ...SUPPORTS });
  const claims = await memoriesById(world, [...touched, ...out.flat().map(({ other }) => other)]);
  const open = [...claims.values()].filter((memory) => isUnconfirmed(world, memory));
  const ids = open.map(({ id }) => id);
  const edges = await adjacent(reader, ids, { side: "in", ...SUPPORTS });
  const supporters = await memoriesById(
    world,
    edges.flat().map(({ other }) => other),
  );
  const records = await reader.edges(edges.flat());
  const byEdge = new Map(
    records.flatMap((read) =>
      read === undefined ? [] : [[keyString(read.record.id), read.record] as const],
    ),
  );
  const backed = open.flatMap((memory, at): Backed[] => {
    const voices = (edges[at] ?? []).flatMap(({ id, other }) => {
      const [edge, supporter] = [byEdge.get(keyString(id)), supporters.get(keyString(other))];
      const counts = edge !== undefined && supporter !== undefined;
      return counts && isEvidence(world, { memory, supporter, edge }) ? [supporter] : [];
    });
    const distinct = distinctVoices(memory, voices);
    return isEnough(memory, distinct) ? [{ memory, voices: distinct }] : [];
  });
  const contested = await contestedOf(
    world,
    backed.map(({ memory }) => memory.id),
  );
  for (const { memory, voices } of backed) {
    const isFree = [memory, ...voices].every((one) => !world.taken.has(keyString(one.id)));
    if (contested.has(keyString(memory.id)) || !isFree) continue;
    if (!hasRoom(world)) return;
    const sources = [memory, ...voices].map(sourceOf).sort().join(", ");
    addChange(world, {
      step: "confirm",
      memory: planned(memory),
      evidence: voices.map(planned),
      reason: `said by ${voices.length + 1} independent voices: ${sources}`,
    });
  }
}

function isUnconfirmed(world: PlanWorld, memory: FoundMemory): boolean {
  const { status, turn } = memory.head.record.head;
  const isOpen = status === "asserted" || status === "provisional";
  return isOpen && turn === undefined && isOpenToChange(world, memory) && isTrusted(memory);
}

function isEvidence(
  { taken }: PlanWorld,
  what: {
    readonly memory: FoundMemory;
    readonly supporter: FoundMemory;
    readonly edge: EdgeRecord;
  },
): boolean {
  const { memory, supporter, edge } = what;
  const { status } = supporter.head.record.head;
  if (supporter.row.lifecycle !== "active" || taken.has(keyString(supporter.id))) return false;
  if (status === "disputed" || status === "retracted" || !isTrusted(supporter)) return false;
  if (edge.validTo !== undefined || ECHOES.has(sourceOf(supporter))) return false;
  const { derivedFrom } = bodyOf(supporter.body).provenance;
  const id = ulidText(memory.id);
  if (derivedFrom.some((ref) => ref.includes(id))) return false;
  return standingOf(edge.source) === "owner" || claimOf(supporter) === claimOf(memory);
}

function claimOf({ head, body }: FoundMemory): string {
  const { type } = head.record.head;
  return `${type} ${normaliseClaim(claimText(type, bodyOf(body).data))}`;
}

function sourceOf({ head }: FoundMemory): Source {
  return head.record.head.source;
}

/** What a memory's word is counted under: its principal, and all files together. */
function namesOf(memory: FoundMemory): readonly string[] {
  const principal = voiceOf(bodyOf(memory.body).createdBy);
  return sourceOf(memory) === "imported" ? [principal, "imported"] : [principal];
}

/** Of those that back a memory, one for each voice that is neither its own nor another's. */
function distinctVoices(memory: FoundMemory, voices: readonly FoundMemory[]): FoundMemory[] {
  const heard = new Set(namesOf(memory));
  // Whom a file names counts after those who spoke for themselves.
  const inOrder = [...voices].sort((a, b) => namesOf(a).length - namesOf(b).length);
  return inOrder.filter((voice) => {
    const names = namesOf(voice);
    const isNew = names.every((name) => !heard.has(name));
    for (const name of names) heard.add(name);
    return isNew;
  });
}

function isEnough(memory: FoundMemory, voices: readonly FoundMemory[]): boolean {
  if (voices.length < VOICES_MIN) return false;
  if (!OWNERS_TYPES.has(memory.head.record.head.type)) return true;
  return [memory, ...voices].some((one) => standingOf(sourceOf(one)) === "owner");
}

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
  const [member] = readList(decode(cursor));
  return member instanceof Uint8Array ? member : undefined;
}
