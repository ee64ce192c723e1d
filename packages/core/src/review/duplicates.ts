/**
 * Near duplicates: two live memories that make nearly the same claim, found by their words alone.
 *
 * A pair is two memories of one type and sense, one of which says all that the other says and little
 * more (`text/alike.ts`): a changed value is never one. Nor are memories whose data, slots or times say
 * different things, nor those whose relation is on record already: one supports, corrects, refines or
 * contradicts the other, or somebody settled that they are two. What may repeat itself (turns, events,
 * notes, artifacts) makes no claim and is left out.
 *
 * A pair is met once, from its shorter side, since whoever restates a memory holds every word of it. A
 * step looks at a few dozen memories in the order in which they came, through the text index, so its
 * cost does not grow with the store. Who may see a side is asked for every one.
 */

import { encode } from "../codec/cbor.js";
import { compareBytes } from "../codec/keys.js";
import type { Engine } from "../engine/engine.js";
import { decodeAdjacency } from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { EDGE_STATE, edgeKey, INDEX, keyBytes, keyString } from "../kv/keyspace.js";
import { type Bytes, sameBytes } from "../kv/kv.js";
import { openMembers, type Term } from "../memory/members.js";
import { shownMemories } from "../memory/read.js";
import { claimText } from "../records/data.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { farKey } from "../records/edge-record.js";
import type { Head, Version } from "../records/memory-record.js";
import { LIFECYCLES, MEMORY_TYPES, type MemoryType } from "../records/types.js";
import type { Access } from "../scope/access.js";
import { restates, type Saying, sayingOf, WORDS_MIN } from "../text/alike.js";
import type { Analyser } from "../text/analyse.js";
import { holdersOfAll } from "../text/text-evidence.js";

/** Types whose memories make claims: those that carry a fingerprint. */
const CLAIMING = [
  "identity",
  "fact",
  "preference",
  "belief",
  "goal",
  "constraint",
  "capability",
  "pattern",
] as const satisfies readonly MemoryType[];

/** Memories that are looked at together. */
const STEP_MEMORIES = 64;
/** Holders of a rare word that are compared with a memory, and hits where all its words are common. */
const HOLDERS_MAX = 8;
const HITS_MAX = 16;
/** What a search of its own counts for, in memories that are looked at. */
const SEARCH_COST = 16;
/** Bytes of a place: a member of an index is a seq and an id; with a partner, another id. */
const MEMBER_BYTES = 24;

/** The edge that says that two memories are not one. */
export const DISTINCT = "distinct_from";

/** Kinds that say how two memories stand to each other: no question is left. */
const JOINED = [
  "supports",
  "supersedes",
  "contradicts",
  "corrects",
  "refines",
  "derived_from",
  DISTINCT,
] as const;
const CODES = JOINED.map((name) => canonicalKind(name)?.kind.code ?? 0);
const CONTRADICTS = canonicalKind("contradicts")?.kind.code ?? 0;

/** A memory as far as it makes a claim. */
interface Claim {
  readonly id: Bytes;
  readonly head: Head;
  readonly version: Version;
}

/** A claim with its words taken apart. */
interface AnalysedClaim extends Claim {
  readonly saying: Saying;
}

/** Two memories that make nearly the same claim. */
interface DuplicatePair {
  /** Of as many words, the one with the smaller id. */
  readonly shorter: FoundMemory;
  readonly longer: FoundMemory;
  /** Different words, beside those that say nothing, of each. */
  readonly words: readonly [number, number];
}

/** Where a step starts, and for whom. */
interface DuplicateQuery {
  /** A place that an earlier step gave; the beginning when absent. */
  readonly after: Bytes | undefined;
  readonly access: Access;
  /** Most pairs of the step. */
  readonly room: number;
}

/** One step through the memories. */
interface DuplicateStep {
  readonly pairs: readonly DuplicatePair[];
  /** How much it looked at, in memories. */
  readonly looked: number;
  /** Where the next step starts; absent at the end. */
  readonly next?: Bytes;
}

/** Takes one step: the pairs whose shorter side is among the next few memories. */
export async function nextDuplicates(
  engine: Engine,
  reader: Reader,
  { after, access, room }: DuplicateQuery,
): Promise<DuplicateStep> {
  const { members, begun, end } = await membersAfter(reader, after);
  const analyser = await engine.text.analyserAt(reader);
  const search: PairSearch = { engine, reader, analyser, access };
  const found = await pairsOf(search, members);
  const partner = after?.subarray(MEMBER_BYTES) ?? new Uint8Array(0);
  const pairs: DuplicatePair[] = [];
  for (const [at, own] of found.pairs.entries()) {
    const member = members[at] as Bytes;
    for (const pair of own) {
      const { id } = pair.longer;
      // The first one goes on behind the partner that was shown last.
      if (begun && at === 0 && compareBytes(id, partner) <= 0) continue;
      if (pairs.length === room)
        return { pairs, looked: found.looked, next: placeAt(member, pairs) };
      pairs.push(pair);
    }
  }
  return { pairs, looked: found.looked, ...(end === undefined ? {} : { next: end }) };
}

