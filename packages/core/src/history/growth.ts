/**
 * Waiting for the journal to grow, whoever makes it grow.
 *
 * Commits of this process are heard at once. Those of other processes nobody announces, so the head
 * row is looked at again and again, first soon and then less often: a store at rest costs some small
 * reads in `pollMs`, however many wait, for what one of them has just seen is not looked up again, and
 * those who begin to wait at one moment look together.
 * Nothing is listened to and no timer runs except while somebody waits.
 *
 * How the rest of the process learns that the journal grew: whoever follows it listens here instead
 * of asking the store again and again. Commits of other processes are not heard; followers that must
 * see those look at the head row as well.
 */
import type { Kv } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { headOf } from "./build-beside.js";
import type { FoldEntry } from "./fold-state.js";

/**
 * Called after a commit, with the number of entries the journal then has, and had before it, and with the entries. A
 * promise that it gives back is one that the next commit of this process waits for.
 */
type CommitListener = (
  size: number,
  before: number,
  entries: readonly FoldEntry[],
) => Promise<void> | undefined | void;

/** See the file header. */
export class CommitSignal {
  readonly #listeners = new Set<CommitListener>();

  /** Tells everybody who listens, and gives what the next commit has to wait for. A listener must not throw. */
  fire(size: number, before: number, entries: readonly FoldEntry[]): Promise<unknown> | undefined {
    const waits = [...this.#listeners].flatMap((listener) => listener(size, before, entries) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** Listens until the returned function is called. */
  listen(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

/** Waits so long, or until the signal is aborted; never fails. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** What waiting needs. */
interface GrowthParts {
  readonly kv: Kv;
  readonly signal: CommitSignal;
  readonly pause: Pause;
}

/** How to wait. */
interface GrowthOptions {
  /** The longest pause between two looks at the head row. */
  readonly pollMs: number;
  /** Any of these ends the waiting. */
  readonly until: readonly AbortSignal[];
}

/** Resolves when the journal has more than `size` entries, or when a signal of `until` is aborted. */
export async function waitForGrowth(
  parts: GrowthParts,
  size: number,
  { pollMs, until }: GrowthOptions,
): Promise<void> {
  const wake = new AbortController();
  const end = (): void => wake.abort();
  // Heard from here on, and looked at afterwards: no commit falls in between.
  const unlisten = parts.signal.listen((now) => {
    if (now > size) end();
  });
  for (const signal of until) signal.addEventListener("abort", end, { once: true });
  try {
    if (until.some(({ aborted }) => aborted)) return;
    // The first look begins after this; a later one may have begun before, for polls are late anyway.
    if ((await sizeFromNow(parts.kv)) > size) return;
    for (let pauseMs: number = LIMITS.pollMsMin; ; pauseMs *= 2) {
      const restMs = Math.min(pauseMs, pollMs);
      await parts.pause(restMs, wake.signal);
      if (wake.signal.aborted || (await sizeSeen(parts, restMs)) > size) return;
    }
  } finally {
    unlisten();
    for (const signal of until) signal.removeEventListener("abort", end);
  }
}

/** A look at a head row that is under way, and the one that those share who came meanwhile. */
const turns = new WeakMap<Kv, { readonly now: Promise<unknown>; next?: Promise<number> }>();

/** The number of entries, by a look that begins after the call; all who wait for one to begin share it. */
export function sizeFromNow(kv: Kv): Promise<number> {
  const turn = turns.get(kv);
  if (turn !== undefined) {
    turn.next ??= turn.now.then(() => look(kv));
    return turn.next;
  }
  return look(kv);
}

function look(kv: Kv): Promise<number> {
  const size = headOf(kv).then((head) => head.size);
  const now = size
    .catch(() => undefined)
    .then(() => {
      // Whoever waits for the next one begins it now.
      if (turns.get(kv)?.now === now) turns.delete(kv);
    });
  turns.set(kv, { now });
  return size;
}

/** For how long a look serves others: a part of the pause before it, and no longer than this. */
const SHARED_PART = 1 / 4;
const SHARED_MS_MAX = 200;

/** The last look at the head row of each store, while it is new. */
const looks = new WeakMap<Kv, Promise<number>>();

/** The number of entries now or a moment ago: one look serves all who ask. */
function sizeSeen({ kv, pause }: GrowthParts, restMs: number): Promise<number> {
  const another = looks.get(kv);
  if (another !== undefined) return another;
  const size = headOf(kv).then((head) => head.size);
  const forget = (): void => {
    if (looks.get(kv) === size) looks.delete(kv);
  };
  looks.set(kv, size);
  // Whoever asked is told of a failure; the next one looks again.
  size.catch(forget);
  void pause(Math.min(SHARED_MS_MAX, restMs * SHARED_PART)).then(forget);
  return size;
}
