/**
 * The lanes of recall at one reader: what the words find, what stands around it in conversations, what
 * names lead to, which slot is asked for, what is near by meaning, what edges lead to.
 *
 * Every lane is a few batched reads; a lane that has nothing to say costs none. Memories are loaded
 * once and judged by the caller's access when they are, so no lane can lead to what is not shown.
 * Scores are on one scale: 1 is what the best lexical hit has. Where meaning counts more than words, `scale` brings
 * what both say back to what it is elsewhere.
 */

import type { LaneScores } from "../contract/recall.js";
import type { Engine } from "../engine/engine.js";
import { sentenceOf } from "../engine/shapes.js";
import type { MemoryRow } from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { getU64, idKey, journalKey, keyBytes, keyString, WEIGHTS_KEY } from "../kv/keyspace.js";
import type { KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Lifecycle } from "../records/types.js";
import { readIndex, turnsAround } from "../sessions/session-read.js";
import type { Analyser, Token } from "../text/analyse.js";
import { TELLING } from "../text/asking-words.js";
import { titleOf } from "../text/document.js";
import { nameWords, placedNames, STANDING_MARK } from "../text/names.js";
import {
  markedMemories,
  type QuestionEvidence,
  type QuestionTerm,
  questionEvidence,
} from "../text/text-evidence.js";
import { closenessOf, UNCALIBRATED } from "../vector/distance.js";
import {
  askedByTitle,
  asksSomebody,
  fewRows,
  isReplyTo,
  linksOf,
  marksOf,
  NAMED_MOST,
  type NamedHit,
  Speakers,
  saidBeside,
  slotRanges,
  strongestOf,
  WALK_HITS,
  walkNames,
} from "./asked-names.js";
import {
  type Candidate,
  coverageOf,
  REPLY_SHARE,
  type Scored,
  sessionEvidence,
  spread,
} from "./evidence.js";
import {
  EXPLAINED_LEAST,
  FULL_SCALE,
  isTitled,
  meaningLane,
  meaningScale,
  meaningShare,
  meaningWeight,
  type Scale,
  voiceOf,
} from "./fuse.js";
import { type EdgeStep, EdgeWalk, edgeRanges, REACHED } from "./walk-edges.js";

/** Lexical hits that are looked at, and those of them whose neighbours are. */
const HITS = 112;
const NEIGHBOURED = 64;
/**
 * The same where whole conversations are ranked: their evidence lies in many turns. With 112 as well LoCoMo's
 * sessions lose .003 of R@10.
 */
const SESSION_HITS = 512;
/** Turns before and after a hit that are looked at. */
const REACH = 2;
/** Memories near by meaning that are looked at. */
const NEAR = 96;
/** Questions of people, near by meaning, whose answers are looked at: 8, 16 and 32 are level. */
const ANSWERED = 16;
/** The weight of a model that puts related and unrelated texts equally near. */
const UNKNOWN_MEANING = 0.2;
/** Lexical hits that most likely have their use looked at. */
const FINALISTS = 64;
/** Edges that a walk follows in a row. */
const HOPS = 2;
/**
 * The score of an instruction for every answer that has to do with the question, beside the best lexical hit: for one word
 * or the least nearness, and for all. BEAM's questions under an instruction, R@10: without .287, from 0 to 1
 * .287, from .5 to 1 .525, with the local model .762; two conversations of LoCoMo, where people say "always" to each other,
 * keep theirs.
 */
const STANDING = { least: 0.5, most: 1 };
/** A user with more rules has them found by words and meaning alone. */
const RULES_MOST = 64;
/**
 * How near a memory is at least that holds every word of the question, where meaning counts several times what words do: "Ada
 * works for Hale" is not near to "Where do I work?". Everyday questions are level from 0 to 1.
 */
const ALL_ASKED = 0.5;
/** What a slot has that the question names, however much else it asks: "name" is half of "the name of my dog". */
const SLOT_LEAST = 0.5;
/** A word about the telling ("list", "in order", "throughout our conversations") where all is asked for. */
const TELLING_WEIGHT = 0.3;
/** A name of a person in the question is said by everybody who talks to them. */
const SPEAKER_WEIGHT = 0.3;