/** The place behind the last pair, or behind the member before, whose last pair it was. */
function placeAt(member: Bytes, pairs: readonly DuplicatePair[]): Bytes {
  const last = pairs.at(-1);
  const isOwn = last !== undefined && sameBytes(last.shorter.id, member.subarray(8));
  return Buffer.concat([member, isOwn ? last.longer.id : new Uint8Array(16)]);
}

const TERMS: readonly Term[] = CLAIMING.map((type) => ({
  index: INDEX.type,
  lifecycle: LIFECYCLES.active.code,
  term: Uint8Array.of(MEMORY_TYPES[type].code),
}));

/** The next members; the first one again when the place lies within its pairs. */
async function membersAfter(reader: Reader, after: Bytes | undefined) {
  const begun = after !== undefined && after.length > MEMBER_BYTES;
  const cursor = after?.subarray(0, MEMBER_BYTES);
  const query = { terms: TERMS, pageItems: STEP_MEMORIES, reverse: false, cursor };
  const page = await (await openMembers(reader, query)).next(STEP_MEMORIES);
  const members = begun && cursor !== undefined ? [cursor, ...page.members] : page.members;
  return { members, begun, end: page.more ? page.end : undefined };
}

/** What looking for pairs works with. */
interface PairSearch {
  readonly engine: Engine;
  readonly reader: Reader;
  readonly analyser: Analyser;
  readonly access: Access;
}

/** For each member the pairs of which it is the shorter side, by the id of the other. */
async function pairsOf(
  search: PairSearch,
  members: readonly Bytes[],
): Promise<{ readonly pairs: readonly (readonly DuplicatePair[])[]; readonly looked: number }> {
  const ids = members.map((member) => member.subarray(member.length - 16));
  const seen = new Map<string, LoadedClaim>();
  await loadClaims(search, ids.map(keyString), seen);
  const claims = ids.map((id) => seen.get(keyString(id)));
  const holders = await holdersOfAll(
    search.engine.text,
    search.reader,
    claims.map((one) => one?.claim.saying.telling ?? new Set<string>()),
    { few: HOLDERS_MAX, most: HITS_MAX, accept: (found) => acceptClaims(search, found) },
  );
  const others = holders.flatMap(({ keys }) => keys);
  await loadClaims(search, others, seen);
  const near = claims.map((one, at) =>
    one === undefined ? [] : partnersOf(one, holders[at]?.keys ?? [], seen),
  );
  const apart = await joinedPairs(search, near.flat());
  const searches = holders.filter(({ searched }) => searched).length;
  return {
    pairs: near.map((own) => own.filter((pair) => !apart.has(pairName(pair)))),
    looked: members.length + others.length + searches * SEARCH_COST,
  };
}

interface LoadedClaim {
  readonly memory: FoundMemory;
  readonly claim: AnalysedClaim;
}

/** Loads memories that were not met yet, as far as they make a claim that the caller may see. */
async function loadClaims(
  { reader, analyser, access }: PairSearch,
  keys: readonly string[],
  seen: Map<string, LoadedClaim>,
): Promise<void> {
  const missing = [...new Set(keys)].filter((key) => !seen.has(key)).map(keyBytes);
  const rows = await reader.memoryRows(missing);
  const wanted = rows.map((row) => (row?.lifecycle === "active" ? row : undefined));
  const found = await shownMemories(reader, access, await reader.memories(missing, wanted));
  for (const memory of found) {
    if (memory === undefined) continue;
    if (!makesClaim(memory.head.record.head)) continue;
    const claim = analysed(analyser, claimOf(memory));
    if (claim.saying.telling.size < WORDS_MIN) continue;
    seen.set(keyString(memory.id), { memory, claim });
  }
}

async function acceptClaims(
  { reader, access }: PairSearch,
  found: readonly FoundMemory[],
): Promise<readonly boolean[]> {
  const shown = await shownMemories(reader, access, found);
  return shown.map((memory) => memory !== undefined && makesClaim(memory.head.record.head));
}

function claimOf({ id, head, body }: FoundMemory): Claim {
  return { id, head: head.record.head, version: bodyOf(body) };
}

/** What is unsettled by itself waits under a kind of its own; what was taken back claims nothing. */
function makesClaim({ fingerprint, siblings, status }: Head): boolean {
  return fingerprint !== undefined && siblings.length === 0 && status !== "retracted";
}

