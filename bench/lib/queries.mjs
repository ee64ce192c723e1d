/**
 * What the benchmarks ask of a store that the workload filled: finds, words to search for, questions to
 * recall. The same seed gives the same queries. Nothing of any build is loaded here.
 */
import { seededNumbers, startWorkload, TAG_COUNT } from "./workload.mjs";

/** Hits of one find. */
export const FIND_HITS = 20;
/** Hits of one search. */
export const SEARCH_HITS = 10;
/** Words of one search. */
export const SEARCH_WORDS = 3;
/** Hits of one answer. */
export const RECALL_HITS = 20;

/** Texts begin with a running number: half of them are even. */
export const EVEN = "^Item [0-9]*[02468]:";

/** Words of searches are taken from so many memories of the start of the workload. */
const KNOWN_TEXTS = 2000;

/**
 * A find of a type, a tag and a pattern that keeps half of what is left; another tag at every call.
 * @param {number} at
 * @returns {import("@cortex-memory/core").Options<"find">}
 */
export function findQueryAt(at) {
  return {
    type: "fact",
    tags: [`tag-${at % TAG_COUNT}`],
    where: { matches: ["text", EVEN] },
    limit: FIND_HITS,
  };
}

/**
 * Words of random memories of the start of the workload; each stands in one of about 150 memories.
 * @param {{ readonly seed: number, readonly size: number }} store
 * @param {number} count
 * @returns {string[][]}
 */
export function searchesOf({ seed, size }, count) {
  const next = seededNumbers(seed + 5);
  const texts = startWorkload(seed)
    .take(Math.min(size, KNOWN_TEXTS))
    // The first two words are the running number, the last is cut.
    .map(({ text }) => text.split(" ").slice(2, -1));
  const word = () => {
    const words = texts[next(texts.length)] ?? [];
    return words[next(words.length)] ?? "item";
  };
  return Array.from({ length: count }, () => Array.from({ length: SEARCH_WORDS }, word));
}

/**
 * Questions that take three words of one memory and two of another, the way people half remember
 * things.
 * @param {readonly string[]} texts
 * @param {(below: number) => number} next
 * @param {number} count
 * @returns {string[]}
 */
export function questionsAbout(texts, next, count) {
  const pick = () => texts[next(texts.length)]?.split(" ") ?? [];
  return Array.from({ length: count }, () => {
    const [one, other] = [pick(), pick()];
    const words = [one[3], one[5], one[7], other[4], other[6]];
    return `what about ${words.join(" ")}?`;
  });
}
