/**
 * Which text of a memory is searched.
 *
 * A document is what a memory says while it stands as one entry left it: its sentence or content, its
 * summary, what its stored forms say beyond that, its tags, its kind and its slot. Of a turn it is the speaker
 * and the content; that it is a turn says nothing. Open rivals of a conflict are searched together
 * with the current version, so that a memory is found by each of the things it may say.
 *
 * How text becomes words is left to `analyse.ts`.
 *
 * The searchable side of memories as the store holds them: their Head, their current body, and the
 * bodies of rivals that an open conflict left. Read in batches.
 */

import { decodeMemoryRow, decodePointer, type PartPointer } from "../history/pointers.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString, ownedPrefix, prefixRange, versionKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { Data } from "../records/data.js";
import {
  decodeMemoryRecord,
  type Head,
  primaryText,
  type Version,
} from "../records/memory-record.js";
import type { Analyser } from "./analyse.js";
import { isStanding } from "./asking-words.js";
import {
  type NameWords,
  nameMark,
  nameOfTitle,
  namesIn,
  STANDING_MARK,
  titleMark,
} from "./names.js";

/** The bodies of a memory that are searched, the current one first. */
export interface DocumentSource {
  readonly head: Pick<Head, "type" | "kind" | "slot" | "tags" | "turn">;
  readonly bodies: readonly Pick<Version, "data" | "forms">[];
}

/** Takes a word of a document, with what the analyser says of it. */
export type TakeWord = (word: string, start?: number, end?: number, piece?: number) => void;

/** Calls `each` with every word of a document. */
export function eachDocumentWord(analyser: Analyser, source: DocumentSource, each: TakeWord): void {
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
const TITLES = ["title", "name", "subject", "summary"] as const;

/** What a memory is titled: its title, name or subject, or a summary short enough to be one. */
export function titleOf(data: Data): NameWords | undefined {
  for (const member of TITLES) {
    const title = textMember(data, member);
    if (title === undefined) continue;
    const words = nameOfTitle(title);
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

/** Whose rivals are wanted. */
interface RivalsOf {
  readonly id: Bytes;
  readonly head: Pick<Head, "siblings">;
}

/** The bodies of open rivals, found by memory and version number. */
export class Rivals {
  readonly #bodies = new Map<string, Version>();

  /** Reads the rivals of all memories given. */
  static async read(reader: Reader, memories: readonly RivalsOf[]): Promise<Rivals> {
    const rivals = new Rivals();
    const wanted = memories.flatMap(({ id, head }) =>
      head.siblings.map((number) => ({ id, number })),
    );
    if (wanted.length === 0) return rivals;
    // Version 1 has no row of its own: it lies where the memory's first row points.
    const [rows, first] = await Promise.all([
      reader.getMany(wanted.map(({ id, number }) => versionKey(id, number))),
      reader.ranges(wanted.map(({ id }) => prefixRange(ownedPrefix("history", id), 1))),
    ]);
    const pointers = wanted.flatMap(({ id, number }, at): (PartPointer & { name: string })[] => {
      const [row, firstRow] = [rows[at], first[at]?.[0]?.value];
      const pointer =
        number > 1 ? row && decodePointer(row) : firstRow && decodeMemoryRow(firstRow);
      return pointer === undefined ? [] : [{ ...pointer, name: nameOf(id, number) }];
    });
    const bodies = await reader.records(pointers, decodeMemoryRecord);
    for (const [at, { name }] of pointers.entries()) {
      const version = bodies[at]?.record.version;
      if (version !== undefined) rivals.#bodies.set(name, version);
    }
    return rivals;
  }

  /** The bodies of a memory that are searched, the current one first. */
  bodies(memory: RivalsOf, current: Version): readonly Version[] {
    if (memory.head.siblings.length === 0) return [current];
    const { id, head } = memory;
    const others = head.siblings.flatMap((number) => this.#bodies.get(nameOf(id, number)) ?? []);
    return [current, ...others];
  }
}

function nameOf(id: Bytes, number: number): string {
  return `${keyString(id)}${number}`;
}

/** What is searched of memories as they were found. */
export async function sourcesOf(
  reader: Reader,
  found: readonly FoundMemory[],
): Promise<readonly DocumentSource[]> {
  const memories = found.map(({ id, head }) => ({ id, head: head.record.head }));
  const rivals = await Rivals.read(reader, memories);
  return found.map(({ id, head, body }) => {
    const { version } = body.record;
    const memory = { id, head: head.record.head };
    return {
      head: memory.head,
      bodies: version === undefined ? [] : rivals.bodies(memory, version),
    };
  });
}
