/**
 * Marks of the fence as somebody writes them who wants them to pass: brackets and letters of other
 * scripts, full-width and mathematical ones, accents, joiners, characters that nobody sees and those
 * that turn text round; and a reader's eye for what looks like a mark.
 *
 * The eye is made from the table of looks itself, and knows nothing of how the fence is kept.
 */
import fc from "fast-check";
import { FENCE_CLOSE, FENCE_OPEN } from "../src/records/fence.js";

/** What may stand after a character without being seen as another one. */
const BETWEEN: readonly string[] = [
  ...["", "", "", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad"],
  // Bidi controls, fillers, selectors of variants, tags.
  ...["\u202e", "\u202c", "\u2066", "\u2069", "\u061c", "\u034f", "\u3164", "\u115f"],
  ...["\ufe0f", "\u{e0101}", "\u{e0041}"],
  // Accents and strokes that combine with what stands before.
  ...["\u0301", "\u0323", "\u0336", "\u20d2"],
];

const LOOKS: { readonly [letter: string]: readonly string[] } = {
  "<": [..."<＜‹«〈⟨《≪⋘❬❮❰⟪﹤˂⧼ᐸ", "\u2329"],
  ">": [...">＞›»〉⟩》≫⋙❭❯❱⟫﹥˃⧽ᐳ", "\u232a"],
  c: [..."cCсСϲϹｃ𝐜𝒸ⓒᴄćⅽ"],
  o: [..."oOоОοｏ𝐨𝗈ⓞᴏöº"],
  r: [..."rRгｒ𝐫ⓡʀŕ"],
  t: [..."tTтТτｔ𝐭ⓣᴛţ"],
  e: [..."eEеЕεｅ𝐞ℯⓔᴇé"],
  x: [..."xXхХχｘ𝐱ⓧẋⅹ"],
  m: [..."mMмМμｍ𝐦ⓜᴍṁⅿ"],
  y: [..."yYуУγｙ𝐲ⓨʏý"],
  "-": [..."-‐‑‒–—−－﹣_"],
};

const SEEN_AS = new Map(
  Object.entries(LOOKS).flatMap(([seen, looks]) =>
    looks.map((one): [string, string] => [one, seen]),
  ),
);
const UNSEEN = /[\s\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** A mark of the fence that looks like one, and may be one. */
export const lookAlike: fc.Arbitrary<string> = fc
  .constantFrom(FENCE_OPEN, FENCE_CLOSE)
  .chain((mark) => {
    const letters = [...mark].map((letter) => fc.constantFrom(...(LOOKS[letter] ?? [letter])));
    const between = [...mark].map(() => fc.constantFrom(...BETWEEN));
    return fc
      .tuple(fc.tuple(...letters), fc.tuple(...between))
      .map(([shown, hidden]) => shown.map((one, at) => one + hidden[at]).join(""));
  });

/** Whether a reader, who does not see what is unseen, would take something in a text for a mark. */
export function looksFenced(text: string): boolean {
  const seen = [...text.normalize("NFC").replace(UNSEEN, "")]
    .map((one) => SEEN_AS.get(one) ?? one)
    .join("");
  const plain = [...seen.normalize("NFKD").replace(UNSEEN, "")]
    .map((one) => SEEN_AS.get(one) ?? one)
    .join("");
  return [seen, plain].some((one) => /<cortex-memory|cortex-memory>/.test(one));
}
