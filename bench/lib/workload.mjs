/**
 * What the benchmarks write: small memories, one tag and 200 bytes of text each, no two alike. The
 * same seed gives the same texts, so that every store of one run is fed the same; ids and times are
 * left to the stores, as they are in real use. Nothing of any build is loaded here.
 */

/** Bytes of text in one memory; all of it ASCII. */
export const TEXT_BYTES = 200;

/** Tags in turn; few enough that every tag has many memories. */
export const TAG_COUNT = 100;
const WORD_COUNT = 4096;
const SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti"];

/**
 * One memory to be.
 * @typedef {{ readonly text: string, readonly tag: string }} Item
 */

/**
 * A source of numbers from 0 up to but not including `below`, the same for the same seed
 * (xorshift of 32 bits: plenty for picking words).
 * @param {number} seed
 * @returns {(below: number) => number}
 */
export function seededNumbers(seed) {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/**
 * Endless memories; `take` gives the next ones.
 * @param {number} seed
 * @returns {{ take(count: number): Item[] }}
 */
export function startWorkload(seed) {
  const next = seededNumbers(seed);
  const words = makeWords();
  let made = 0;
  const one = () => {
    made += 1;
    // The running number makes every text a claim of its own: a repeated one would be reinforced.
    let text = `Item ${made}:`;
    while (text.length < TEXT_BYTES) text += ` ${words[next(words.length)]}`;
    return { text: text.slice(0, TEXT_BYTES - 1).concat("."), tag: `tag-${next(TAG_COUNT)}` };
  };
  return { take: (count) => Array.from({ length: count }, one) };
}

/**
 * A memory as `write` takes it.
 * @param {Item} item
 */
export function asWrite({ text, tag }) {
  return { type: /** @type {const} */ ("fact"), text, tags: [tag] };
}

/**
 * One durable batch; returns the ids. A batch that reinforced something is not the work it claims.
 * @param {Pick<import("@cortex-memory/core").Cortex, "batch">} engine
 * @param {readonly Item[]} items
 */
export async function writeBatch(engine, items) {
  const { results } = await engine.batch(items.map((item) => ({ write: asWrite(item) })));
  return results.map((result) => {
    if (!result.ok) throw result.error;
    if ("reinforced" in result && result.reinforced) throw new Error("a text was written twice");
    return result.id;
  });
}

/** Words of two to four syllables. */
function makeWords() {
  const next = seededNumbers(1);
  return Array.from({ length: WORD_COUNT }, () =>
    Array.from({ length: 2 + next(3) }, () => SYLLABLES[next(SYLLABLES.length)]).join(""),
  );
}
