/**
 * What `find` asks of the other indexes: nearness in meaning, and words.
 *
 * By meaning: of the memories that satisfy every condition, the nearest to a text, a memory or a vector. Where the
 * conditions leave few memories, each of them is measured; where they leave many, the vector index looks for the nearest
 * that pass. Vectors are of what memories say now, so the past cannot be asked.
 *
 * By words: memories that hold every one of them. The text index gives those memories, or each candidate of another path is
 * looked through, whichever is less work; both see the same words.
 */
import type { Near } from "../contract/find.js";
import { type Engine, findIds, type ParsedRef, parseRef } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { findMemory, missed, versionOf } from "../memory/read.js";
import type { Lifecycle } from "../records/types.js";
import type { Analyser } from "../text/analyse.js";
import { eachDocumentWord } from "../text/document.js";
import { everyWord } from "../text/query.js";
import { distance, unitVector } from "../vector/distance.js";
import { noEmbedder } from "../vector/vector-index.js";
import type { CheckedFind } from "./find-input.js";
import type { Path } from "./find-plan.js";
import { allMatches, type Match, type Matcher } from "./scan.js";
import { type Candidate, markAfterSeq, markOf, type Stream, tooManyCandidates } from "./sources.js";

/** What hits are near to, checked. */
export interface CheckedNear {
  readonly what:
    | { readonly text: string }
    | { readonly ref: ParsedRef }
    | { readonly vector: Float32Array };
  readonly k: number | undefined;
}

/** How many hits a query has when it does not say: some to choose from for every one shown. */
const K_LEAST = 16;
const K_PER_HIT = 4;

/** Conditions that leave no more memories than this have all of them measured. */
const FEW = 1000;

/** Checks what hits are near to, against the embedder there is. */
export function checkNear(engine: Engine, { text, uri, vector, k }: Near): CheckedNear {
  const given = [text, uri, vector].filter((one) => one !== undefined);
  if (given.length !== 1) throw invalid("near", "one of text, uri and vector", given.length);
  if (!engine.vectors.isConfigured) throw noEmbedder();
  if (text !== undefined) return { what: { text }, k };
  if (uri !== undefined) return { what: { ref: parseRef(engine, uri, "near.uri") }, k };
  return { what: { vector: checkVector(vector, engine.embedder?.dimensions ?? 0) }, k };
}

function checkVector(input: unknown, dimensions: number): Float32Array {
  const isList = input instanceof Float32Array || Array.isArray(input);
  const fits = isList && input.length === dimensions;
  const unit = fits ? unitVector(Float32Array.from(input)) : undefined;
  if (unit !== undefined) return unit;
  const expected = `${dimensions} finite numbers that are not all zero`;
  throw invalid("near.vector", expected, isList ? `a list of ${input.length}` : input);
}

/** How many memories are hits. */
function nearCount({ k }: CheckedNear, { limit, offset }: CheckedFind): number {
  const usual = Math.max(K_LEAST, K_PER_HIT * (limit + offset));
  return Math.min(LIMITS.listLimit, k ?? usual);
}

/** The vector of a text, which may take a call over the network: made before anything is read. */
export async function embedded(engine: Engine, near: CheckedNear): Promise<CheckedNear> {
  if (!("text" in near.what)) return near;
  return { ...near, what: { vector: await engine.vectors.embedQuery(near.what.text) } };
}

/** The nearest memories, with their distances by key string. */
export async function nearest(
  engine: Engine,
  reader: Reader,
  about: {
    readonly near: CheckedNear;
    readonly query: CheckedFind;
    readonly match: Matcher;
    /** The narrowest path of the other conditions, where it is known to be short. */
    readonly few: Stream | undefined;
  },
): Promise<ReadonlyMap<string, number>> {
  const { near, query, match, few } = about;
  const vector = await vectorFor(engine, reader, near, query);
  const k = nearCount(near, query);
  const found =
    few === undefined
      ? await engine.vectors.near(reader, vector, k, (ids) => accepted(match, ids))
      : await measured(engine, reader, vector, few, match);
  return new Map(found.slice(0, k).map(({ id, distance: far }) => [keyString(id), far]));
}

/** Whether a path is short enough to measure everything on it. */
export function isFew(estimate: number | undefined): boolean {
  return estimate !== undefined && estimate <= FEW;
}

async function vectorFor(
  engine: Engine,
  reader: Reader,
  { what }: CheckedNear,
  { access }: CheckedFind,
): Promise<Float32Array> {
  if ("vector" in what) return what.vector;
  if ("text" in what) throw new Error("the text of a near query is embedded before it is asked");
  const [id] = await findIds(reader, [what.ref]);
  const found = id === undefined ? undefined : await findMemory(reader, id);
  const shown = found ?? (await missed(reader, access, what.ref));
  const vector = shown === undefined ? undefined : await engine.vectors.vectorOf(reader, shown.id);
  if (vector !== undefined) return vector;
  const got = shown === undefined ? "none" : "one that has no vector yet";
  throw new CortexError(
    "ERR_NOT_FOUND",
    `near.uri: expected a memory that has a vector, got ${got}`,
    { field: "near.uri", subject: what.ref.text, expected: "a memory that has a vector", got },
  );
}

