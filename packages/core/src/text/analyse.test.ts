/** Words: of which languages and scripts, where they stand, and text that wants to do harm. */
import fc from "fast-check";
import { algorithms } from "snowball-stemmers";
import { describe, expect, test } from "vitest";
import { utf8Length } from "../codec/text.js";
import { LANGUAGES, type Language } from "../contract/config.js";
import { LIMITS } from "../limits.js";
import { Analyser } from "./analyse.js";
import { isLanguage } from "./languages.js";

async function wordsOf(text: string, language: Language = "english"): Promise<readonly string[]> {
  return (await Analyser.load(language)).tokens(text).map(({ word }) => word);
}

describe("plain text", () => {
  test.each([
    ["auth-service", ["auth", "servic"]],
    ["topic:auth", ["topic", "auth"]],
    ["what runs?", ["what", "run"]],
    ["snake_case and CamelCase", ["snake", "case", "and", "camelcas"]],
    ["3.14 and 12,345", ["3", "14", "and", "12", "345"]],
    ["Ada's trip, the dogs' day", ["ada", "trip", "the", "dog", "day"]],
    ["don't, O'Brien and O’Brien", ["dont", "obrien", "and", "obrien"]],
    [
      "c++, C# and f# but not c++11 or a#b",
      ["c++", "c#", "and", "f#", "but", "not", "c", "11", "or", "a", "b"],
    ],
    ["node.js on .NET", ["node", "js", "on", "net"]],
    ["e-mail — “quoted” … text", ["e", "mail", "quot", "text"]],
  ])("%s", async (text, expected) => {
    expect(await wordsOf(text)).toEqual(expected);
  });

  test("the fast way and the slow way agree on every plain text", async () => {
    const analyser = await Analyser.load("english");
    const seed = 407;
    const plain = fc.string({ unit: fc.constantFrom(..."abcXY019 '+#-._\n’“") });
    fc.assert(
      fc.property(plain, (text) => {
        // A letter beyond ASCII in front sends the whole text the slow way.
        const slow = analyser.tokens(`é ${text}`).slice(1);
        const moved = slow.map(({ word, start, end }) => ({
          word,
          start: start - 2,
          end: end - 2,
        }));
        expect(moved).toEqual(analyser.tokens(text));
      }),
      { seed, numRuns: 500 },
    );
  });
});

