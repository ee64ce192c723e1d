/**
 * The records of memories as the verifier reads them: plain values out of bytes that nobody has vouched
 * for, with nothing but the language itself.
 *
 * The engine reads the same records in `memory-record.ts`, which needs a schema library and trusts its own
 * bytes; this file trusts none. A test holds the two against each other. What absent fields stand for is
 * part of the format: some for a constant, some for what the entry says that first held the part, and a form for
 * the text that a memory is known by, which both take from `primaryText` here.
 *
 * Left to others: whether the bytes are the ones a root commits to (`verify.ts`).
 */
import type { CborValue } from "../codec/cbor.js";
import {
  readInteger,
  readList,
  readMap,
  readObject,
  readText,
  readTexts,
  stableText,
} from "../codec/cbor-value.js";
import { cutToBytes } from "../codec/text.js";
import { LIMITS } from "../limits.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  type Lifecycle,
  type MemoryType,
  nameOf,
  OBJECT_KINDS,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "./types.js";

/** A value as JSON has it; byte strings, which open data never holds, aside. */
export type PlainValue = CborValue;

/** A map with integer keys, by key. */
type Numbered = readonly (CborValue | undefined)[];

/** The mutable side of a memory. */
export interface VerifiedHead {
  readonly lifecycle: Lifecycle;
  readonly status: string;
  readonly visibility: string;
  readonly importance: number;
  readonly source: string;
  readonly tags: readonly string[];
  readonly frames: readonly {
    readonly verb: string;
    readonly object: string;
    readonly ref: string;
  }[];
  readonly siblings: readonly number[];
  readonly slot?: string;
  readonly kind?: string;
  readonly externalId?: string;
  readonly freshnessAt?: number;
  readonly tombstone?: VerifiedTombstone;
  /** Known only when the proof also shows the entry, as is `updatedAt`; a record may leave it out. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

/** Why, when and by whom something was hidden or removed. */
export interface VerifiedTombstone {
  readonly reason: string;
  readonly at: number;
  readonly by: string;
}

/** When the entry of a head was written, and when the part was first. */
interface HeadTimes {
  readonly at: number;
  readonly firstAt: number;
}

/** Reads the head in a record; times that only an entry knows need one. */
export function readHead(at: Numbered, what: string, entry: HeadTimes | undefined): VerifiedHead {
  const number = (index: number, name: string) =>
    at[index] === undefined ? {} : { [name]: readInteger(at[index], `${what}: its ${name}`) };
  const words = (index: number, name: string) =>
    at[index] === undefined ? {} : { [name]: readText(at[index], `${what}: its ${name}`) };
  const frames = at[7] === undefined ? [] : readList(at[7], `${what}: its frames`);
  const siblings = at[16] === undefined ? [] : readList(at[16], `${what}: its siblings`);
  const createdAt = at[13] ?? entry?.firstAt;
  return {
    lifecycle: at[3] === undefined ? "active" : nameOf(LIFECYCLES, at[3], "lifecycle"),
    status: at[9] === undefined ? "asserted" : nameOf(STATUSES, at[9], "status"),
    visibility: at[4] === undefined ? "private" : nameOf(VISIBILITIES, at[4], "visibility"),
    importance: at[5] === undefined ? 5 : readInteger(at[5], `${what}: its importance`),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    tags: readTexts(at[6], `${what}: its tags`),
    frames: frames.map((frame) => {
      const [verb, object, ref] = readList(frame, `${what}: a frame`);
      return {
        verb: nameOf(FRAME_VERBS, verb, "verb"),
        object: nameOf(OBJECT_KINDS, object, "object kind"),
        ref: readText(ref, `${what}: a frame`),
      };
    }),
    siblings: siblings.map((sibling) => readInteger(sibling, `${what}: a sibling`)),
    ...words(8, "slot"),
    ...words(11, "kind"),
    ...words(12, "externalId"),
    ...number(14, "freshnessAt"),
    ...(at[15] === undefined ? {} : { tombstone: readTombstone(at[15], what) }),
    ...(createdAt === undefined ? {} : { createdAt: readInteger(createdAt, `${what}: its time`) }),
    ...(entry === undefined ? {} : { updatedAt: entry.at }),
  };
}

/** Reads the tombstone of a memory or an edge. */
export function readTombstone(value: CborValue, what: string): VerifiedTombstone {
  const name = `${what}: its tombstone`;
  const [reason, at, by] = readList(value, name);
  return { reason: readText(reason, name), at: readInteger(at, name), by: readText(by, name) };
}

/** Where a type keeps its own words, first choice first. */
const OWN_WORDS: { readonly [T in MemoryType]?: readonly string[] } = {
  identity: ["statement", "name"],
  event: ["statement", "summary"],
  artifact: ["title", "uri"],
};

/** What speaks for a memory without words of its own. */
const SPEAKING_FIELDS: { readonly [T in MemoryType]?: readonly string[] } = {
  fact: ["subject", "predicate", "object"],
  preference: ["polarity", "topic", "value"],
  event: ["kind", "counterparty", "outcome"],
  capability: ["subject", "capability"],
};

/**
 * What a memory is known by: its own sentence; where it has none, what stands for one (a name, a summary, an address),
 * or else its structured fields joined by spaces.
 *
 * Records leave out a form that equals this text, so it is part of the stored format: it may depend
 * on nothing but the data, and may never change.
 */
export function primaryText(type: MemoryType, of: object): string {
  const data = of as { readonly [name: string]: PlainValue };
  if (type === "note") {
    const { content, summary } = data;
    return String((content === "" && summary !== undefined ? summary : content) ?? "");
  }
  for (const name of OWN_WORDS[type] ?? ["statement"]) {
    if (data[name] !== undefined) return String(data[name]);
  }
  return (SPEAKING_FIELDS[type] ?? [])
    .map((name) => data[name])
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === "string" ? value : stableText(value)))
    .join(" ");
}