/** A question, and what may answer it. */
interface Question {
  readonly text: string;
  readonly lifecycles: readonly Lifecycle[];
  /** Judges memories: access and filters. */
  readonly accept: (found: readonly FoundMemory[]) => Promise<readonly boolean[]>;
  readonly vector: boolean;
  /** Whether whole conversations are asked for: more turns are looked at. */
  readonly bySession?: boolean;
  /** Whether all of something is asked for. */
  readonly gathers: boolean;
  /** The time in the world at which edges must hold. */
  readonly validAt: number;
}

/** What the lanes found. */
export interface Gathered {
  /** By the `keyString` of the id. */
  readonly memories: ReadonlyMap<string, FoundMemory>;
  readonly lanes: ReadonlyMap<string, LaneScores>;
  /** Share of the question that the best hits cover. */
  readonly coverage: ReadonlyMap<string, number>;
  /** For memories that edges led to: from where, and along which kind. */
  readonly via: ReadonlyMap<string, EdgeStep>;
  /** Cosines, as the model gives them, of what has no title. */
  readonly similarity: ReadonlyMap<string, number>;
  /** The same on the model's own scale: 1 is what is usual between a question and its answer. */
  readonly closeness: ReadonlyMap<string, number>;
  readonly scale: Scale;
  /** The words of the question, with how much each says. */
  readonly terms: readonly QuestionTerm[];
  /** By key, what a hit by words says of each word of the question. */
  readonly own: ReadonlyMap<string, Float64Array>;
  /** What each conversation says as a whole, 1 for the best; empty unless conversations are asked for. */
  readonly sessions: ReadonlyMap<string, number>;
  /** Whether a time alone was asked for, and found: it is all that the lanes say. */
  readonly byTime?: boolean;
  /** Whether a memory is what somebody else said than the one whom the question names. */
  isAside(memory: FoundMemory): boolean;
  /** Whether a memory is what somebody said whom the question names. */
  isSpoken(memory: FoundMemory): boolean;
}

/** Asks every lane. */
export async function gather(
  engine: Engine,
  reader: Reader,
  question: Question,
): Promise<Gathered> {
  const lanes = new Lanes(engine, reader, question);
  if (reader.isFar) await lanes.nameSlots();
  const evidence = await questionEvidence(engine.text, reader, {
    ...question,
    limit: question.bySession === true ? SESSION_HITS : HITS,
  });
  await lanes.lexical(evidence);
  await Promise.all([lanes.slots(evidence), lanes.near()]);
  await Promise.all([lanes.names(evidence), lanes.edges()]);
  lanes.standing(evidence);
  return lanes;
}

class Lanes implements Gathered {
  readonly memories = new Map<string, FoundMemory>();
  readonly lanes = new Map<string, LaneScores>();
  readonly coverage = new Map<string, number>();
  readonly via = new Map<string, EdgeStep>();
  readonly similarity = new Map<string, number>();
  readonly closeness = new Map<string, number>();
  scale = FULL_SCALE;
  readonly #engine: Engine;
  readonly #reader: Reader;
  readonly #question: Question;
  /** Ids that were looked at and may not be shown. */
  readonly #refused = new Set<string>();
  terms: readonly QuestionTerm[] = [];
  #speakers = new Speakers(new Set(), [], () => []);
  #rules: readonly string[] = [];
  #tokensOf: (text: string) => readonly Token[] = () => [];
  #best: readonly Scored[] = [];
  /** Share of the question's words, by their weight, that the best lexical hit explains. */
  #explained = 0;
  own: ReadonlyMap<string, Float64Array> = new Map();
  sessions: ReadonlyMap<string, number> = new Map();

  constructor(engine: Engine, reader: Reader, question: Question) {
    this.#engine = engine;
    this.#reader = reader;
    this.#question = question;
  }

