/**
 * Reading memories: one, a pinned version, the versions that one had. Every answer is of one journal
 * position, the end or the past that `asOf` names, and goes through the caller's access.
 *
 * The open versions of a memory: the current one, and while a conflict is open those that were kept
 * beside it. Most readers know a memory by its head; a reader for whom each open version stands for
 * itself finds here which there are and what of each is searched.
 */
import type { Asked } from "../contract/index.js";
import type { Memory } from "../contract/shapes.js";
import { type Engine, findIds, firstRefKey, type ParsedRef, parseRef } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import {
  decodeMemoryRow,
  decodePointer,
  type MemoryRow,
  type PartPointer,
} from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Read, Reader, showNow } from "../history/reader.js";
import { decodeHeader, splitEntry } from "../journal/entry.js";
import {
  INDEX,
  idKey,
  indexPrefix,
  journalKey,
  keyString,
  ownedPrefix,
  prefixRange,
  REVIEW_TERM,
  textKey,
  versionKey,
} from "../kv/keyspace.js";
import type { Bytes, KvRange, KvRow } from "../kv/kv.js";
import { INTEGER_MAX } from "../limits.js";
import { decodeMemoryRecord, type Head, type MemoryRecord } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import { type Access, maySee } from "../scope/access.js";
import type { DocumentSource } from "../text/document.js";
import { type SlotTurns, slotTurns } from "./members.js";

/** More versions than anybody reads at once. */
const HISTORY_ROWS = 100_000;

/** One memory by id, URI or external id; `undefined` when there is none the caller may see. */
export async function get(
  engine: Engine,
  { id, version, asOf, validAt, access }: Asked<"get">,
): Promise<Memory | undefined> {
  const parsed = parseRef(engine, id, "id");
  const wanted = version ?? parsed.version;
  if (asOf === undefined && validAt === undefined) {
    const memory = getNow(engine, parsed, wanted);
    if (memory !== undefined) return memory;
  }
  const read = async (reader: Reader): Promise<Memory | undefined> => {
    const found = await findByRef(reader, parsed);
    if (found === undefined) return missed(reader, access, parsed);
    if (validAt !== undefined) return validVersion(engine, reader, found, { validAt, access });
    if (wanted === undefined || wanted === found.row.version)
      return shapeMemory(engine.actor, found);
    const body = await versionOf(reader, found, wanted);
    return body === undefined ? undefined : shapeMemory(engine.actor, found, body);
  };
  // A promise that is returned and not awaited takes three turns of the queue instead of one.
  return await Reader.brief(engine.kv, asOf, read, [firstRefKey(parsed)]);
}

/**
 * The memory that an id or a name means now, where the storage has its rows at hand. `undefined` says nothing: then an
 * id may be a name, the version another one, or the answer take a wait.
 */
function getNow(
  { kv, actor }: Engine,
  { id, externalId = "" }: ParsedRef,
  wanted: number | undefined,
): Memory | undefined {
  const show = (found: FoundMemory): Memory | undefined =>
    wanted === undefined || wanted === found.row.version ? shapeMemory(actor, found) : undefined;
  return kv.readNow?.((rows) => {
    const known = id ?? rows.getNow(textKey("externalId", externalId));
    return known === undefined ? undefined : showNow(rows, known, show);
  });
}

/** The memory behind a reference; its row, or that of its name, was read together with the head. */
function findByRef(reader: Reader, ref: ParsedRef): Promise<FoundMemory | undefined> {
  const [raw] = reader.first;
  if (raw !== undefined) {
    if (ref.id === undefined) return findMemory(reader, raw);
    if (reader.live) return reader.memory(ref.id, decodeMemoryRow(raw));
  }
  return lookFor(reader, ref, raw);
}

async function lookFor(
  reader: Reader,
  ref: ParsedRef,
  raw: Bytes | undefined,
): Promise<FoundMemory | undefined> {
  if (ref.id !== undefined && raw !== undefined) {
    const [row] = await reader.memoryRows([ref.id], [raw]);
    return row === undefined ? undefined : reader.memory(ref.id, row);
  }
  const id =
    ref.id === undefined || ref.externalId === undefined
      ? undefined
      : await reader.externalId(ref.externalId);
  return id === undefined ? undefined : findMemory(reader, id);
}

/** The memory a URI pins; the version must be in the URI. */
export async function resolve(
  engine: Engine,
  { uri, asOf, access }: Asked<"resolve">,
): Promise<Memory | undefined> {
  const { type, version } = parseUri(uri);
  const memory = await get(engine, { id: uri, version, asOf, access });
  return memory?.type === type ? memory : undefined;
}

/**
 * Puts on record that a caller asked by name for a memory that its scope does not show. Whether there is
 * such a memory or not, the same is read and the same is answered.
 */
export async function missed(reader: Reader, access: Access, ref: ParsedRef): Promise<undefined> {
  if (access.kind !== "scope") return undefined;
  const [id] = await findIds(reader.whole, [ref]);
  const [row] = id === undefined ? [] : await reader.whole.memoryRows([id]);
  const isThere = row !== undefined && row.lifecycle !== "erased";
  if (id !== undefined && isThere) access.violated(id, "violation", "read");
  return undefined;
}

