/**
 * Canonical CBOR: vectors, one encoding per value, refusals with path or offset, and agreement with
 * two other libraries.
 */
import { decode as cbor2Decode, encode as cbor2Encode, dcborEncodeOptions } from "cbor2";
import { encode as cborgEncode, rfc8949EncodeOptions } from "cborg";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CortexError, isCortexError } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import { type CborValue, decode, encode, fields, isFields } from "./cbor.js";
import { asFields } from "./cbor-value.js";
import { equalBytes, fromHex, toHex } from "./keys.js";

const SEED = 20_260_311;

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex);
  if (bytes === undefined) throw new Error(`not hex: ${hex}`);
  return bytes;
}

/** Lets a test hand over what the types forbid. */
function forbidden(value: unknown): CborValue {
  return value as CborValue;
}

function failureOf(act: () => unknown): CortexError {
  try {
    act();
  } catch (error) {
    if (error instanceof CortexError) return error;
    throw error;
  }
  throw new Error("expected a CortexError, nothing was thrown");
}

function nested(levels: number): CborValue {
  let value: CborValue = 0;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

// Generators -----------------------------------------------------------------------------------------

const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -300, max: 300 }),
  // The neighbours of every change of width.
  fc
    .tuple(fc.constantFrom(8, 16, 32, 53), fc.integer({ min: -2, max: 2 }), fc.boolean())
    .map(([bits, off, negative]) => {
      const size = Math.min(2 ** bits + off, INTEGER_MAX);
      return negative ? -size : size;
    }),
);
const fraction = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -(2 ** 11), max: 2 ** 11 }).map((n) => n / 2 ** 11),
  )
  .filter((n) => !Number.isInteger(n));
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    "\u{feff}mark",
    "é".repeat(12),
    "x".repeat(23),
    "x".repeat(255),
    "水".repeat(90),
  ),
);
const scalar = fc.oneof(
  fc.constantFrom(null, true, false),
  integer,
  fraction,
  text,
  fc.uint8Array({ maxLength: 40 }),
);

/** Values with text-keyed maps only: what other libraries can express. */
const openValue: fc.Arbitrary<CborValue> = fc.letrec<{ value: CborValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(text, tie("value"), { maxKeys: 6 }),
  ),
})).value;

/** The whole set. A map of integer keys is never empty, because bytes cannot tell an empty one. */
const anyValue: fc.Arbitrary<CborValue> = fc.letrec<{ value: CborValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(text, tie("value"), { maxKeys: 6 }),
    fc
      .tuple(fc.array(fc.option(tie("value"), { nil: undefined }), { maxLength: 30 }), tie("value"))
      .map(([members, last]) => fields([...members, last])),
  ),
})).value;

// Vectors of RFC 8949, appendix A, that fall into the set ----------------------------------------------

const VECTORS: readonly (readonly [string, CborValue])[] = [
  ["00", 0],
  ["01", 1],
  ["0a", 10],
  ["17", 23],
  ["1818", 24],
  ["1819", 25],
  ["1864", 100],
  ["1903e8", 1000],
  ["1a000f4240", 1_000_000],
  ["1b000000e8d4a51000", 1_000_000_000_000],
  ["20", -1],
  ["29", -10],
  ["3863", -100],
  ["3903e7", -1000],
  ["fb3ff199999999999a", 1.1],
  ["f93e00", 1.5],
  ["f90001", 2 ** -24],
  ["f90400", 2 ** -14],
  ["fbc010666666666666", -4.1],
  ["f4", false],
  ["f5", true],
  ["f6", null],
  ["40", new Uint8Array(0)],
  ["4401020304", Uint8Array.of(1, 2, 3, 4)],
  ["60", ""],
  ["6161", "a"],
  ["6449455446", "IETF"],
  ["62225c", '"\\'],
  ["62c3bc", "\u00fc"],
  ["63e6b0b4", "\u6c34"],
  ["64f0908591", "\u{10151}"],
  ["80", []],
  ["83010203", [1, 2, 3]],
  ["8301820203820405", [1, [2, 3], [4, 5]]],
  [
    "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
    Array.from({ length: 25 }, (_, i) => i + 1),
  ],
  ["a0", {}],
  ["a201020304", fields([undefined, 2, undefined, 4])],
  ["a26161016162820203", { a: 1, b: [2, 3] }],
  ["826161a161626163", ["a", { b: "c" }]],
  ["a56161614161626142616361436164614461656145", { a: "A", b: "B", c: "C", d: "D", e: "E" }],
];

