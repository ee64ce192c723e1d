/**
 * The manifest as readers see it, with the words that the graph's language has. Decoding the row and loading a language
 * are done once; what was seen last tells a commit whether there is work, and a search where its rows will be.
 */
import type { Language } from "../contract/config.js";
import type { Reader } from "../history/reader.js";
import { TEXT_MANIFEST_KEY } from "../kv/keyspace.js";
import { type Bytes, sameBytes } from "../kv/kv.js";
import { Analyser, analyserId } from "./analyse.js";
import { decodeManifest, emptyManifest, type Manifest, type SegmentInfo } from "./manifest.js";

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

/** See the file header. */
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
