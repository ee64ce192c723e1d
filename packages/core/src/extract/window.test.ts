/** Which turns wait: windows, the queue's row, and that no order of work loses a turn. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LIMITS } from "../limits.js";
import type { Source } from "../records/types.js";
import {
  afterDone,
  afterFailure,
  caughtUp,
  decodeQueue,
  encodeQueue,
  isDue,
  type Queue,
  threadOf,
  type WaitingTurn,
  windowsOf,
} from "./window.js";

const NONE = decodeQueue(undefined);

function turn(seq: number, session: string, index: number, content = "words"): WaitingTurn {
  return {
    id: Uint8Array.of(seq),
    seq,
    storedAt: 1000 * seq,
    version: 1,
    data: { session, index, role: "user", content },
    content,
    ...threadOf(session, "user_input"),
  };
}

describe("threads", () => {
  test("keep words from outside apart, under their own source", () => {
    const threads = (["user_input", "agent", "document", "channel"] as const).map(
      (source: Source) => threadOf("s", source),
    );
    expect(threads.map(({ source }) => source)).toEqual([
      "extraction",
      "extraction",
      "document",
      "channel",
    ]);
    expect(new Set(threads.map(({ thread }) => thread)).size).toBe(3);
    expect(threadOf("s", "agent").thread).not.toBe(threadOf("other", "agent").thread);
  });
});

describe("windows", () => {
  test("hold the first turns of a thread as they were stored, in the order they were said", () => {
    const [window, other] = windowsOf([turn(5, "a", 2), turn(7, "a", 0), turn(6, "b", 0)]);
    expect(window).toMatchObject({ session: "b", next: 7, full: false });
    expect(other?.turns.map(({ data }) => data.index)).toEqual([0, 2]);
    expect(other).toMatchObject({ next: 8, lastStoredAt: 7000 });
  });

  test("end at so many turns or bytes, and one long turn stands alone", () => {
    const many = Array.from({ length: LIMITS.extractTurns + 2 }, (_, at) => turn(at, "a", at));
    expect(windowsOf(many)[0]).toMatchObject({ next: LIMITS.extractTurns, full: true });
    const long = "x".repeat(LIMITS.extractBytes + 10);
    const [first] = windowsOf([turn(1, "a", 0, long), turn(2, "a", 1)]);
    expect([first?.turns.length, first?.full]).toEqual([1, true]);
  });

  test("are due when the session is silent or the window is full, and not before a retry", () => {
    const [window] = windowsOf([turn(5, "a", 0)]);
    if (window === undefined) throw new Error("no window");
    const at = (now: number, queue: Queue = NONE) =>
      isDue(window, queue, { now, debounceMs: 45_000 });
    expect([at(49_999), at(50_000)]).toEqual([false, true]);
    expect(isDue({ ...window, full: true }, NONE, { now: 0, debounceMs: 45_000 })).toBe(true);
    const failed = afterFailure(NONE, window.thread, 50_000);
    expect([at(109_999, failed), at(110_000, failed)]).toEqual([false, true]);
    const again = afterFailure(failed, window.thread, 110_000);
    expect(again.failed.get(window.thread)).toEqual({ count: 2, retryAt: 230_000 });
  });
});

describe("the queue", () => {
  test("reads back as it was written", () => {
    const queue: Queue = {
      cursor: 17,
      ahead: new Map([["ab", 30]]),
      failed: new Map([["cd", { count: 2, retryAt: 99 }]]),
    };
    expect(decodeQueue(encodeQueue(queue))).toEqual(queue);
    expect(NONE).toEqual({ cursor: 0, ahead: new Map(), failed: new Map() });
  });

  test("loses no turn, whatever comes, fails and is done in whatever order", () => {
    const seed = 20_301;
    const steps = fc.array(
      fc.record({
        says: fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 50 })), {
          maxLength: 60,
        }),
        works: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(steps, (plan) => {
        const stored: WaitingTurn[] = [];
        const done = new Set<number>();
        let queue = NONE;
        const look = () => {
          const turns = stored.filter(
            ({ seq, thread }) => seq >= queue.cursor && seq >= (queue.ahead.get(thread) ?? 0),
          );
          return windowsOf(turns);
        };
        const settle = (): void => {
          const [end, windows] = [stored.length, look()];
          queue = caughtUp({ queue, row: undefined, windows, turns: 0, end, size: end });
        };
        const work = (isGood: (at: number) => boolean): void => {
          for (const [at, window] of look().entries()) {
            if (isGood(at)) {
              // A turn is distilled once.
              for (const { seq } of window.turns) expect(done.has(seq)).toBe(false);
              for (const { seq } of window.turns) done.add(seq);
              queue = decodeQueue(encodeQueue(afterDone(queue, window)));
            } else queue = afterFailure(queue, window.thread, 0);
          }
          settle();
        };
        for (const { says, works } of plan) {
          for (const [session, index] of says) {
            stored.push(turn(stored.length, `s${session}`, index));
          }
          work((at) => works[at] === true);
        }
        while (look().length > 0) work(() => true);
        expect(done.size).toBe(stored.length);
        expect(queue).toEqual({ cursor: stored.length, ahead: new Map(), failed: new Map() });
      }),
      { seed, numRuns: 100 },
    );
  });
});