describe("languages", () => {
  test.each([
    ["english", "buying", ["bought"]],
    ["english", "wrote", ["write", "written"]],
    ["english", "children", ["child"]],
    ["english", "walked", []],
    ["porter", "drunk", ["drink", "drank"]],
    ["german", "gegangen", ["gehen", "geht", "ging"]],
    ["french", "écrit", ["écrire", "écris"]],
    ["spanish", "fui", ["ir", "voy"]],
    ["german", "zog", ["ziehen", "gezogen", "umziehen", "umgezogen"]],
    ["french", "lus", ["lire", "lu", "lisait"]],
    ["spanish", "cuesta", ["costar"]],
    ["finnish", "bought", []],
  ] as const)("in %s, %s has other forms", async (language, word, forms) => {
    const analyser = await Analyser.load(language);
    const wordOf = (text: string): string => analyser.tokens(text)[0]?.word ?? "";
    expect(new Set(analyser.formsOf(wordOf(word)))).toEqual(new Set(forms.map(wordOf)));
  });

  test.each([
    ["english", "allergies", "allergic"],
    ["english", "historic", "history"],
    ["english", "baker", "bakery"],
    ["german", "Allergien", "allergisch"],
    ["german", "gewandert", "wandert"],
    ["german", "kochst du", "kochst"],
    ["german", "koche", "gekocht"],
    ["german", "gekocht", "kocht"],
    ["german", "heiraten", "geheiratet"],
    ["german", "Ärztin", "Arzt"],
    ["german", "Lehrer", "Lehrerin"],
    ["french", "allergie", "allergique"],
    ["spanish", "alergia", "alérgica"],
    ["spanish", "toco", "toqué"],
    ["spanish", "llegué", "llegar"],
    ["spanish", "empezar", "empecé"],
  ] as const)("in %s, %s and %s are of one family", async (language, word, other) => {
    const analyser = await Analyser.load(language);
    const [first = ""] = analyser.tokens(word).map(({ word }) => word);
    const [second = ""] = analyser.tokens(other).map(({ word }) => word);
    expect([first, ...analyser.formsOf(first)]).toContain(second);
  });

  test.each([
    ["english", "cats"],
    ["german", "2024"],
    ["german", "Ст"],
    ["finnish", "allergia"],
  ] as const)("in %s, %s has no family", async (language, word) => {
    const analyser = await Analyser.load(language);
    const [first = ""] = analyser.tokens(word).map(({ word }) => word);
    expect(analyser.formsOf(first)).toEqual([]);
  });

  test("the list is the library's, and none", () => {
    expect([...LANGUAGES].sort()).toEqual([...algorithms(), "none"].sort());
    expect(isLanguage("klingon")).toBe(false);
    expect(isLanguage(undefined)).toBe(false);
  });

  test.each<[Language, string, string]>([
    ["english", "connected", "connections"],
    ["english", "running", "runs"],
    ["english", "café", "cafe"],
    ["english", "résumé", "Resume"],
    ["english", "naïve", "NAIVE"],
    ["german", "Häuser", "Haus"],
    ["german", "Straße", "STRASSE"],
    ["german", "Läufer", "Laufers"],
    ["french", "mangé", "mangée"],
    ["french", "avions", "avion"],
    ["spanish", "canción", "canciones"],
    ["italian", "gatti", "gatto"],
    ["dutch", "opgaven", "opgave"],
    ["russian", "бегущий", "бегущая"],
    ["russian", "ёлка", "елка"],
    ["swedish", "flickorna", "flickor"],
    ["none", "Café", "cafe"],
    ["none", "Ελλάδα", "ελλαδα"],
  ])("%s: %s is found by %s", async (language, one, other) => {
    expect(await wordsOf(one, language)).toEqual(await wordsOf(other, language));
  });

  test("without a language endings stay", async () => {
    expect(await wordsOf("running runs", "none")).toEqual(["running", "runs"]);
  });

  test("where articles are elided an apostrophe separates", async () => {
    expect(await wordsOf("l'avion d’été qu'il", "french")).toEqual([
      "l",
      "avion",
      "d",
      "ete",
      "qu",
      "il",
    ]);
  });

  test("Russian й is not и, and marks of Hindi stay", async () => {
    expect(await wordsOf("й", "russian")).toEqual(["й"]);
    expect(await wordsOf("हिन्दी", "english")).toEqual(["हिन्दी"]);
  });

  test.each([
    ["Chinese", "東京都", ["東京", "京都"]],
    ["one character alone", "東 a", ["東", "a"]],
    ["Japanese, with a word of another script", "iPhoneを買う", ["iphon", "を買", "買う"]],
    ["half-width kana", "ｶﾞｷﾞ", ["ガギ"]],
    ["long vowels of Katakana", "コーヒー", ["コー", "ーヒ", "ヒー"]],
    ["Thai: a character takes its marks along", "ฉันรัก", ["ฉัน", "นรั", "รัก"]],
    ["Korean", "한국어 좋다", ["한국", "국어", "좋다"]],
  ])("%s", async (_, text, expected) => {
    expect(await wordsOf(text)).toEqual(expected);
  });
});

describe("places", () => {
  test("a word stands where the text has it, whatever composing did to its length", async () => {
    const text = "İstanbul ﬁne ½ ｶﾞ Ærø 東京都";
    const analyser = await Analyser.load("none");
    const pieces = analyser.tokens(text).map(({ start, end }) => text.slice(start, end));
    expect(pieces).toEqual(["İstanbul", "ﬁne", "½", "½", "ｶﾞ", "Ærø", "東京", "京都"]);
  });

  test("any text: words are short, without spaces, and in their places in order", async () => {
    const analyser = await Analyser.load("english");
    const seed = 408;
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        let last = 0;
        for (const { word, start, end } of analyser.tokens(text)) {
          expect(word).not.toBe("");
          expect(word).not.toMatch(/\s/);
          expect(utf8Length(word)).toBeLessThanOrEqual(LIMITS.wordBytes);
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          last = start;
        }
      }),
      { seed, numRuns: 500 },
    );
  });
});

describe("text that wants to do harm", () => {
  test.each(["", " ", "*", "\"'`", "((", "👋🏽", "\u0000", "\ud800", "-"])(
    "%j has no words",
    async (text) => {
      expect(await wordsOf(text)).toEqual([]);
    },
  );

  test("a megabyte of one letter is one short word", async () => {
    const words = await wordsOf("a".repeat(1_000_000), "none");
    expect(words).toEqual(["a".repeat(LIMITS.wordBytes)]);
  });

  test("more different words than are kept come out as the first time", async () => {
    const analyser = await Analyser.load("english");
    const text = Array.from({ length: 50_000 }, (_, at) => `x${at.toString(36)}y`).join(" ");
    const first = analyser.tokens(text).map(({ word }) => word);
    expect(new Set(first).size).toBe(50_000);
    expect(analyser.tokens(text).map(({ word }) => word)).toEqual(first);
  });
});