  /** Words, the turns around them and whole conversations. */
  async lexical(evidence: QuestionEvidence): Promise<void> {
    for (const { key, memory } of evidence.hits) this.memories.set(key, memory);
    const best = evidence.hits.map(({ memory }) => memory.id).slice(0, FINALISTS);
    this.#reader.soon(() => ({ keys: [WEIGHTS_KEY, ...best.map((id) => idKey("counter", id))] }));
    this.own = new Map(evidence.hits.map(({ key, shares }) => [key, shares] as const));
    this.terms = this.#weighed(evidence);
    const candidates = await this.#withNeighbours(evidence);
    const isWide = this.#question.bySession === true;
    if (isWide) this.sessions = sessionEvidence(this.terms.length, candidates);
    const scored = spread(this.terms, candidates).sort((a, b) => b.score - a.score);
    const most = scored[0]?.score ?? 0;
    if (most === 0) return;
    this.#explained = most / this.terms.reduce((sum, { weight }) => sum + weight, 0);
    const shown = scored.filter(({ score }) => score > 0).slice(0, isWide ? SESSION_HITS : HITS);
    await this.#load(shown.map(({ key }) => key));
    this.#best = shown.filter(({ key }) => this.memories.has(key));
    for (const { key, score, own, coverage } of this.#best) {
      const memory = this.memories.get(key);
      // What an assistant's turn has from its neighbours counts no more than its own words do.
      const voice = memory === undefined ? 1 : voiceOf(memory);
      this.#add(key, { lexical: (own + voice * (score - own)) / most });
      this.coverage.set(key, coverage);
    }
    // The walk starts here, whatever other lanes find: its first edges come along with what they read.
    const seeds = this.#best.slice(0, WALK_HITS).map(({ key }) => keyBytes(key));
    this.#reader.soon(() => ({ ranges: this.#reader.live ? edgeRanges(seeds) : [] }));
  }

