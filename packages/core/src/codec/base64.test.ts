/** One value, one spelling: against Node's encoder, and every other spelling refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { base64Bytes, fromBase64, toBase64 } from "./text.js";

const SEED = 20_261_115;

describe("base64", () => {
  test("writes what Node writes and reads it back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = toBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString("base64"));
        expect(fromBase64(text)).toEqual(new Uint8Array(bytes));
        expect(base64Bytes(text)).toBeGreaterThanOrEqual(bytes.length);
      }),
      { seed: SEED },
    );
  });

  test("reads nothing that it would not have written", () => {
    const letters = fc.constantFrom(..."AQgwZ0+/=-_ \n\u2014");
    fc.assert(
      fc.property(fc.string({ unit: letters, maxLength: 8 }), (text) => {
        const bytes = fromBase64(text);
        if (bytes !== undefined) expect(toBase64(bytes)).toBe(text);
      }),
      { seed: SEED, numRuns: 5000 },
    );
  });

  test.each([
    ["no padding", "QQ"],
    ["too little padding", "QQ="],
    ["too much padding", "Q==="],
    ["padding alone", "===="],
    ["padding inside", "QQ==QQ=="],
    ["stray bits before two pads", "QR=="],
    ["stray bits before one pad", "QUF="],
    ["the alphabet of URLs", "-_-_"],
    ["a line break", "QUJD\n"],
    ["a space", "QUI "],
    ["a letter beyond ASCII", "QU\u00e9D"],
  ])("refuses %s", (_, text) => {
    expect(fromBase64(text)).toBeUndefined();
  });
});
