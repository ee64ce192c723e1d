/**
 * Which text of a memory is searched.
 *
 * A document is what a memory says while it stands as one entry left it: its sentence or content, its
 * summary, what its stored forms say beyond that, its tags, its kind and its slot. Of a turn it is the speaker
 * and the content; that it is a turn says nothing. Open rivals of a conflict are searched together
 * with the current version, so that a memory is found by each of the things it may say.
 *
 * How text becomes words is left to `analyse.ts`.
 */
import { type Data, primaryText } from "../records/data.js";
import type { Head, Version } from "../records/memory-record.js";
import type { Analyser } from "./analyse.js";
import {
  type NameWords,
  nameMark,
  nameOfTitle,
  namesIn,
  STANDING_MARK,
  titleMark,
} from "./names.js";
import { isStanding } from "./question-shape.js";

/** The bodies of a memory that are searched, the current one first. */
export interface DocumentSource {
  readonly head: Pick<Head, "type" | "kind" | "slot" | "tags" | "turn">;
  readonly bodies: readonly Pick<Version, "data" | "forms">[];
}

/** Calls `each` with every word of a document. */
export function eachDocumentWord(
  analyser: Analyser,
  source: DocumentSource,
  each: (word: string) => void,
): void {
  for (const body of source.bodies) {
    const texts = bodyTexts(source, body);
    for (const text of texts) analyser.eachWord(text, each);
    eachNewWord(analyser, texts, formTexts(source, body, texts), each);
  }
  for (const tag of source.head.tags) analyser.eachWord(tag, each);
  const { kind, turn } = source.head;
  if (kind !== undefined && turn === undefined) analyser.eachWord(kind, each);
  if (source.head.slot !== undefined) {
    analyser.eachWord(source.head.slot.replaceAll("_", " "), each);
  }
  eachMark(analyser, source, each);
}

/** What a document is titled, what it names, and whether it says what shall always hold: terms of the index, but no words. */
function eachMark(
  analyser: Analyser,
  { bodies, head }: DocumentSource,
  each: (mark: string) => void,
): void {
  const isCommon = (word: string): boolean => analyser.isPlainStopWord(word);
  if (bodies.some(({ data }) => isRule(head, data))) each(STANDING_MARK);
  for (const { data } of bodies) {
    const title = titleOf(data);
    if (title !== undefined) each(titleMark(title.join(" ")));
    for (const name of namesIn(primaryText(head.type, data), isCommon)) {
      each(nameMark(name.join(" ")));
    }
  }
}

/** Whether a memory tells what shall hold for every answer: a constraint, or what the user said so. */
function isRule({ type, turn }: DocumentSource["head"], data: Data): boolean {
  if (type === "constraint") return true;
  if (type !== "note" && type !== "preference") return false;
  if (turn !== undefined && textMember(data, "role") !== "user") return false;
  return isStanding(primaryText(type, data));
}

/** A title has at most so many words; a longer summary is a sentence. */
const TITLE_WORDS = 10;

/** What a memory is titled: its title, name or subject, or a summary short enough to be one. */
export function titleOf(data: Data): NameWords | undefined {
  for (const member of ["title", "name", "subject", "summary"]) {
    const title = textMember(data, member);
    const words = title === undefined ? [] : nameOfTitle(title);
    if (words.length > 0 && words.length <= TITLE_WORDS) return words;
  }
  return undefined;
}

/** The texts of a document, whole: what phrases are looked for in and snippets are cut from. */
export function documentTexts(source: DocumentSource): readonly string[] {
  const { tags, kind, slot, turn } = source.head;
  const bodies = source.bodies.flatMap((body) => {
    const texts = bodyTexts(source, body);
    return [...texts, ...formTexts(source, body, texts)];
  });
  const labels = [
    ...(kind === undefined || turn !== undefined ? [] : [kind]),
    ...(slot === undefined ? [] : [slot.replaceAll("_", " ")]),
  ];
  return [...bodies, ...tags, ...labels];
}

/** What the words of a form add to those of the texts; a form repeats most of its memory. */
function eachNewWord(
  analyser: Analyser,
  texts: readonly string[],
  forms: readonly string[],
  each: (word: string) => void,
): void {
  if (forms.length === 0) return;
  const known = new Set<string>();
  for (const text of texts) analyser.eachWord(text, (word) => known.add(word));
  for (const form of forms) {
    analyser.eachWord(form, (word) => {
      if (known.has(word)) return;
      known.add(word);
      each(word);
    });
  }
}

function bodyTexts({ head }: DocumentSource, { data }: Pick<Version, "data">): readonly string[] {
  const text = primaryText(head.type, data);
  if (head.turn !== undefined) {
    const speaker = textMember(data, "speaker");
    return speaker === undefined ? [text] : [speaker, text];
  }
  const summary = textMember(data, "summary");
  return summary === undefined || summary === text ? [text] : [text, summary];
}

function textMember(data: Data, name: string): string | undefined {
  const value = (data as { readonly [name: string]: unknown })[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The stored forms that say something else than the text, or than the text cut short. */
function formTexts(
  { head }: DocumentSource,
  { forms }: Pick<Version, "forms">,
  texts: readonly string[],
): readonly string[] {
  if (head.turn !== undefined) return [];
  const { short, medium } = forms;
  const both = short === medium ? [short] : [short, medium];
  return both.filter((form) => !texts.some((text) => isStartOf(form, text)));
}

function isStartOf(form: string, text: string): boolean {
  if (form === text) return true;
  return form.endsWith("…") && text.startsWith(form.slice(0, -1));
}
