/**
 * `embedPending` and the job behind it: follows the journal by a cursor and gives every memory the
 * vector of its current text. It resumes where the last process stopped; another model has another
 * cursor and starts at the first entry.
 *
 * One pass takes a page of entries, the memories they touched, the texts those memories have *now*, the
 * vectors that are missing, and makes one commit. Because it looks at the present and not at what an
 * entry did, a pass can be repeated, an entry of any kind is handled alike, and several processes may do
 * the same work at the price of embedding some texts twice: the first to commit wins, the other finds
 * nothing left to do. The commit expects the cursor row and every memory's row as they were read, so
 * the vector of a memory that was forgotten meanwhile is never written.
 *
 * A text that the embedder refuses is left without a vector and counted, but only after the embedder
 * has shown with a harmless text that it works: a wrong model name must not pass for bad texts. Any
 * other failure ends the pass; what was embedded by then is kept, and the cursor stays.
 *
 * Where the embedder is quick, a question does a short backlog itself (`catchUp`) and begins with a long one behind its
 * answer (`embedBehind`); passes of one store then go one after another, so that no text is embedded twice.
 *
 * Left to others: starting the job again and backing off after failures (`jobs/runner.ts`).
 */

import type { Sha256 } from "../codec/hash.js";
import type { Asked } from "../contract/index.js";
import type { EmbedReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { headOf } from "../history/build-beside.js";
import { bodyPointer, decodeMemoryRow, type MemoryRow } from "../history/pointers.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import type { Job } from "../jobs/runner.js";
import { idKey, journalKey, keyString, vectorKey } from "../kv/keyspace.js";
import type { Bytes, Kv, KvCacheCommit, KvExpectation } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { renderFull } from "../records/forms.js";
import {
  decodeEmbedCursor,
  decodeVectorMemory,
  type EmbedCursor,
  embedCursorKey,
  modelTag,
  textHash,
} from "../records/vector-rows.js";
import { OWNER } from "../scope/access.js";
import { type CheckedEmbedder, refusesText } from "../vector/embedder.js";
import { memoriesOf, PAGE_ENTRIES } from "../vector/loaded-vectors.js";
import { contended, cursorRow, planVectors, type VectorChange } from "../vector/vector-changes.js";
import type { VectorIndex } from "../vector/vector-index.js";
import { noEmbedder } from "../vector/vector-index.js";

/** Embeds every text that has no vector yet, up to the entries there are now. */
export function embedPending(engine: Engine, asked: Asked<"embedPending">): Promise<EmbedReport> {
  return embedAll(engine, asked, atOnce);
}

/** How the next pass is made: how many entries it looks at. It may wait before it says so. */
type Pace = (signal: AbortSignal | undefined) => Promise<number>;

/** Whoever asked for vectors waits for them. */
const atOnce: Pace = async () => PAGE_ENTRIES;

/** Entries of a pass while callers wait for their turn: some 10 ms, where a whole page takes 45. */
const POLITE_ENTRIES = 64;
/**
 * While callers come, a job works one part in five. Reads over HTTP in a store with 20,000 memories to embed fell
 * to 0.4 of their pace without it.
 */
const REST_SHARE = 4;

/** The pace of work that nobody waits for: at once while nobody calls, and little by little while calls come. */
function givingWay({ activity, clock, pause }: Engine): Pace {
  let calls = activity.calls;
  let restedAt = clock();
  return async (signal) => {
    const isCalled = activity.calls !== calls;
    // Calls come in while this waits, not while it works: those count for the next wait.
    calls = activity.calls;
    // No time at all is a turn of the event loop all the same.
    await pause(isCalled ? REST_SHARE * Math.max(0, clock() - restedAt) : 0, signal);
    restedAt = clock();
    return isCalled ? POLITE_ENTRIES : PAGE_ENTRIES;
  };
}

async function embedAll(
  engine: Engine,
  { signal, onProgress }: Asked<"embedPending">,
  pace: Pace,
): Promise<EmbedReport> {
  const parts = partsOf(engine);
  const total = { texts: 0, memories: 0, refused: 0, purged: 0 };
  const { size: target } = await headOf(engine.kv);
  for (let cursor = 0; cursor < target && signal?.aborted !== true; ) {
    const report = await nextPass({ ...parts, entries: await pace(signal) }, signal);
    // Nothing left, perhaps because another process did the same work.
    if (report === undefined) break;
    total.texts += report.texts;
    total.memories += report.memories;
    total.refused += report.refused;
    total.purged += report.purged;
    cursor = report.cursor;
    onProgress?.(Math.min(cursor, target), target);
  }
  const { model } = parts.embedder;
  const { cursor, lag } = await engine.vectors.progress();
  return { model, ...total, cursor, lag, seq: cursor + lag - 1 };
}

/** A backlog of so many entries is done before the question: what was said a moment ago is found by meaning. */
const WAITED_FOR = 128;

/** Whether a question waits for a backlog of so many entries. A longer one, as after a bulk write, goes on behind it. */
export function isWaitedFor(lag: number): boolean {
  return lag > 0 && lag <= WAITED_FOR;
}

/** Catching up of stores that do so now: questions that come together wait for the same work. */
const catching = new WeakMap<VectorIndex, Promise<unknown>>();
/** Work that a question began and nobody waits for, by store. */
const behind = new WeakMap<VectorIndex, Promise<unknown>>();
/** The last pass of a store with a quick embedder, under way or over. */
const passes = new WeakMap<VectorIndex, Promise<unknown>>();

/** The entries that have no vectors yet at a reader's position, which is the present. */
export async function embedLag({ embedder, vectors }: Engine, reader: Reader): Promise<number> {
  if (embedder === undefined) return 0;
  return (await vectors.progressAt(reader.whole.snapshot, reader.head.size)).lag;
}

/** What `embedLag` reads. */
export function lagKeys({ vectors: { tag } }: Engine): readonly Bytes[] {
  return tag === undefined ? [] : [embedCursorKey(tag)];
}

/**
 * Gives a few memories their vectors before a question is asked, where the embedder is quick, so that what
 * was just remembered is found by what it means. What goes wrong here is the job's to tell: a question is answered
 * by what there is.
 */
export async function catchUp(engine: Engine, lag: number): Promise<void> {
  const { vectors } = engine;
  const parts = { ...partsOf(engine), entries: lag };
  const work = catching.get(vectors) ?? nextPass(parts, undefined).catch(() => undefined);
  catching.set(vectors, work);
  await work.finally(() => catching.delete(vectors));
}

/**
 * Begins to embed what waits, behind the answers to come. The first few are done even if the store is closed at once:
 * a program that asks one question and ends brings the work on as well.
 */
export function embedBehind(engine: Engine): void {
  const { vectors, closing } = engine;
  if (behind.has(vectors)) return;
  const run = async (): Promise<void> => {
    await nextPass({ ...partsOf(engine), entries: POLITE_ENTRIES }, undefined);
    await embedAll(engine, { signal: closing, access: OWNER }, givingWay(engine));
  };
  // What goes wrong is the job's to tell, and the next question begins anew.
  const work = run()
    .catch(() => undefined)
    .finally(() => behind.delete(vectors));
  behind.set(vectors, work);
}

/** Settles when the work behind questions has ended. It ends soon after the store begins to close. */
export async function embeddedBehind({ vectors }: Engine): Promise<void> {
  await behind.get(vectors);
}

/** A pass; `undefined` when there was nothing to do, or when it was stopped on the way. */
async function nextPass(
  parts: EmbedParts,
  signal: AbortSignal | undefined,
): Promise<PassReport | undefined> {
  const run = () => new EmbedPass(parts, signal).run();
  try {
    return await (parts.embedder.isQuick === true ? inTurn(parts.vectors, run) : run());
  } catch (error) {
    if (signal?.aborted === true) return undefined;
    throw error;
  }
}

/** Runs a pass when the one before it has ended. Only quick ones wait for each other: a slow embedder may hang. */
function inTurn<T>(vectors: VectorIndex, pass: () => Promise<T>): Promise<T> {
  const turn = (passes.get(vectors) ?? Promise.resolve()).then(pass);
  passes.set(
    vectors,
    turn.catch(() => undefined),
  );
  return turn;
}

function partsOf({ kv, sha256, vectors, embedder }: Engine): EmbedParts {
  if (embedder === undefined) throw noEmbedder();
  return { kv, sha256, vectors, embedder, entries: PAGE_ENTRIES };
}

/** The job for a runner: one run embeds what is pending and gives way to callers. Failures are the runner's to record. */
export function embedJob(engine: Engine): Job {
  let lag = 0;
  return {
    name: "embed",
    async pending() {
      lag = (await engine.vectors.status())?.lag ?? 0;
      return lag > 0;
    },
    // In a server with hundreds of stores, each written to now and then, leases were half of all commits.
    isSlight: () => engine.embedder?.isQuick === true && lag <= WAITED_FOR,
    async run(signal) {
      const { memories, cursor, lag } = await embedAll(
        engine,
        { signal, access: OWNER },
        givingWay(engine),
      );
      return { done: memories, cursor, lag };
    },
  };
}

/** What a pass works with. */
interface EmbedParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  readonly vectors: VectorIndex;
  readonly embedder: CheckedEmbedder;
  /** Entries that one pass looks at, at most. */
  readonly entries: number;
}

