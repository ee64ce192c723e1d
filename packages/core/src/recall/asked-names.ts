/**
 * What a question names, and where that leads: subjects and titles, slots, and those who speak. What stands under which
 * name is given, except for slots.
 *
 * The walk along names goes from the best hits to what they name, and to what names them. A memory reached this way counts
 * by how good the hit was, how rare the name is, how much of what the hit says of the question stands beside the name,
 * and how much it says of the words that the hit left open: in "the mayor of the town where X was born" the
 * page of X explains one half, and the page of the town, which X's page names beside "born", the other. One
 * step only: two-step walks were measured and gave nothing.
 *
 * Slots: every stretch of the question's words that could be the name of one is looked up in the index. Of each name the
 * rows are given, the first few, in the order of the names. Most names are no slots, and a store may have none: where a read
 * waits for nobody the names are gone through in the order of their keys, and those that lie before the next slot there is
 * are passed by.
 *
 * Speakers: whom of those who speak a question names, whose words a memory is, and which turns ask somebody something. A
 * speaker is asked about when the question holds a word of their name. Speakers are known by the memories that words
 * found; whoever turns up later, beside those or by meaning, is judged by the same words. What a speaker's words are worth
 * is decided elsewhere (`fuse.ts`, `evidence.ts`).
 *
 * Promise: all but `fewRows` is pure.
 */