describe("vectors", () => {
  it.each(VECTORS)("%s encodes and decodes", (hex, value) => {
    expect(toHex(encode(value))).toBe(hex);
    expect(decode(bytesOf(hex))).toEqual(value);
  });

  it("the bounds of every width", () => {
    const bounds: readonly (readonly [number, string])[] = [
      [255, "18ff"],
      [256, "190100"],
      [65_535, "19ffff"],
      [65_536, "1a00010000"],
      [2 ** 32 - 1, "1affffffff"],
      [2 ** 32, "1b0000000100000000"],
      [INTEGER_MAX, "1b001fffffffffffff"],
      [-24, "37"],
      [-25, "3818"],
      [-(2 ** 32), "3affffffff"],
      [-(2 ** 32) - 1, "3b0000000100000000"],
      [-INTEGER_MAX, "3b001ffffffffffffe"],
    ];
    for (const [value, hex] of bounds) {
      expect(toHex(encode(value))).toBe(hex);
      expect(decode(bytesOf(hex))).toBe(value);
    }
  });

  it("floats take the shortest of the three formats", () => {
    expect(toHex(encode(-0.5))).toBe("f9b800");
    expect(toHex(encode(2 ** -24 * 3))).toBe("f90003");
    expect(toHex(encode(2 ** -25))).toBe("fa33000000");
    expect(toHex(encode(1 + 2 ** -11))).toBe("fa3f801000");
    expect(toHex(encode(1e-320))).toBe("fb00000000000007e8");
  });

  it("minus zero is zero", () => {
    expect(toHex(encode(-0))).toBe("00");
    expect(Object.is(decode(encode(-0)), 0)).toBe(true);
  });
});

describe("maps", () => {
  it("keys go by length in UTF-8, then by bytes, whatever order they came in", () => {
    // U+FF61 sorts before U+10151 in UTF-8 and after it in UTF-16.
    const value = { "\u{10151}": 1, "\u{ff61}!": 2, bb: 3, "": 4, é: 5, b: 6, a: 7, "\u{e000}": 8 };
    const keys = Object.keys(decode(encode(value)) as object);
    expect(keys).toEqual(["", "a", "b", "bb", "é", "\u{e000}", "\u{ff61}!", "\u{10151}"]);
  });

  it("keys that look like integers or like __proto__ are ordinary texts", () => {
    const value = JSON.parse('{"10":1,"9":2,"__proto__":{"x":3}}') as CborValue;
    const back = decode(encode(value)) as { readonly [key: string]: CborValue };
    expect(Object.getPrototypeOf(back)).toBeNull();
    expect(Object.keys(back).sort()).toEqual(["10", "9", "__proto__"]);
    expect(Object.getOwnPropertyDescriptor(back, "__proto__")?.value).toEqual({ x: 3 });
  });

  it("fields keep their keys, skip what is absent, and reach 255", () => {
    const sparse: (CborValue | undefined)[] = [];
    sparse[255] = null;
    sparse[7] = "seven";
    const bytes = encode(fields(sparse));
    expect(toHex(bytes)).toBe("a20765736576656e18fff6");
    const back = decode(bytes);
    expect(isFields(back) && back.at.length).toBe(256);
    expect(isFields(back) && [back.at[7], back.at[8], back.at[255]]).toEqual([
      "seven",
      undefined,
      null,
    ]);
  });

  it("an empty map is an empty object, which asFields reads as no fields", () => {
    const back = decode(encode(fields([undefined])));
    expect(isFields(back)).toBe(false);
    expect(asFields(back)?.at).toEqual([]);
    expect(asFields(fields([1]))?.at).toEqual([1]);
    for (const other of [null, 1, "x", [], new Uint8Array(0), { a: 1 }]) {
      expect(asFields(other)).toBeUndefined();
    }
  });
});

