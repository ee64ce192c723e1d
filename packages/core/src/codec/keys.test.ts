/** Keys order as the tuples they are built from, read back, and refuse what no builder wrote. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCortexError } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import {
  compareBytes,
  concatBytes,
  equalBytes,
  fromHex,
  keyOf,
  prefixEnd,
  readBytes,
  readU16,
  readU32,
  readU64,
  skipVariable,
  textInKey,
  toHex,
} from "./keys.js";

const SEED = 20_260_312;

/** One key of every component, variable ones in the middle, where confusion would show. */
interface Tuple {
  readonly tiny: number;
  readonly text: string;
  readonly small: number;
  readonly bytes: Uint8Array;
  readonly medium: number;
  readonly id: Uint8Array;
  readonly large: number;
}

function keyOfTuple(tuple: Tuple): Uint8Array {
  return keyOf(0x42)
    .u8(tuple.tiny)
    .text(tuple.text)
    .u16(tuple.small)
    .bytes(tuple.bytes)
    .u32(tuple.medium)
    .raw(tuple.id)
    .u64(tuple.large)
    .end();
}

/** The order as the words say it, by way of arrays of numbers. */
function compareTuples(a: Tuple, b: Tuple): number {
  const codePoints = (text: string) => Array.from(text, (char) => char.codePointAt(0) ?? 0);
  return (
    a.tiny - b.tiny ||
    compareLists(codePoints(a.text), codePoints(b.text)) ||
    a.small - b.small ||
    compareLists([...a.bytes], [...b.bytes]) ||
    a.medium - b.medium ||
    compareLists([...a.id], [...b.id]) ||
    a.large - b.large
  );
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  for (const [i, x] of a.entries()) {
    const y = b[i];
    if (y === undefined) return 1;
    if (x !== y) return x - y;
  }
  return a.length - b.length;
}

/** Bytes near the ends of the range, where the scheme has its special cases. */
const edgyByte = fc.oneof(fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xfd, 0xfe, 0xff), fc.nat(255));
const edgyBytes = (maxLength: number) =>
  fc.array(edgyByte, { maxLength }).map((list) => Uint8Array.from(list));
const edgyText = fc.oneof(
  fc.string({ unit: fc.constantFrom("\0", "\u{1}", "a", "b", "é", "\u{e000}", "𐅑"), maxLength: 5 }),
  fc.string({ unit: "binary", maxLength: 12 }),
);
/** Few values per component, so that two tuples often agree up to the interesting one. */
const tuple: fc.Arbitrary<Tuple> = fc.record({
  tiny: fc.constantFrom(0, 1, 255),
  text: edgyText,
  small: fc.constantFrom(0, 1, 255, 256, 65_535),
  bytes: edgyBytes(5),
  medium: fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat()),
  id: fc.array(edgyByte, { minLength: 16, maxLength: 16 }).map((list) => Uint8Array.from(list)),
  large: fc.oneof(fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, INTEGER_MAX), fc.maxSafeNat()),
});

