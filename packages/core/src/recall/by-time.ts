/**
 * Finds memories for a question that names a time and nothing else: "What did I do last week?" Its words stand
 * in no answer, so memories are looked up by when they were written, the newest first, a bounded number; of
 * those it keeps what speaks of that time. Where that is nothing, as after a conversation was brought in later
 * than it took place, it keeps what speaks of that time of the last memories written. Where that is nothing either,
 * there is no answer here, and the other lanes are asked.
 *
 * Promise: a few batched reads, for such questions alone, and nothing that the caller may not see. How well a
 * memory fits the times of any question is computed here, too.
 */
import { type FoundMemory, lastSeqAt, type Reader } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { openMembers } from "../memory/members.js";
import { LIFECYCLES, type Lifecycle, MEMORY_TYPES } from "../records/types.js";
import { FULL_SCALE, voiceOf, worldTimeOf } from "./fuse.js";
import type { Gathered } from "./recall-lanes.js";
import { fitOf, type TimeWords } from "./time-words.js";

/** Memories of one stretch of time that are looked at, the newest first. */
const WRITTEN_MOST = 192;
/** The last memories written that are looked at where none was written then. */
const LATEST_MOST = 768;

/** A question that asks for a time alone. */
interface TimeQuestion {
  readonly time: TimeWords;
  readonly lifecycles: readonly Lifecycle[];
  /** Judges memories: access and filters. */
  readonly accept: (found: readonly FoundMemory[]) => Promise<readonly boolean[]>;
}

/** What was written at the times of a question and speaks of them; `undefined` where there is none. */
export async function gatherByTime(
  reader: Reader,
  { time, lifecycles, accept }: TimeQuestion,
): Promise<Gathered | undefined> {
  const speakingThen = async (ids: readonly Bytes[]): Promise<readonly FoundMemory[]> => {
    const rows = await reader.memoryRows(ids);
    const found = (await reader.memories(ids, rows)).flatMap((memory) => memory ?? []);
    const verdicts = await accept(found);
    return found.filter((memory, at) => verdicts[at] === true && timeFit(memory, time) > 0);
  };
  const written = await Promise.all(
    time.periods.map(({ fromMs, toMs }) => writtenWithin(reader, { fromMs, toMs, lifecycles })),
  );
  const then = await speakingThen([
    ...new Map(written.flat().map((id) => [keyString(id), id])).values(),
  ]);
  const all = { fromSeq: 0, toSeq: reader.seq };
  const latest = then.length > 0 ? [] : await writtenIn(reader, all, lifecycles, LATEST_MOST);
  const told = await speakingThen(latest);
  // What is merely beside that time was told of another.
  const isThen = told.some((memory) => timeFit(memory, time) === 1);
  const kept = then.length > 0 || !isThen ? then : told.slice(0, WRITTEN_MOST);
  if (kept.length === 0) return undefined;
  const keyed = kept.map((memory) => [keyString(memory.id), memory] as const);
  const none = new Map<string, never>();
  return {
    memories: new Map(keyed),
    // What an assistant said then counts less, as it does elsewhere.
    lanes: new Map(
      keyed.map(([key, memory]) => [key, { time: voiceOf(memory) * timeFit(memory, time) }]),
    ),
    ...{ coverage: none, via: none, similarity: none, closeness: none, own: none, sessions: none },
    ...{ byTime: true, scale: FULL_SCALE, terms: [], isAside: () => false, isSpoken: () => false },
  };
}

async function writtenWithin(
  reader: Reader,
  { fromMs, toMs, lifecycles }: { fromMs: number; toMs: number; lifecycles: readonly Lifecycle[] },
): Promise<readonly Bytes[]> {
  const [before, last] = await Promise.all([
    lastSeqAt(reader, fromMs - 1),
    lastSeqAt(reader, toMs - 1),
  ]);
  const bounds = { fromSeq: (before ?? -1) + 1, toSeq: Math.min(last ?? -1, reader.seq) };
  if (bounds.toSeq < bounds.fromSeq) return [];
  return writtenIn(reader, bounds, lifecycles, WRITTEN_MOST);
}

/** What entries brought in, the newest first. */
async function writtenIn(
  reader: Reader,
  bounds: { readonly fromSeq: number; readonly toSeq: number },
  lifecycles: readonly Lifecycle[],
  most: number,
): Promise<readonly Bytes[]> {
  const terms = Object.values(MEMORY_TYPES).flatMap(({ code }) =>
    lifecycles.map((lifecycle) => ({
      index: INDEX.type,
      lifecycle: LIFECYCLES[lifecycle].code,
      term: Uint8Array.of(code),
    })),
  );
  const query = { terms, bounds, pageItems: most, reverse: true, cursor: undefined };
  const { members } = await (await openMembers(reader, query)).next(most);
  return members.slice(0, most).map((member) => member.subarray(member.length - 16));
}

/** How well a memory fits the times that a question speaks of. */
export function timeFit(memory: FoundMemory, { periods }: TimeWords): number {
  if (periods.length === 0) return 0;
  const at = worldTimeOf(memory);
  return Math.max(0, ...periods.map((period) => fitOf(at, period)));
}