/** What a pass did. */
interface PassReport extends Omit<EmbedReport, "model" | "lag" | "seq"> {
  /** Entries that the journal had. */
  readonly size: number;
}

/** Texts given to the embedder at once, and their bytes, about. */
const BATCH_TEXTS = 32;
const BATCH_CHARS = 256 * 1024;
const PROBE = "A short and harmless text.";

/** A memory whose text needs a vector. */
interface Wanted {
  readonly id: Bytes;
  readonly hash: Bytes;
  readonly bodySeq: number;
  readonly text: string;
}

/** A page of the journal as one snapshot shows it. */
interface Page {
  readonly cursor: EmbedCursor;
  readonly cursorBytes: Bytes | undefined;
  readonly to: number;
  readonly size: number;
  readonly wanted: readonly Wanted[];
  /** Memories that have a vector and no text any more. */
  readonly emptied: readonly Bytes[];
  /** Memories that entries of this page erased. */
  readonly erased: readonly Bytes[];
  /** Rows of the memories above, as they were read. */
  readonly expect: readonly KvExpectation[];
  /** Texts without a stored vector, by the hash. */
  readonly missing: ReadonlyMap<string, string>;
}

/** One pass over the journal. */
class EmbedPass {
  readonly #parts: EmbedParts;
  readonly #tag: Bytes;
  readonly #signal: AbortSignal | undefined;
  /** Vectors that this pass asked for, by the hash of the text: a lost race does not ask again. */
  readonly #vectors = new Map<string, Float32Array>();
  readonly #refused = new Set<string>();
  /** Memories whose vectors this pass took away. */
  readonly #erased = new Set<string>();
  #purged = 0;
  #isProven = false;