describe(`tuples (seed ${SEED})`, () => {
  it("keys order as the tuples do", () => {
    const property = fc.property(tuple, tuple, fc.boolean(), (a, b, sameStart) => {
      const other = sameStart ? { ...b, tiny: a.tiny, text: a.text } : b;
      const order = Math.sign(compareBytes(keyOfTuple(a), keyOfTuple(other)));
      expect(order).toBe(Math.sign(compareTuples(a, other)));
    });
    fc.assert(property, { seed: SEED, numRuns: 4000 });
  });

  it("every component reads back", () => {
    const property = fc.property(tuple, (value) => {
      const key = keyOfTuple(value);
      const afterText = skipVariable(key, 2);
      const afterBytes = skipVariable(key, afterText + 2);
      expect({
        tiny: key[1],
        text: textInKey(key, 2),
        small: readU16(key, afterText),
        bytes: readBytes(key, afterText + 2),
        medium: readU32(key, afterBytes),
        id: key.slice(afterBytes + 4, afterBytes + 20),
        large: readU64(key, afterBytes + 20),
      }).toEqual(value);
      expect(key.length).toBe(afterBytes + 28);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("a text of n bytes takes n + 1, also if it is all zeros", () => {
    const property = fc.property(edgyText, (text) => {
      expect(keyOf(1).text(text).end().length).toBe(1 + new TextEncoder().encode(text).length + 1);
    });
    fc.assert(property, { seed: SEED, numRuns: 500 });
    expect(keyOf(1).text("\0".repeat(256)).end().length).toBe(258);
  });

  it("an open text is the prefix of exactly the texts that start with it", () => {
    const property = fc.property(edgyText, edgyText, fc.boolean(), (start, rest, related) => {
      const text = related ? start + rest : rest;
      const key = keyOf(7).text(text).u32(5).end();
      const open = keyOf(7).textStart(start).end();
      const inside = compareBytes(open, key) <= 0 && compareBytes(key, prefixEnd(open)) < 0;
      expect(inside).toBe(text.startsWith(start));
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("prefixEnd bounds exactly the keys with the prefix", () => {
    const prefix = edgyBytes(4).filter((bytes) => bytes.some((byte) => byte !== 0xff));
    const property = fc.property(prefix, edgyBytes(6), fc.boolean(), (start, rest, related) => {
      const key = related ? concatBytes(start, rest) : rest;
      const inside = compareBytes(start, key) <= 0 && compareBytes(key, prefixEnd(start)) < 0;
      expect(inside).toBe(equalBytes(key.subarray(0, start.length), start));
    });
    fc.assert(property, { seed: SEED, numRuns: 4000 });
  });
});

describe("layout", () => {
  it("the bytes are as documented", () => {
    expect(toHex(keyOf(0x10).u16(0x0102).u32(0x03040506).u64(INTEGER_MAX).end())).toBe(
      "10010203040506001fffffffffffff",
    );
    expect(toHex(keyOf(0x11).text("a\0b").u8(9).end())).toBe("116201630009");
    expect(
      toHex(
        keyOf(0x11)
          .bytes(Uint8Array.of(0, 0xfd, 0xfe, 0xff))
          .end(),
      ),
    ).toBe("1101feff01ff0200");
    expect(toHex(prefixEnd(Uint8Array.of(0x10, 0xff, 0xff)))).toBe("11");
  });

  it("a key begun while another is open does not disturb it", () => {
    const outer = keyOf(1)
      .raw(keyOf(2).text("inner").raw(keyOf(3).u8(4).end()).end())
      .u8(5)
      .end();
    expect(toHex(outer)).toBe(`0102${toHex(keyOf(0).text("inner").end()).slice(2)}030405`);
  });

  it("a key abandoned halfway does not disturb the next", () => {
    expect(() => keyOf(1).u64(-1)).toThrow(RangeError);
    expect(() => keyOf(1).text("ok").text("\ud800")).toThrow(/lone surrogate/);
    expect(toHex(keyOf(9).u8(1).end())).toBe("0901");
  });

  it("what is appended to an ended key does not reach the next", () => {
    const spent = keyOf(1);
    spent.end();
    spent.u8(7);
    expect(toHex(keyOf(2).end())).toBe("02");
  });

  it("keys are arrays of their own", () => {
    const first = keyOf(1).u8(1).end();
    const second = keyOf(2).u8(2).end();
    expect([toHex(first), toHex(second)]).toEqual(["0101", "0202"]);
    second.fill(9);
    expect([toHex(first), toHex(keyOf(3).end())]).toEqual(["0101", "03"]);
  });
});

describe("refusals", () => {
  it("numbers out of range", () => {
    for (const value of [-1, 256, 0.5, Number.NaN]) expect(() => keyOf(value)).toThrow(RangeError);
    expect(() => keyOf(0).u16(65_536)).toThrow(RangeError);
    expect(() => keyOf(0).u32(2 ** 32)).toThrow(RangeError);
    expect(() => keyOf(0).u64(INTEGER_MAX + 1)).toThrow(RangeError);
  });

  it("a key over the limit, and a builder ended twice", () => {
    const longest = keyOf(0)
      .raw(new Uint8Array(LIMITS.keyBytes - 1))
      .end();
    expect(longest.length).toBe(LIMITS.keyBytes);
    const tooLong = keyOf(0).bytes(new Uint8Array(5000).fill(0xff));
    expect(() => tooLong.end()).toThrow(expect.objectContaining({ code: "ERR_TOO_LARGE" }));
    expect(() => tooLong.end()).toThrow("ended before");
  });

  it("a prefix without anything above it", () => {
    expect(() => prefixEnd(Uint8Array.of(0xff, 0xff))).toThrow(RangeError);
    expect(() => prefixEnd(new Uint8Array(0))).toThrow(RangeError);
  });

  it("bytes that no builder wrote", () => {
    const reads: readonly (() => unknown)[] = [
      () => readU16(Uint8Array.of(1, 2), 1),
      () => readU32(Uint8Array.of(1, 2, 3), 0),
      () => readU64(Uint8Array.of(1, 2, 3, 4, 5), 0),
      () => readU64(new Uint8Array(8).fill(0xff), 0),
      () => textInKey(Uint8Array.of(5, 6, 7), 0),
      () => readBytes(Uint8Array.of(0xff, 0x03, 0x00), 0),
      () => readBytes(Uint8Array.of(0xff, 0x00), 0),
      () => skipVariable(new Uint8Array(0), 0),
    ];
    const codes = reads.map((read) => {
      try {
        return read();
      } catch (error) {
        return isCortexError(error, "ERR_CORRUPT");
      }
    });
    expect(codes).toEqual(reads.map(() => true));
  });
});

describe("bytes", () => {
  it("compares unsigned, a start before what it starts", () => {
    const sorted = ["", "00", "0000", "0001", "7f", "80", "80ff", "ff"].map(bytesOf);
    for (const [i, a] of sorted.entries()) {
      for (const [j, b] of sorted.entries()) {
        expect(Math.sign(compareBytes(a, b))).toBe(Math.sign(i - j));
        expect(equalBytes(a, b)).toBe(i === j);
      }
    }
  });

  it("concatenates", () => {
    expect(toHex(concatBytes())).toBe("");
    expect(toHex(concatBytes(bytesOf("01"), bytesOf(""), bytesOf("0203")))).toBe("010203");
  });

  it("hex agrees with Node's", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const hex = Buffer.from(bytes).toString("hex");
      expect(toHex(bytes)).toBe(hex);
      expect(fromHex(hex)).toEqual(bytes);
    });
    fc.assert(property, { seed: SEED, numRuns: 300 });
  });

  it("hex that is not strict is no hex", () => {
    for (const text of ["0", "0g", "AB", " 00", "0x00", "00\n", "é0", "٠٠"]) {
      expect(fromHex(text)).toBeUndefined();
    }
  });
});

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}
