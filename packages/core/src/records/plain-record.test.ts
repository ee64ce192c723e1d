/** Records that are read by hand: what they say is what the decoder says, sound or damaged. */
import { describe, expect, test } from "vitest";
import { isCortexError } from "../errors.js";
import { seededRandom } from "../testing/index.js";
import type { Data } from "./data.js";
import {
  encodeErasedRecord,
  encodeMemoryRecord,
  type Head,
  type MemoryRecord,
  memoryRecordWithin,
  type Version,
} from "./memory-record.js";
import { lentRecordWithin, recordWithin } from "./plain-record.js";
import { LIFECYCLES, MEMORY_TYPES, namesOf, SOURCES, STATUSES, VISIBILITIES } from "./types.js";

const SEED = 20_261_118;
const random = seededRandom(SEED);
const small = (below: number): number => (random.bytes(1)[0] ?? 0) % below;
const oneOf = <T>(items: readonly T[]): T => items[small(items.length)] as T;
const chance = (of: number): boolean => small(of) === 0;
const ENTRY = { at: 1_700_000_000_000, by: "ada" };

/** Texts around every length at which CBOR or a reader goes another way; some are not ASCII. */
function text(): string {
  const length = oneOf([0, 1, 5, 22, 23, 24, 25, 200, 255, 256, 300]);
  const letters = chance(RARE) ? "\ufffd" : oneOf(["a", "b c", "é", "日", "😀", "\0"]);
  // Whole characters: half of one is no text.
  return letters.repeat(Math.ceil(length / letters.length));
}

const some = <T>(of: number, make: () => T): T | undefined => (chance(of) ? make() : undefined);
/** What no plain record has, in a few of them. */
const RARE = 40;
const TIMES = [0, 23, 24, 255, 256, 65_536, 2 ** 32, ENTRY.at, Number.MAX_SAFE_INTEGER] as const;
const time = (): number => (chance(RARE) ? -5 : oneOf(TIMES));

function head(): Head {
  return {
    type: oneOf(namesOf(MEMORY_TYPES)),
    version: oneOf([1, 1, 2, 24, 300]),
    lifecycle: oneOf(namesOf(LIFECYCLES)),
    visibility: oneOf(namesOf(VISIBILITIES)),
    importance: small(11),
    tags: Array.from({ length: chance(RARE) ? 24 : oneOf([0, 1, 2, 23]) }, text),
    frames: some(RARE, () => [{ verb: "build", object: "plan", ref: "trip" } as const]) ?? [],
    status: oneOf(namesOf(STATUSES)),
    source: oneOf(namesOf(SOURCES)),
    createdAt: chance(2) ? ENTRY.at : time(),
    siblings: some(RARE, () => [1, 2]) ?? [],
    slot: some(4, text),
    kind: some(4, text),
    externalId: some(4, text),
    freshnessAt: some(4, time),
    tombstone: some(RARE, () => ({ reason: "r", at: 7, by: "ada" })),
    turn: some(4, () => ({ session: text(), index: time(), chunk: oneOf([0, 0, 1, 24]) })),
    fingerprint: some(2, () => random.bytes(10)),
    waits: some(RARE, () => true as const),
  };
}

function data(): Data {
  const values = [
    text,
    time,
    () => true,
    () => false,
    ...(chance(8) ? [() => null, () => [1, "two"], () => ({ deep: 1 }), () => 0.25] : []),
    ...(chance(16) ? [() => random.bytes(5)] : []),
  ];
  const rare = chance(8) ? ["n".repeat(30), ""] : [];
  const names = ["statement", "content", "subject", "é", "__proto__", "a", ...rare];
  const members = Array.from({ length: chance(RARE) ? 24 : small(4) }, (_, at) => [
    chance(3) ? `m${at}` : oneOf(names),
    oneOf(values)(),
  ]);
  return Object.fromEntries(members) as unknown as Data;
}

