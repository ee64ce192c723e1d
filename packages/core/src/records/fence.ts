/**
 * The fence around text that Cortex rendered for a prompt. What stands between the two lines came out
 * of memory and must not go back in as something that was said.
 *
 * Promises: text of memory that was made safe here can neither open nor close a fence, nor look as if it
 * did: by other brackets, by letters that look alike, by characters that nobody sees. What is cut to a
 * budget keeps its closing line. A mark that somebody only quotes swallows nothing of what they said.
 */
import { countTokens, truncateToTokens } from "./forms.js";

/** The line that opens rendered memory. */
export const FENCE_OPEN = "<<<cortex-memory";

/** The line that closes rendered memory. */
export const FENCE_CLOSE = "cortex-memory>>>";

/** Puts the fence around rendered text. */
export function fence(text: string): string {
  return `${FENCE_OPEN}\n${text}\n${FENCE_CLOSE}`;
}

/** Characters that turn text round or are not seen; joiners, which some scripts need, are not among them. */
const UNSEEN =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** What may stand between two characters of a mark without being noticed: blanks, accents, what is not shown. */
const BETWEEN = /[\s\u2800\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** The characters of a mark, each with those that look like it and that Unicode does not hold for the same. */
const ALIKE: { readonly [seen: string]: string } = {
  "<": "‹«〈⟨《≪⋘❬❮❰⟪˂⧼⦑ᐸ≤≦⩽≺⋖⪡⊰",
  ">": "›»〉⟩》≫⋙❭❯❱⟫˃⧽⦒ᐳ≥≧⩾≻⋗⪢⊱",
  c: "сᴄⲥ",
  o: "оοσօᴏⲟ",
  r: "гʀⲅ",
  t: "тτᴛⲧ",
  e: "еεᴇҽⲉ",
  x: "хχⲭ",
  m: "мμᴍⲙ",
  y: "уүγυʏⲩ",
  "-": "_‐‒–—―−⁃˗ーㅡ─━",
};
const SEEN_AS: ReadonlyMap<string, string> = new Map(
  Object.entries(ALIKE).flatMap(([seen, others]) =>
    Array.from(others, (other): [string, string] => [other, seen]),
  ),
);
const OTHERS = new RegExp(`[${[...SEEN_AS.keys()].join("")}]`, "gu");
const WORD = "cortex-memory";
const MARK = new RegExp(`(<*)${WORD}(>*)`, "g");

/** Text of these alone has nothing unseen in it and no bracket of a mark. */
const PLAIN = /^[\0-;=?-\x7f]*$/;

/** Text as a reader takes it who looks at shapes: one spelling for all that look alike, nothing between. */
function seenAs(text: string): string {
  return text
    .replace(/[ϲϹ]/g, "c")
    .normalize("NFKD")
    .replace(BETWEEN, "")
    .toLowerCase()
    .replace(OTHERS, (other) => SEEN_AS.get(other) ?? other);
}

/** Text in which no fence opens or closes, and nothing hides: unseen characters go, brackets of a mark become round. */
export function breakMarks(text: string): string {
  if (PLAIN.test(text)) return text;
  const shown = text.replace(UNSEEN, "");
  return seenAs(shown).includes(WORD) ? withoutMarks(shown) : shown;
}

/** Text that says the word of the marks, with the brackets beside it round. */
function withoutMarks(text: string): string {
  const characters = Array.from(text);
  // What each character is seen as, and for each part of that the place of its character.
  const seen = characters.map((one) => seenAs(one));
  const places = seen.flatMap((one, at) => Array.from({ length: one.length }, () => at));
  const kept: string[] = [];
  let from = 0;
  for (const { 0: mark, 1: opening, 2: closing, index } of seen.join("").matchAll(MARK)) {
    if (opening === "" && closing === "") continue;
    kept.push(...characters.slice(from, places[index]));
    kept.push(`${opening === "" ? "" : "("}${WORD}${closing === "" ? "" : ")"}`);
    from = (places[index + mark.length - 1] ?? characters.length) + 1;
  }
  return [...kept, ...characters.slice(from)].join("");
}

/** Text on one line, in which no fence opens or closes: a memory may say anything, and must not end its block. */
export function flatten(text: string): string {
  return breakMarks(text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")).trim();
}

/**
 * Content without fenced blocks. A block goes from the last opening mark before a closing one to that;
 * nothing that was rendered has a mark inside. A mark without the other is something that somebody
 * said, and stays with all that follows it.
 */
export function dropFenced(content: string): string {
  if (!content.includes(FENCE_OPEN)) return content;
  const kept: string[] = [];
  let from = 0;
  let opened: number | undefined;
  for (const { 0: mark, index } of content.matchAll(/<<<cortex-memory|cortex-memory>>>/g)) {
    if (mark === FENCE_OPEN) {
      opened = index;
    } else if (opened !== undefined) {
      kept.push(content.slice(from, opened));
      from = index + mark.length;
      opened = undefined;
    }
  }
  return from === 0 ? content : [...kept, content.slice(from)].join("").trim();
}

/** Rendered text cut to so many tokens. A block that the cut left open is closed, within the budget. */
export function cutToTokens(text: string, tokens: number): string {
  const cut = truncateToTokens(text, tokens);
  if (cut === text || !isOpen(cut)) return cut;
  const close = `\n${FENCE_CLOSE}`;
  for (let room = tokens - countTokens(close); room > 0; room -= 1) {
    const shorter = truncateToTokens(text, room);
    const closed = isOpen(shorter) ? shorter + close : shorter;
    if (countTokens(closed) <= tokens) return closed;
  }
  return "";
}

function isOpen(text: string): boolean {
  return text.lastIndexOf(FENCE_OPEN) > text.lastIndexOf(FENCE_CLOSE);
}
