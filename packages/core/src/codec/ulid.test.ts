/** Ids as bytes and as text: one spelling each, in the order of their time, and what is no id. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareBytes } from "./keys.js";
import { isZeroUlid, newUlid, parseUlid, ULID_TIME_MAX_MS, ulidText } from "./ulid.js";

const SEED = 20_260_313;
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The definition written plainly: one large number in base 32. */
function naiveText(id: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(id).toString("hex")}`);
  let text = "";
  for (let i = 0; i < 26; i++) {
    text = `${DIGITS[Number(rest % 32n)]}${text}`;
    rest /= 32n;
  }
  return text;
}

const anyId = fc.uint8Array({ minLength: 16, maxLength: 16 });
const zeros = (byteCount: number) => new Uint8Array(byteCount);

/** The milliseconds an id was made at: its first six bytes. */
const ulidTime = (id: Uint8Array): number =>
  id.slice(0, 6).reduce((ms, byte) => ms * 256 + byte, 0);

describe("known texts", () => {
  it("the published example has its time", () => {
    const id = parseUlid("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    expect(id && ulidTime(id)).toBe(1_469_922_850_259);
    expect(id && ulidText(id)).toBe("01ARZ3NDEKTSV4RRFFQ69G5FAV");
  });

  it("the ends of the range", () => {
    expect(ulidText(zeros(16))).toBe("0".repeat(26));
    expect(ulidText(zeros(16).fill(0xff))).toBe(`7${"Z".repeat(25)}`);
    expect(parseUlid(`7${"Z".repeat(25)}`)).toEqual(zeros(16).fill(0xff));
  });
});

describe(`properties (seed ${SEED})`, () => {
  it("text equals the plain definition and reads back in either case", () => {
    const property = fc.property(anyId, (id) => {
      const text = ulidText(id);
      expect(text).toBe(naiveText(id));
      expect(parseUlid(text)).toEqual(id);
      expect(parseUlid(text.toLowerCase())).toEqual(id);
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it("texts order as bytes do", () => {
    const property = fc.property(anyId, anyId, fc.nat(16), (a, b, shared) => {
      const other = Uint8Array.from(b, (byte, i) => (i < shared ? (a[i] ?? 0) : byte));
      const [x, y] = [ulidText(a), ulidText(other)];
      expect(x < y ? -1 : x > y ? 1 : 0).toBe(Math.sign(compareBytes(a, other)));
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it("a new id carries its time and its ten random bytes", () => {
    const time = fc.oneof(
      fc.nat({ max: ULID_TIME_MAX_MS }),
      fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, ULID_TIME_MAX_MS),
    );
    const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
    const property = fc.property(time, random, (atMs, tail) => {
      const id = newUlid(atMs, () => tail);
      expect(ulidTime(id)).toBe(atMs);
      expect(id.slice(6)).toEqual(tail);
    });
    fc.assert(property, { seed: SEED, numRuns: 500 });
  });

  it("whatever parses is a spelling of its text", () => {
    const letter = fc.constantFrom(..."0127890AZaziloILOU-é");
    const property = fc.property(
      fc.string({ unit: letter, minLength: 25, maxLength: 27 }),
      (text) => {
        const id = parseUlid(text);
        const legal = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i.test(text);
        expect(id !== undefined).toBe(legal);
        if (id !== undefined) expect(ulidText(id)).toBe(text.toUpperCase());
      },
    );
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });
});

describe("refusals", () => {
  it.each([
    ["nothing", ""],
    ["25 characters", "0".repeat(25)],
    ["27 characters", "0".repeat(27)],
    ["more than 128 bits", `8${"0".repeat(25)}`],
    ["a letter first", `A${"0".repeat(25)}`],
    ["an I", `0I${"0".repeat(24)}`],
    ["an l", `0l${"0".repeat(24)}`],
    ["an O", `${"0".repeat(25)}O`],
    ["a U", `0U${"0".repeat(24)}`],
    ["a hyphen", `0-${"0".repeat(24)}`],
    ["a space", `${"0".repeat(25)} `],
    ["a letter beyond ASCII", `0é${"0".repeat(24)}`],
    ["a letter whose upper case is ASCII", `0\u{17f}${"0".repeat(24)}`],
  ])("%s is not an id", (_name, text) => {
    expect(parseUlid(text)).toBeUndefined();
  });

  it("a time that does not fit, and randomness of the wrong length", () => {
    for (const atMs of [-1, 0.5, Number.NaN, ULID_TIME_MAX_MS + 1]) {
      expect(() => newUlid(atMs, zeros)).toThrow(expect.objectContaining({ code: "ERR_INVALID" }));
    }
    expect(() => newUlid(0, () => zeros(9))).toThrow("gave 9 bytes");
  });

  it("bytes of another length are a mistake of the caller", () => {
    for (const act of [ulidText, isZeroUlid]) {
      expect(() => act(zeros(15))).toThrow("16 bytes, not 15");
    }
  });
});

it("only sixteen zeros are the zero id", () => {
  expect(isZeroUlid(zeros(16))).toBe(true);
  for (let i = 0; i < 16; i++) {
    const id = zeros(16);
    id[i] = 1;
    expect(isZeroUlid(id)).toBe(false);
  }
});
