/** The stub gives the vectors that the reference's description gives, computed apart from it. */
import { describe, expect, test } from "vitest";
import { dot } from "./distance.js";
import { hashEmbedder } from "./embedder.js";

describe("the hash embedder", () => {
  test("is named as the reference names it", () => {
    const { model, dimensions } = hashEmbedder();
    expect({ model, dimensions }).toEqual({ model: "hash-stub@af0bc175", dimensions: 768 });
    expect(hashEmbedder({ salt: "other" }).model).not.toBe(model);
    expect(hashEmbedder({ dimensions: 8 }).model).not.toBe(model);
  });

  test("gives the vector of a text, block after block", async () => {
    const [vector = new Float32Array(0)] = await hashEmbedder().embed(["hello"]);
    expect(vector).toHaveLength(768);
    expect(dot(vector, vector)).toBeCloseTo(1, 6);
    // The first four, two of the second block, and the last: from a program in another language.
    const expected = [
      [0, -0.0010220761359722736],
      [1, -0.027127458773809808],
      [2, 0.04860230677286335],
      [3, -0.04368308590137459],
      [8, 0.031498358977164166],
      [9, 0.06192455687142203],
      [767, 0.05190665988338713],
    ] as const;
    for (const [at, value] of expected) expect(vector[at]).toBeCloseTo(value, 7);
  });

  test("tells texts apart, takes the empty one, and needs no width of eight", async () => {
    const embedder = hashEmbedder({ dimensions: 3, salt: "x" });
    const [a, b, again, empty] = await embedder.embed(["a", "b", "a", ""]);
    expect(a).toEqual(again);
    expect(a).not.toEqual(b);
    expect(empty).toHaveLength(3);
  });

  test.each([0, 1.5, 8193, "8"])("refuses %j dimensions", (dimensions) => {
    expect(() => hashEmbedder({ dimensions: dimensions as number })).toThrow(
      /dimensions: expected/,
    );
  });
});
