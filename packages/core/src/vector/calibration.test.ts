/** A model's own scale: where its unrelated texts and its answers lie, and that another scale changes nothing. */
import { expect, test } from "vitest";
import { calibrate, closenessOf, dot, PAIRS, UNCALIBRATED, unitVector } from "./distance.js";
import { type Embedder, hashEmbedder } from "./embedder.js";

/** Knows the pairs: an answer lies at a cosine of 0.6 from its question and of 0 from the others. */
function pairsEmbedder(lift: number): Embedder {
  const wide = 2 * PAIRS.length + 1;
  const vectorOf = (text: string): Float32Array => {
    const raw = new Float32Array(wide);
    const pair = PAIRS.findIndex((texts) => texts.includes(text));
    const isQuestion = PAIRS[pair]?.[0] === text;
    raw[Math.max(0, pair)] = isQuestion ? 1 : 0.6;
    if (!isQuestion) raw[PAIRS.length + Math.max(0, pair)] = 0.8;
    // What all vectors share moves every cosine up and leaves their order as it is.
    raw[wide - 1] = lift;
    return unitVector(raw) ?? raw;
  };
  return {
    model: `pairs-${lift}`,
    dimensions: wide,
    embed: async (texts) => texts.map(vectorOf),
  };
}

test("cosines of two models that differ in scale alone are equally close", async () => {
  const pair = PAIRS[3] ?? [];
  const closeness: number[] = [];
  for (const lift of [0, 1, 3]) {
    const embedder = pairsEmbedder(lift);
    const calibration = await calibrate(embedder);
    const [a, b] = await embedder.embed(pair);
    if (a === undefined || b === undefined) throw new Error("two texts have two vectors");
    expect(calibration.related).toBeGreaterThan(calibration.unrelated);
    closeness.push(closenessOf(calibration, dot(a, b)));
  }
  expect(closeness).toEqual([1, 1, 1].map((one) => expect.closeTo(one, 4)));
});

test("a model that tells nothing apart is taken at its word", async () => {
  const calibration = await calibrate(hashEmbedder({ dimensions: 64 }));
  expect(calibration).toEqual(UNCALIBRATED);
  expect(closenessOf(calibration, 0.4)).toBe(0.4);
});