  /** Weighs a word less that is the name of somebody who speaks, or is about the telling. */
  #weighed({ analyser, terms, hits }: QuestionEvidence): readonly QuestionTerm[] {
    this.#tokensOf = (text) => analyser.tokens(text);
    const asked = new Set(terms.map(({ term }) => term));
    const found = hits.map(({ memory }) => memory);
    this.#speakers = new Speakers(asked, found, this.#tokensOf);
    const telling = this.#question.gathers ? this.#tokensOf(TELLING) : [];
    const isTelling = new Set(telling.map(({ word }) => word));
    return terms.map(({ term, weight }) => {
      const isName = this.#speakers.isName(term);
      const share = isName ? SPEAKER_WEIGHT : isTelling.has(term) ? TELLING_WEIGHT : 1;
      return { term, weight: weight * share };
    });
  }

  isAside(memory: FoundMemory): boolean {
    return this.#speakers.isAside(memory);
  }

  isSpoken(memory: FoundMemory): boolean {
    return this.#speakers.isSpoken(memory);
  }

  async #withNeighbours(evidence: QuestionEvidence): Promise<readonly Candidate[]> {
    const none = new Float64Array(evidence.terms.length);
    const candidates = new Map<string, Candidate>();
    const ranges: { readonly session: string; readonly range: KvRange }[] = [];
    for (const [at, { key, memory, shares }] of evidence.hits.entries()) {
      const place = memory.head.record.head.turn;
      const asks = place !== undefined && asksSomebody(memory);
      candidates.set(key, { key, own: shares, voice: voiceOf(memory), place, asks });
      if (place !== undefined && at < NEIGHBOURED) ranges.push(turnsAround(place, REACH));
    }
    const rows = await this.#reader.ranges(ranges.map(({ range }) => range));
    for (let at = 0; at < ranges.length; at += 1) {
      const session = ranges[at]?.session ?? "";
      for (const row of rows[at] ?? []) {
        const key = keyString(row.key.subarray(-16));
        if (candidates.has(key)) continue;
        const place = { session, index: readIndex(row.key) };
        candidates.set(key, { key, own: none, voice: 1, place, asks: false });
      }
    }
    return [...candidates.values()];
  }

  /** Says which slots will be asked for, so that they come along with the words. */
  async nameSlots(): Promise<void> {
    const analyser = await this.#engine.text.analyserAt(this.#reader.whole);
    this.#reader.soon(() => ({ ranges: this.#slotRanges(analyser) }));
  }

  #slotRanges(analyser: Analyser): readonly KvRange[] {
    const { text, lifecycles } = this.#question;
    return slotRanges(text, lifecycles, (word) => analyser.isPlainStopWord(word));
  }

  /** Memories that hold a slot which the question names. */
  async slots({ analyser }: QuestionEvidence): Promise<void> {
    const rows = await fewRows(this.#reader, this.#slotRanges(analyser));
    const keys = rows.flat().map(({ key }) => keyString(key.subarray(-16)));
    // What stands in an index was mostly written by the entry that brought it there.
    this.#reader.soon(() => ({
      keys: rows.flat().map(({ key }) => journalKey(getU64(key, key.length - 24))),
    }));
    await this.#load(keys);
    for (const key of keys) {
      const slot = this.memories.get(key)?.head.record.head.slot;
      if (slot === undefined) continue;
      const words = new Set(this.#tokensOf(slot.replaceAll("_", " ")).map(({ word }) => word));
      this.#add(key, { slot: SLOT_LEAST + (1 - SLOT_LEAST) * coverageOf(this.terms, words) });
    }
  }

  /** Memories near by meaning, if there is an embedder that reads the question; a text that it cannot read has no vector. */
  async near(): Promise<void> {
    const { vectors, embedder } = this.#engine;
    if (!this.#question.vector || embedder === undefined || !this.#reader.live) return;
    const asked = this.#speakers.withoutName(this.#question.text);
    if (!(await embedder.readsQuestion(asked))) return;
    const vector = await vectors.embedQuery(asked);
    const calibration = await vectors.calibration();
    const found = await vectors.near(this.#reader, vector, NEAR);
    const rows = new Map(found.map(({ id, row }) => [keyString(id), row]));
    await this.#load([...rows.keys()], rows);
    const shown = found.flatMap(({ id, distance }) => {
      const key = keyString(id);
      return this.memories.has(key) ? [{ key, cosine: 1 - distance }] : [];
    });
    // Whoever does not see everything gets an answer made of what they see alone.
    const { usual = calibration.unrelated, texts } =
      this.#reader.seen === undefined ? vectors.among(vector) : { texts: shown.length };
    const best = shown[0]?.cosine ?? 0;
    // A model that puts related and unrelated texts equally near has the least weight.
    const isKnown = calibration !== UNCALIBRATED;
    const weight = isKnown ? meaningWeight(texts) : UNKNOWN_MEANING;
    const open = isKnown ? Math.max(0, 1 - this.#explained) : 0;
    // So few texts that meaning counts as much as words.
    const isFew = weight >= 1;
    // Where words explain the question, they say how sure the answer is: among many texts something unrelated is
    // always near. Among few meaning says so as well.
    const saysHowSure = this.#explained < EXPLAINED_LEAST || isFew;
    if (best > usual)
      this.scale = meaningScale(weight, this.#explained, closenessOf(calibration, best));
    const near = shown.filter(({ cosine }) => cosine > usual);
    const nearness = new Map<string, number>();
    for (const { key, cosine } of near) {
      const memory = this.memories.get(key);
      // Nearness is a part of salience, too, where a title's small share of meaning would be counted whole.
      if (memory !== undefined && !isTitled(memory)) this.similarity.set(key, cosine);
      if (saysHowSure) this.closeness.set(key, closenessOf(calibration, cosine));
      nearness.set(key, (cosine - usual) / (best - usual));
    }
    for (const key of isFew ? this.own.keys() : []) {
      if (best > usual && this.own.get(key)?.every((share) => share > 0))
        nearness.set(key, Math.max(ALL_ASKED, nearness.get(key) ?? 0));
    }
    for (const [key, value] of nearness) {
      const share = meaningShare(this.memories.get(key));
      const meaning = { weight: share * weight, open: share * open };
      const words = this.lanes.get(key)?.lexical ?? 0;
      this.#add(key, { vector: meaningLane(meaning, value, words) });
    }
    await this.#nearReplies(near.map(({ key }) => key));
  }

  /** What people answered to those who asked something near: an answer has most of its question's meaning. */
  async #nearReplies(near: readonly string[]): Promise<void> {
    const asking = near.flatMap((key) => {
      const memory = this.memories.get(key);
      const place = memory?.head.record.head.turn;
      if (memory === undefined || place === undefined || !asksSomebody(memory)) return [];
      const { range } = turnsAround({ ...place, index: place.index + 1 }, 0);
      // Taken before any answer gets its share: what an answer asks in turn is passed on as its own alone.
      return [{ memory, range, passed: REPLY_SHARE * (this.lanes.get(key)?.vector ?? 0) }];
    });
    const first = asking.slice(0, ANSWERED);
    if (first.length === 0) return;
    const rows = await this.#reader.ranges(first.map(({ range }) => range));
    const keys = rows.map((found) => found.map(({ key }) => keyString(key.subarray(-16))));
    await this.#load(keys.flat());
    for (const [at, { memory, passed }] of first.entries()) {
      for (const reply of keys[at] ?? []) {
        if (!isReplyTo(this.memories.get(reply), memory)) continue;
        this.#add(reply, { vector: Math.max(passed, this.lanes.get(reply)?.vector ?? 0) });
      }
    }
  }

  /** Memories that the question names by their title, and those that names lead to from the best. */
  async names(evidence: QuestionEvidence): Promise<void> {
    const isCommon = (word: string): boolean => evidence.analyser.isPlainStopWord(word);
    const question = nameWords(this.#question.text).slice(0, LIMITS.queryWords);
    const hits = this.#namedHits(isCommon);
    const marks = [...marksOf(question, hits, isCommon), STANDING_MARK];
    const marked = await markedMemories(this.#engine.text, this.#reader, marks, {
      lifecycles: this.#question.lifecycles,
      most: NAMED_MOST + 1,
    });
    const rules = marked.get(STANDING_MARK)?.keys ?? [];
    this.#rules = rules.length > RULES_MOST ? [] : rules;
    const asked = askedByTitle(question, marked, isCommon);
    const links = hits.map((hit) => linksOf(hit, marked, isCommon));
    const strongest = strongestOf(hits, links, REACHED);
    await this.#load([...asked.keys(), ...strongest, ...this.#rules]);
    const evidenceOf = (key: string): Float64Array | undefined => {
      const memory = this.memories.get(key);
      return this.own.get(key) ?? (memory && evidence.sharesOf(sentenceOf(memory)));
    };
    const reached = new Set(strongest.filter((key) => this.memories.has(key)));
    const kept = links.map((map) => new Map([...map].filter(([key]) => reached.has(key))));
    for (const [key, gain] of walkNames(this.terms, hits, kept, evidenceOf)) {
      asked.set(key, (asked.get(key) ?? 0) + gain);
    }
    for (const [key, gain] of asked) if (this.memories.has(key)) this.#add(key, { names: gain });
  }

  #namedHits(isCommon: (word: string) => boolean): readonly NamedHit[] {
    return this.#fusedBest().flatMap(({ key, score }): NamedHit[] => {
      const memory = this.memories.get(key);
      if (memory === undefined) return [];
      const text = sentenceOf(memory);
      const names = placedNames(text, isCommon);
      let beside: readonly number[] | undefined;
      return [
        {
          key,
          score,
          own: this.own.get(key) ?? new Float64Array(this.terms.length),
          names: names.map(({ words }) => words),
          beside: (at) => {
            beside ??= saidBeside(this.terms, this.#tokensOf(text), names);
            return beside[at] ?? 0.5;
          },
          title: titleOf(bodyOf(memory.body).data),
        },
      ];
    });
  }

  /** The hits that are best by words, meaning and slots together, 1 for the first. */
  #fusedBest(): readonly { readonly key: string; readonly score: number }[] {
    const best: { readonly key: string; readonly score: number }[] = [];
    for (const [key, { lexical = 0, vector = 0, slot = 0 }] of this.lanes) {
      const score = this.scale.said * (lexical + vector) + slot;
      if (best.length === WALK_HITS && score < (best[WALK_HITS - 1]?.score ?? 0)) continue;
      best.push({ key, score });
      best.sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1));
      best.length = Math.min(best.length, WALK_HITS);
    }
    const most = best[0]?.score ?? 1;
    return best.map(({ key, score }) => ({ key, score: score / most }));
  }

  /** What the user said shall always hold, as far as its words or its meaning bear on the question. */
  standing({ sharesOf }: QuestionEvidence): void {
    const total = this.terms.reduce((sum, { weight }) => sum + weight, 0);
    const nearest = Math.max(0, ...[...this.lanes.values()].map(({ vector = 0 }) => vector));
    for (const key of this.#rules) {
      const memory = this.memories.get(key);
      if (memory === undefined) continue;
      const own = this.own.get(key) ?? sharesOf(sentenceOf(memory));
      const said = this.terms.reduce((sum, { weight }, at) => sum + (own[at] ? weight : 0), 0);
      const byWords = total === 0 ? 0 : said / total;
      const vector = this.lanes.get(key)?.vector ?? 0;
      const bears = Math.max(byWords, nearest === 0 ? 0 : vector / nearest);
      const { least, most } = STANDING;
      if (bears > 0) this.#add(key, { standing: least + (most - least) * bears });
    }
  }

  /** Memories up to two edges from the best, by the kind, strength and trust of each edge. */
  async edges(): Promise<void> {
    const best = this.#best[0]?.score ?? 1;
    const seeds = this.#best.slice(0, WALK_HITS);
    let frontier = new Map(seeds.map(({ key, score }) => [key, score / best]));
    const seen = new Set(frontier.keys());
    const walk = new EdgeWalk(this.#reader, this.#question.validAt, this.via);
    for (let hop = 1; hop <= HOPS && frontier.size > 0; hop += 1) {
      const gained = await walk.step(frontier);
      for (const key of seen) gained.delete(key);
      const reached = [...gained].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
      const keys = reached.slice(0, REACHED).map(([key]) => key);
      if (hop < HOPS && this.#reader.isFar) await walk.readAhead(keys.slice(0, WALK_HITS));
      await this.#load(keys);
      const shown = keys.filter((key) => this.memories.has(key));
      for (const key of shown) this.#add(key, { graph: gained.get(key) ?? 0 });
      for (const key of keys) seen.add(key);
      // What may not be shown is not walked through either.
      frontier = new Map(shown.slice(0, WALK_HITS).map((key) => [key, gained.get(key) ?? 0]));
    }
  }

  /**
   * Loads memories that are not loaded yet; those that may not be shown stay unknown. `known` are the rows of
   * all of them, where they were read before.
   */
  async #load(keys: readonly string[], known?: ReadonlyMap<string, MemoryRow>): Promise<void> {
    const missing = [...new Set(keys)].filter(
      (key) => !this.memories.has(key) && !this.#refused.has(key),
    );
    const found = this.#reader.isAtHand
      ? this.#foundNow(missing, known)
      : await this.#found(missing, known);
    const verdicts = await this.#question.accept(found);
    for (const [at, memory] of found.entries()) {
      if (verdicts[at] === true) this.memories.set(keyString(memory.id), memory);
    }
    for (const key of missing) if (!this.memories.has(key)) this.#refused.add(key);
  }

  async #found(
    keys: readonly string[],
    known: ReadonlyMap<string, MemoryRow> | undefined,
  ): Promise<readonly FoundMemory[]> {
    const ids = keys.map(keyBytes);
    const rows = known ? keys.map((key) => known.get(key)) : await this.#reader.memoryRows(ids);
    const wanted = rows.map((row) => (this.#isWanted(row) ? row : undefined));
    return (await this.#reader.memories(ids, wanted)).flatMap((memory) => memory ?? []);
  }

  /** The same, memory by memory, where that waits for nobody. */
  #foundNow(
    keys: readonly string[],
    known: ReadonlyMap<string, MemoryRow> | undefined,
  ): readonly FoundMemory[] {
    const found: FoundMemory[] = [];
    for (const key of keys) {
      const id = keyBytes(key);
      const row = known === undefined ? this.#reader.rowNow(id) : known.get(key);
      const memory = this.#isWanted(row) ? this.#reader.memoryNow(id, row) : undefined;
      if (memory !== undefined) found.push(memory);
    }
    return found;
  }

  #isWanted(row: MemoryRow | undefined): row is MemoryRow {
    return row !== undefined && this.#question.lifecycles.includes(row.lifecycle);
  }

  #add(key: string, lane: LaneScores): void {
    const known = this.lanes.get(key);
    this.lanes.set(key, known === undefined ? lane : { ...known, ...lane });
  }
}
