/**
 * `subscribe`: the entries after a position, each once and in order, for as long as somebody reads.
 *
 * Promises: an entry is delivered after it is durable, whichever process wrote it, and a batch only
 * when all of it is. The reader pulls: one page is held at most, and a reader that lags costs writers
 * nothing, because it holds no snapshot while it thinks. It ends when the caller returns, when the
 * caller's signal is aborted and when the store closes; nothing is left behind then, nor by a
 * subscription that nobody reads. To go on later, begin at the last seq plus one.
 *
 * Entries come without content: `get` and `changes` give that, through the reader's own access.
 */

import { followingOf } from "../contract/following.js";
import type { Asked } from "../contract/index.js";
import type { JournalEvent, Subscription } from "../contract/journal.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { CortexError, isCortexError } from "../errors.js";
import { sizeFromNow, waitForGrowth } from "../history/growth.js";
import { decodeMemoryRow } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import { decodeEntry, type Entry, type EntryKind, SUBJECT } from "../journal/entry.js";
import { idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { MemoryType } from "../records/types.js";
import { beyondTheEnd, shapeEntry } from "./log.js";

/** Longest pause between looks at the head row, unless told otherwise. */
const POLL_MS = 500;

/** The bytes at which a page is large: the next one asks for half as many entries. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Follows the journal. */
export function subscribe(
  engine: Engine,
  { from, kinds, pollMs = POLL_MS, signal }: Asked<"subscribe">,
): Subscription {
  if (engine.closing.aborted) throw new CortexError("ERR_CLOSED", "the store is closed");
  const stop = new AbortController();
  const until = [stop.signal, engine.closing, ...(signal === undefined ? [] : [signal])];
  const start = startOf(engine, from);
  // Whoever asks for the first entry gets this failure; perhaps nobody asks.
  start.catch(() => undefined);
  const wanted = kinds === undefined ? undefined : new Set(kinds);
  const events = follow(engine, start, { kinds: wanted, pollMs, until });
  return followingOf(events, () => stop.abort());
}

/** The first seq to deliver. What this process commits after the call counts as after the call. */
async function startOf(engine: Engine, from: number | undefined): Promise<number> {
  let firstHeard = Number.POSITIVE_INFINITY;
  const unlisten = engine.signal.listen((_, before) => {
    firstHeard = Math.min(firstHeard, before);
  });
  try {
    const size = await sizeFromNow(engine.kv);
    if (from === undefined) return Math.min(size, firstHeard);
    if (from <= size) return from;
    throw beyondTheEnd(from, size);
  } finally {
    unlisten();
  }
}

interface Following {
  readonly kinds: ReadonlySet<EntryKind> | undefined;
  readonly pollMs: number;
  readonly until: readonly AbortSignal[];
}

async function* follow(
  engine: Engine,
  start: Promise<number>,
  { kinds, pollMs, until }: Following,
): AsyncGenerator<JournalEvent, undefined> {
  const isOver = (): boolean => until.some(({ aborted }) => aborted);
  try {
    let next = await start;
    let limit: number = LIMITS.followEntries;
    while (!isOver()) {
      const page = await sharedPage(engine, next, limit);
      for (const event of page.events) {
        if (isOver()) return;
        if (kinds === undefined || kinds.has(event.kind)) yield event;
      }
      next += page.events.length;
      limit = nextLimit(limit, page.bytes);
      if (next === page.size) await waitForGrowth(engine, next, { pollMs, until });
    }
  } catch (error) {
    // The store closed under a read: that ends a subscription, it does not fail it.
    if (!(engine.closing.aborted && isCortexError(error, "ERR_CLOSED"))) throw error;
  }
}

interface EventPage {
  readonly events: readonly JournalEvent[];
  /** Entries of the journal at the snapshot. */
  readonly size: number;
  /** Bytes that were read for it. */
  readonly bytes: number;
}

/** Pages that are being read. */
const reading = new WeakMap<Kv, Map<string, Promise<EventPage>>>();

/**
 * A page, read once for all who ask for the same one meanwhile: a commit wakes every subscription at once. It may
 * have begun before the call and end where the journal did then; whoever is told so looks again before he waits.
 */
function sharedPage(engine: Engine, from: number, limit: number): Promise<EventPage> {
  const pages = reading.get(engine.kv) ?? new Map<string, Promise<EventPage>>();
  reading.set(engine.kv, pages);
  const name = `${from} ${limit}`;
  const another = pages.get(name);
  if (another !== undefined) return another;
  const page = readPage(engine, from, limit).finally(() => pages.delete(name));
  pages.set(name, page);
  return page;
}

async function readPage(engine: Engine, from: number, limit: number): Promise<EventPage> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [rows = []] = await reader.ranges([
      { gte: journalKey(from), lt: journalKey(from + limit), limit },
    ]);
    const { size } = reader.head;
    if (rows.length < Math.min(limit, size - from)) {
      const seq = from + rows.length;
      throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
    }
    const entries = rows.map(({ value }) => decodeEntry(value));
    const ids = entries.flatMap(({ header }) => header.parts.flatMap(memoryOf));
    const types = await typesOf(reader, ids);
    const bytes = rows.reduce((sum, { value }) => sum + value.length, 0);
    return { events: entries.map((entry) => shapeEvent(entry, types)), size, bytes };
  });
}

/** The memory that a part is about, if it is about one. */
function memoryOf({ subject }: { readonly subject: Bytes }): Bytes[] {
  switch (subject[0]) {
    case SUBJECT.memory:
    case SUBJECT.attachment:
    case SUBJECT.goalState:
      return [subject.subarray(1)];
    default:
      return [];
  }
}

/** The types of memories; a forgotten one keeps its own. */
async function typesOf(
  reader: Reader,
  ids: readonly Bytes[],
): Promise<ReadonlyMap<string, MemoryType>> {
  const unique = [...new Map(ids.map((id) => [keyString(id), id])).entries()];
  const rows = await reader.getMany(unique.map(([, id]) => idKey("memory", id)));
  return new Map(
    unique.flatMap(([name], at) => {
      const row = rows[at];
      return row === undefined ? [] : [[name, decodeMemoryRow(row).type] as const];
    }),
  );
}

function shapeEvent(entry: Entry, types: ReadonlyMap<string, MemoryType>): JournalEvent {
  const memories = new Map<string, JournalEvent["memories"][number]>();
  for (const [at, ref] of entry.header.parts.entries()) {
    for (const id of memoryOf(ref)) {
      const name = keyString(id);
      const type = types.get(name);
      const isGone = ref.hash !== null && entry.parts[at] === undefined;
      const erased = isGone || memories.get(name)?.erased === true;
      memories.set(name, {
        id: memoryId(id),
        ...(type === undefined ? {} : { type }),
        erased,
      });
    }
  }
  return { ...shapeEntry(entry), memories: [...memories.values()] };
}

/** Entries may have a megabyte each: pages of large ones are short. */
function nextLimit(limit: number, bytes: number): number {
  const next = bytes > PAGE_BYTES ? Math.floor(limit / 2) : 2 * limit;
  return Math.min(LIMITS.followEntries, Math.max(1, next));
}