function analysed(analyser: Analyser, claim: Claim): AnalysedClaim {
  const { head, version } = claim;
  return { ...claim, saying: sayingOf(analyser, claimText(head.type, version.data)) };
}

function partnersOf(
  own: LoadedClaim,
  keys: readonly string[],
  seen: ReadonlyMap<string, LoadedClaim>,
): readonly DuplicatePair[] {
  const others = keys
    .flatMap((key) => seen.get(key) ?? [])
    .filter((other) => other !== own && isShorter(own.claim, other.claim))
    .filter((other) => makeSameClaim(own.claim, other.claim));
  return others
    .sort((a, b) => compareBytes(a.memory.id, b.memory.id))
    .map((other) => ({
      shorter: own.memory,
      longer: other.memory,
      words: [own.claim.saying.telling.size, other.claim.saying.telling.size] as const,
    }));
}

function isShorter(a: AnalysedClaim, b: AnalysedClaim): boolean {
  const [left, right] = [a.saying.words.length, b.saying.words.length];
  return left === right ? compareBytes(a.id, b.id) < 0 : left < right;
}

/** Whether `shorter` and `longer` make nearly the same claim, whatever joins them. */
function makeSameClaim(shorter: AnalysedClaim, longer: AnalysedClaim): boolean {
  const [a, b] = [shorter.head, longer.head];
  if (a.type !== b.type || a.kind !== b.kind) return false;
  // Two slots are two questions, even where the answer is the same.
  if (a.slot !== undefined && b.slot !== undefined && a.slot !== b.slot) return false;
  const [from, to] = [shorter.version, longer.version];
  if (from.validTo !== to.validTo || differ(from.validFrom, to.validFrom)) return false;
  return fieldsAgree(from, to) && restates(shorter.saying, longer.saying);
}

function differ(a: unknown, b: unknown): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

type Field = Parameters<typeof encode>[0];

/** Whether no field that both have holds two values; the sentence itself is compared by its words. */
function fieldsAgree(a: Version, b: Version): boolean {
  const theirs = b.data as { readonly [name: string]: Field | undefined };
  return Object.entries(a.data as { readonly [name: string]: Field | undefined }).every(
    ([name, value]) => {
      const other = theirs[name];
      if (name === "statement" || value === undefined || other === undefined) return true;
      return sameBytes(encode(value), encode(other));
    },
  );
}

/** Whether two memories still make nearly the same claim: what a settlement asks of a pair. */
export function isDuplicate(analyser: Analyser, pair: readonly [Claim, Claim]): boolean {
  if (!pair.every(({ head }) => makesClaim(head))) return false;
  const [a, b] = [analysed(analyser, pair[0]), analysed(analyser, pair[1])];
  return isShorter(a, b) ? makeSameClaim(a, b) : makeSameClaim(b, a);
}

/** The rows of live edges that leave no question about two memories. */
export function joiningKeys(engine: Pick<Engine, "sha256">, a: Bytes, b: Bytes): readonly Bytes[] {
  return CODES.flatMap((code) => edgeKeys(engine, code, [a, b], EDGE_STATE.live));
}

function edgeKeys(
  { sha256 }: Pick<Engine, "sha256">,
  code: number,
  [a, b]: readonly [Bytes, Bytes],
  state: number,
): readonly Bytes[] {
  return [
    { from: a, to: b },
    { from: b, to: a },
  ].map(({ from, to }) => edgeKey("out", { from, code, far: farKey(sha256, to), n: 0 }, state));
}

function pairName({ shorter, longer }: DuplicatePair): string {
  return `${keyString(shorter.id)}${keyString(longer.id)}`;
}

/** Of pairs, those whose relation is on record, a contradiction that was settled by keeping both too. */
async function joinedPairs(
  { engine, reader }: PairSearch,
  pairs: readonly DuplicatePair[],
): Promise<ReadonlySet<string>> {
  const asked = pairs.flatMap((pair) => {
    const ends = [pair.shorter.id, pair.longer.id] as const;
    const settled = edgeKeys(engine, CONTRADICTS, ends, EDGE_STATE.removed);
    const live = joiningKeys(engine, ...ends).map((key) => ({ pair, key, isLive: true }));
    return [...live, ...settled.map((key) => ({ pair, key, isLive: false }))];
  });
  const rows = await reader.getMany(asked.map(({ key }) => key));
  const there = asked.flatMap((one, at) => {
    const row = rows[at];
    return row === undefined ? [] : [{ ...one, row }];
  });
  const removed = there.filter(({ isLive }) => !isLive);
  const records = await reader.edges(removed.map(({ row }) => decodeAdjacency(row)));
  const kept = removed.filter((_, at) => records[at]?.record.metadata?.settled === "keep_both");
  const over = [...there.filter(({ isLive }) => isLive), ...kept];
  return new Set(over.map(({ pair }) => pairName(pair)));
}
