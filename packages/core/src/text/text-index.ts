/**
 * The text index of an open store.
 *
 * It is a cache of the journal: immutable segments in the store, written by whoever finds that the
 * journal has run far ahead of them, and a tail in memory that every process extends to the position
 * it reads at. So nothing has to be flushed for a write to be found, and dropping all of it changes no
 * answer. Segments are changed only together with the manifest row, compared with the one they were
 * computed from; whoever loses that race starts over.
 *
 * Background work runs once at a time, in small steps. What it fails with is kept for `status`. What the next step is, is
 * in `index-planner.ts`; what a flush and a merge write, and when a writer waits for them, in `text-upkeep.ts`; how hits are
 * found in `text-rank.ts`; how memories are taken out in `text-purge.ts`.
 */
import type { Problem } from "../contract/upkeep.js";
import { CortexError } from "../errors.js";
import type { CommitSignal } from "../history/growth.js";
import { type AsOf, Reader } from "../history/reader.js";
import { TEXT_MANIFEST_KEY } from "../kv/keyspace.js";
import type { Bytes, Kv, KvSoon } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { LIFECYCLES, type Lifecycle } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { IndexPlanner, STEP_ENTRIES } from "./index-planner.js";
import {
  encodeManifest,
  type LanguageSource,
  ManifestReader,
  type SegmentInfo,
} from "./manifest.js";
import { acceptPhrases, everyWord, parseQuery, type TextQuery } from "./query.js";
import type { YieldTurn } from "./segment.js";
import { checkSegments } from "./text-check.js";
import { type ErasedDocument, planPurge } from "./text-purge.js";
import {
  type Accept,
  type IndexView,
  prepare,
  type RankedMemory,
  rankPrepared,
  wordKeys,
} from "./text-rank.js";
import { SegmentCache } from "./text-segments.js";
import { KeptTail } from "./text-tail.js";
import { allRowKeys, FlushPace, type IndexChange, nextMerge } from "./text-upkeep.js";

/** What the index of a store is made of. */
interface TextIndexParts {
  readonly kv: Kv;
  readonly signal: CommitSignal;
  readonly language: LanguageSource;
  /** Lets the process do something else. */
  readonly turn: YieldTurn;
}

/** New entries that are read along with the first rows of a search, at most. */
const SOON_ENTRIES = 128;

/** What a search will read beside the index itself, and the texts whose words it looks for. */
interface SearchSoon extends KvSoon {
  readonly texts?: readonly string[];
  /** Texts of whose words other forms are looked for as well. */
  readonly questions?: readonly string[];
}

/** A ranked search. */
export interface RankQuery {
  readonly text: string;
  readonly limit: number;
  /** Active alone when not given. */
  readonly lifecycles?: readonly Lifecycle[];
  readonly accept?: Accept;
  /** Called with what the search looks through. */
  readonly onLook?: (look: TextLook) => void;
}

/** What a search looks through. */
export interface TextLook {
  /** Words that are looked for. */
  readonly words: number;
  readonly segments: number;
  /** Entries after the last segment. */
  readonly tail: number;
}

/** How the index stands. */
interface TextStatus {
  /** The words it is made of: a version and a language. */
  readonly analyser: string;
  /** The first seq that no segment knows. */
  readonly cursor: number;
  readonly segments: number;
  /** Documents in segments, ended ones included. */
  readonly documents: number;
  /** Entries that a search still reads from the journal or from memory. */
  readonly tail: number;
  /** Why the last background work stopped; absent when it did not. */
  readonly failure?: string;
}

/** How often work that loses the race against other processes starts over. */
const ATTEMPTS = 100;

/** See the file header. */
export class TextIndex {
  readonly #parts: TextIndexParts;
  readonly #cache = new SegmentCache();
  readonly #unlisten: () => void;
  readonly #manifests: ManifestReader;
  readonly #tail = new KeptTail();
  #job: Promise<void> | undefined;
  readonly #pace: FlushPace;
  readonly #planner: IndexPlanner;
  #failure: string | undefined;
  /** Whether this handle has given the index anything to do. */
  #used = false;
  #closed = false;

