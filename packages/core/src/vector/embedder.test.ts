/** Whatever an embedder does wrong is one code, says what was wrong and never quotes a text. */
import { describe, expect, test } from "vitest";
import { CortexError } from "../errors.js";
import { dot } from "./distance.js";
import { checkEmbedder, type Embedder, refusesText } from "./embedder.js";

const SECRET = "the text nobody should see";

function answering(answer: (texts: readonly string[]) => unknown): Embedder {
  return {
    model: "m@here",
    dimensions: 2,
    embed: async (texts) => answer(texts) as readonly Float32Array[],
  };
}

async function failureOf(embedder: Embedder): Promise<CortexError> {
  const failure = await checkEmbedder(embedder)
    .embed([SECRET, "other"])
    .then(
      () => new Error("it was accepted"),
      (error: unknown) => error,
    );
  if (failure instanceof CortexError) return failure;
  throw failure;
}

describe("a checked embedder", () => {
  test("gives unit vectors in order, and asks for nothing when there is nothing", async () => {
    let calls = 0;
    const checked = checkEmbedder(
      answering((texts) => {
        calls += 1;
        return texts.map((text) => Float32Array.of(text.length, 3));
      }),
    );
    expect(await checked.embed([])).toEqual([]);
    expect(calls).toBe(0);
    const [four, zero] = await checked.embed(["four", ""]);
    expect(four?.[0]).toBeCloseTo(0.8, 6);
    expect(zero).toEqual(Float32Array.of(0, 1));
    expect((await checked.embedQuery("four"))[1]).toBeCloseTo(0.6, 6);
  });

  test("asks a question in the embedder's own way, if it has one", async () => {
    const own = { ...answering(() => []), embedQuery: async () => Float32Array.of(0, 7) };
    const vector = await checkEmbedder(own).embedQuery("what?");
    expect(dot(vector, vector)).toBe(1);
    const wide = { ...own, embedQuery: async () => new Float32Array(3) };
    await expect(checkEmbedder(wide).embedQuery("what?")).rejects.toMatchObject({
      code: "ERR_EMBEDDER",
    });
  });

  test.each([
    ["too few", () => [Float32Array.of(1, 0)], "expected 2 vectors, got an array of 1", false],
    ["no list", () => "vectors", 'expected 2 vectors, got "vectors"', false],
    ["another width", () => [new Float32Array(3), new Float32Array(3)], "got 3 numbers", false],
    [
      "plain arrays",
      () => [
        [1, 0],
        [0, 1],
      ],
      "Float32Array of 2 numbers, got an array",
      false,
    ],
    ["NaN", () => [Float32Array.of(1, Number.NaN), Float32Array.of(1, 0)], "finite", true],
    ["zeros", () => [Float32Array.of(0, 0), Float32Array.of(1, 0)], "not all zero", true],
    ["infinity", () => [Float32Array.of(1, 1e39), Float32Array.of(1, 0)], "finite", true],
  ])("refuses %s", async (_, answer, message, blamesText) => {
    const failure = await failureOf(answering(answer));
    expect(failure.code).toBe("ERR_EMBEDDER");
    expect(failure.message).toContain(message);
    expect(refusesText(failure)).toBe(blamesText);
    expect(JSON.stringify(failure)).not.toContain(SECRET);
  });

  test("turns failures of others into its own and keeps them as the cause", async () => {
    const cause = new Error(`short reason ${"x".repeat(500)}`);
    const failure = await failureOf(
      answering(() => {
        throw cause;
      }),
    );
    expect(failure.code).toBe("ERR_EMBEDDER");
    expect(failure.message).toMatch(/^embedder m@here failed: short reason x+…$/);
    expect(failure.message.length).toBeLessThan(160);
    expect(failure.cause).toBe(cause);
  });

  test.each([
    [{ model: "" }, "embedder.model"],
    [{ dimensions: 0 }, "embedder.dimensions"],
    [{ dimensions: Number.NaN }, "embedder.dimensions"],
    [{ embed: undefined }, "embedder: expected an object"],
  ])("is refused at once with %o", (change, message) => {
    const broken = { ...answering(() => []), ...change } as Embedder;
    expect(() => checkEmbedder(broken)).toThrow(message);
  });
});
