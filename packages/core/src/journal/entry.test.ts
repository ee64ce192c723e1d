/** Headers: the line of a part that is carried again, and every line that is none. Rows: a part read where it stands. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CborValue, decode, decodeWithin, encode, fields } from "../codec/cbor.js";
import { concatBytes, toHex } from "../codec/keys.js";
import { isCortexError } from "../errors.js";
import { encodeMemoryRecord, type Head, visibilityAt } from "../records/memory-record.js";
import { LIFECYCLES, MEMORY_TYPES, namesOf, VISIBILITIES } from "../records/types.js";
import { seededRandom } from "../testing/seeded-random.js";
import {
  decodeHeader,
  ENTRY_KINDS,
  type EntryHeader,
  type EntryKind,
  encodeEntry,
  encodeHeader,
  firstContext,
  partContext,
  partRecord,
  splitEntry,
} from "./entry.js";
import { glanceAt, openPart, type ReadRecord } from "./entry-part.js";

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

describe("a part that is read where it stands", () => {
  const random = seededRandom(SEED);
  const small = (below: number): number => ((random.bytes(1)[0] ?? 0) * below) >> 8;

  /** Rows of up to 30 parts, some erased, of lengths around those where CBOR writes them otherwise. */
  function row(): Uint8Array {
    const sizes = [1, 7, 8, 200, 239, 240, 300, 1000, small(20) === 0 ? 70_000 : 30];
    const parts = Array.from({ length: small(8) === 0 ? 20 + small(10) : 1 + small(4) }, () =>
      small(6) === 0
        ? undefined
        : concatBytes(random.bytes(16), encode("x".repeat(sizes[small(sizes.length)] ?? 1))),
    );
    const seq = small(200) * 300;
    const header: Omit<EntryHeader, "batch"> = {
      seq,
      kind: ENTRY_KINDS[small(3) === 0 ? small(ENTRY_KINDS.length) : 2] ?? "write",
      at: small(8) === 0 ? small(200) : 1_700_000_000_000 + small(200),
      by: (small(8) === 0 ? "adé" : "ada").repeat(small(20)),
      parts: parts.map((part) => ({
        subject: random.bytes(small(8) === 0 ? 33 : 17),
        hash: part === undefined && small(2) === 0 ? null : random.bytes(32),
      })),
      ...(small(4) === 0 ? { request: random.bytes(32) } : {}),
    };
    const first = seq - small(2) * Math.min(seq, small(30));
    const batch = small(2) === 0 ? { first, length: seq - first + 1 + small(40) } : undefined;
    return encodeEntry({ headerBytes: encodeHeader(header, batch), parts });
  }

  /** What somebody gets who takes the whole row apart: the header and the record, or a refusal. */
  function whole(bytes: Uint8Array, index: number): unknown {
    const { headerBytes, parts } = splitEntry(bytes);
    const part = parts[index];
    const { seq, kind, at, by, parts: lines } = decodeHeader(headerBytes);
    const subject = lines[index]?.subject;
    return {
      header: { seq, kind, at, by },
      ...(part === undefined ? {} : { context: { at, by } }),
      subject: subject === undefined ? undefined : toHex(subject),
      record: part === undefined ? undefined : decode(partRecord(part)),
    };
  }

  /** The same of a part that is read where it stands. */
  function opened(bytes: Uint8Array, index: number): unknown {
    let context = { at: -1, by: "" };
    const read: ReadRecord<CborValue> = (all, from, to, { at, by }) => {
      context = { at, by };
      return decodeWithin(all, from, to);
    };
    const { header, subjectAt, subjectBytes, record } = openPart(bytes, index, read);
    const subject = bytes.subarray(subjectAt, subjectAt + subjectBytes);
    return {
      header,
      ...(record === undefined ? {} : { context }),
      subject: subjectAt < 0 ? undefined : toHex(subject),
      record,
    };
  }

  const outcome = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return isCortexError(error) ? error.code : error;
    }
  };

  test(`says what the whole row says, sound or damaged (seed ${SEED})`, () => {
    let refused = 0;
    for (let n = 0; n < 400; n += 1) {
      const bytes = row();
      const index = small(4);
      expect(opened(bytes, index), `row ${n}`).toEqual(whole(bytes, index));
      for (let damage = 0; damage < 8; damage += 1) {
        // Mostly at the front, where the lengths stand.
        const at = Math.min(bytes.length - 1, damage < 4 ? damage : small(256));
        const bad = bytes.slice(0, damage === 7 ? bytes.length - 1 : bytes.length);
        if (damage < 7) bad[at] = (bad[at] ?? 0) ^ (1 << small(8));
        const expected = outcome(() => whole(bad, index));
        if (typeof expected === "string") refused += 1;
        expect(
          outcome(() => opened(bad, index)),
          `row ${n}, byte ${at}`,
        ).toEqual(expected);
      }
    }
    expect(refused).toBeGreaterThan(200);
  });

  test(`shows at a glance what it says when it is opened, or nothing (seed ${SEED})`, () => {
    let shown = 0;
    for (let n = 0; n < 200; n += 1) {
      const bytes = row();
      const index = small(4);
      const glance = glanceAt(bytes, index);
      if (glance === undefined) continue;
      shown += 1;
      const { header: read, record } = openPart(bytes, index, decodeWithin);
      expect(glance.at).toBe(read.at);
      const length = encode(record ?? null).length;
      expect(decodeWithin(bytes, glance.recordAt, glance.recordAt + length)).toEqual(record);
    }
    expect(shown).toBeGreaterThan(50);
  });

  test("shows at a glance who may see a memory, whatever else its head holds", () => {
    const context = { at: 1000, by: "ada" };
    const heads = namesOf(MEMORY_TYPES).flatMap((type) =>
      namesOf(LIFECYCLES).flatMap((lifecycle) =>
        namesOf(VISIBILITIES).flatMap((visibility) =>
          [1, 23, 24, 300, 70_000].map((version) => ({ type, lifecycle, visibility, version })),
        ),
      ),
    );
    const more = [
      {},
      { importance: 3, tags: ["red"], slot: "home", kind: "memo", externalId: "x" },
      { tombstone: { reason: "r", at: 7, by: "ada" }, siblings: [1, 2], waits: true as const },
    ];
    for (const [at, some] of heads.entries()) {
      const plain = { importance: 5, tags: [], frames: [], siblings: [], createdAt: 1000 };
      const words = { status: "asserted", source: "user_input" } as const;
      const head: Head = { ...plain, ...words, ...some, ...more[at % more.length] };
      // Where the head alone is changed, the record goes on with a key that a head has as well.
      const versionPart = at % 2 === 0 ? hash : undefined;
      const record = encodeMemoryRecord({ head, versionPart }, context);
      const lead = random.bytes(small(9));
      expect(visibilityAt(concatBytes(lead, record), lead.length)).toBe(head.visibility);
    }
    for (const other of [encode(7), encode(fields([undefined, 3])), new Uint8Array(0)])
      expect(visibilityAt(other, 0)).toBeUndefined();
  });
});
