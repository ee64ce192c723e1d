/** UTF-8 to the last byte, cuts that never split a character, and normal forms that are stable. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fromUtf8,
  isWellFormed,
  normaliseClaim,
  normaliseSlot,
  truncateUtf8,
  utf8,
  utf8Length,
} from "./text.js";

const SEED = 20_260_314;
const ILL_FORMED = expect.objectContaining({ code: "ERR_ILL_FORMED" });

const wellFormed = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom("a", "é", "水", "𐅑", "\u{feff}", "\0"), maxLength: 12 }),
);
/** Any sequence of units, lone surrogates included. */
const anyUnits = fc
  .array(fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7f0, max: 0xe010 })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));

describe(`UTF-8 (seed ${SEED})`, () => {
  it("bytes, length and text agree with the platform", () => {
    const property = fc.property(wellFormed, (text) => {
      const bytes = Uint8Array.from(Buffer.from(text, "utf8"));
      expect(utf8(text)).toEqual(bytes);
      expect(utf8Length(text)).toBe(bytes.length);
      expect(fromUtf8(bytes)).toBe(text);
      expect(isWellFormed(text)).toBe(true);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("lone surrogates are seen, refused and counted as three bytes", () => {
    const property = fc.property(anyUnits, (text) => {
      const sound = !/\p{Surrogate}/u.test(text);
      expect(isWellFormed(text)).toBe(sound);
      expect(utf8Length(text)).toBe(Buffer.byteLength(text, "utf8"));
      if (!sound) expect(() => utf8(text)).toThrow(ILL_FORMED);
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it("bytes are UTF-8 to the last one or refused", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
      const sound = Buffer.from(Buffer.from(bytes).toString("utf8"), "utf8").equals(bytes);
      if (sound) expect([...utf8(fromUtf8(bytes))]).toEqual([...bytes]);
      else expect(() => fromUtf8(bytes)).toThrow(ILL_FORMED);
    });
    fc.assert(property, { seed: SEED, numRuns: 3000 });
  });

  it("a byte order mark survives", () => {
    expect(fromUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\u{feff}a");
  });
});

describe(`truncateUtf8 (seed ${SEED})`, () => {
  it("gives the longest start that fits and ends between characters", () => {
    const property = fc.property(wellFormed, fc.nat(40), (text, maxBytes) => {
      // The definition written plainly.
      let expected = "";
      for (const char of text) {
        if (Buffer.byteLength(expected + char) > maxBytes) break;
        expected += char;
      }
      expect(truncateUtf8(text, maxBytes)).toBe(expected);
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it("never splits a pair", () => {
    expect(truncateUtf8("a𐅑b", 4)).toBe("a");
    expect(truncateUtf8("a𐅑b", 5)).toBe("a𐅑");
    expect(truncateUtf8("abc", 0)).toBe("");
  });
});

describe("normaliseSlot", () => {
  it("spellings of one name are one slot", () => {
    for (const name of ["Home City", "home-city", "home_city", " __HOME -- city!! "]) {
      expect(normaliseSlot(name)).toBe("home_city");
    }
  });

  it("keeps apart words that differ in a vowel sign only", () => {
    expect(normaliseSlot("कि")).not.toBe(normaliseSlot("के"));
  });

  it.each([
    ["composed and decomposed letters", "Ville pre\u{301}fe\u{301}re\u{301}e", "ville_préférée"],
    ["other scripts", "Родной Город", "родной_город"],
    ["digits", "address.2", "address_2"],
    ["nothing to keep", "!?", ""],
  ])("%s", (_name, name, expected) => {
    expect(normaliseSlot(name)).toBe(expected);
  });
});

describe(`the normal form (seed ${SEED})`, () => {
  /** What the form promises of its result. */
  function assertNormal(form: string): void {
    expect(form.split("_").every((word) => /^[\p{L}\p{M}\p{N}]+$/u.test(word))).toBe(form !== "");
    expect(form).toBe(form.toLowerCase());
  }

  it("applying it again changes nothing, for any text", () => {
    const property = fc.property(wellFormed, (text) => {
      expect(normaliseSlot(normaliseSlot(text))).toBe(normaliseSlot(text));
      assertNormal(normaliseSlot(text));
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it("applying it again changes nothing, for every character", () => {
    const unstable: string[] = [];
    for (let point = 0; point <= 0x10ffff; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const text = `x${String.fromCodePoint(point)}y`;
      const slot = normaliseSlot(text);
      if (normaliseSlot(slot) !== slot) unstable.push(text);
    }
    expect(unstable).toEqual([]);
  });
});

describe(`normaliseClaim (seed ${SEED})`, () => {
  /** The definition, without looking first whether there is anything to change. */
  function plainly(text: string): string {
    const plain = text.normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim();
    return plain.replace(/[.!。]+$/u, "").trimEnd() || plain;
  }

  it("equals the plain definition", () => {
    const piece = fc.oneof(
      fc.constantFrom("A", "b", " ", "  ", "\t", "\v", "\u001f", "\u00a0", "\ufeff", "é", "Ａ"),
      fc.constantFrom(".", "!", "。", "?", "C++", "\n"),
      fc.string({ unit: "binary" }),
    );
    const text = fc.array(piece).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (given) => {
        expect(normaliseClaim(given)).toBe(plainly(given));
      }),
      { seed: SEED, numRuns: 2000 },
    );
  });

  it("a claim of nothing but stops stays", () => {
    expect(normaliseClaim(" ...! ")).toBe("...!");
    expect(normaliseClaim("Yes .")).toBe("yes");
  });
});