describe("memory", () => {
  it("byte strings are plain views of the input, also over a Buffer", () => {
    const input = Buffer.from("824201024103", "hex");
    const [first] = decode(input) as readonly Uint8Array[];
    expect(Object.getPrototypeOf(first)).toBe(Uint8Array.prototype);
    expect(first?.buffer).toBe(input.buffer);
    expect(first?.byteOffset).toBe(input.byteOffset + 2);
  });

  it("each result has bytes of its own, of exact length", () => {
    const first = encode("one");
    const second = encode("two");
    second.fill(0);
    expect(toHex(first)).toBe("636f6e65");
    expect(toHex(encode("two"))).toBe("6374776f");
    expect(first.length).toBe(4);
  });

  it("values larger than the scratch buffer survive its growth", () => {
    const text = "x".repeat(70_000);
    const bytes = new Uint8Array(3_000_000).fill(7);
    const back = decode(encode([text, bytes, "é".repeat(40_000), 2])) as readonly CborValue[];
    expect(back[0] === text && back[2] === "é".repeat(40_000) && back[3]).toBe(2);
    expect(equalBytes(back[1] as Uint8Array, bytes)).toBe(true);
    expect(toHex(encode(1))).toBe("01");
  });

  it("an encode inside a getter disturbs nothing", () => {
    const value = {
      get a() {
        return toHex(encode(["inner", { deep: "x".repeat(20_000) }])).length;
      },
      b: "outer",
    };
    expect(decode(encode(value))).toEqual({ a: value.a, b: "outer" });
  });

  it("no result is changed by those that come after it, short or long", () => {
    const lengths = fc.array(fc.constantFrom(0, 1, 22, 300, 2047, 2048, 5000, 16_384, 40_000));
    fc.assert(
      fc.property(lengths, (all) => {
        const results = all.map((length, at) => encode([at, "x".repeat(length)]));
        for (const [at, bytes] of results.entries()) {
          expect(decode(bytes)).toEqual([at, "x".repeat(all[at] ?? 0)]);
        }
      }),
      { seed: SEED, numRuns: 50 },
    );
  });

  it("a result of an encode inside a getter stays as it is, however long the one around it gets", () => {
    const inner: Uint8Array[] = [];
    const value = {
      get a() {
        inner.push(encode("inner"));
        return "x".repeat(20_000);
      },
      get b() {
        inner.push(encode(["y".repeat(30_000)]));
        return 1;
      },
    };
    const outer = encode(value);
    expect(encode("next")).not.toBe(outer);
    expect(inner.map((bytes) => decode(bytes))).toEqual(["inner", ["y".repeat(30_000)]]);
    expect(decode(outer)).toEqual({ a: "x".repeat(20_000), b: 1 });
  });

  it("a short result keeps no more than a slab in memory, after long ones too", () => {
    encode("x".repeat(500_000));
    expect(encode("short").buffer.byteLength).toBeLessThanOrEqual(16 * 1024);
  });

  it("a refused value leaves nothing behind for the next one", () => {
    expect(() => encode(["before", Number.NaN])).toThrow(CortexError);
    expect(toHex(encode("after"))).toBe("656166746572");
  });
});

// Refusals -----------------------------------------------------------------------------------------

