/** A checkpoint has one text, and every other text is refused with the line that is wrong. */
import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Pure } from "../codec/sha256-pure.js";
import { CortexError } from "../errors.js";
import {
  anchorOf,
  formatCheckpoint,
  type NoteSignature,
  parseCheckpoint,
  type Statement,
  signNote,
} from "./checkpoint.js";

const SEED = 20_261_116;
const hash = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

const STATEMENT: Statement = {
  actor: "ada",
  storeId: "00112233445566778899aabbccddeeff",
  size: 42,
  roots: { genesis: hash(1), journal: hash(2), trees: { edges: hash(3), memories: hash(4) } },
  at: 1_767_225_600_000,
};

const TEXT = formatCheckpoint(sha256Pure, STATEMENT);

function refusal(text: unknown): CortexError {
  try {
    parseCheckpoint(sha256Pure, text);
  } catch (error) {
    if (error instanceof CortexError) return error;
    throw error;
  }
  throw new Error(`it was read: ${String(text)}`);
}

/** The text with a sum that fits again: what a liar would send. */
function resummed(text: string): string {
  const body = text.slice(0, text.indexOf("sum "));
  return `${body}sum ${Buffer.from(sha256Pure(Buffer.from(body))).toString("base64")}\n`;
}

describe("the text", () => {
  test("is nine lines, the first three as transparency logs have them", () => {
    const lines = TEXT.split("\n");
    expect(lines).toHaveLength(10);
    expect(lines.slice(0, 3)).toEqual([
      "cortex/ada/00112233445566778899aabbccddeeff",
      "42",
      Buffer.from(hash(2)).toString("base64"),
    ]);
    expect(lines.slice(3, 9).map((line) => line.split(" ")[0])).toEqual([
      "genesis",
      "edges",
      "memories",
      "overall",
      "at",
      "sum",
    ]);
  });

  test("reads back, whatever it states", () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const statements = fc.record({
      actor: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/),
      storeId: fc.stringMatching(/^[0-9a-f]{32}$/),
      size: fc.integer({ min: 2, max: Number.MAX_SAFE_INTEGER }),
      at: fc.maxSafeNat(),
      roots: fc.record({
        genesis: bytes,
        journal: bytes,
        trees: fc.record({ edges: bytes, memories: bytes }),
      }),
    });
    const signatures = fc.array(
      fc.record({
        name: fc.stringMatching(/^[a-zé.—/]{1,12}$/u),
        bytes: fc.uint8Array({ minLength: 5, maxLength: 80 }),
      }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(statements, signatures, (statement, signed) => {
        const read = parseCheckpoint(sha256Pure, formatCheckpoint(sha256Pure, statement, signed));
        expect(read).toMatchObject(statement);
        expect(read.signatures).toEqual(signed);
        expect(read.note).toBe(formatCheckpoint(sha256Pure, statement));
      }),
      { seed: SEED },
    );
  });
});

describe("refused", () => {
  test("is every flip of any byte, with a line that exists", () => {
    const bytes = Buffer.from(TEXT);
    for (let at = 0; at < bytes.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        // Latin-1 keeps every byte a character of its own, however ill-formed the flip.
        const error = refusal(flipped.toString("latin1"));
        expect(error.code).toBe("ERR_CHECKPOINT_MALFORMED");
        expect(error.message).toMatch(/^checkpoint, line ([1-9]|10): /);
      }
    }
  });

  test("is every cut and every byte too many", () => {
    for (let length = 0; length < TEXT.length; length += 1) {
      expect(refusal(TEXT.slice(0, length)).code).toBe("ERR_CHECKPOINT_MALFORMED");
    }
    for (const tail of ["\n", " ", "x", "\0", "\r\n", "\n\n", "x\n"]) {
      expect(refusal(`${TEXT}${tail}`).code).toBe("ERR_CHECKPOINT_MALFORMED");
    }
  });

  test.each([
    ["no text", 7, /line 1: expected text/],
    ["a size with a leading zero", resummed(TEXT.replace("\n42\n", "\n042\n")), /line 2/],
    ["a size of zero", resummed(TEXT.replace("\n42\n", "\n0\n")), /line 2/],
    ["a size beyond 2^53", resummed(TEXT.replace("\n42\n", "\n9007199254740992\n")), /line 2/],
    ["an actor in capitals", resummed(TEXT.replace("/ada/", "/Ada/")), /line 1/],
    ["a store id in capitals", resummed(TEXT.replace("aabb", "AABB")), /line 1/],
    ["line ends of another system", resummed(TEXT.replaceAll("\n", "\r\n")), /line/],
    ["swapped lines", resummed(TEXT.replace(/(genesis .*\n)(edges .*\n)/, "$2$1")), /line 4/],
    ["an unknown line", resummed(TEXT.replace("at ", "more x\nat ")), /line 8/],
    ["a time with a sign", resummed(TEXT.replace("at ", "at +")), /line 8/],
    [
      "roots of another overall root, with a sum that fits",
      resummed(TEXT.replace(/edges .*/, `edges ${Buffer.from(hash(9)).toString("base64")}`)),
      /line 7: the roots above have another overall root/,
    ],
    ["one entry that is not the genesis", resummed(TEXT.replace("\n42\n", "\n1\n")), /line 4/],
    ["a blank line without signatures", `${TEXT}\n`, /line 11/],
    ["a signature without a dash", `${TEXT}\nada AAAAAAA=\n`, /line 11/],
    ["a signature with a hyphen for a dash", `${TEXT}\n- ada AAAAAAA=\n`, /line 11/],
    ["a signature without a line end", `${TEXT}\n— ada AAAAAAA=`, /line 11/],
    ["a key name with a plus sign", `${TEXT}\n— a+b AAAAAAA=\n`, /line 11: the name of the key/],
    ["a key hint without a signature", `${TEXT}\n— ada AAAAAA==\n`, /line 11/],
    ["a signature that is no base64", `${TEXT}\n— ada AAAA*AA=\n`, /line 11/],
    ["two spaces", `${TEXT}\n— ada  AAAAAAA=\n`, /line 11/],
    ["a blank line between signatures", `${TEXT}\n— a AAAAAAA=\n\n— b AAAAAAA=\n`, /line 12/],
    ["a hundred and one signatures", `${TEXT}\n${"— a AAAAAAA=\n".repeat(101)}`, /line 111/],
  ])("is %s", (_, text, message) => {
    expect(refusal(text).message).toMatch(message);
  });
});