function version(): Version {
  const number = oneOf([1, 1, 2, 24]);
  return {
    number,
    data: data(),
    forms: { short: text(), medium: text() },
    formsOverride: chance(RARE),
    confidence: chance(RARE) ? 0.5 : 1,
    provenance: {
      source: oneOf(namesOf(SOURCES)),
      derivedFrom: some(4, () => [text()]) ?? [],
      attestations: some(4, () => [text(), text()]) ?? [],
      ...(chance(4) ? { session: text() } : {}),
      ...(chance(4) ? { turn: time() } : {}),
    },
    createdAt: chance(2) ? ENTRY.at : time(),
    createdBy: chance(2) ? ENTRY.by : text(),
    supersedes: chance(RARE) ? [3, 4] : number > 1 ? [number - 1] : [],
    validFrom: some(4, time),
    validTo: some(4, time),
    expiresAt: some(4, time),
    flags: some(RARE, () => ["odd"]),
    origin: some(RARE, () => ({ id: "x", graph: "g" })),
  };
}

/** The bytes of a record inside others, and where it stands there. */
function standing(): { readonly bytes: Uint8Array; readonly start: number; readonly end: number } {
  const record = chance(20)
    ? encodeErasedRecord("fact")
    : encodeMemoryRecord(
        chance(20)
          ? { head: head(), versionPart: random.bytes(32) }
          : { head: head(), version: version() },
        ENTRY,
      );
  const start = small(9);
  const bytes = Buffer.concat([random.bytes(start), record, random.bytes(small(9))]);
  return { bytes: new Uint8Array(bytes), start, end: start + record.length };
}

/** A record with every member in its order, or the words of its refusal. */
function outcome(read: () => MemoryRecord | undefined): unknown {
  try {
    const record = read();
    return record === undefined ? undefined : { record, words: JSON.stringify(record) };
  } catch (error) {
    return isCortexError(error) ? `${error.code}: ${error.message}` : error;
  }
}

const withoutFingerprint = (record: MemoryRecord): MemoryRecord => ({
  ...record,
  head: { ...record.head, fingerprint: undefined },
});

describe("a record read by hand", () => {
  test(`says what the decoder says, sound or damaged (seed ${SEED})`, () => {
    let [plain, refused] = [0, 0];
    for (let n = 0; n < 300; n += 1) {
      const { bytes, start, end } = standing();
      for (let damage = -1; damage < 16; damage += 1) {
        const bad = bytes.slice();
        const at = start + (damage < 8 ? damage : small(256));
        if (damage >= 0 && at < end) bad[at] = (bad[at] ?? 0) ^ (1 << small(8));
        const to = damage === 15 ? end - 1 : end;
        const expected = outcome(() => memoryRecordWithin(bad, start, to, ENTRY));
        const place = `record ${n}, damage ${damage}`;
        const found = outcome(() => recordWithin(bad, start, to, ENTRY));
        expect(found, place).toEqual(expected);
        if (typeof expected === "string") refused += 1;
        const lent = lentRecordWithin(bad, start, to, ENTRY);
        if (lent === undefined) continue;
        if (damage < 0) plain += 1;
        const whole = withoutFingerprint(memoryRecordWithin(bad, start, to, ENTRY));
        // What is lent holds none of the bytes.
        bad.fill(0);
        expect(lent, place).toEqual(whole);
      }
    }
    expect(plain).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(1000);
  });

  test("one that is lent shares no list with the one before", () => {
    const plain = { type: "fact", version: 1, lifecycle: "active", visibility: "private" } as const;
    const words = { importance: 5, status: "asserted", source: "user_input" } as const;
    const lists = { tags: [], frames: [], siblings: [], createdAt: ENTRY.at };
    const forms = { short: "x", medium: "x" };
    const provenance = { source: "user_input", derivedFrom: [], attestations: [] } as const;
    const made = { createdAt: ENTRY.at, createdBy: "ada", supersedes: [] };
    const rest = { forms, provenance, formsOverride: false, confidence: 1, ...made };
    const bytes = encodeMemoryRecord(
      {
        head: { ...plain, ...words, ...lists },
        version: { number: 1, data: { statement: "x" } as unknown as Data, ...rest },
      },
      ENTRY,
    );
    const listsOf = (): readonly unknown[] => {
      const record = lentRecordWithin(bytes, 0, bytes.length, ENTRY);
      const { tags, frames, siblings } = record?.head ?? {};
      const { data: given, supersedes, provenance: from, forms: both } = record?.version ?? {};
      const origins = [from, from?.derivedFrom, from?.attestations];
      return [tags, frames, siblings, given, supersedes, both, ...origins];
    };
    const [first, second] = [listsOf(), listsOf()];
    for (const [at, one] of first.entries()) {
      expect(one).toBeDefined();
      expect(one).not.toBe(second[at]);
      expect(one).toEqual(second[at]);
    }
  });
});