/** Whether the caller may see a memory that was found at the reader's position. */
export async function isShown(
  reader: Reader,
  access: Access,
  found: FoundMemory,
): Promise<boolean> {
  return (await shownMemories(reader, access, [found]))[0] !== undefined;
}

/**
 * Of memories found at the reader's position, those the caller may see: as they were then, and as
 * they are now. What the owner has made private since is not to be had by asking for the past.
 */
export async function shownMemories(
  reader: Reader,
  access: Access,
  found: readonly (FoundMemory | undefined)[],
): Promise<readonly (FoundMemory | undefined)[]> {
  if (access.kind === "owner") return found;
  const then = found.map((memory) =>
    memory !== undefined && maySee(access, memory.head.record.head, memory.id) ? memory : undefined,
  );
  if (reader.live) return then;
  const ids = then.flatMap((memory) => memory?.id ?? []);
  const rows = (await reader.getMany(ids.map((id) => idKey("memory", id)))).map((row) =>
    row === undefined ? undefined : decodeMemoryRow(row),
  );
  const heads = await reader.records(
    rows.flatMap((row) => row ?? []),
    decodeMemoryRecord,
  );
  const open = new Set(
    ids.flatMap((id, at) => {
      const head = heads[at]?.record.head;
      return head !== undefined && maySee(access, head, id) ? [keyString(id)] : [];
    }),
  );
  return then.map((memory) =>
    memory !== undefined && open.has(keyString(memory.id)) ? memory : undefined,
  );
}

/** The time that a reader's answers hold at: now, or that of the last entry it sees. */
export async function timeAt(engine: Engine, reader: Reader): Promise<number> {
  if (reader.live) return engine.clock();
  if (reader.seen?.isOpaque === true) return reader.position;
  const [row] = await reader.getMany([journalKey(reader.seq)]);
  if (row === undefined) throw new Error(`journal entry ${reader.seq} is missing`);
  return decodeHeader(splitEntry(row).headerBytes).at;
}

/** One memory at the reader's position; `undefined` when absent or forgotten. */
export async function findMemory(reader: Reader, id: Bytes): Promise<FoundMemory | undefined> {
  const [row] = await reader.memoryRows([id]);
  return row === undefined ? undefined : reader.memory(id, row);
}

/** The part that holds a version of a memory, as far as the reader sees. */
export async function versionOf(
  reader: Reader,
  found: FoundMemory,
  number: number,
): Promise<Read<MemoryRecord> | undefined> {
  const pointer =
    number === 1
      ? await firstVersion(reader, found)
      : await reader
          .getMany([versionKey(found.id, number)])
          .then(([row]) => (row === undefined ? undefined : decodePointer(row)));
  if (pointer === undefined || pointer.seq > reader.seq) return undefined;
  const [body] = await reader.records([pointer], decodeMemoryRecord);
  // The first one that a caller sees need not be version 1.
  return body !== undefined && bodyOf(body).number === number ? body : undefined;
}

/** Version 1 has no row of its own: it lies where the memory's first row points. */
async function firstVersion(reader: Reader, found: FoundMemory): Promise<PartPointer> {
  const [rows] = await reader.ranges([prefixRange(ownedPrefix("history", found.id), 1)]);
  return firstPlace(found.row, rows?.[0]);
}

/** Where version 1 lies, by the memory's row and the first one that it closed, if any. */
function firstPlace(now: MemoryRow, first: KvRow | undefined): PartPointer {
  // For whoever sees a memory since it was shared, the first state may be a change of the head alone.
  const row = first === undefined ? now : decodeMemoryRow(first.value);
  return row.body ?? row;
}

/** The rows that say where the versions of a memory lie: those of its versions, and the first that it closed. */
export function versionRanges(id: Bytes): readonly [KvRange, KvRange] {
  return [
    prefixRange(ownedPrefix("version", id), HISTORY_ROWS),
    prefixRange(ownedPrefix("history", id), 1),
  ];
}

/** Where the versions of a memory lie up to a position, oldest first, by those rows. */
export function versionPlaces(
  now: MemoryRow,
  versions: readonly KvRow[],
  closed: readonly KvRow[],
  upTo: number,
): readonly PartPointer[] {
  const first = firstPlace(now, closed[0]);
  const places = [first];
  for (const { value } of versions) {
    const place = decodePointer(value);
    // A memory whose lineage came from elsewhere begins with a higher number, which has a row.
    const isFirst = place.seq === first.seq && place.part === first.part;
    if (place.seq <= upTo && !isFirst) places.push(place);
  }
  return places;
}

/** Every version up to the reader's position, oldest first, those that were undone included. */
export async function allVersions(
  reader: Reader,
  found: FoundMemory,
): Promise<Read<MemoryRecord>[]> {
  const [versions = [], closed = []] = await reader.ranges(versionRanges(found.id));
  const places = versionPlaces(found.row, versions, closed, reader.seq);
  const bodies = await reader.records(places, decodeMemoryRecord);
  return bodies.flatMap((body) => (body === undefined ? [] : [body]));
}

