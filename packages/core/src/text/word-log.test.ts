/** A log of words tells the same as lists of documents would, whatever comes and goes. */
import { describe, expect, test } from "vitest";
import { PIECES_MAX, WordLog } from "./word-log.js";

/** Numbers below `bound`, the same in every run. */
function numbersFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % bound;
  };
}

type Lists = Map<string, Map<number, number>>;

function told(log: WordLog) {
  const words = new Map<string, { documents: number[]; times: number[] }>();
  for (const { word, documents, times, from, to } of log) {
    const listed = (list: Int32Array) => [...list.subarray(from, to)];
    words.set(word, { documents: listed(documents), times: listed(times) });
  }
  return words;
}

function expected(lists: Lists) {
  return new Map(
    [...lists].map(([word, held]) => [
      word,
      { documents: [...held.keys()], times: [...held.values()] },
    ]),
  );
}

describe("a log of words", () => {
  test.each([1, 2, 3])("tells what lists would, seed %i", (seed) => {
    const next = numbersFrom(seed);
    const log = new WordLog();
    const other = new WordLog();
    const lists: Lists = new Map();
    let pieces = new Map<string, number>();
    let first = 0;
    for (let document = 0; document < 600; document += 1) {
      for (let at = next(40); at > 0; at -= 1) {
        const word = `w${next(1 + next(2000))}`;
        const held = lists.get(word) ?? new Map<number, number>();
        held.set(document, (held.get(document) ?? 0) + 1);
        lists.set(word, held);
        // Who numbers pieces starts over now and then, with numbers that were not given before.
        if (next(900) === 0) [pieces, first] = [new Map(), first + PIECES_MAX];
        const piece = pieces.get(word) ?? first + pieces.size;
        pieces.set(word, piece);
        log.add(word, document, next(2) === 0 ? piece : undefined);
        // Two logs get the same numbers.
        if (next(5) === 0) other.add(word, document, piece);
      }
      if (next(9) === 0) expect(log.get("w0")).toEqual(expected(lists).get("w0"));
      if (next(50) > 0) continue;
      const gone = new Set([next(document + 1), next(document + 1), document]);
      log.forget(gone);
      for (const [word, held] of lists) {
        for (const one of gone) held.delete(one);
        if (held.size === 0) lists.delete(word);
      }
    }
    expect(told(log)).toEqual(expected(lists));
    for (const word of ["w0", "w7", "none"]) {
      expect(log.has(word)).toBe(lists.has(word));
      expect(log.get(word)).toEqual(expected(lists).get(word));
    }
  });

  test("leaves what it has given out as it was", () => {
    const log = new WordLog();
    log.add("tea", 0);
    const before = log.get("tea");
    log.add("tea", 0);
    log.add("tea", 1);
    expect(before).toEqual({ documents: [0], times: [1] });
    expect(log.get("tea")).toEqual({ documents: [0, 1], times: [2, 1] });
    log.forget(new Set([0, 1]));
    expect(log.get("tea")).toBeUndefined();
    log.add("tea", 2);
    expect(log.get("tea")).toEqual({ documents: [2], times: [1] });
  });
});