import { sentenceOf } from "../engine/shapes.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { INDEX, indexPrefix, prefixRange } from "../kv/keyspace.js";
import { compareBytes, type KvRange, type KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { LIFECYCLES, type Lifecycle } from "../records/types.js";
import type { Token } from "../text/analyse.js";
import {
  type NameWords,
  nameMark,
  nameWords,
  type PlacedName,
  stretches,
  titleMark,
} from "../text/names.js";
import type { MarkedMemories, QuestionTerm } from "../text/text-evidence.js";
import { turnOf } from "./fuse.js";

/** A hit to walk from. */
export interface NamedHit {
  readonly key: string;
  /** Its score, 1 for the best. */
  readonly score: number;
  /** Own evidence, one value a term. */
  readonly own: Float64Array;
  readonly names: readonly NameWords[];
  /** Of each name, how much of what the hit says of the question stands beside it, 0 to 1; asked where it links. */
  readonly beside?: (name: number) => number;
  readonly title?: NameWords | undefined;
}

/** Hits that are walked from. */
export const WALK_HITS = 5;
/** A name that more memories share says nothing about any of them. */
const SHARED_MOST = 12;
/** What more memories are titled is a subject of many, not a title. */
const TITLED_MOST = 16;
/** A title that more memories name is no longer a link. */
export const NAMED_MOST = 100;

/**
 * What each kind of link is worth. `names` at 2 and not 1: two-hop questions gain .01 to .07 and talk loses
 * nothing; at 3 one set gains more and another loses. `leftOpen` of .6, .9, 1.2 and 1.5 gives MuSiQue's R@5 .625,
 * .628, .642, .652 and HotpotQA's .940, .950, .955, .960; talk is level. `always` of .2, .3 and .4 gives MuSiQue
 * .623, .625, .635, and more of it costs BEAM. `namedBy`, `shares` and `asked` are level from half to twice as much.
 */
const WEIGHTS = { names: 2, namedBy: 0.7, shares: 0.5, always: 0.3, leftOpen: 1.2, asked: 0.5 };

/**
 * What a name is worth with none, and beyond that with all, of the hit's words of the question beside it.
 * MuSiQue: evenly 1 gives R@5 .623 and R@10 .678, from .7 to 1.3 .625 and .687, from .4 to 1.6 .625 and .693.
 */
const BESIDE = { least: 0.4, span: 1.2 };

/**
 * Units of text on either side of a name whose words say why it is named: some 17 words. 30, 60 and 100 give
 * MuSiQue's R@5 .620, .625, .638 and HotpotQA's .940, .940, .950.
 */
const BESIDE_UNITS = 100;

/** The marks that walking from hits, and reading the question's own names, has to look up. */
export function marksOf(
  question: NameWords,
  hits: readonly NamedHit[],
  isCommon: (word: string) => boolean,
): readonly string[] {
  const marks = new Set(stretches(question, isCommon).map(titleMark));
  for (const { names, title } of hits) {
    for (const name of names) {
      marks.add(nameMark(name.join(" ")));
      for (const part of stretches(name, isCommon)) marks.add(titleMark(part));
    }
    if (title !== undefined && title.length > 0) marks.add(nameMark(title.join(" ")));
  }
  return [...marks];
}

/** For each name, the share of the question's words in its text, whose tokens are given, that stand beside it, by weight. */
export function saidBeside(
  terms: readonly QuestionTerm[],
  tokens: readonly Token[],
  names: readonly PlacedName[],
): readonly number[] {
  const weights = new Map(terms.map(({ term, weight }) => [term, weight]));
  const said = tokens.filter(({ word }) => weights.has(word));
  const sum = (words: ReadonlySet<string>): number =>
    [...words].reduce((total, word) => total + (weights.get(word) ?? 0), 0);
  const all = sum(new Set(said.map(({ word }) => word)));
  return names.map(({ places }) => {
    const near = said.filter(({ start, end }) =>
      places.some((place) => start < place.end + BESIDE_UNITS && end > place.start - BESIDE_UNITS),
    );
    return all === 0 ? 0 : sum(new Set(near.map(({ word }) => word))) / all;
  });
}

/** The memories whose title the question names, with what that is worth. */
export function askedByTitle(
  question: NameWords,
  marked: ReadonlyMap<string, MarkedMemories>,
  isCommon: (word: string) => boolean,
): Map<string, number> {
  const found = new Map<string, number>();
  for (const stretch of stretches(question, isCommon)) {
    const titled = marked.get(titleMark(stretch));
    if (titled === undefined || titled.count > TITLED_MOST) continue;
    for (const key of titled.keys) found.set(key, WEIGHTS.asked);
  }
  return found;
}

/** The memories one step from a hit along names, with the strength of the link, 0 to 1. */
export function linksOf(
  hit: NamedHit,
  marked: ReadonlyMap<string, MarkedMemories>,
  isCommon: (word: string) => boolean,
): ReadonlyMap<string, number> {
  const links = new Map<string, number>();
  const link = (keys: readonly string[], weight: number): void => {
    for (const key of keys) {
      if (key !== hit.key) links.set(key, Math.max(links.get(key) ?? 0, weight));
    }
  };
  for (const [at, name] of hit.names.entries()) {
    const told = (): number => BESIDE.least + BESIDE.span * (hit.beside?.(at) ?? 0.5);
    for (const part of stretches(name, isCommon)) {
      const titled = marked.get(titleMark(part));
      if (titled === undefined || titled.count > TITLED_MOST) continue;
      const named = marked.get(nameMark(part))?.count ?? 1;
      link(titled.keys, (told() * WEIGHTS.names) / Math.sqrt(Math.max(1, named)));
    }
    const shared = marked.get(nameMark(name.join(" ")));
    if (shared !== undefined && shared.count >= 2 && shared.count <= SHARED_MOST) {
      link(shared.keys, (told() * WEIGHTS.shares) / shared.count);
    }
  }
  const named = hit.title === undefined ? undefined : marked.get(nameMark(hit.title.join(" ")));
  if (named !== undefined && named.count <= NAMED_MOST) {
    link(named.keys, WEIGHTS.namedBy / Math.sqrt(Math.max(1, named.count)));
  }
  return links;
}

/**
 * What the walk gives each memory it reaches. `evidenceOf` is asked for memories that were reached;
 * one it does not know says nothing of the question.
 */
export function walkNames(
  terms: readonly QuestionTerm[],
  hits: readonly NamedHit[],
  links: readonly ReadonlyMap<string, number>[],
  evidenceOf: (key: string) => Float64Array | undefined,
): Map<string, number> {
  const gained = new Map<string, number>();
  for (const [at, hit] of hits.entries()) {
    const open = terms.map(({ weight }, term) => ((hit.own[term] ?? 0) > 0 ? 0 : weight));
    const most = open.reduce((sum, weight) => sum + weight, 0) / 2;
    for (const [key, strength] of links[at] ?? []) {
      const evidence = evidenceOf(key);
      const said = open.reduce((sum, weight, term) => sum + weight * (evidence?.[term] ?? 0), 0);
      const answer = most === 0 ? 0 : Math.min(1, said / most);
      const gain = hit.score * strength * (WEIGHTS.always + WEIGHTS.leftOpen * answer);
      gained.set(key, (gained.get(key) ?? 0) + gain);
    }
  }
  return gained;
}

/** Of the memories that links lead to, those with the strongest, at most so many. */
export function strongestOf(
  hits: readonly NamedHit[],
  links: readonly ReadonlyMap<string, number>[],
  most: number,
): readonly string[] {
  const strength = new Map<string, number>();
  for (const [at, hit] of hits.entries()) {
    for (const [key, weight] of links[at] ?? []) {
      strength.set(key, (strength.get(key) ?? 0) + hit.score * weight);
    }
  }
  const order = [...strength].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return order.slice(0, most).map(([key]) => key);
}

/** Memories of one slot that are looked at. */
const EACH = 4;

/** Where the memories stand that hold a slot which a question names. */
export function slotRanges(
  question: string,
  lifecycles: readonly Lifecycle[],
  isCommon: (word: string) => boolean,
): readonly KvRange[] {
  const names = stretches(nameWords(question), isCommon).slice(0, LIMITS.queryWords);
  return names.flatMap((name) =>
    lifecycles.map((lifecycle) => {
      const slot = Buffer.from(name.replaceAll(" ", "_"), "utf8");
      const { code } = LIFECYCLES[lifecycle];
      return prefixRange(indexPrefix("index", INDEX.slot, code, slot), EACH);
    }),
  );
}

/** The rows of ranges that do not overlap, most of them empty; of a range given twice those of one alone. */
export async function fewRows(
  reader: Pick<Reader, "isAtHand" | "ranges">,
  ranges: readonly KvRange[],
): Promise<readonly (readonly KvRow[])[]> {
  // A round trip takes longer than all the looks, and whoever sees a part reads by rules of their own.
  if (!reader.isAtHand || ranges.length < 2) return reader.ranges(ranges);
  const order = ranges.map((_, at) => at);
  order.sort((a, b) => compareBytes(at(ranges, a).gte, at(ranges, b).gte));
  const end = at(ranges, order.at(-1) ?? 0).lt;
  const found: (readonly KvRow[])[] = ranges.map(() => []);
  let next = at(ranges, order[0] ?? 0).gte;
  for (const place of order) {
    const range = at(ranges, place);
    if (compareBytes(range.lt, next) <= 0) continue;
    const [rows = []] = await reader.ranges([{ ...range, lt: end }]);
    const beyond = rows.findIndex(({ key }) => compareBytes(key, range.lt) >= 0);
    found[place] = beyond < 0 ? rows : rows.slice(0, beyond);
    if (beyond >= 0) next = rows[beyond]?.key ?? next;
    else if (rows.length < range.limit) next = end;
  }
  return found;
}

function at(ranges: readonly KvRange[], place: number): KvRange {
  return ranges[place] as KvRange;
}

/** One of those who speak, whom a question names. */
interface AskedSpeaker {
  readonly speaker: string;
  /** The words of the question that are their name. */
  readonly words: ReadonlySet<string>;
}

/** The one speaker whom a question names; `undefined` when it names none, or several. */
export function askedSpeaker(
  question: ReadonlySet<string>,
  speakers: ReadonlyMap<string, readonly string[]>,
): AskedSpeaker | undefined {
  const named = [...speakers].flatMap(([speaker, name]): AskedSpeaker[] => {
    const words = new Set(name.filter((word) => question.has(word)));
    return words.size === 0 ? [] : [{ speaker, words }];
  });
  return named.length === 1 ? named[0] : undefined;
}

const QUESTION_MARK = /[?？؟]/u;
const HOLDS_A_WORD = /[\p{L}\p{N}]/u;

/** Whether a turn asks another person something: what comes next is most likely their answer. */
export function asksSomebody(memory: FoundMemory): boolean {
  const turn = turnOf(memory);
  // Where people talk with an assistant, questions are answered at length, and seldom by what is asked for later.
  if (turn?.speaker === undefined || turn.role !== "user") return false;
  return QUESTION_MARK.test(turn.content);
}

/** Whether a turn is what another person said than the one who spoke before. */
export function isReplyTo(reply: FoundMemory | undefined, asking: FoundMemory): boolean {
  const turn = reply && turnOf(reply);
  return turn?.role === "user" && turn.speaker !== turnOf(asking)?.speaker;
}

/** Those who speak, as far as a question is concerned. */
export class Speakers {
  readonly #question: ReadonlySet<string>;
  readonly #tokensOf: (text: string) => readonly Token[];
  /** The words of each speaker's name. */
  readonly #names = new Map<string, readonly string[]>();
  readonly #asked: AskedSpeaker | undefined;
  readonly #nameWords: ReadonlySet<string>;

  constructor(
    question: ReadonlySet<string>,
    found: readonly FoundMemory[],
    tokensOf: (text: string) => readonly Token[],
  ) {
    this.#question = question;
    this.#tokensOf = tokensOf;
    for (const memory of found) this.#nameOf(memory);
    this.#asked = askedSpeaker(question, this.#names);
    this.#nameWords = new Set([...this.#names.values()].flat());
  }

  /** Whether a word is, or is part of, the name of somebody who speaks. */
  isName(word: string): boolean {
    return this.#nameWords.has(word);
  }

  /** Whether a memory is what somebody said whom the question names. */
  isSpoken(memory: FoundMemory): boolean {
    return this.#nameOf(memory).some((word) => this.#question.has(word));
  }

  /** Whether a memory is what somebody else said than the one whom the question names. */
  isAside(memory: FoundMemory): boolean {
    const asked = this.#asked;
    const speaker = turnOf(memory)?.speaker;
    if (asked === undefined || speaker === undefined || speaker === asked.speaker) return false;
    return !this.#wordsOf(sentenceOf(memory)).some((word) => asked.words.has(word));
  }

  /**
   * A question without the name of the one who speaks: that says whose words are asked for, and would be near to
   * every turn that greets them. With the name LoCoMo's R@10 falls from .81 to .73 where meaning counts 1.
   */
  withoutName(question: string): string {
    const name = this.#asked?.words;
    if (name === undefined) return question;
    let rest = "";
    let from = 0;
    for (const { word, start, end } of this.#tokensOf(question)) {
      if (!name.has(word)) continue;
      rest += question.slice(from, start);
      from = end;
    }
    rest += question.slice(from);
    return HOLDS_A_WORD.test(rest) ? rest : question;
  }

  #nameOf(memory: FoundMemory): readonly string[] {
    const speaker = turnOf(memory)?.speaker;
    if (speaker === undefined) return [];
    const known = this.#names.get(speaker);
    if (known !== undefined) return known;
    const name = this.#wordsOf(speaker);
    this.#names.set(speaker, name);
    return name;
  }

  #wordsOf(text: string): readonly string[] {
    return this.#tokensOf(text).map(({ word }) => word);
  }
}