  constructor(parts: EmbedParts, signal?: AbortSignal) {
    this.#parts = parts;
    this.#tag = modelTag(parts.sha256, parts.embedder);
    this.#signal = signal;
  }

  /** Runs the pass; `undefined` when there is nothing to look at. */
  async run(): Promise<PassReport | undefined> {
    for (let attempt = 0; attempt < LIMITS.commitAttempts; ) {
      const page = await this.#page();
      if (page === undefined) return undefined;
      const erased = page.erased.filter((id) => !this.#erased.has(keyString(id)));
      if (erased.length > 0) {
        this.#purged += await this.#parts.vectors.purge(erased);
        for (const id of erased) this.#erased.add(keyString(id));
        continue;
      }
      const missing = [...page.missing].filter(([hash]) => !this.#isSettled(hash));
      if (missing.length > 0) {
        await this.#embedOrKeep(missing);
        continue;
      }
      const memories = await this.#commit(page, page.to);
      if (memories !== undefined) return this.#report(page, memories);
      attempt += 1;
    }
    throw contended("vectors could not be written");
  }

  #isSettled(hash: string): boolean {
    return this.#vectors.has(hash) || this.#refused.has(hash);
  }

  #report({ to, size }: Page, memories: number): PassReport {
    const done = { texts: this.#vectors.size, refused: this.#refused.size, purged: this.#purged };
    return { ...done, memories, cursor: to, size };
  }

  /** Embeds; when that fails, keeps what was embedded before it fails as well. */
  async #embedOrKeep(missing: readonly (readonly [string, string])[]): Promise<void> {
    try {
      await this.#embed(missing);
    } catch (error) {
      if (this.#vectors.size > 0) await this.#keep();
      throw error;
    }
  }

  async #keep(): Promise<void> {
    const page = await this.#page();
    // A lost race loses a few vectors; the next pass asks for them again.
    if (page !== undefined) await this.#commit(page, page.cursor.seq);
  }

