/**
 * Finds memories for a question that names a time and nothing else: "What did I do last week?" Its words stand
 * in no answer, so memories are looked up by when they were written, the newest first, a bounded number; of
 * those it keeps what speaks of that time. A conversation that was brought in later than it took place is not
 * found this way: then, as where nothing was written at that time, there is no answer here, and the other lanes
 * are asked.
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
  const written = await Promise.all(
    time.periods.map(({ fromMs, toMs }) => writtenWithin(reader, { fromMs, toMs, lifecycles })),
  );
  const ids = [...new Map(written.flat().map((id) => [keyString(id), id])).values()];
  const rows = await reader.memoryRows(ids);
  const found = (await reader.memories(ids, rows)).flatMap((memory) => memory ?? []);
  const verdicts = await accept(found);
  const kept = found.filter((memory, at) => verdicts[at] === true && timeFit(memory, time) > 0);
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
  const terms = Object.values(MEMORY_TYPES).flatMap(({ code }) =>
    lifecycles.map((lifecycle) => ({
      index: INDEX.type,
      lifecycle: LIFECYCLES[lifecycle].code,
      term: Uint8Array.of(code),
    })),
  );
  const query = { terms, bounds, pageItems: WRITTEN_MOST, reverse: true, cursor: undefined };
  const { members } = await (await openMembers(reader, query)).next(WRITTEN_MOST);
  return members.slice(0, WRITTEN_MOST).map((member) => member.subarray(member.length - 16));
}

/** How well a memory fits the times that a question speaks of. */
export function timeFit(memory: FoundMemory, { periods }: TimeWords): number {
  if (periods.length === 0) return 0;
  const at = worldTimeOf(memory);
  return Math.max(0, ...periods.map((period) => fitOf(at, period)));
}
