/**
 * Which turns wait to be distilled: a place in the journal, and what was done beyond it.
 *
 * Turns of one session whose words stand equally (`threadOf`) form a thread, and a thread is worked off
 * in the order in which its turns were stored. The queue is one cache row: a cursor below which no turn
 * waits; for every thread that is ahead of the cursor, how far it has come; and for every thread whose
 * last try failed, when the next one may come. So a thread that fails holds up no other, a turn that is
 * put into a session late is found like any other, and nothing is passed over because a process died:
 * what was not written into the row is done again.
 *
 * Promise: the cursor moves beyond a turn only when its thread did. A turn that is hidden or forgotten
 * while it waits is not distilled.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList, readText } from "../codec/cbor-value.js";
import { toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { utf8 } from "../codec/text.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { EXTRACT_QUEUE_KEY, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { TurnData } from "../records/data.js";
import { dropFenced } from "../records/fence.js";
import type { Source } from "../records/types.js";
import { standingOf } from "../trust/gate.js";
import { memoriesOf } from "../vector/loaded-vectors.js";

/** A turn, or a piece of a long one, that waits. */
export interface WaitingTurn {
  readonly id: Bytes;
  /** The entry that brought its words. */
  readonly seq: number;
  /** When it was stored. */
  readonly storedAt: number;
  readonly thread: string;
  readonly source: Source;
  readonly version: number;
  readonly data: TurnData;
  /** Its words, without rendered memory. */
  readonly content: string;
}

/** A thread whose last try failed. */
interface FailedThread {
  /** Failures since it last went well. */
  readonly count: number;
  readonly retryAt: number;
}

/** What the queue's row says. */
export interface Queue {
  /** The first entry that may hold a turn that waits. */
  readonly cursor: number;
  /** For threads that are ahead of the cursor, the first entry that they have not seen to. */
  readonly ahead: ReadonlyMap<string, number>;
  readonly failed: ReadonlyMap<string, FailedThread>;
}

/** Turns of one thread that are shown to a model at once. */
export interface Window {
  readonly thread: string;
  readonly session: string;
  /** Whose words its facts are. */
  readonly source: Source;
  /** In the order of the conversation. */
  readonly turns: readonly WaitingTurn[];
  /** The first entry that the thread has not seen to once the window is done. */
  readonly next: number;
  /** Whether the thread holds as much as fits. */
  readonly full: boolean;
  readonly lastStoredAt: number;
}

/** What waits, as one snapshot shows it. */
export interface Waiting {
  readonly queue: Queue;
  readonly row: Bytes | undefined;
  /** The first window of every thread that has one. */
  readonly windows: readonly Window[];
  /** Turns that wait before `end`, those beyond the first windows included. */
  readonly turns: number;
  /** The first entry that was not looked at. */
  readonly end: number;
  readonly size: number;
}

/** Bytes of the mark of a thread. */
const MARK_BYTES = 10;

const EMPTY: Queue = { cursor: 0, ahead: new Map(), failed: new Map() };

const PAGE_ENTRIES = 256;
/** Bytes that one look holds, about; what is beyond waits for the next. Threads hold a window each. */
const BYTES_MOST = 64 * 1024 * 1024;
/** What a turn takes beside its words, about. */
const TURN_BYTES = 512;

/**
 * The thread of a turn, and whose words its facts will be. Words from outside are never shown together
 * with others: what a document says must not become what the conversation said.
 */
export function threadOf(session: string, source: Source): { thread: string; source: Source } {
  const written = standingOf(source) === "outside" ? source : "extraction";
  // A name would outlive its session in the row: a mark of it says nothing once the session is gone.
  const mark = sha256Pure(utf8(`${written} ${session}`)).subarray(0, MARK_BYTES);
  return { thread: toHex(mark), source: written };
}

/** The queue in a row; everything waits where there is none. */
export function decodeQueue(row: Bytes | undefined): Queue {
  if (row === undefined) return EMPTY;
  const [cursor, ahead, failed] = readList(decode(row));
  return {
    cursor: readIntegerOr(cursor, 0),
    ahead: new Map(readList(ahead).map((item) => pairOf(item))),
    failed: new Map(
      readList(failed).map((item) => {
        const [thread, count, retryAt] = readList(item);
        return [
          readText(thread),
          { count: readIntegerOr(count, 0), retryAt: readIntegerOr(retryAt, 0) },
        ];
      }),
    ),
  };
}

function pairOf(item: CborValue): [string, number] {
  const [thread, seq] = readList(item);
  return [readText(thread), readIntegerOr(seq, 0)];
}

/** The bytes of a queue. */
export function encodeQueue({ cursor, ahead, failed }: Queue): Bytes {
  return encode([
    cursor,
    [...ahead],
    [...failed].map(([thread, { count, retryAt }]) => [thread, count, retryAt]),
  ]);
}

/** The queue after a window was done. */
export function afterDone(queue: Queue, { thread, next }: Pick<Window, "thread" | "next">): Queue {
  const ahead = new Map(queue.ahead).set(thread, Math.max(next, queue.ahead.get(thread) ?? 0));
  const failed = new Map(queue.failed);
  failed.delete(thread);
  return { ...queue, ahead, failed };
}

const RETRY_FIRST_MS = 60_000;
const RETRY_MOST_MS = 6 * 60 * 60_000;

/** The queue after a window failed: its turns wait on, and the pause before them doubles. */
export function afterFailure(queue: Queue, thread: string, now: number): Queue {
  const count = (queue.failed.get(thread)?.count ?? 0) + 1;
  const retryAt = now + Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** Math.min(count - 1, 20));
  return { ...queue, failed: new Map(queue.failed).set(thread, { count, retryAt }) };
}