describe("encode refuses, naming the path", () => {
  const cyclic: CborValue[] = [];
  cyclic.push(cyclic);
  const tooMany = new Array<CborValue>(257).fill(0);
  const cases: readonly (readonly [string, unknown, string, string])[] = [
    ["undefined", undefined, "ERR_INVALID", "value"],
    ["an undefined member", { a: { "b c": undefined } }, "ERR_INVALID", 'value.a["b c"]'],
    ["a hole in an array", [1, new Array(1)], "ERR_INVALID", "value[1][0]"],
    ["NaN", { x: [Number.NaN] }, "ERR_INVALID", "value.x[0]"],
    ["infinity", Number.POSITIVE_INFINITY, "ERR_INVALID", "value"],
    ["minus infinity", [Number.NEGATIVE_INFINITY], "ERR_INVALID", "value[0]"],
    ["2^53", 2 ** 53, "ERR_INVALID", "value"],
    ["-2^53", -(2 ** 53), "ERR_INVALID", "value"],
    ["1e300", fields([undefined, 1e300]), "ERR_INVALID", "value[1]"],
    ["a bigint", 1n, "ERR_INVALID", "value"],
    ["a symbol", [Symbol("s")], "ERR_INVALID", "value[0]"],
    ["a function", { f: () => 1 }, "ERR_INVALID", "value.f"],
    ["a Date", [new Date(0)], "ERR_INVALID", "value[0]"],
    ["a Map", new Map([["a", 1]]), "ERR_INVALID", "value"],
    ["another typed array", new Uint16Array(2), "ERR_INVALID", "value"],
    ["257 fields", [fields(tooMany)], "ERR_INVALID", "value[0]"],
    ["a lone surrogate", { t: ["\ud800"] }, "ERR_ILL_FORMED", "value.t[0]"],
    ["a lone surrogate in long text", `${"x".repeat(500)}\udc00`, "ERR_ILL_FORMED", "value"],
    ["a lone surrogate in a key", { "\udfff": 1 }, "ERR_ILL_FORMED", 'value["\\udfff"]'],
    ["a cycle", cyclic, "ERR_TOO_LARGE", `value${"[0]".repeat(LIMITS.cborDepth)}`],
  ];
  it.each(cases)("%s", (_name, value, code, path) => {
    const failure = failureOf(() => encode(forbidden(value)));
    expect([failure.code, failure.details.field]).toEqual([code, path]);
    expect(failure.message.startsWith(`${path}: `)).toBe(true);
  });
});

describe("depth", () => {
  it("the limit is accepted both ways, one more is refused both ways", () => {
    const deepest = nested(LIMITS.cborDepth);
    expect(decode(encode(deepest))).toEqual(deepest);
    expect(failureOf(() => encode(nested(LIMITS.cborDepth + 1))).code).toBe("ERR_TOO_LARGE");
    const bytes = new Uint8Array(LIMITS.cborDepth + 2).fill(0x81);
    bytes[LIMITS.cborDepth + 1] = 0;
    const failure = failureOf(() => decode(bytes));
    expect(failure.code).toBe("ERR_NOT_CANONICAL");
    expect(failure.message).toContain(`nesting deeper than 64 at byte ${LIMITS.cborDepth}`);
  });

  it("maps of both kinds count as levels", () => {
    let value: CborValue = 1;
    for (let i = 0; i < LIMITS.cborDepth; i++) value = i % 2 === 0 ? { a: value } : fields([value]);
    expect(toHex(encode(decode(encode(value))))).toBe(toHex(encode(value)));
    expect(failureOf(() => encode({ a: value })).code).toBe("ERR_TOO_LARGE");
    expect(failureOf(() => encode(fields([value]))).code).toBe("ERR_TOO_LARGE");
  });
});