async function accepted(match: Matcher, ids: readonly Bytes[]): Promise<readonly boolean[]> {
  const matches = await match(ids.map((id) => ({ id, mark: "" })));
  return matches.map((one) => one !== undefined);
}

async function measured(
  engine: Engine,
  reader: Reader,
  vector: Float32Array,
  few: Stream,
  match: Matcher,
): Promise<readonly { readonly id: Bytes; readonly distance: number }[]> {
  const found: Match[] = [];
  await allMatches(few, match, async (matches) => {
    // The index leaves hidden memories out, so they are left out here.
    found.push(...matches.filter((one) => one.found.row.lifecycle !== "tombstoned"));
  });
  const vectors = await Promise.all(
    found.map((one) => engine.vectors.vectorOf(reader, one.found.id)),
  );
  return found
    .flatMap((one, at) => {
      const own = vectors[at];
      const { id } = one.found;
      return own === undefined
        ? []
        : [{ id, name: keyString(id), distance: distance(vector, own) }];
    })
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
}

/** The words of a query at a reader's position. */
export interface Words {
  readonly text: string;
  readonly words: readonly string[];
  readonly analyser: Analyser;
  readonly lifecycles: readonly Lifecycle[];
  /** About how many memories hold all of them. */
  readonly estimate: number;
}

/** Takes the words of a query apart and asks how many memories hold them. */
export async function wordsOf(
  engine: Engine,
  reader: Reader,
  text: string,
  states: ReadonlySet<Lifecycle>,
): Promise<Words> {
  const lifecycles = [...states];
  const { analyser } = await engine.text.parse(reader, text);
  const estimate = await engine.text.estimate(reader, text, lifecycles);
  return { text, words: everyWord(analyser, text), analyser, lifecycles, estimate };
}

/** The path of the text index. */
export const TEXT_PATH: Path = { kind: "text", name: "text" };

/** Memories asked for first, and how much wider every further look is. */
const ASKED_FIRST = 64;
const WIDER = 8;

/** The memories that hold every word, by the entry that changed them last. */
export function textStream(
  engine: Engine,
  reader: Reader,
  { text, lifecycles }: Words,
  before: string | undefined,
): Stream {
  let ids: readonly Bytes[] = [];
  let isAll = false;
  let asked = ASKED_FIRST / WIDER;
  let from = 0;
  const readAhead = async (wanted: number): Promise<void> => {
    while (!isAll && ids.length < wanted) {
      if (asked >= LIMITS.findCandidates) throw tooManyCandidates();
      asked = Math.min(LIMITS.findCandidates, Math.max(WIDER * asked, wanted));
      const found = await engine.text.matching(reader, text, lifecycles, asked);
      ids = found.ids;
      isAll = found.complete;
    }
  };
  return {
    async next(limit) {
      await readAhead(from + limit);
      const some = ids.slice(from, from + limit);
      from += some.length;
      const rows = await reader.memoryRows(some);
      let oldest = reader.seq;
      const candidates = some.flatMap((id, at): readonly Candidate[] => {
        const row = rows[at];
        if (row === undefined) return [];
        oldest = Math.min(oldest, row.seq);
        const mark = markOf(row.seq, id);
        return before === undefined || mark < before ? [{ id, mark, row }] : [];
      });
      const isEnd = isAll && from >= ids.length;
      // Memories of one entry come in no order of their own: the next may be of the same.
      const frontier = isEnd ? undefined : markAfterSeq(oldest);
      return { candidates, frontier, rows: some.length };
    },
  };
}

/** Whether a memory holds every word, in its current version or an open rival of it. */
export async function holdsWords(
  reader: Reader,
  { words, analyser }: Words,
  found: FoundMemory,
): Promise<boolean> {
  const missing = new Set(words);
  if (missing.size === 0) return false;
  const { head } = found.head.record;
  const rivals = await Promise.all(head.siblings.map((number) => versionOf(reader, found, number)));
  const bodies = [found.body, ...rivals.flatMap((body) => body ?? [])].map(bodyOf);
  eachDocumentWord(analyser, { head, bodies }, (word) => missing.delete(word));
  return missing.size === 0;
}

/** How well memories fit the words, by key string. */
export async function textScores(
  engine: Engine,
  reader: Reader,
  { text, lifecycles }: Words,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  // Every word is required already: quotes would ask for phrases on top.
  const plain = text.replace(/["“”„]/g, " ");
  const ranked = await engine.text.rank(reader, {
    text: plain,
    limit: ids.size,
    lifecycles,
    accept: (found) => found.map(({ id }) => ids.has(keyString(id))),
  });
  return new Map(
    ranked.map(({ id, score }: { readonly id: Bytes; readonly score: number }) => [
      keyString(id),
      score,
    ]),
  );
}
