/** When two sentences say nearly the same, and when a small difference is another claim. */
import { describe, expect, test } from "vitest";
import type { Language } from "../contract/config.js";
import { overlap, restates, sayingOf, tellingWords } from "./alike.js";
import { Analyser } from "./analyse.js";

async function isRestated(a: string, b: string, language: Language = "english"): Promise<boolean> {
  const analyser = await Analyser.load(language);
  const [left, right] = [sayingOf(analyser, a), sayingOf(analyser, b)];
  return left.words.length <= right.words.length ? restates(left, right) : restates(right, left);
}

describe("restating", () => {
  test.each([
    ["Ada prefers window seats", "Ada prefers a window seat."],
    ["Ada prefers window seats", "ada prefers window seats"],
    ["Ada prefers the window seats", 'Ada prefers "window" seats'],
    ["Ada prefers window seats", "Ada always prefers window seats"],
    ["The billing service runs on Kubernetes", "The billing service now runs on Kubernetes"],
    ["The limit is 15 files", "The limit is 15 files each"],
    ["Uses C++ at work every day", "Uses C++ at work nearly every day"],
    ["我喜欢喝绿茶和咖啡", "我喜欢喝绿茶和咖啡呢"],
  ])("%s | %s", async (a, b) => {
    expect(await isRestated(a, b)).toBe(true);
    expect(await isRestated(b, a)).toBe(true);
  });

  test.each([
    // Another value in the place of one.
    ["User deploys on Fridays", "User now deploys on Mondays"],
    ["The limit is 15 files", "The limit is 16 files"],
    ["Uses C++ at work", "Uses C# at work"],
    ["Temperature was -5 in Oslo", "Temperature was 5 in Oslo"],
    ["The keys are in the drawer", "The keys are under the drawer"],
    ["The meeting starts at 10", "The meeting starts at 10:30"],
    // The sense turned round, or ended.
    ["Ada is allergic to nuts and milk", "Ada is not allergic to nuts and milk"],
    ["Ada likes green tea at night", "Ada doesn't like green tea at night"],
    ["Ada likes green tea at night", "Ada no longer likes green tea at night"],
    ["Ada eats fish on Fridays", "Ada only eats fish on Fridays"],
    ["Ada lives in Porto with Ben", "Does Ada live in Porto with Ben?"],
    // One more number or name.
    ["The room holds people comfortably", "The room holds 12 people comfortably"],
    ["Ada met Ben for lunch", "Ada met Ben and Carla for lunch"],
    // The same words in other places.
    ["Ada pays Ben every month", "Ben pays Ada every month"],
    // Too short, or too much beyond.
    ["likes tea", "likes tea"],
    ["Ada plays chess", "Ada plays chess against old friends whenever winter evenings get long"],
  ])("not: %s | %s", async (a, b) => {
    expect(await isRestated(a, b)).toBe(false);
    expect(await isRestated(b, a)).toBe(false);
  });

  test.each([
    ["german", "Ada trinkt morgens gern Kaffee", "Ada trinkt morgens nicht gern Kaffee"],
    ["french", "Ada boit souvent du café noir", "Ada ne boit pas souvent du café noir"],
    ["spanish", "Ada bebe mucho café negro", "Ada no bebe mucho café negro"],
    ["portuguese", "Ada bebe muito café preto", "Ada não bebe muito café preto"],
    ["russian", "Ада часто пьёт чёрный кофе", "Ада не часто пьёт чёрный кофе"],
  ] as const)("a negation in %s is another claim", async (language, a, b) => {
    expect(await isRestated(a, a, language)).toBe(true);
    expect(await isRestated(a, b, language)).toBe(false);
  });
});

test("overlap is the share of common words, of all words of both", async () => {
  const analyser = await Analyser.load("english");
  const words = (text: string) => tellingWords(analyser, text);
  expect(overlap(words("Ada deploys on Fridays"), words("Ada deployed on Friday"))).toBe(1);
  expect(overlap(words("Ada deploys daily"), words("Ada deploys weekly"))).toBe(0.5);
  expect(overlap(words("rivers"), words("chess"))).toBe(0);
  expect(overlap(words(""), words(""))).toBe(0);
});