describe("decode refuses, with the offset", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["text keys out of order", "a2616201616102", "a key out of order at byte 4"],
    ["a longer key before a shorter", "a262616101616202", "a key out of order at byte 5"],
    ["integer keys out of order", "a202000100", "a key out of order at byte 3"],
    ["a duplicate text key", "a2616101616102", "a duplicate key at byte 4"],
    ["a duplicate integer key", "a201000100", "a duplicate key at byte 3"],
    ["an integer key among text keys", "a26161010102", "among text keys at byte 4"],
    ["a text key among integer keys", "a20102616101", "among integer keys at byte 3"],
    ["an integer key of 256", "a119010000", "an integer key above 255 at byte 1"],
    ["a negative key", "a12000", "neither text nor an integer from 0 to 255 at byte 1"],
    ["a byte string as a key", "a1414100", "neither text nor an integer from 0 to 255 at byte 1"],
    ["an array as a key", "a18000", "neither text nor an integer from 0 to 255 at byte 1"],
    ["false as a key", "a1f400", "neither text nor an integer from 0 to 255 at byte 1"],
    ["23 in one extra byte", "1817", "not in its shortest form at byte 0"],
    ["255 in two bytes", "1900ff", "not in its shortest form at byte 0"],
    ["65535 in four bytes", "811a0000ffff", "not in its shortest form at byte 1"],
    ["2^32 - 1 in eight bytes", "1b00000000ffffffff", "not in its shortest form at byte 0"],
    ["a negative integer too long", "3800", "not in its shortest form at byte 0"],
    ["an integer key too long", "a1180100", "not in its shortest form at byte 1"],
    ["a byte string length too long", "580100", "not in its shortest form at byte 0"],
    ["a text length too long", "780161", "not in its shortest form at byte 0"],
    ["an array length too long", "980100", "not in its shortest form at byte 0"],
    ["a map length too long", "b8010000", "not in its shortest form at byte 0"],
    ["0.0", "f90000", "a float that holds an integer at byte 0"],
    ["-0.0", "f98000", "a float that holds an integer at byte 0"],
    ["1.0 as half", "f93c00", "a float that holds an integer at byte 0"],
    ["100000.0 as single", "fa47c35000", "a float that holds an integer at byte 0"],
    ["-2.0 as double", "fbc000000000000000", "a float that holds an integer at byte 0"],
    ["1.0e300", "fb7e37e43c8800759c", "a float that holds an integer at byte 0"],
    ["1.5 as single", "fa3fc00000", "a float not in its shortest form at byte 0"],
    ["1.5 as double", "fb3ff8000000000000", "a float not in its shortest form at byte 0"],
    ["a single as double", "fb3ff0020000000000", "a float not in its shortest form at byte 0"],
    ["a half subnormal as single", "fa33800000", "a float not in its shortest form at byte 0"],
    ["infinity as half", "f97c00", "NaN or an infinity at byte 0"],
    ["minus infinity as half", "f9fc00", "NaN or an infinity at byte 0"],
    ["NaN as half", "f97e00", "NaN or an infinity at byte 0"],
    ["infinity as single", "fa7f800000", "NaN or an infinity at byte 0"],
    ["NaN as double", "fb7ff8000000000000", "NaN or an infinity at byte 0"],
    ["indefinite bytes", "5f42010243030405ff", "an indefinite length at byte 0"],
    ["indefinite text", "7f657374726561ff", "an indefinite length at byte 0"],
    ["an indefinite array", "9fff", "an indefinite length at byte 0"],
    ["an indefinite map", "bf61610161629f0203ffff", "an indefinite length at byte 0"],
    ["a break alone", "ff", "a break without an indefinite length at byte 0"],
    ["a reserved integer form", "1c", "a reserved initial byte at byte 0"],
    ["a date tag", "c11a514b67b0", "a tag at byte 0"],
    ["a bignum", "81c249010000000000000000", "a tag at byte 1"],
    ["undefined", "81f7", "undefined at byte 1"],
    ["simple value 16", "f0", "a simple value other than false, true and null at byte 0"],
    ["simple value 255", "f8ff", "a simple value other than false, true and null at byte 0"],
    ["false in two bytes", "f814", "a simple value other than false, true and null at byte 0"],
    ["a reserved simple form", "fc", "a simple value other than false, true and null at byte 0"],
    ["2^53", "1b0020000000000000", "an integer beyond ±(2^53 - 1) at byte 0"],
    ["2^64 - 1", "1bffffffffffffffff", "an integer beyond ±(2^53 - 1) at byte 0"],
    ["-2^53", "3b001fffffffffffff", "an integer beyond ±(2^53 - 1) at byte 0"],
    ["-2^64", "3bffffffffffffffff", "an integer beyond ±(2^53 - 1) at byte 0"],
    ["bytes after the value", "0000", "bytes after the value at byte 1"],
    ["nothing at all", "", "the end of the input inside a value at byte 0"],
    ["an integer cut off", "19ff", "the end of the input inside a value at byte 2"],
    ["a float cut off", "fb3ff199", "the end of the input inside a value at byte 4"],
    ["an array cut off", "82190100", "the end of the input inside a value at byte 4"],
    ["a map cut off", "a2616101", "a length beyond the input at byte 0"],
    ["a map that ends after a key", "a16161", "the end of the input inside a value at byte 3"],
    ["a text cut off", "6261", "a length beyond the input at byte 0"],
    ["a byte string cut off", "4401", "a length beyond the input at byte 0"],
    ["a byte string of 2^52", "5b0010000000000000", "a length beyond the input at byte 0"],
    ["a text of 2^32 - 1", "7affffffff", "a length beyond the input at byte 0"],
    ["an array of 2^32 - 1", "9affffffff", "a length beyond the input at byte 0"],
    ["a map of 2^32 - 1", "baffffffff", "a length beyond the input at byte 0"],
    ["a stray continuation byte", "6180", "text that is not UTF-8 at byte 0"],
    ["an overlong NUL", "62c080", "text that is not UTF-8 at byte 0"],
    ["a surrogate in UTF-8", "63eda080", "text that is not UTF-8 at byte 0"],
    ["a code point beyond U+10FFFF", "64f4908080", "text that is not UTF-8 at byte 0"],
    ["a text ending inside a character", "62e6b0", "text that is not UTF-8 at byte 0"],
    ["long text that is not UTF-8", `7818${"61".repeat(23)}ff`, "text that is not UTF-8 at byte 0"],
    ["a key that is not UTF-8", "a161ff00", "text that is not UTF-8 at byte 1"],
  ];
  it.each(cases)("%s", (_name, hex, message) => {
    const failure = failureOf(() => decode(bytesOf(hex)));
    expect(failure.code).toBe("ERR_NOT_CANONICAL");
    expect(failure.message).toContain(message);
  });
});

