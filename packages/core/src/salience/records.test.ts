/** The records of use and of compacted contexts: they read back, and count as they say. */
import { describe, expect, test } from "vitest";
import { encode, fields } from "../codec/cbor.js";
import { sha256Node } from "../codec/node-crypto.js";
import { SALT_BYTES } from "../journal/entry.js";
import {
  attestRecord,
  contextName,
  countUse,
  decodeAttestRecord,
  decodeContextRecord,
  encodeAttestRecord,
  encodeContextRecord,
  isUse,
  UNUSED,
} from "./salience.js";

const CORRUPT = expect.objectContaining({ code: "ERR_CORRUPT" });

/** A part, as the journal holds it. */
function part(record: Uint8Array): Uint8Array {
  return Buffer.concat([new Uint8Array(SALT_BYTES), record]);
}

describe("an attestation", () => {
  test.each([
    ["success", undefined, { cited: 1, accessed: 1 }],
    ["success", "it went well", { cited: 1, accessed: 1 }],
    ["failure", "factual_error", { cited: -1, accessed: 0 }],
    ["failure", "wrong_assumption", { cited: -1, accessed: 0 }],
    ["failure", "no network", { cited: 0, accessed: 0 }],
    ["failure", undefined, { cited: 0, accessed: 0 }],
  ] as const)("%s, %s adds what the table says", (outcome, reason, adds) => {
    const record = attestRecord(outcome, "task", reason);
    expect(record).toMatchObject({ outcome, intentId: "task", ...adds });
    expect(decodeAttestRecord(encodeAttestRecord(record))).toEqual(record);
  });

  test("citations never fall below 0", () => {
    const blame = part(encodeAttestRecord(attestRecord("failure", "t", "factual_error")));
    const praise = part(encodeAttestRecord(attestRecord("success", "t", undefined)));
    const at = (n: number) => ({ kind: "attest" as const, at: n });
    let counter = countUse(UNUSED, at(1), blame);
    expect(counter).toEqual({ ...UNUSED, lastUsedAt: 1 });
    counter = countUse(countUse(counter, at(2), praise), at(3), praise);
    expect(counter).toEqual({ reinforced: 0, accessed: 2, cited: 2, lastUsedAt: 3 });
    expect(countUse(counter, at(4), blame)).toMatchObject({ accessed: 2, cited: 1 });
  });

  test("other bytes are corrupt", () => {
    expect(() => decodeAttestRecord(encode(fields([undefined, 2, 0, 0, "t"])))).toThrow(CORRUPT);
    expect(() => decodeAttestRecord(encode([1, 2]))).toThrow(CORRUPT);
  });
});

test("late finds and restatements count, other attachments do not", () => {
  const nothing = part(encode(["find_late", new Uint8Array(16)]));
  expect(countUse(UNUSED, { kind: "find_late", at: 7 }, nothing)).toEqual({
    ...UNUSED,
    accessed: 1,
    lastUsedAt: 7,
  });
  expect(countUse(UNUSED, { kind: "reinforce", at: 8 }, nothing)).toEqual({
    ...UNUSED,
    reinforced: 1,
    lastUsedAt: 8,
  });
  expect((["goal_state", "settle", "write"] as const).filter((kind) => isUse({ kind }))).toEqual(
    [],
  );
});

describe("a context record", () => {
  const uri = "cortex://ada/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1";
  const record = {
    name: contextName(sha256Node, "task", "step"),
    budgetTokens: 400,
    kept: [uri],
    compacted: [{ uri, salience: 0.25 }],
  };

  test("reads back what was written", () => {
    expect(decodeContextRecord(encodeContextRecord(record))).toEqual(record);
  });

  test("names of task and step do not run into each other", () => {
    const names = [
      contextName(sha256Node, "ab", "c"),
      contextName(sha256Node, "a", "bc"),
      contextName(sha256Node, "abc", ""),
    ].map((name) => Buffer.from(name).toString("hex"));
    expect(new Set(names).size).toBe(3);
    expect(names[0]).toHaveLength(32);
  });

  test.each([
    ["a short name", fields([undefined, new Uint8Array(8), 1, [], []])],
    ["no salience", fields([undefined, new Uint8Array(16), 1, [], [[uri]]])],
    ["no list", fields([undefined, new Uint8Array(16), 1, uri, []])],
  ])("%s is corrupt", (_, value) => {
    expect(() => decodeContextRecord(encode(value))).toThrow(CORRUPT);
  });
});
