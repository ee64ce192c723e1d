/** Queries taken apart, and the words of a memory that answer them. */
import { describe, expect, test } from "vitest";
import { isWellFormed } from "../codec/text.js";
import { LIMITS } from "../limits.js";
import { Analyser } from "./analyse.js";
import { holdsPhrase, parseQuery, snippetOf } from "./query.js";

const english = await Analyser.load("english");

function snippet(text: string | readonly string[], query: string): string {
  const texts = typeof text === "string" ? [text] : text;
  return snippetOf(english, texts, new Set(parseQuery(english, query).words));
}

describe("queries", () => {
  test.each([
    { text: "what runs on the port?", words: ["run", "port"], phrases: [] },
    { text: "the and of", words: ["the", "and", "of"], phrases: [] },
    { text: '"red eye" flights', words: ["red", "eye", "flight"], phrases: [["red", "eye"]] },
    { text: "“red eye” flights", words: ["red", "eye", "flight"], phrases: [["red", "eye"]] },
    {
      text: 'say "the end" twice',
      words: ["the", "end", "say", "twice"],
      phrases: [["the", "end"]],
    },
    { text: 'an "unbalanced quote', words: ["unbalanc", "quot"], phrases: [] },
    { text: '"" "!!" word', words: ["word"], phrases: [] },
    { text: "How many books, and for how much?", words: ["book"], phrases: [] },
    { text: "run running runs", words: ["run"], phrases: [] },
    { text: "What's Tom's blood group?", words: ["tom", "blood", "group"], phrases: [] },
    {
      text: "Who’s the man that doesn't like rain?",
      words: ["man", "doesnt", "like", "rain"],
      phrases: [],
    },
  ])("$text", ({ text, words, phrases }) => {
    const parsed = parseQuery(english, text);
    expect(parsed.words).toEqual(words);
    expect(parsed.phrases).toEqual(phrases);
    expect(parsed.required).toEqual(phrases.flat());
  });

  test("in French what an apostrophe joins is judged word by word", async () => {
    const french = await Analyser.load("french");
    const { words } = parseQuery(french, "Où est l’avion d'Anne, et qu'est-ce que j'ai vu ?");
    expect(words).toEqual(["avion", "anne", "vu"]);
  });

  test("in Chinese and Japanese what asks and what says nothing is left out", () => {
    expect(parseQuery(english, "我的工作是什么？").words).toEqual(["的工", "工作", "作是"]);
    expect(parseQuery(english, "猫几岁了？").words).toEqual(["猫", "岁了"]);
    expect(parseQuery(english, "几乎每天").words).toEqual(["几乎", "乎每", "每天"]);
    expect(parseQuery(english, "どの順番ですか？").words).toEqual(["順番"]);
    // Nothing else is left of it.
    expect(parseQuery(english, "我的").words).toEqual(["我的"]);
  });

  test("only so many different words count", () => {
    const text = Array.from({ length: 1000 }, (_, at) => `word${at}`).join(" ");
    expect(parseQuery(english, text).words).toHaveLength(LIMITS.queryWords);
    expect(parseQuery(english, `"${text}"`).required).toHaveLength(LIMITS.queryWords);
  });

  test("a phrase is words next to each other, in order", () => {
    expect(holdsPhrase(["a", "b", "c"], ["b", "c"])).toBe(true);
    expect(holdsPhrase(["a", "b", "c"], ["a", "c"])).toBe(false);
    expect(holdsPhrase(["a", "b"], ["b", "a"])).toBe(false);
    expect(holdsPhrase(["a"], ["a", "b"])).toBe(false);
  });
});

describe("snippets", () => {
  test("found words are marked as the text has them", () => {
    expect(snippet("The auth-service runs on port 8080.", "what run 8080")).toBe(
      "The auth-service [runs] on port [8080].",
    );
    expect(snippet("Ada's café, at noon", "cafe ada")).toBe("[Ada's] [café], at noon");
  });

  test("a long text is cut around the words that answer", () => {
    const long = `${"before ".repeat(30)}the needle lies here ${"after ".repeat(30)}`;
    const cut = snippet(long, "needle");
    expect(cut).toMatch(/^…before .*the \[needle\] lies here.* after…$/);
    expect(cut.split(" ")).toHaveLength(12);
  });

  test("the window with most of the words wins", () => {
    const text = `one ${"filler ".repeat(20)}one two three ${"filler ".repeat(20)}two`;
    expect(snippet(text, "one two three")).toContain("[one] [two] [three]");
  });

  test("the first text that holds most of the words is shown", () => {
    expect(snippet(["nothing here", "a summary of sailing"], "sailing")).toBe(
      "a summary of [sailing]",
    );
    expect(snippet(["found by a tag only", "travel"], "travel")).toBe("[travel]");
    expect(snippet(["nothing at all"], "absent")).toBe("nothing at all");
  });

  test("characters are never cut in two, and pairs that overlap become one mark", () => {
    expect(snippet("私は東京都に住む", "東京都")).toContain("[東京都]");
    const flags = "🇵🇹👩‍👩‍👧".repeat(300);
    expect(isWellFormed(snippet(flags, "x"))).toBe(true);
    expect(isWellFormed(snippet("𠮷".repeat(600), "𠮷𠮷"))).toBe(true);
  });

  test("white space becomes one space, and nothing else changes", () => {
    expect(snippet("a [b]\n\n  c\t<d>", "c")).toBe("a [b] [c] <d>");
  });
});
