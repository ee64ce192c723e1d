/**
 * Writes that read nothing first, for stores across a network. A plain write reads only to learn that its id and its
 * claim are new, and that the head is still the one that this process left: that is a round trip, and almost
 * always the answer is what was expected. So the writer presumes it, computes the change, and has the commit check it.
 *
 * Promises: nothing is answered from a presumption that did not hold. The commit compares the head, for which all
 * cached rows are true, and is made only if the rows named as absent are; a write that would be refused, that
 * would change nothing or that wants another row reads everything as ever. Where presumptions fail, because others
 * write too or claims repeat, they are made more and more seldom. A run that failed has drawn salts: whoever opens
 * a store with chance of his own, to write the same bytes again, gets no presumptions.
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
