/** The proof document: one encoding, every other refused as malformed, sizes bounded first. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode, fields } from "../codec/cbor.js";
import { compareBytes } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import {
  decodeProof,
  encodeProof,
  PROOF_BYTES_MAX,
  type ProofDocument,
  proofBytes,
  sealProof,
} from "./proof.js";

const SEED = 20_261_117;
const bytes = (length: number, byte = 1): Uint8Array => new Uint8Array(length).fill(byte);

const DOCUMENT: ProofDocument = {
  checkpoint: "some text",
  memories: {
    state: bytes(3),
    items: [
      { id: bytes(16, 1) },
      { id: bytes(16, 2), part: bytes(20) },
      { id: bytes(16, 3), part: bytes(20), versionPart: bytes(30) },
    ],
  },
  edges: {
    state: bytes(2),
    items: [{ key: bytes(32, 1) }, { key: bytes(32, 2), part: bytes(17) }],
  },
  entries: [
    { seq: 0, header: bytes(5), path: [] },
    { seq: 7, header: bytes(5), path: [bytes(32, 4), bytes(32, 5)] },
  ],
  since: { size: 3, root: bytes(32, 6), path: [bytes(32, 7)] },
};

function code(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof CortexError) return error.code;
    throw error;
  }
  return "none";
}

describe("the document", () => {
  test("reads back as it was", () => {
    expect(decodeProof(encodeProof(DOCUMENT))).toEqual(DOCUMENT);
    expect(decodeProof(encodeProof({ checkpoint: "" }))).toEqual({ checkpoint: "" });
  });

  test("has one encoding: what can be read encodes to the same bytes", () => {
    const base = encodeProof(DOCUMENT);
    const edits = fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(edits, (list) => {
        const changed = new Uint8Array(base);
        for (const [at, byte] of list) changed[at] = byte;
        let read: ProofDocument;
        try {
          read = decodeProof(changed);
        } catch (error) {
          expect(error).toMatchObject({ code: "ERR_PROOF_MALFORMED" });
          return;
        }
        expect(compareBytes(encodeProof(read), changed)).toBe(0);
      }),
      { seed: SEED, numRuns: 3000 },
    );
  });

  test("every cut and every byte too many is malformed", () => {
    const base = encodeProof(DOCUMENT);
    for (let length = 0; length < base.length; length += 1) {
      expect(code(() => decodeProof(base.subarray(0, length)))).toBe("ERR_PROOF_MALFORMED");
    }
    expect(code(() => decodeProof(new Uint8Array([...base, 0])))).toBe("ERR_PROOF_MALFORMED");
  });

  const twisted = (at: readonly unknown[]) => encode(fields(at as Parameters<typeof fields>[0]));
  test.each([
    ["a newer format", twisted([2, "x"])],
    ["no format", twisted([undefined, "x"])],
    ["no checkpoint", twisted([1])],
    ["a key nobody knows", twisted([1, "x", undefined, undefined, undefined, undefined, 1])],
    ["a list instead of a map", encode([1, "x"])],
    ["memories without items", twisted([1, "x", [bytes(1), []]])],
    ["an id of 15 bytes", twisted([1, "x", [bytes(1), [[bytes(15)]]]])],
    ["a part of salt alone", twisted([1, "x", [bytes(1), [[bytes(16), bytes(16)]]]])],
    ["a null for a part", twisted([1, "x", [bytes(1), [[bytes(16), null]]]])],
    ["four values", twisted([1, "x", [bytes(1), [[bytes(16), bytes(20), bytes(20), bytes(20)]]]])],
    ["repeated ids", twisted([1, "x", [bytes(1), [[bytes(16)], [bytes(16)]]]])],
    ["ids out of order", twisted([1, "x", [bytes(1), [[bytes(16, 2)], [bytes(16, 1)]]]])],
    ["keys out of order", twisted([1, "x", undefined, [bytes(1), [[bytes(32, 2)], [bytes(32)]]]])],
    [
      "seqs out of order",
      twisted([
        1,
        "x",
        undefined,
        undefined,
        [
          [2, bytes(1), bytes(0)],
          [1, bytes(1), bytes(0)],
        ],
      ]),
    ],
    ["a negative seq", twisted([1, "x", undefined, undefined, [[-1, bytes(1), bytes(0)]]])],
    ["a path of 31 bytes", twisted([1, "x", undefined, undefined, [[1, bytes(1), bytes(31)]]])],
    ["a since of two", twisted([1, "x", undefined, undefined, undefined, [1, bytes(32)]])],
  ])("refuses %s", (_, document) => {
    expect(code(() => decodeProof(document))).toBe("ERR_PROOF_MALFORMED");
  });
});

describe("the forms it is handed around in", () => {
  const proof = sealProof(DOCUMENT);

  test("are all the same bytes", () => {
    const plain = encodeProof(DOCUMENT);
    for (const form of [
      proof,
      JSON.stringify(proof),
      JSON.stringify(proof, null, 2),
      proof.bytes,
    ]) {
      expect(proofBytes(form)).toEqual(plain);
    }
    expect(proofBytes(plain)).toBe(plain);
    expect(JSON.parse(JSON.stringify(proof))).toEqual(proof);
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["another mark", { ...proof, cortex: "proof/2" }],
    ["no bytes", { cortex: "proof/1" }],
    ["bytes as an array", { cortex: "proof/1", bytes: [1, 2] }],
    ["a member too many", { ...proof, anchored: true }],
    ["broken JSON", "{"],
    ["text that is no base64", "hello!"],
    ["base64 with a line break", `${proof.bytes}\n`],
  ])("refuse %s", (_, value) => {
    expect(code(() => proofBytes(value))).toBe("ERR_PROOF_MALFORMED");
  });

  test("are bounded before they are decoded", () => {
    const huge = "A".repeat(Math.ceil(PROOF_BYTES_MAX / 3) * 4 + 4);
    expect(code(() => proofBytes(huge))).toBe("ERR_PROOF_MALFORMED");
    expect(code(() => proofBytes({ cortex: "proof/1", bytes: huge }))).toBe("ERR_PROOF_MALFORMED");
    expect(code(() => proofBytes(new Uint8Array(PROOF_BYTES_MAX + 1)))).toBe("ERR_PROOF_MALFORMED");
    const large = { checkpoint: "x".repeat(PROOF_BYTES_MAX) };
    expect(code(() => sealProof(large))).toBe("ERR_TOO_LARGE");
  });
});