  async #embed(missing: readonly (readonly [string, string])[]): Promise<void> {
    for (let at = 0; at < missing.length; ) {
      this.#signal?.throwIfAborted();
      const batch = missing.slice(at, at + batchLength(missing, at));
      at += batch.length;
      try {
        await this.#ask(batch);
      } catch (error) {
        if (!refusesText(error)) throw error;
        await this.#prove();
        await this.#askOneByOne(batch);
      }
    }
  }

  async #ask(batch: readonly (readonly [string, string])[]): Promise<void> {
    const texts = batch.map(([, text]) => text);
    const vectors = await this.#parts.embedder.embed(texts, this.#signal);
    for (const [at, [hash]] of batch.entries()) {
      const vector = vectors[at];
      if (vector !== undefined) this.#vectors.set(hash, vector);
    }
  }

  async #askOneByOne(batch: readonly (readonly [string, string])[]): Promise<void> {
    for (const one of batch) {
      this.#signal?.throwIfAborted();
      try {
        await this.#ask([one]);
      } catch (error) {
        if (!refusesText(error)) throw error;
        this.#refused.add(one[0]);
      }
    }
  }

  /** Makes sure that the embedder works at all before a text is blamed. */
  async #prove(): Promise<void> {
    if (this.#isProven) return;
    await this.#parts.embedder.embed([PROBE], this.#signal);
    this.#isProven = true;
  }

  /** Commits what is known about a page; `undefined` when the race was lost. */
  async #commit(page: Page, seq: number): Promise<number | undefined> {
    const { kv } = this.#parts;
    const known = page.wanted.filter(
      ({ hash }) => !page.missing.has(keyString(hash)) || this.#vectors.has(keyString(hash)),
    );
    const left = page.wanted.filter(({ hash }) => this.#refused.has(keyString(hash)));
    const gone = [...page.emptied, ...left.map(({ id }) => id)];
    const changes: VectorChange[] = [
      ...known.map(({ id, hash, bodySeq }) => ({ id, to: { hash, bodySeq } })),
      ...gone.map((id) => ({ id, to: undefined })),
    ];
    const snapshot = await kv.snapshot();
    let change: KvCacheCommit;
    try {
      const key = embedCursorKey(this.#tag);
      const plan = await planVectors(snapshot, this.#tag, changes, this.#vectors);
      const moved = cursorRow({ cursor: page.cursor, row: { key } }, plan, { seq });
      change = {
        expect: [{ key, value: page.cursorBytes }, ...page.expect],
        puts: [...plan.puts, moved],
        deletes: plan.deletes,
      };
    } finally {
      snapshot.close();
    }
    return (await kv.commitCaches(change)) ? known.length : undefined;
  }

  #page(): Promise<Page | undefined> {
    const key = embedCursorKey(this.#tag);
    return Reader.with(this.#parts.kv, undefined, (reader) => this.#read(reader), [key]);
  }

  async #read(reader: Reader): Promise<Page | undefined> {
    const { entries: most } = this.#parts;
    const { model, dimensions } = this.#parts.embedder;
    const [cursorBytes] = reader.first;
    const { size } = reader.head;
    const fresh = { model, dimensions, seq: 0, memories: 0, purged: 0, changes: 0 };
    const cursor = cursorBytes === undefined ? fresh : decodeEmbedCursor(cursorBytes);
    const from = Math.min(cursor.seq, size);
    const to = Math.min(from + most, size);
    if (from === to) return undefined;
    const range = { gte: journalKey(from), lt: journalKey(to), limit: to - from };
    const [entries = []] = await reader.ranges([range]);
    const named = new Map(
      entries.flatMap(({ value }) => memoriesOf(value)).map((id) => [keyString(id), id]),
    );
    const ids = [...named.values()];
    const rows = await reader.getMany(ids.map((id) => idKey("memory", id)));
    const touched = await this.#touched(reader, ids, rows, { from, to });
    return { cursor, cursorBytes, to, size, ...touched };
  }

  /** What shall become of the memories that a page touched. */
  async #touched(
    reader: Reader,
    ids: readonly Bytes[],
    rows: readonly (Bytes | undefined)[],
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<Pick<Page, "wanted" | "emptied" | "erased" | "expect" | "missing">> {
    const own = await reader.getMany(ids.map((id) => vectorKey("vectorMemory", this.#tag, id)));
    const stale: { readonly id: Bytes; readonly row: MemoryRow; readonly at: number }[] = [];
    const erased: Bytes[] = [];
    for (const [at, id] of ids.entries()) {
      const bytes = rows[at];
      const row = bytes === undefined ? undefined : decodeMemoryRow(bytes);
      if (row?.lifecycle === "erased" && row.seq >= from && row.seq < to) erased.push(id);
      // What is hidden keeps the vector it has and gets one when it is restored.
      if (row?.lifecycle !== "active" && row?.lifecycle !== "archived") continue;
      const mine = own[at];
      const isFresh =
        mine !== undefined && decodeVectorMemory(mine).bodySeq === bodyPointer(row).seq;
      if (!isFresh) stale.push({ id, row, at });
    }
    const found = await reader.memories(
      stale.map(({ id }) => id),
      stale.map(({ row }) => row),
    );
    const wanted: Wanted[] = [];
    const emptied: Bytes[] = [];
    for (const [index, { id, row, at }] of stale.entries()) {
      const memory = found[index];
      const text = memory === undefined ? "" : embeddedText(memory);
      if (text.trim() !== "" && this.#parts.embedder.reads(text)) {
        const hash = textHash(this.#parts.sha256, text);
        wanted.push({ id, hash, bodySeq: bodyPointer(row).seq, text });
      } else if (own[at] !== undefined) emptied.push(id);
    }
    const expect = stale.map(({ id, at }) => ({ key: idKey("memory", id), value: rows[at] }));
    return { wanted, emptied, erased, expect, missing: await this.#missing(reader, wanted) };
  }

  async #missing(reader: Reader, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map(wanted.map((one) => [keyString(one.hash), one]));
    const all = [...texts];
    const rows = await reader.getMany(
      all.map(([, { hash }]) => vectorKey("vector", this.#tag, hash)),
    );
    const without = all.filter((_, at) => rows[at] === undefined);
    return new Map(without.map(([hash, { text }]) => [hash, text]));
  }
}

/** The text that stands for a memory among vectors: its current version in full. */
function embeddedText({ head, body }: FoundMemory): string {
  return renderFull(head.record.head.type, bodyOf(body).data);
}

/** How many texts from `at` on make one batch: at least one. */
function batchLength(missing: readonly (readonly [string, string])[], at: number): number {
  let chars = 0;
  let count = 0;
  while (count < BATCH_TEXTS && at + count < missing.length) {
    chars += missing[at + count]?.[1].length ?? 0;
    if (count > 0 && chars > BATCH_CHARS) break;
    count += 1;
  }
  return count;
}
