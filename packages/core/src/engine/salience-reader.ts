/**
 * Salience at a reader's position: the weights and the counters it is made from, as they were there.
 *
 * The present is one batched read: a row for each counter, one for the weights, the entry that holds
 * them; before it, where that waits for nobody, one look whether there are counters at all. The past is exact as well: a memory that has no counters now never had any, and for the others
 * the parts attached to them are counted again, up to the position. So what was scored then can be
 * scored again, as long as nothing was forgotten since.
 */

import { invalid } from "../errors.js";
import { decodeCounter, decodePointer, type PartPointer } from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { decodeEntry } from "../journal/entry.js";
import {
  afterPrefix,
  attachedPart,
  attachmentKey,
  formerWeightsKey,
  idKey,
  journalKey,
  keyString,
  WEIGHTS_KEY,
} from "../kv/keyspace.js";
import { ALL_ROWS, type Bytes, compareBytes } from "../kv/kv.js";
import { isPinned } from "../records/frames.js";
import {
  COLD_WEIGHTS,
  type Counter,
  countUse,
  decayOf,
  decodeLearnRecord,
  factorsOf,
  isUse,
  type Salience,
  salience,
  UNUSED,
  type Use,
  type Weights,
} from "../salience/salience.js";

/** When salience is asked for, and what a query adds to it. */
interface SalienceOptions {
  readonly nowMs: number;
  /** Cosine of each memory and the query, by the `keyString` of the id; absent ones have none. */
  readonly similarity?: ReadonlyMap<string, number>;
}

/** The weights in force at the reader's position. */
export async function weightsAt(reader: Reader): Promise<Weights> {
  const [row] = await reader.getMany([WEIGHTS_KEY]);
  return weightsFrom(reader, row);
}

/**
 * The salience of memories found at the reader's position, in their order. One rule for every reader:
 * what is pinned has its floor, and what was hidden has no salience at all.
 */
export async function salienceOf(
  reader: Reader,
  found: readonly FoundMemory[],
  options: SalienceOptions,
): Promise<readonly Salience[]> {
  if (found.length === 0) return [];
  const { nowMs, similarity } = options;
  if (!Number.isFinite(nowMs)) throw invalid("nowMs", "a time in milliseconds", nowMs);
  const [weightsRow, ...counterRows] = await useRows(reader, found);
  const [weights, counters] = await Promise.all([
    weightsFrom(reader, weightsRow),
    countersFrom(reader, found, counterRows),
  ]);
  return found.map((memory, at) => {
    const name = keyString(memory.id);
    const use = useOf(memory, counters[at] ?? UNUSED);
    const factors = factorsOf(use, nowMs, similarity?.get(name));
    const { type } = memory.head.record.head;
    const decay = decayOf(type, nowMs - use.lastUsedAt, use.importance);
    const hidden = memory.row.lifecycle === "tombstoned";
    return salience(factors, weights, { pinned: isPinnedMemory(memory), hidden, decay });
  });
}

/**
 * The row of the weights, and the rows of counters in order. Most stores never heard what helped: where a read waits for
 * nobody, one look at the counters from the first of the memories to the last tells that there are none.
 */
async function useRows(
  reader: Reader,
  found: readonly FoundMemory[],
): Promise<readonly (Bytes | undefined)[]> {
  const keys = found.map(({ id }) => idKey("counter", id));
  if (reader.isAtHand && keys.length > 1) {
    const order = [...keys].sort(compareBytes);
    const [first, last] = [order[0] as Bytes, order.at(-1) as Bytes];
    const range = { gte: first, lt: afterPrefix(last), limit: 1, keysOnly: true };
    const [used = []] = await reader.ranges([range]);
    if (used.length === 0) return reader.getMany([WEIGHTS_KEY]);
  }
  return reader.getMany([WEIGHTS_KEY, ...keys]);
}

/** What the factors of a memory are made from; changing a memory counts as using it. */
function useOf({ head }: FoundMemory, counter: Counter): Use {
  return {
    lastUsedAt: Math.max(counter.lastUsedAt, head.header.at),
    accessed: counter.accessed,
    cited: counter.cited,
    importance: head.record.head.importance,
  };
}

async function weightsFrom(reader: Reader, row: Bytes | undefined): Promise<Weights> {
  if (row === undefined) return COLD_WEIGHTS;
  const current = decodePointer(row);
  const pointer = current.seq <= reader.seq ? current : await formerWeights(reader);
  if (pointer === undefined) return COLD_WEIGHTS;
  const [found] = await reader.records([pointer], decodeLearnRecord);
  return found?.record.weights ?? COLD_WEIGHTS;
}

async function formerWeights(reader: Reader): Promise<PartPointer | undefined> {
  const [rows] = await reader.ranges([
    { gte: formerWeightsKey(0), lt: formerWeightsKey(reader.seq + 1), limit: 1, reverse: true },
  ]);
  const row = rows?.[0];
  return row === undefined ? undefined : decodePointer(row.value);
}

async function countersFrom(
  reader: Reader,
  found: readonly FoundMemory[],
  rows: readonly (Bytes | undefined)[],
): Promise<readonly Counter[]> {
  const now = rows.map(decodeCounter);
  if (reader.live) return now;
  const used = found.flatMap(({ id }, at) => (rows[at] === undefined ? [] : [{ id, at }]));
  const attached = await reader.ranges(
    used.map(({ id }) => ({
      gte: attachmentKey(id, 0, 0),
      lt: attachmentKey(id, reader.seq + 1, 0),
      limit: ALL_ROWS,
      keysOnly: true,
    })),
  );
  const pointers = attached.map((keys) => keys.map(({ key }) => attachedPart(key)));
  const seqs = [...new Set(pointers.flat().map(({ seq }) => seq))];
  const entries = await reader.getMany(seqs.map(journalKey));
  const bySeq = new Map(seqs.map((seq, at) => [seq, entries[at]]));
  for (const [index, { at }] of used.entries()) {
    now[at] = countedAgain(pointers[index] ?? [], bySeq);
  }
  return now;
}

function countedAgain(
  pointers: readonly PartPointer[],
  entries: ReadonlyMap<number, Bytes | undefined>,
): Counter {
  let counter = UNUSED;
  for (const { seq, part } of pointers) {
    const row = entries.get(seq);
    if (row === undefined) continue;
    const { header, parts } = decodeEntry(row);
    const bytes = parts[part];
    if (bytes !== undefined && isUse(header)) counter = countUse(counter, header, bytes);
  }
  return counter;
}

/** Whether a memory belongs to the pinned tier, by what its Version says. */
function isPinnedMemory({ head, body }: FoundMemory): boolean {
  return isPinned(head.record.head.type, bodyOf(body).data);
}