/**
 * Of the versions of a memory, those that the current ones lead back to by what they superseded. A
 * version that a revert set aside is not among them: what it said is no part of what came after.
 */
export function standingOf(
  found: FoundMemory,
  bodies: readonly Read<MemoryRecord>[],
): readonly Read<MemoryRecord>[] {
  if (found.row.highest === undefined) return bodies;
  const { head } = found.head.record;
  const byNumber = new Map(bodies.map((body) => [bodyOf(body).number, body]));
  const met = new Set([head.version, ...head.siblings]);
  // A set is walked in the order it grows in, what is added meanwhile included.
  for (const number of met) {
    const body = byNumber.get(number);
    for (const before of body === undefined ? [] : bodyOf(body).supersedes) met.add(before);
  }
  return bodies.filter((body) => met.has(bodyOf(body).number));
}

/** The versions up to the reader's position that stand, oldest first. */
export async function standingVersions(
  reader: Reader,
  found: FoundMemory,
): Promise<readonly Read<MemoryRecord>[]> {
  return standingOf(found, await allVersions(reader, found));
}

/** The latest version whose world-time interval holds `validAt`. */
async function validVersion(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
  { validAt, access }: { readonly validAt: number; readonly access: Access },
): Promise<Memory | undefined> {
  const bodies = await standingVersions(reader, found);
  const body = validBody(bodies, validAt);
  if (body === undefined || !(await turnsAt(reader, access, validAt))(found, body))
    return undefined;
  return shapeMemory(engine.actor, found, body);
}

/** Whose turn it is in the slots of a store at a time, as far as the caller may see. */
export function turnsAt(reader: Reader, access: Access, timeMs: number): Promise<SlotTurns> {
  return slotTurns(reader, (found) => shownMemories(reader, access, found), timeMs);
}

/**
 * Of the versions of a memory that stand, oldest first, the one that was valid at a time: the last one that had
 * begun by then, unless it had ended. A version ends where a later one begins, so what a later one
 * says about the time since is final. One that gives no start holds from its creation.
 */
export function validBody(
  bodies: readonly Read<MemoryRecord>[],
  time: number,
): Read<MemoryRecord> | undefined {
  const body = bodies.findLast((candidate) => {
    const { validFrom, createdAt } = bodyOf(candidate);
    return (validFrom ?? createdAt) <= time;
  });
  if (body === undefined) return undefined;
  const { validTo } = bodyOf(body);
  return validTo === undefined || time < validTo ? body : undefined;
}

/**
 * Whether what a memory says holds at a time: it has begun, has not ended and has not expired. Asked
 * about the past, what has ended belongs to the answer; what has not begun never does.
 */
export function holdsAt(memory: FoundMemory, nowMs: number, past = false): boolean {
  const { validFrom, validTo, expiresAt } = bodyOf(memory.body);
  // What was said was said, whatever the clocks of those who said it.
  const isTurn = memory.head.record.head.turn !== undefined;
  if (!isTurn && validFrom !== undefined && validFrom > nowMs) return false;
  if (past) return true;
  const ended = validTo !== undefined && validTo <= nowMs;
  return !ended && (expiresAt === undefined || expiresAt > nowMs);
}

/** The numbers of the open versions of a memory, the highest first: more than one while it has rivals. */
export function openVersions(head: Pick<Head, "version" | "siblings">): number[] {
  return [head.version, ...head.siblings].sort((a, b) => b - a);
}

/** The open versions of a memory, the highest first. */
export async function openBodies(
  reader: Reader,
  found: FoundMemory,
): Promise<readonly Read<MemoryRecord>[]> {
  const { head } = found.head.record;
  if (head.siblings.length === 0) return [found.body];
  const bodies = await Promise.all(
    openVersions(head).map((number) =>
      number === head.version ? found.body : versionOf(reader, found, number),
    ),
  );
  return bodies.flatMap((body) => body ?? []);
}

/** The active memories that have rivals: those that the index of what is to be decided names. */
export async function memoriesWithRivals(reader: Reader): Promise<readonly FoundMemory[]> {
  const term = Uint8Array.of(REVIEW_TERM.siblings);
  const prefix = indexPrefix("index", INDEX.review, LIFECYCLES.active.code, term);
  const [rows = []] = await reader.ranges([
    { ...prefixRange(prefix, INTEGER_MAX), keysOnly: true },
  ]);
  const ids = rows.map(({ key }) => key.subarray(key.length - 16));
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  return found.flatMap((memory) => memory ?? []);
}

/** The head as it is now for the version that it goes by, as it was written for another. */
export function headOfVersion({ head }: FoundMemory, { record }: Read<MemoryRecord>): Head {
  const now = head.record.head;
  return record.version?.number === now.version ? now : record.head;
}

/** What is searched of one open version. */
export function documentOf(found: FoundMemory, body: Read<MemoryRecord>): DocumentSource {
  return { head: headOfVersion(found, body), bodies: [bodyOf(body)] };
}