/** The queue with its cursor as far on as no turn waits, and without what that makes needless. */
export function caughtUp(waiting: Waiting): Queue {
  const { queue, windows, end } = waiting;
  const firsts = windows.map(({ turns }) => Math.min(...turns.map(({ seq }) => seq)));
  const cursor = Math.max(queue.cursor, Math.min(end, ...firsts));
  const threads = new Set(windows.map(({ thread }) => thread));
  const failed = new Map([...queue.failed].filter(([thread]) => threads.has(thread)));
  return { cursor, ahead: new Map([...queue.ahead].filter(([, seq]) => seq > cursor)), failed };
}

/** Reads what waits, in all sessions or in one. */
export async function readWaiting(reader: Reader, session?: string): Promise<Waiting> {
  const [row] = await reader.getMany([EXTRACT_QUEUE_KEY]);
  const queue = decodeQueue(row);
  const { size } = reader.head;
  const threads = new Map<string, Thread>();
  let turns = 0;
  let bytes = 0;
  let at = Math.min(queue.cursor, size);
  while (at < size && bytes < BYTES_MOST) {
    const to = Math.min(size, at + PAGE_ENTRIES);
    for (const turn of await turnsIn(reader, at, to)) {
      if (turn.seq < (queue.ahead.get(turn.thread) ?? 0)) continue;
      if (session !== undefined && turn.data.session !== session) continue;
      turns += 1;
      const thread = threads.get(turn.thread) ?? { turns: [], bytes: 0 };
      threads.set(turn.thread, thread);
      // One more than fits: a window has to know that there is more.
      if (thread.turns.length > LIMITS.extractTurns || thread.bytes > LIMITS.extractBytes) continue;
      thread.turns.push(turn);
      thread.bytes += turn.content.length;
      bytes += turn.content.length + TURN_BYTES;
    }
    at = to;
  }
  const windows = windowsOf([...threads.values()].flatMap((thread) => thread.turns));
  return { queue, row, windows, turns, end: at, size };
}

/** The first turns of a thread that wait. */
interface Thread {
  readonly turns: WaitingTurn[];
  bytes: number;
}

/**
 * The turns whose words these entries brought, as they are now, in that order. A turn that was changed
 * since is found where its last change is, so that a thread is always seen in the order of its entries.
 */
async function turnsIn(reader: Reader, from: number, to: number): Promise<readonly WaitingTurn[]> {
  const keys = Array.from({ length: to - from }, (_, at) => journalKey(from + at));
  const entries = await reader.getMany(keys);
  const touched = new Map<string, Bytes>();
  for (const entry of entries) {
    if (entry === undefined) continue;
    for (const id of memoriesOf(entry)) touched.set(keyString(id), id);
  }
  const ids = [...touched.values()];
  const rows = (await reader.memoryRows(ids)).map((row) =>
    row?.type === "note" && row.lifecycle === "active" ? row : undefined,
  );
  const found = await reader.memories(ids, rows);
  return found
    .flatMap((memory) => (memory === undefined ? [] : waitingTurn(memory)))
    .filter(({ seq }) => seq >= from && seq < to)
    .sort((a, b) => a.seq - b.seq);
}

function waitingTurn(memory: FoundMemory): readonly WaitingTurn[] {
  const { head } = memory.head.record;
  if (head.turn === undefined) return [];
  const version = bodyOf(memory.body);
  const data = version.data as TurnData;
  // What a program instructs, and what a tool was asked and answered, is not what anybody said.
  if (data.role !== "user" && data.role !== "assistant") return [];
  const content = dropFenced(data.content);
  if (content.trim() === "") return [];
  const { seq, at } = memory.body.header;
  const { number } = version;
  const thread = threadOf(data.session, head.source);
  return [{ id: memory.id, seq, storedAt: at, version: number, data, content, ...thread }];
}

/** The first window of every thread, the longest waiting first. */
export function windowsOf(turns: readonly WaitingTurn[]): readonly Window[] {
  const threads = new Map<string, WaitingTurn[]>();
  for (const turn of turns) {
    const thread = threads.get(turn.thread);
    if (thread === undefined) threads.set(turn.thread, [turn]);
    else thread.push(turn);
  }
  return [...threads.values()].map(windowOf).sort((a, b) => a.next - b.next);
}

function windowOf(thread: readonly WaitingTurn[]): Window {
  const bySeq = thread.toSorted((a, b) => a.seq - b.seq);
  const taken: WaitingTurn[] = [];
  let bytes = 0;
  for (const turn of bySeq) {
    bytes += turn.content.length;
    const isOver = taken.length >= LIMITS.extractTurns || bytes > LIMITS.extractBytes;
    if (isOver && taken.length > 0) break;
    taken.push(turn);
  }
  const last = taken.at(-1);
  const first = taken[0];
  if (last === undefined || first === undefined) throw new Error("a thread without turns");
  return {
    thread: first.thread,
    session: first.data.session,
    source: first.source,
    turns: taken.toSorted(byPlace),
    next: last.seq + 1,
    full: taken.length < bySeq.length || taken.length >= LIMITS.extractTurns,
    lastStoredAt: Math.max(...taken.map(({ storedAt }) => storedAt)),
  };
}

function byPlace(a: WaitingTurn, b: WaitingTurn): number {
  return a.data.index - b.data.index || (a.data.chunk ?? 0) - (b.data.chunk ?? 0);
}

/** Whether a window may be worked at: nobody is still talking, and its last failure is long ago. */
export function isDue(
  window: Window,
  queue: Queue,
  when: { readonly now: number; readonly debounceMs: number },
): boolean {
  const { now, debounceMs } = when;
  if ((queue.failed.get(window.thread)?.retryAt ?? 0) > now) return false;
  return window.full || window.lastStoredAt + debounceMs <= now;
}
