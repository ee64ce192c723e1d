/**
 * The walk along names: from the best hits to what they name, and to what names them.
 *
 * Promise: pure; what stands under which name is given. A memory reached this way counts by how good
 * the hit was, how rare the name is, how much of what the hit says of the question stands beside the name,
 * and how much it says of the words that the hit left open: in "the mayor of the town where X was born" the
 * page of X explains one half, and the page of the town, which X's page names beside "born", the other. One
 * step only: two-step walks were measured and gave nothing.
 */

import { type NameWords, nameMark, stretches, titleMark } from "../text/names.js";
import type { MarkedMemories, QuestionTerm } from "../text/text-evidence.js";

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
