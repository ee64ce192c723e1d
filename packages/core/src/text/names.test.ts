/**
 * What counts as a name, in which form, and that no text makes it slow.
 */
import { describe, expect, test } from "vitest";
import { nameOfTitle, namesIn, placedNames, stretches } from "./names.js";

const COMMON = new Set(["the", "what", "did", "she", "in", "of", "and"]);
const isCommon = (word: string): boolean => COMMON.has(word);
const names = (text: string): string[] => namesIn(text, isCommon).map((words) => words.join(" "));

describe("names in a text", () => {
  test.each([
    ["Ada Lovelace met Charles Babbage.", ["ada lovelace", "charles babbage"]],
    ["What did Joanna see in Whispering Falls?", ["joanna", "whispering falls"]],
    ["The Tower of London and the Bank of England", ["tower of london", "bank of england"]],
    ["Ada's brother-in-law likes C.", ["ada"]],
    ["Café Müller in Málaga", ["cafe muller", "malaga"]],
    ["the World Cup 2022 final", ["world cup 2022"]],
    ["nothing here is named", []],
    ["我住在波尔图", []],
    ["Ada, Ada and ADA", ["ada"]],
  ])("%s", (text, expected) => {
    expect(names(text)).toEqual(expected);
    expect(placedNames(text, isCommon).map(({ words }) => words.join(" "))).toEqual(expected);
  });

  test("each place of a name is given, also after the last new one that counts", () => {
    const text = "Ada met Bo, and ADA left.";
    const placed = placedNames(text, isCommon);
    expect(
      placed.map(({ places }) => places.map(({ start, end }) => text.slice(start, end))),
    ).toEqual([["Ada", "ADA"]]);
    const many = Array.from({ length: 64 }, (_, at) => `Name${at},`).join(" ");
    const last = placedNames(`${many} Name3, Other, Name3`, isCommon);
    expect(last).toHaveLength(64);
    expect(last[3]?.places).toHaveLength(2);
  });

  test("a long list of names ends", () => {
    const text = Array.from({ length: 500 }, (_, at) => `Name${at},`).join(" ");
    expect(names(text)).toHaveLength(64);
  });

  test("hostile runs of capitals take no time to speak of", () => {
    expect(names("A ".repeat(30_000))).toHaveLength(1);
    expect(names("of the ".repeat(10_000))).toEqual([]);
  });

  test("a title loses its remark", () => {
    expect(nameOfTitle("Mercury (planet)")).toEqual(["mercury"]);
  });

  test("stretches leave out short and common single words", () => {
    expect(stretches(["the", "red", "mercury"], isCommon)).toEqual([
      "the red",
      "the red mercury",
      "red mercury",
      "mercury",
    ]);
  });
});
