/**
 * Confirming: a claim that independent voices back becomes `confirmed`. Being read, found, cited or
 * restated by the same voice confirms nothing.
 *
 * A voice is a principal: whom a door let in, whatever source, session or name it gives itself. A claim
 * is confirmed when two voices other than its own back it by an edge `supports`, or back what makes the
 * same claim and backs it. Each of them is a live memory that makes the same claim, or one whose edge is
 * the owner's own word. Words from outside, words with threats in them, what was
 * computed from other memories, and what was derived from the claim itself are no voices. What only the
 * owner may assert is confirmed only with the owner among them, and nothing that is contradicted is
 * confirmed.
 */
import { normaliseClaim } from "../codec/text.js";
import { ulidText } from "../codec/ulid.js";
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { type AdjacentEdge, adjacent } from "../links/adjacency.js";
import { claimText } from "../records/data.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Source } from "../records/types.js";
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
} from "./maintain-plan.js";

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
  const ways = await supportsFrom(reader, touched, "out");
  const claims = await memoriesById(world, [...touched, ...farEnds(ways)]);
  const open = [...claims.values()].filter((memory) => isUnconfirmed(world, memory));
  const edges = await supportsFrom(
    reader,
    open.map(({ id }) => id),
    "in",
  );
  const supporters = await memoriesById(world, farEnds(edges));
  const records = await reader.edges([...edges.values()].flat());
  const byEdge = new Map(
    records.flatMap((read) =>
      read === undefined ? [] : [[keyString(read.record.id), read.record] as const],
    ),
  );
  const backed = open.flatMap((memory): Backed[] => {
    const voices = voicesBehind(world, memory, { edges, supporters, byEdge });
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

/** Edges `supports` by the memory they were looked up for. */
type Supports = ReadonlyMap<string, readonly AdjacentEdge[]>;

/** How many memories in a row are followed that make one claim and back each other. */
const STEPS_MAX = 4;

/** The edges `supports` of memories, and of those they lead to, a few steps far. */
async function supportsFrom(
  reader: PlanWorld["reader"],
  ids: readonly Bytes[],
  side: "in" | "out",
): Promise<Supports> {
  const found = new Map<string, readonly AdjacentEdge[]>();
  let frontier = ids;
  for (let step = 0; step < STEPS_MAX && frontier.length > 0; step += 1) {
    const edges = await adjacent(reader, frontier, { side, ...SUPPORTS });
    for (const [at, id] of frontier.entries()) found.set(keyString(id), edges[at] ?? []);
    const next = new Map(edges.flat().map(({ other }) => [keyString(other), other] as const));
    frontier = [...next].filter(([key]) => !found.has(key)).map(([, id]) => id);
  }
  return found;
}

function farEnds(edges: Supports): readonly Bytes[] {
  return [...edges.values()].flat().map(({ other }) => other);
}

/** What is known of the evidence for claims. */
interface Evidence {
  readonly edges: Supports;
  readonly supporters: ReadonlyMap<string, FoundMemory>;
  readonly byEdge: ReadonlyMap<string, EdgeRecord>;
}

/** The memories that back a claim: by an edge, or by backing one of them that makes the same claim. */
function voicesBehind(
  world: PlanWorld,
  memory: FoundMemory,
  { edges, supporters, byEdge }: Evidence,
): readonly FoundMemory[] {
  const voices = new Map<string, FoundMemory>();
  const pending = [memory];
  for (let near = pending.shift(); near !== undefined; near = pending.shift()) {
    for (const { id, other } of edges.get(keyString(near.id)) ?? []) {
      const [edge, supporter] = [byEdge.get(keyString(id)), supporters.get(keyString(other))];
      const key = keyString(other);
      if (edge === undefined || supporter === undefined || voices.has(key)) continue;
      if (!isEvidence(world, { memory: near, supporter, edge })) continue;
      voices.set(key, supporter);
      if (claimOf(supporter) === claimOf(memory)) pending.push(supporter);
    }
  }
  voices.delete(keyString(memory.id));
  return [...voices.values()];
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

/** Who said it, as far as the door knew. */
function voiceIn({ body }: FoundMemory): string {
  return voiceOf(bodyOf(body).createdBy);
}

function isSameVoice(a: FoundMemory, b: FoundMemory): boolean {
  return voiceIn(a) === voiceIn(b);
}

/** Of those that back a memory, one for each voice that is neither its own nor another's. */
function distinctVoices(memory: FoundMemory, voices: readonly FoundMemory[]): FoundMemory[] {
  const distinct: FoundMemory[] = [];
  for (const voice of voices) {
    if (![memory, ...distinct].some((one) => isSameVoice(one, voice))) distinct.push(voice);
  }
  return distinct;
}

function isEnough(memory: FoundMemory, voices: readonly FoundMemory[]): boolean {
  if (voices.length < VOICES_MIN) return false;
  if (!OWNERS_TYPES.has(memory.head.record.head.type)) return true;
  return [memory, ...voices].some((one) => standingOf(sourceOf(one)) === "owner");
}