// Properties -----------------------------------------------------------------------------------------

/** The guarantee, for one input: refused by name, or the very same bytes again. */
function holdsFor(bytes: Uint8Array): boolean {
  let value: CborValue;
  try {
    value = decode(bytes);
  } catch (error) {
    return isCortexError(error, "ERR_NOT_CANONICAL");
  }
  return equalBytes(encode(value), bytes);
}

describe(`properties (seed ${SEED})`, () => {
  it("what is encoded decodes to the same value", () => {
    const property = fc.property(anyValue, (value) => {
      expect(decode(encode(value))).toEqual(value);
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it("the order in which members were added does not matter", () => {
    const property = fc.property(fc.dictionary(text, integer, { maxKeys: 12 }), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      expect(toHex(encode(reversed))).toBe(toHex(encode(value)));
    });
    fc.assert(property, { seed: SEED, numRuns: 500 });
  });

  it("every input of one or two bytes keeps the guarantee", () => {
    const broken: number[] = [];
    for (let n = 0; n < 256; n++) if (!holdsFor(Uint8Array.of(n))) broken.push(n);
    for (let n = 0; n < 65_536; n++) if (!holdsFor(Uint8Array.of(n >>> 8, n))) broken.push(n);
    expect(broken).toEqual([]);
  });

  it("every half-precision float is accepted exactly if it is a fraction", () => {
    let accepted = 0;
    for (let bits = 0; bits < 65_536; bits++) {
      const bytes = Uint8Array.of(0xf9, bits >>> 8, bits);
      if (!holdsFor(bytes)) throw new Error(`guarantee broken for ${toHex(bytes)}`);
      try {
        decode(bytes);
        accepted += 1;
      } catch {}
    }
    // Per sign: 2^10 - 1 subnormals, 14 binades below 1 with 2^10 each, and for 2^e with e from 0 to
    // 9 all but the 2^e whole ones.
    expect(accepted).toBe(2 * (1023 + 14 * 1024 + (10 * 1024 - 1023)));
  });

  it("mutated encodings are refused by name or encode to the same bytes", () => {
    const mutation = fc.record({
      at: fc.nat({ max: 4096 }),
      byte: fc.nat({ max: 255 }),
      kind: fc.constantFrom("replace", "flip", "insert", "remove", "cut"),
    });
    const property = fc.property(
      anyValue,
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      (value, mutations) => {
        let bytes: number[] = [...encode(value)];
        for (const { at, byte, kind } of mutations) {
          const index = at % (bytes.length + 1);
          if (kind === "insert") bytes.splice(index, 0, byte);
          else if (kind === "remove") bytes.splice(index, 1);
          else if (kind === "cut") bytes = bytes.slice(0, index);
          else if (kind === "replace") bytes[index] = byte;
          else bytes[index] = (bytes[index] ?? 0) ^ (1 << (byte & 7));
        }
        return holdsFor(Uint8Array.from(bytes));
      },
    );
    fc.assert(property, { seed: SEED, numRuns: 8000 });
  });

  it("arbitrary bytes are refused by name or encode to the same bytes", () => {
    // Small bytes and initial bytes of containers make inputs that get further than noise does.
    const byte = fc.oneof(
      fc.nat({ max: 255 }),
      fc.nat({ max: 3 }),
      fc.constantFrom(0x61, 0x62, 0x81, 0x82, 0xa1, 0xa2, 0x18, 0x41, 0xf9),
    );
    const property = fc.property(fc.array(byte, { maxLength: 24 }), (bytes) =>
      holdsFor(Uint8Array.from(bytes)),
    );
    fc.assert(property, { seed: SEED, numRuns: 20_000 });
  });
});

describe(`other libraries (seed ${SEED})`, () => {
  /** Deterministic rules without the normalisation of texts, which this format leaves alone. */
  const cbor2Options = { ...dcborEncodeOptions, stringNormalization: null };

  it("cborg writes the same bytes, which decode here", () => {
    const property = fc.property(openValue, (value) => {
      // Its decoder drops a leading byte order mark, so it is not asked to read ours.
      const theirs = cborgEncode(value, rfc8949EncodeOptions);
      expect(toHex(encode(value))).toBe(toHex(theirs));
      expect(decode(theirs)).toEqual(value);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("cbor2 writes the same bytes, which decode here, and reads ours", () => {
    const property = fc.property(openValue, (value) => {
      const ours = encode(value);
      const theirs = cbor2Encode(value, cbor2Options);
      expect(toHex(ours)).toBe(toHex(theirs));
      expect(decode(theirs)).toEqual(value);
      expect(cbor2Decode(ours, { cde: true })).toEqual(value);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("maps with integer keys equal a Map written by cbor2", () => {
    const members = fc.array(fc.option(scalar, { nil: undefined }), {
      minLength: 1,
      maxLength: 256,
    });
    const property = fc.property(members, (at) => {
      const map = new Map<number, unknown>();
      for (const [key, value] of at.entries()) if (value !== undefined) map.set(key, value);
      expect(toHex(encode(fields(at)))).toBe(toHex(cbor2Encode(map, cbor2Options)));
    });
    fc.assert(property, { seed: SEED, numRuns: 200 });
  });
});
