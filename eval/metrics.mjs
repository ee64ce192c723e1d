/**
 * Measures of a ranking against the gold, and the interval of a mean difference by paired bootstrap
 * with a fixed seed, so that two runs print the same numbers.
 */

/** The depths that are printed. */
export const DEPTHS = [1, 5, 10, 20];

/**
 * Every measure of one ranking.
 * @param {readonly string[]} ranked
 * @param {ReadonlySet<string>} gold
 * @returns {Record<string, number>}
 */
export function measure(ranked, gold) {
  /** @type {Record<string, number>} */
  const metrics = {};
  for (const k of DEPTHS) {
    const found = new Set(ranked.slice(0, k).filter((key) => gold.has(key))).size;
    metrics[`any@${k}`] = found > 0 ? 1 : 0;
    metrics[`all@${k}`] = found === gold.size ? 1 : 0;
    metrics[`R@${k}`] = found / gold.size;
  }
  let gain = 0;
  for (const [at, key] of ranked.slice(0, 10).entries()) {
    if (gold.has(key)) gain += 1 / Math.log2(at + 2);
  }
  let best = 0;
  for (let at = 0; at < Math.min(10, gold.size); at += 1) best += 1 / Math.log2(at + 2);
  metrics["nDCG@10"] = gain / best;
  return metrics;
}

/**
 * The mean of each measure.
 * @param {readonly Readonly<Record<string, number>>[]} rows
 * @returns {Record<string, number>}
 */
export function means(rows) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) sums[name] = (sums[name] ?? 0) + value;
  }
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / rows.length]));
}

/**
 * The 95 % interval of the mean of paired differences.
 * @param {readonly number[]} differences
 * @returns {readonly [number, number]}
 */
export function interval(differences, rounds = 2000) {
  const random = mulberry(1);
  const n = differences.length;
  const results = Array.from({ length: rounds }, () => {
    let sum = 0;
    for (let i = 0; i < n; i += 1) sum += differences[Math.floor(random() * n)] ?? 0;
    return sum / n;
  }).sort((a, b) => a - b);
  return [results[Math.floor(rounds * 0.025)] ?? 0, results[Math.floor(rounds * 0.975)] ?? 0];
}

/** @param {number} seed */
function mulberry(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
