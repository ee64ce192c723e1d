/** Headers: the line of a part that is carried again, and every line that is none. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import {
  decodeHeader,
  type EntryHeader,
  type EntryKind,
  encodeHeader,
  firstContext,
  partContext,
} from "./entry.js";

const SEED = 28_001;
const subject = Uint8Array.of(1, ...new Uint8Array(16).fill(7));
const hash = new Uint8Array(32).fill(9);

const header = (parts: EntryHeader["parts"], kind: EntryKind = "revert"): EntryHeader => ({
  seq: 6,
  kind,
  at: 1000,
  by: "ada",
  parts,
});

/** A header with one line of any shape. */
function withLine(line: CborValue, kind = "revert"): Uint8Array {
  return encode(fields([6, kind, 1000, "ada", [line]]));
}

describe("a part that is carried again", () => {
  test(`is read with what its first entry said (seed ${SEED})`, () => {
    const context = fc.record({ at: fc.integer({ min: 0, max: 1000 }), by: fc.string() });
    fc.assert(
      fc.property(context, (first) => {
        const carried = { subject, hash, ...firstContext(first, { at: 1000, by: "ada" }) };
        const given = header([{ subject, hash }, carried]);
        const read = decodeHeader(encodeHeader(given, undefined));
        expect(read).toEqual(given);
        expect(partContext(read, 0)).toMatchObject({ at: 1000, by: "ada" });
        expect(partContext(read, 1)).toMatchObject(first);
      }),
      { seed: SEED },
    );
  });

  test("has a plain line when its entry says the same", () => {
    const same = { at: 1000, by: "ada" };
    expect(firstContext(same, same)).toEqual({});
    const bytes = encodeHeader(header([{ subject, hash, ...firstContext(same, same) }]), undefined);
    expect(Buffer.from(bytes).equals(withLine([subject, hash]))).toBe(true);
  });

  test("has a line of four, time and principal at its end", () => {
    const bytes = encodeHeader(header([{ subject, hash, first: { at: 3, by: "" } }]), undefined);
    expect(Buffer.from(bytes).equals(withLine([subject, hash, 3, ""]))).toBe(true);
    expect(decode(bytes)).toEqual(decode(withLine([subject, hash, 3, ""])));
  });

  test.each<readonly [string, CborValue, string]>([
    ["half of it", [subject, hash, 3], "revert"],
    ["more than it", [subject, hash, 3, "bob", 0], "revert"],
    ["no hash", [subject, null, 3, "bob"], "revert"],
    ["a hash that is none", [subject, hash.subarray(1), 3, "bob"], "revert"],
    ["no time", [subject, hash, null, "bob"], "revert"],
    ["a time that is none", [subject, hash, -1, "bob"], "revert"],
    ["a time after its entry", [subject, hash, 1001, "bob"], "revert"],
    ["no principal", [subject, hash, 3, null], "revert"],
    ["what the entry says itself", [subject, hash, 1000, "ada"], "revert"],
    ["an entry that carries nothing again", [subject, hash, 3, "bob"], "update"],
  ])("is refused with %s", (_, line, kind) => {
    expect(() => decodeHeader(withLine(line, kind))).toThrow(
      expect.objectContaining({ code: "ERR_CORRUPT" }),
    );
  });
});
