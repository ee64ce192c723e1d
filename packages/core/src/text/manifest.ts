/**
 * The one row that speaks for the text index: which words it is made of, how far into the journal it
 * has come, and its segments with their counts. Whoever changes anything of the index changes this
 * row with it, and commits only if it is still the one that was read.
 *
 * Counts are exact: what is alive is what a segment brought, less what ended, so that merging or
 * rebuilding gives every document the score it had.
 *
 * `ManifestReader` is the row as readers see it, with the words that the graph's language has. Decoding the row and
 * loading a language are done once; what was seen last tells a commit whether there is work, and a search where its rows
 * will be.
 */
import { decode, encode } from "../codec/cbor.js";
import { readInteger, readList, readText } from "../codec/cbor-value.js";
import type { Language } from "../contract/config.js";
import { CortexError } from "../errors.js";
import type { Reader } from "../history/reader.js";
import { TEXT_MANIFEST_KEY } from "../kv/keyspace.js";
import { type Bytes, sameBytes } from "../kv/kv.js";
import { Analyser, analyserId } from "./analyse.js";

/** What a segment is and holds: the documents of one lifecycle that began in an interval of seqs. */
export interface SegmentInfo {
  readonly number: number;
  /** The code of the lifecycle. */
  readonly lifecycle: number;
  /** The interval of the journal it was made from, `to` not included. */
  readonly from: number;
  readonly to: number;
  /** Document numbers given out; those of forgotten memories stay empty. */
  readonly size: number;
  /** Documents, ended ones included, and their words. */
  readonly documents: number;
  readonly words: number;
  /** Documents of this or older segments that ended in the interval, and their words. */
  readonly endedDocuments: number;
  readonly endedWords: number;
  /** The average length that its bounds were computed with, in thousandths of a word. */
  readonly averageMilli: number;
  /** Its dictionary has 2^bits buckets. */
  readonly bits: number;
  /** Counted up when a memory was taken out of it. */
  readonly edition: number;
  /** The last flush that ended documents of it, and how many of its documents have ended. */
  readonly endsFlush: number;
  readonly endsCount: number;
}

/** The state of the index. */
export interface Manifest {
  readonly analyser: string;
  /** The first seq that no segment knows. */
  readonly cursor: number;
  /** Every forget before this seq has been taken out of the segments. */
  readonly purgedTo: number;
  /** Counted up by every purge, so that a flush computed before it fails. */
  readonly purges: number;
  /** The number of the next segment or flush. */
  readonly next: number;
  /** In the order of their intervals. */
  readonly segments: readonly SegmentInfo[];
}

/** An index that knows nothing yet. */
function emptyManifest(analyser: string, before?: Manifest): Manifest {
  const { next = 1, purges = 0 } = before ?? {};
  return { analyser, cursor: 0, purgedTo: 0, purges, next, segments: [] };
}

/** The bytes of the row. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  const { analyser, cursor, purgedTo, purges, next, segments } = manifest;
  return encode([
    analyser,
    cursor,
    purgedTo,
    purges,
    next,
    segments.map((one) => SEGMENT_FIELDS.map((field) => one[field])),
  ]);
}

/** Reads the row. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const [analyser, cursor, purgedTo, purges, next, segments] = readList(decode(bytes), NAME);
  return {
    analyser: readText(analyser, NAME),
    cursor: readInteger(cursor, NAME),
    purgedTo: readInteger(purgedTo, NAME),
    purges: readInteger(purges, NAME),
    next: readInteger(next, NAME),
    segments: readList(segments, NAME).map((one) => {
      const fields = readList(one, NAME);
      if (fields.length !== SEGMENT_FIELDS.length) throw unknownShape();
      const at = (index: number): number => readInteger(fields[index], NAME);
      return {
        number: at(0),
        lifecycle: at(1),
        from: at(2),
        to: at(3),
        size: at(4),
        documents: at(5),
        words: at(6),
        endedDocuments: at(7),
        endedWords: at(8),
        averageMilli: at(9),
        bits: at(10),
        edition: at(11),
        endsFlush: at(12),
        endsCount: at(13),
      };
    }),
  };
}

const NAME = "text manifest";

/** The order of a segment's fields in the row. */
const SEGMENT_FIELDS = [
  "number",
  "lifecycle",
  "from",
  "to",
  "size",
  "documents",
  "words",
  "endedDocuments",
  "endedWords",
  "averageMilli",
  "bits",
  "edition",
  "endsFlush",
  "endsCount",
] as const satisfies readonly (keyof SegmentInfo)[];

function unknownShape(): CortexError {
  return new CortexError("ERR_CORRUPT", `${NAME}: a segment has another number of fields`);
}

/** The language that the graph is configured for, and the rows it is read from. */
export interface LanguageSource {
  of(reader: Reader): Promise<Language>;
  soon(): readonly Bytes[];
}

/** The manifest as one reader sees it, with the bytes it came in. */
export interface ManifestAt {
  readonly manifest: Manifest;
  readonly bytes: Bytes | undefined;
  readonly analyser: Analyser;
  /** False when the segments are made of other words than the graph now asks for. */
  readonly fits: boolean;
}

/** Reads the manifest for whoever has a reader. */
export class ManifestReader {
  readonly #language: LanguageSource;
  readonly #analysers = new Map<Language, Promise<Analyser>>();
  #decoded: { readonly bytes: Bytes; readonly manifest: Manifest } | undefined;
  #spoken: Analyser | undefined;
  #cursor = 0;

  constructor(language: LanguageSource) {
    this.#language = language;
  }

  /** The words that were used last. */
  get spoken(): Analyser | undefined {
    return this.#spoken;
  }

  /** The first seq that no segment knew when somebody looked last. */
  get cursor(): number {
    return this.#cursor;
  }

  /** The segments that were there a moment ago. */
  get segments(): readonly SegmentInfo[] {
    return this.#decoded?.manifest.segments ?? [];
  }

  async at(reader: Reader): Promise<ManifestAt> {
    const [bytes] = await reader.getMany([TEXT_MANIFEST_KEY]);
    const language = await this.#language.of(reader);
    const analyser = await this.#load(language);
    this.#spoken = analyser;
    const stored = bytes === undefined ? undefined : this.#decode(bytes);
    const fits = stored === undefined || stored.analyser === analyserId(language);
    const manifest = stored !== undefined && fits ? stored : emptyManifest(analyser.id, stored);
    if (reader.live) this.#cursor = manifest.cursor;
    return { manifest, bytes, analyser, fits };
  }

  /** Words as the graph's language has them, at a reader's snapshot. */
  async analyserAt(reader: Reader): Promise<Analyser> {
    return this.#load(await this.#language.of(reader));
  }

  /** The words that were loaded last, if any were. */
  loaded(): Promise<Analyser> | undefined {
    return [...this.#analysers.values()].at(-1);
  }

  #decode(bytes: Bytes): Manifest {
    if (this.#decoded === undefined || !sameBytes(this.#decoded.bytes, bytes)) {
      this.#decoded = { bytes, manifest: decodeManifest(bytes) };
    }
    return this.#decoded.manifest;
  }

  #load(language: Language): Promise<Analyser> {
    const loading = this.#analysers.get(language) ?? Analyser.load(language);
    this.#analysers.set(language, loading);
    return loading;
  }
}