  constructor(parts: TextIndexParts) {
    this.#parts = parts;
    this.#manifests = new ManifestReader(parts.language);
    this.#pace = new FlushPace(parts.turn);
    this.#planner = new IndexPlanner({
      kv: parts.kv,
      manifests: this.#manifests,
      tail: this.#tail,
      cache: this.#cache,
      turn: parts.turn,
    });
    this.#unlisten = parts.signal.listen((size, before, entries) => {
      this.#used = true;
      this.#tail.hand(size, entries);
      this.#pace.wrote(size - before);
      const isLong = size - this.#manifests.cursor > LIMITS.textTailEntries;
      if (!isLong && !this.#tail.mayFollow) return undefined;
      const work = this.#work(() => (isLong ? this.#catchUp() : this.#follow()));
      return this.#pace.letWork(work, size - before);
    });
  }

  /**
   * Brings the segments so near to the end of the journal that a search need not read much of it, and
   * takes out what a process forgot that died before it could: to be called before a reader is opened to
   * search with. Does nothing most of the time.
   */
  async ready(): Promise<void> {
    this.#used = true;
    await this.#makeReady(await this.#reading((reader) => this.#lackAt(reader)));
  }

  /**
   * Opens a reader to search with. Mostly the index is near enough to the end of the journal, and the
   * same reader that found so is searched with; otherwise `ready` comes first.
   */
  async searching<T>(
    kv: Pick<Kv, "snapshot">,
    asOf: AsOf | undefined,
    use: (reader: Reader) => Promise<T>,
    soon: () => SearchSoon = () => ({}),
  ): Promise<T> {
    this.#used = true;
    const named = (): KvSoon => this.#soonWith(soon());
    const tried = await Reader.with(
      kv,
      asOf,
      async (reader) => {
        const lack = await this.#lackAt(reader.whole.before(reader.head.size - 1));
        return lack === undefined ? { answer: await use(reader) } : { lack };
      },
      [],
      named,
    );
    if ("answer" in tried) return tried.answer;
    await this.#makeReady(tried.lack);
    return Reader.with(kv, asOf, use, [], named);
  }

  /** What has to be done before a search, if anything. */
  async #lackAt(reader: Reader): Promise<"segments" | "purge" | undefined> {
    const at = await this.#manifests.at(reader);
    const { cursor, purgedTo } = at.manifest;
    if (reader.head.size - cursor > 2 * LIMITS.textTailEntries) return "segments";
    const { forgotten } = await this.#tail.at(reader, at);
    return forgotten.some(({ seq }) => seq >= purgedTo) ? "purge" : undefined;
  }

  /** A store that cannot be written can still be searched, from memory: this never fails. */
  async #makeReady(lack: "segments" | "purge" | undefined): Promise<void> {
    if (lack === "segments") await this.#work(() => this.#catchUp());
    else if (lack === "purge") await this.#work(() => this.purge([]));
  }

  /** What every search reads first, and what a caller will read beside. */
  #soonWith({ keys = [], ranges = [], texts = [], questions = [] }: SearchSoon): KvSoon {
    const tail = this.#tail.nextPages(SOON_ENTRIES);
    const own = [TEXT_MANIFEST_KEY, ...this.#parts.language.soon()];
    const words = this.#soonWords(texts, questions);
    return { keys: [...own, ...words, ...keys], ranges: [...tail, ...ranges] };
  }

  /** Where the words of texts stand in the segments that were there a moment ago. */
  #soonWords(texts: readonly string[], questions: readonly string[]): readonly Bytes[] {
    const { spoken: analyser, segments } = this.#manifests;
    const { code } = LIFECYCLES.active;
    if (analyser === undefined) return [];
    const wordsOf = (text: string): readonly string[] => parseQuery(analyser, text).words;
    const asked = questions.flatMap(wordsOf);
    return wordKeys(
      segments.filter(({ lifecycle }) => lifecycle === code),
      [...texts.flatMap(wordsOf), ...asked, ...asked.flatMap((word) => analyser.formsOf(word))],
    );
  }

  /** The best hits for a text at the reader's position, the best first. */
  async rank(reader: Reader, query: RankQuery): Promise<readonly RankedMemory[]> {
    const { view, analyser } = await this.view(reader, query.lifecycles);
    const wanted = parseQuery(analyser, query.text);
    const { segments, tail } = view;
    const tailEntries = tail === undefined ? 0 : tail.end - tail.base;
    query.onLook?.({
      words: wanted.words.length,
      segments: segments.length,
      tail: tailEntries,
    });
    if (wanted.words.length === 0 || query.limit < 1) return [];
    const prepared = await prepare(view, { ...wanted, scored: true });
    const { limit, accept } = query;
    if (wanted.phrases.length === 0) {
      return rankPrepared(prepared, { limit, ...(accept === undefined ? {} : { accept }) });
    }
    return rankPrepared(prepared, {
      limit,
      accept: acceptPhrases(reader, analyser, wanted.phrases, accept),
      examineMost: LIMITS.phraseCandidates,
    });
  }

  /** Memories that hold every word of a text, the last written first, and whether these are all. */
  async matching(
    reader: Reader,
    text: string,
    lifecycles: readonly Lifecycle[],
    atMost: number,
  ): Promise<{ readonly ids: readonly Bytes[]; readonly complete: boolean }> {
    const { view, analyser } = await this.view(reader, lifecycles);
    const words = everyWord(analyser, text);
    if (words.length === 0) return { ids: [], complete: true };
    const prepared = await prepare(view, { words, required: words, scored: false });
    const found = await rankPrepared(prepared, { limit: atMost + 1 });
    const ids = found.slice(0, atMost).map(({ id }) => id);
    return { ids, complete: found.length <= atMost };
  }

  /** About how many memories `matching` would find: as many as hold its rarest word. */
  async estimate(reader: Reader, text: string, lifecycles: readonly Lifecycle[]): Promise<number> {
    const { view, analyser } = await this.view(reader, lifecycles);
    const words = everyWord(analyser, text);
    if (words.length === 0) return 0;
    const { counts } = await prepare(view, { words, required: words, scored: false });
    return Math.min(...counts);
  }

  /** The words of a query as the index understands it at a reader's position. */
  async parse(reader: Reader, text: string): Promise<TextQuery & { readonly analyser: Analyser }> {
    const analyser = await this.analyserAt(reader);
    return { ...parseQuery(analyser, text), analyser };
  }

  /** How the index stands now. */
  status(): Promise<TextStatus> {
    return this.#reading(async (reader) => {
      const { manifest } = await this.#manifests.at(reader);
      return {
        analyser: manifest.analyser,
        cursor: manifest.cursor,
        segments: manifest.segments.length,
        documents: manifest.segments.reduce((sum, { documents }) => sum + documents, 0),
        tail: reader.head.size - manifest.cursor,
        ...(this.#failure === undefined ? {} : { failure: this.#failure }),
      };
    });
  }

  /**
   * Writes everything up to the end of the journal into segments, or no more than so many times; the
   * answer says how many entries still wait.
   */
  async flush(mostTimes = Number.POSITIVE_INFINITY): Promise<number> {
    await this.#settled();
    for (let times = 1; ; times += 1) {
      const waiting = await this.#flushOnce();
      if (waiting === 0 || times >= mostTimes) return waiting;
    }
  }

  /**
   * Merges segments of similar size until about so many documents were written anew; the answer says
   * how many segments are gone and whether there is more to merge.
   */
  async merge(
    budgetDocuments: number = LIMITS.textSegmentDocs,
  ): Promise<{ readonly gone: number; readonly more: boolean }> {
    await this.#settled();
    let gone = 0;
    for (let written = 0; written < budgetDocuments; ) {
      const merged = await this.#mergeOnce();
      if (merged.length === 0) return { gone, more: false };
      gone += merged.length - 1;
      written += merged.reduce((sum, { documents }) => sum + documents, 0);
    }
    return { gone, more: await this.#reading((reader) => this.#mayMerge(reader)) };
  }

  async #mayMerge(reader: Reader): Promise<boolean> {
    const { manifest, fits } = await this.#manifests.at(reader);
    return fits && nextMerge(manifest.segments).length > 0;
  }

  /**
   * Takes forgotten memories out of the segments. `known` are their documents as they were, where the
   * caller has read them; memories that others forgot and left are taken out as well.
   */
  async purge(known: readonly ErasedDocument[]): Promise<void> {
    this.#used = true;
    await this.#retrying(() => this.#purgeOnce(known));
  }

  /**
   * The words that this process used last; those of the graph's language the first time. Whoever acts
   * on them must be prepared that another process has configured another language since.
   */
  analyser(): Promise<Analyser> {
    return this.#manifests.loaded() ?? this.#reading((reader) => this.analyserAt(reader));
  }

  /** Waits for work under way, and writes a long tail out. */
  async close(): Promise<void> {
    this.#unlisten();
    await this.#settled();
    this.#closed = true;
    if (!this.#used) return;
    try {
      const { tail } = await this.status();
      if (tail >= LIMITS.textCloseEntries) while ((await this.#flushOnce()) > 0);
    } catch (error) {
      // A cache: the next process goes on from where this one stopped.
      this.#fail(error);
    }
  }

  /** Compares the segments with the journal; changes nothing. */
  check(): Promise<readonly Problem[]> {
    return this.#reading(async (reader) => {
      const { manifest, analyser } = await this.#manifests.at(reader);
      const segments = await this.#cache.load(reader, manifest.segments);
      return checkSegments(reader, { manifest, segments, analyser });
    });
  }

  /** The index as a reader sees it: what everything that asks it by words starts from. */
  async view(
    reader: Reader,
    lifecycles: readonly Lifecycle[] = ["active"],
  ): Promise<{ readonly view: IndexView; readonly analyser: Analyser }> {
    this.#used = true;
    // The index is one for all callers: who sees what of it is asked when documents are counted.
    const { whole } = reader;
    const at = await this.#manifests.at(whole);
    const { manifest, analyser } = at;
    const codes = [...new Set(lifecycles)].map((name) => LIFECYCLES[name].code);
    const tail = reader.seq >= manifest.cursor - 1 ? await this.#tail.at(whole, at) : undefined;
    const searched = manifest.segments.filter(
      ({ lifecycle, from }) => (codes as number[]).includes(lifecycle) && from <= reader.seq,
    );
    const segments = await this.#cache.load(whole, searched);
    this.#cache.keepOnly(manifest.segments);
    const pending = tail?.forgotten.some(({ seq }) => seq >= manifest.purgedTo) === true;
    const isLong = reader.head.size - manifest.cursor > LIMITS.textTailEntries;
    if (pending) this.#work(() => this.purge([]));
    else if (isLong) this.#work(() => this.#catchUp());
    return { view: { reader, segments, tail, lifecycles: codes }, analyser };
  }

  /** Words as the graph's language has them, at a reader's snapshot. */
  analyserAt(reader: Reader): Promise<Analyser> {
    return this.#manifests.analyserAt(reader);
  }

  /** Takes what the writer has handed over into the tail. */
  async #follow(): Promise<void> {
    this.#tail.letGo();
    while (await this.#tail.follow(STEP_ENTRIES)) await this.#parts.turn();
  }

  /** Starts background work unless some is under way; never fails. */
  #work(job: () => Promise<void>): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#job ??= job()
      .then(
        () => {
          this.#failure = undefined;
        },
        (error: unknown) => this.#fail(error),
      )
      .finally(() => {
        this.#job = undefined;
      });
    return this.#job;
  }

  #fail(error: unknown): void {
    // An index that cannot be written must not slow every write down.
    this.#pace.flushed();
    this.#failure =
      error instanceof CortexError ? `${error.code}: ${error.message}` : String(error);
  }

  async #settled(): Promise<void> {
    while (this.#job !== undefined) await this.#job;
  }

  /** Flushes until the tail is short, then merges if there are many segments. */
  async #catchUp(): Promise<void> {
    while ((await this.#flushOnce(LIMITS.textTailEntries)) > LIMITS.textTailEntries);
    if ((await this.status()).segments > LIMITS.textSegments) await this.#mergeOnce();
  }

  /** Writes the next segment if more than `most` entries wait; returns how many still wait. */
  async #flushOnce(most = 0): Promise<number> {
    return this.#retrying(async () => {
      const plan = await this.#planner.flush(most);
      switch (plan?.next) {
        case undefined:
          return undefined;
        case "nothing":
          return plan.waiting;
        case "purge":
          await this.#purgeOnce([]);
          return undefined;
        case "reset":
          await this.#resetOnce();
          return undefined;
        case "change": {
          if (!(await this.#commit(plan.expect, plan.change))) return undefined;
          this.#pace.flushed();
          this.#tail.flushed(plan.change.manifest.cursor);
          return plan.waiting;
        }
        default:
          return plan satisfies never;
      }
    });
  }

  /** Merges the next run of segments; returns those that were made into one. */
  #mergeOnce(): Promise<readonly SegmentInfo[]> {
    return this.#retrying(async () => {
      const plan = await this.#planner.merge();
      if (plan?.next !== "change") return plan && [];
      return (await this.#commit(plan.expect, plan.change)) ? plan.merged : undefined;
    });
  }

  /** One attempt to take memories out; `undefined` when somebody else changed the index meanwhile. */
  #purgeOnce(known: readonly ErasedDocument[]): Promise<true | undefined> {
    return this.#reading(async (reader) => {
      const at = await this.#manifests.at(reader);
      const { manifest } = at;
      if (!at.fits) return this.#resetOnce();
      const { size } = reader.head;
      // Far behind, nobody knows yet what others have forgotten; whoever catches up will look.
      const isNear = size - manifest.cursor <= LIMITS.textFlushEntries;
      const tail = isNear ? await this.#tail.at(reader, at, size) : undefined;
      const pending = (tail?.forgotten ?? []).filter(({ seq }) => seq >= manifest.purgedTo);
      const loaded = await this.#cache.load(reader, manifest.segments);
      const ids = pending.map(({ id }) => id);
      const { puts, deletes, segments } = await planPurge(reader, loaded, ids, known);
      const purgedTo = isNear ? size : manifest.purgedTo;
      // Committed even when nothing is to be taken out: a flush under way may know the words.
      const after = { ...manifest, purgedTo, purges: manifest.purges + 1, segments };
      return (await this.#commit(at.bytes, { puts, deletes, manifest: after })) ? true : undefined;
    });
  }

  /** Drops everything if it is made of other words than the graph asks for; `undefined` for a lost race. */
  #resetOnce(): Promise<true | undefined> {
    return this.#reading(async (reader) => {
      const at = await this.#manifests.at(reader);
      if (at.fits) return true;
      const deletes = await allRowKeys(reader);
      const change = { puts: [], deletes, manifest: at.manifest };
      return (await this.#commit(at.bytes, change)) ? true : undefined;
    });
  }

  #commit(expect: Bytes | undefined, change: IndexChange): Promise<boolean> {
    const row = { key: TEXT_MANIFEST_KEY, value: encodeManifest(change.manifest) };
    return this.#parts.kv.commitCaches({
      expect: [{ key: TEXT_MANIFEST_KEY, value: expect }],
      puts: [...change.puts, row],
      deletes: change.deletes,
    });
  }

  /** Does something until it gives an answer: `undefined` is a lost race. */
  async #retrying<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < ATTEMPTS; tries += 1) {
      const answer = await attempt();
      if (answer !== undefined) return answer;
      await this.#parts.turn();
    }
    throw new CortexError("ERR_CONTENDED", "other processes changed the text index too often");
  }

  #reading<T>(use: (reader: Reader) => Promise<T>): Promise<T> {
    return Reader.with(this.#parts.kv, undefined, use);
  }
}
