/**
 * Writes that read nothing first, for stores across a network. A plain write reads only to learn that its id and its
 * claim are new, and that the head is still the one that this process left: that is a round trip, and almost
 * always the answer is what was expected. So the writer presumes it, computes the change, and has the commit check it.
 *
 * Promises: nothing is answered from a presumption that did not hold. The commit compares the head, for which all
 * cached rows are true, and is made only if the rows named as absent are; a write that would be refused, that
 * would change nothing or that wants another row reads everything as ever. It then carries the same time and the
 * same salts as if nothing had been presumed, so that every backend writes the same bytes. Where
 * presumptions fail, because others write too or claims repeat, they are made more and more seldom.
 */
import { keyString } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { Unread } from "./write-view.js";
import type { WriteOperation } from "./writer.js";

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
    const names = new Set(fresh.map(keyString));
    if (!hints.every((key) => names.has(keyString(key)))) return undefined;
    absent.push(...fresh);
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

/** How far presumptions may be trusted. */
export class Trust {
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

/** Where time and chance come from. */
interface Sources {
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

/** What a group took from the clock and from chance; taken again in the same order after `rewind`. */
export class Taken {
  readonly #from: Sources;
  readonly #drawn: Uint8Array[] = [];
  #at = 0;
  #now: number | undefined;

  constructor(from: Sources) {
    this.#from = from;
  }

  clock(): number {
    this.#now ??= this.#from.clock();
    return this.#now;
  }

  readonly random = (bytes: number): Uint8Array => {
    const before = this.#drawn[this.#at];
    if (before?.length !== bytes) {
      this.#drawn.length = this.#at;
      this.#drawn.push(this.#from.random(bytes));
    }
    this.#at += 1;
    return this.#drawn[this.#at - 1] ?? this.#from.random(bytes);
  };

  rewind(): void {
    this.#at = 0;
  }
}