/** One version, whole. */
interface PlainVersion {
  readonly number: number;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly confidence: number;
  readonly provenance: {
    readonly source: string;
    readonly derivedFrom: readonly string[];
    readonly attestations: readonly string[];
    readonly session?: string;
    readonly turn?: number;
  };
  readonly forms: { readonly short: string; readonly medium: string };
  readonly supersedes: readonly number[];
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly expiresAt?: number;
  readonly flags?: readonly string[];
  /** What another program knew it by, where it was imported. */
  readonly origin?: {
    readonly id: string;
    readonly graph: string;
    readonly nanos?: number;
    readonly freshnessNanos?: number;
  };
}

/** Reads the data in a version; content that is stored in pieces is one text. */
export function readData(at: Numbered, what: string): { readonly [name: string]: PlainValue } {
  const data = readObject(at[2], what);
  if (at[20] === undefined) return data;
  const pieces = [readText(data.content as CborValue, what), ...readTexts(at[20], what)];
  return { ...data, content: pieces.join("") };
}

function readOrigin(value: CborValue, what: string): Required<Pick<PlainVersion, "origin">> {
  const [id, graph, , nanos, freshnessNanos] = readMap(value, what);
  return {
    origin: {
      id: readText(id, what),
      graph: readText(graph, what),
      ...(nanos === undefined ? {} : { nanos: readInteger(nanos, what) }),
      ...(freshnessNanos === undefined
        ? {}
        : { freshnessNanos: readInteger(freshnessNanos, what) }),
    },
  };
}

/** What a version is read with, beside its own fields. */
interface VersionContext {
  readonly type: MemoryType;
  readonly data: { readonly [name: string]: PlainValue };
  /** The source of the head in the same part. */
  readonly source: string;
  /** When and by whom the part was first written. */
  readonly at: number;
  readonly by: string;
}

/** Reads the version in a record. */
export function readVersion(at: Numbered, what: string, context: VersionContext): PlainVersion {
  const name = `${what}: its version`;
  const sentence = primaryText(context.type, context.data);
  const form = (index: number, tokens: number): string => {
    if (at[index] !== undefined) return readText(at[index], name);
    return cutToBytes(sentence, tokens * LIMITS.bytesPerToken);
  };
  const number = readInteger(at[1], name);
  const whole = (index: number, member: string) =>
    at[index] === undefined ? {} : { [member]: readInteger(at[index], name) };
  return {
    number,
    createdAt: at[14] === undefined ? context.at : readInteger(at[14], name),
    createdBy: at[15] === undefined ? context.by : readText(at[15], name),
    confidence: typeof at[5] === "number" ? at[5] : 1,
    provenance: {
      source: at[6] === undefined ? context.source : nameOf(SOURCES, at[6], "source"),
      derivedFrom: readTexts(at[7], name),
      attestations: readTexts(at[8], name),
      ...(at[9] === undefined ? {} : { session: readText(at[9], name) }),
      ...whole(10, "turn"),
    },
    forms: { short: form(3, LIMITS.formShortTokens), medium: form(4, LIMITS.formMediumTokens) },
    supersedes: supersededBy(number, at[16], name),
    ...whole(11, "validFrom"),
    ...whole(12, "validTo"),
    ...whole(13, "expiresAt"),
    ...(at[18] === undefined ? {} : { flags: readTexts(at[18], name) }),
    ...(at[19] === undefined ? {} : readOrigin(at[19], name)),
  };
}

/** The versions that one replaced: the one before it, unless it says otherwise. */
function supersededBy(
  number: number,
  said: CborValue | undefined,
  what: string,
): readonly number[] {
  if (said !== undefined) return readList(said, what).map((one) => readInteger(one, what));
  return number > 1 ? [number - 1] : [];
}