describe("signing", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const keyHint = Uint8Array.of(1, 2, 3, 4);

  test("is done by the one who owns the key, over the nine lines", async () => {
    const signer = {
      name: "example.org/ada",
      keyHint,
      sign: (t: Uint8Array) => sign(null, t, privateKey),
    };
    const signature = await signNote(TEXT, signer);
    const text = formatCheckpoint(sha256Pure, STATEMENT, [signature]);
    expect(text.startsWith(`${TEXT}\n— example.org/ada `)).toBe(true);
    const read = parseCheckpoint(sha256Pure, text);
    expect(read.note).toBe(TEXT);
    const [found] = read.signatures as [NoteSignature];
    expect(found.bytes.subarray(0, 4)).toEqual(keyHint);
    const key = createPublicKey(publicKey.export({ type: "spki", format: "pem" }));
    expect(verify(null, Buffer.from(read.note), key, found.bytes.subarray(4))).toBe(true);
  });

  test("a flip in a signature is refused here, or by the key", async () => {
    const signer = { name: "ada", keyHint, sign: (t: Uint8Array) => sign(null, t, privateKey) };
    const text = formatCheckpoint(sha256Pure, STATEMENT, [await signNote(TEXT, signer)]);
    const hintEnd = text.lastIndexOf(" ") + 1;
    // The hint says which key to try, nothing more; from the seventh character on it is signature.
    for (let at = hintEnd + 6; at < text.length; at += 1) {
      const flipped = `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ 1)}${text.slice(at + 1)}`;
      let read: ReturnType<typeof parseCheckpoint> | undefined;
      try {
        read = parseCheckpoint(sha256Pure, flipped);
      } catch (error) {
        expect(error).toBeInstanceOf(CortexError);
      }
      for (const { bytes } of read?.signatures ?? []) {
        expect(verify(null, Buffer.from(TEXT), publicKey, bytes.subarray(4))).toBe(false);
      }
    }
  });

  test.each([
    ["a name with a space", { name: "a b", keyHint, sign: () => hash(1) }],
    ["an empty name", { name: "", keyHint, sign: () => hash(1) }],
    ["a hint of three bytes", { name: "a", keyHint: hash(1).subarray(3, 6), sign: () => hash(1) }],
    ["no signature", { name: "a", keyHint, sign: () => new Uint8Array(0) }],
  ])("refuses a signer with %s", async (_, signer) => {
    await expect(signNote(TEXT, signer)).rejects.toMatchObject({ code: "ERR_INVALID" });
  });
});

describe("anchoring", () => {
  const parse = (statement: Statement) =>
    parseCheckpoint(sha256Pure, formatCheckpoint(sha256Pure, statement));
  const own = parse(STATEMENT);
  const anchor = (trusted: string | undefined, since?: { size: number; root: Uint8Array }) =>
    anchorOf(sha256Pure, own, { trusted, since });
  const other = (change: Partial<Statement>): string =>
    formatCheckpoint(sha256Pure, { ...STATEMENT, ...change });

  test("needs a trusted checkpoint", () => {
    expect(anchor(undefined)).toEqual({ anchored: false });
  });

  test("holds for the same statement, signed by whomever", () => {
    const signed = formatCheckpoint(sha256Pure, STATEMENT, [{ name: "x", bytes: hash(7) }]);
    expect(anchor(TEXT)).toEqual({ anchored: true, anchoredBy: "checkpoint" });
    expect(anchor(signed)).toEqual({ anchored: true, anchoredBy: "checkpoint" });
  });

  test("holds for an older one from exactly whose size and root the journal was shown to grow", () => {
    const journal = hash(8);
    const older = other({ size: 7, roots: { ...STATEMENT.roots, journal } });
    expect(anchor(older, { size: 7, root: journal })).toEqual({
      anchored: true,
      anchoredBy: "consistency",
    });
    expect(() => anchor(older)).toThrow(/ask for a proof since/);
    expect(() => anchor(older, { size: 6, root: journal })).toThrow(/another journal/);
    expect(() => anchor(older, { size: 7, root: hash(9) })).toThrow(/another journal/);
  });

  test.each([
    ["another actor's", other({ actor: "bob" })],
    ["another store's", other({ storeId: "ff".repeat(16) })],
    [
      "one with another genesis",
      other({ size: 7, roots: { ...STATEMENT.roots, genesis: hash(5) } }),
    ],
    ["one with other roots", other({ roots: { ...STATEMENT.roots, journal: hash(5) } })],
    ["one with another time", other({ at: 5 })],
    ["a newer one", other({ size: 43 })],
  ])("refuses %s", (_, trusted) => {
    const since = { size: 7, root: STATEMENT.roots.journal };
    expect(() => anchor(trusted, since)).toThrow(
      expect.objectContaining({ code: "ERR_CHECKPOINT_STALE" }) as Error,
    );
  });
});
