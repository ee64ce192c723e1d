/**
 * What is guessed of stores, so that a call takes one round trip where it would take two, or a single write no snapshot.
 *
 * Writes that read nothing first: a plain write reads only to learn that its id and its claim are new, and that the head is
 * still the one that this process left, and almost always the answer is what was expected. So the writer presumes it,
 * computes the change, and has the commit check it. Nothing is answered from a presumption that did not hold. The commit
 * compares the head, for which all cached rows are true, and is made only if the rows named as absent are; a write that
 * would be refused, that would change nothing or that wants another row reads everything as ever. Where presumptions fail,
 * because others write too or claims repeat, they are made more and more seldom. A run that failed has drawn salts: whoever
 * opens a store with chance of his own, to write the same bytes again, gets no presumptions. Where rows are at hand, a snapshot
 * is all that is saved: it is worth the fold of one write that has to be done again, and not that of many.
 *
 * Entries of the journal that a read will need: the row of a memory says which entry holds its record. But most memories
 * that are read were written or read by this process before: where their records lay then is where they most likely lie
 * still, and those entries come along with the rows. A guess changes no answer. The row is believed, never the guess; a wrong
 * one costs a row that nobody looks at. What is kept is a number of an entry for some memories, in the table of fixed size
 * that all stores of one pool of connections share: ids tell their memories apart. A table for each was 1.5 MB for each, and
 * writers on many actors met a page of it that was never touched with nearly every memory.
 */
import { idKey, journalKey, KEYSPACE, keyString } from "../kv/keyspace.js";
import {
  around,
  type Bytes,
  type Kv,
  type KvNumbers,
  type KvSnapshot,
  type KvSoon,
} from "../kv/kv.js";
import { Unread } from "./write-view.js";
import type { WriteOperation } from "./writer.js";

/** Which plain writes begin without a read: none, those that commit alone, or groups and batches as well. */
export type Presumes = "nothing" | "alone" | "groups";

/** After so many failures in a row there is one try in so many writes. */
const SELDOM = 64;

/** The rows that a group presumes to be absent; `undefined` where it wants others as well. */
export function presumedAbsent(
  group: readonly { readonly operation: WriteOperation<unknown> }[],
): readonly Bytes[] | undefined {
  const absent: Bytes[] = [];
  for (const { operation } of group) {
    const { fresh = [], hints = [], ranges = [] } = operation;
    if (fresh.length === 0 || ranges.length > 0) return undefined;
    if (fresh !== hints) {
      const names = new Set(fresh.map(keyString));
      if (!hints.every((key) => names.has(keyString(key)))) return undefined;
    }
    // One by one: a large batch has more of them than a call may have arguments.
    for (const key of fresh) absent.push(key);
  }
  return absent;
}

/** A snapshot of which nothing is read: who wants something is told to begin with a real one. */
export const NOTHING_READ: KvSnapshot = {
  getMany: async (keys) => {
    throw new Unread([...keys], []);
  },
  ranges: async (ranges) => {
    throw new Unread([], [...ranges]);
  },
  close: () => {},
};

/** How often a writer presumes: always while that holds, more and more seldom while it fails. */
export class PresumptionPace {
  #failures = 0;
  #waits = 0;

  /** Whether to presume this time. */
  mayPresume(): boolean {
    if (this.#waits === 0) return true;
    this.#waits -= 1;
    return false;
  }

  held(): void {
    this.#failures = 0;
  }

  failed(): void {
    this.#failures += 1;
    this.#waits = Math.min(SELDOM, 2 ** this.#failures) - 1;
  }
}

/** More rows than this are read by whoever goes through a store, and not for their records. */
const MOST_AT_ONCE = 512;

/** The same store; where it has a table for guesses, entries that will most likely be read are named before they are. */
export function guessEntries(kv: Kv): Kv {
  if (kv.shared === undefined) return kv;
  const guesses = new Guesses(kv.shared);
  return around(kv, {
    async snapshot(options) {
      return guessing(await kv.snapshot(options), guesses);
    },
    commit(change) {
      const committed = kv.commit(change);
      // While it is on its way: a guess may be wrong, and there is time now.
      for (const { key, value } of change.puts) guesses.note(key, value);
      return committed;
    },
  });
}

function guessing(inner: KvSnapshot, guesses: Guesses): KvSnapshot {
  return {
    async getMany(keys) {
      if (keys.length <= MOST_AT_ONCE) {
        const entries = keys.flatMap((key) => guesses.of(key) ?? []);
        if (entries.length > 0) inner.soon?.({ keys: entries.map(journalKey) });
      }
      const values = await inner.getMany(keys);
      for (const [at, key] of keys.entries()) guesses.note(key, values[at]);
      return values;
    },
    ranges: (ranges) => inner.ranges(ranges),
    ...(inner.soon === undefined ? {} : { soon: (what: KvSoon) => inner.soon?.(what) }),
    close: () => inner.close(),
  };
}

/** Where the records of memories lay, by a hash of their ids. */
class Guesses {
  readonly #table: KvNumbers;

  constructor(table: KvNumbers) {
    this.#table = table;
  }

  of(key: Bytes): number | undefined {
    return isMemoryKey(key) ? this.#table.of(markOf(key)) : undefined;
  }

  note(key: Bytes, value: Bytes | undefined): void {
    if (isMemoryKey(key) && value !== undefined) this.#table.keep(markOf(key), entryOf(value));
  }
}

function isMemoryKey(key: Bytes): boolean {
  return key[0] === KEYSPACE.memory.byte && key.length === MEMORY_KEY_BYTES;
}

const MEMORY_KEY_BYTES = idKey("memory", new Uint8Array(16)).length;

/** Two numbers of an id, time and chance, made one; never 0, which marks an empty place. */
function markOf(key: Bytes): number {
  let hash = 0x811c9dc5;
  for (let at = 1; at < key.length; at += 1) hash = Math.imul(hash ^ (key[at] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13) || 1) >>> 0;
}

/**
 * The entry that the row of a memory names: the fourth number of its list, after type, lifecycle and
 * version. Read without making the list; a row of another shape gives a wrong guess and no harm.
 */
function entryOf(row: Bytes): number {
  let at = 1;
  for (let skipped = 0; skipped < 3; skipped += 1) at += 1 + tailBytes(row[at] ?? 0);
  const first = row[at] ?? 0;
  const bytes = tailBytes(first);
  if (bytes === 0) return first & 0x1f;
  // No journal is so long; what reads as such a number is no row of ours.
  if (bytes > 4) return 0;
  let value = 0;
  for (let next = at + 1; next <= at + bytes; next += 1) value = value * 256 + (row[next] ?? 0);
  return value;
}

/** Bytes of a number behind its first one. */
function tailBytes(first: number): number {
  const size = first & 0x1f;
  return size < 24 ? 0 : 2 ** Math.min(size - 24, 3);
}
