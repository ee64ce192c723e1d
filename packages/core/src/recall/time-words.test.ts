/**
 * The times questions speak of, by a table of questions and one fixed present.
 */
import { describe, expect, test } from "vitest";
import { fitOf, timeWords } from "./time-words.js";

/** Wednesday, 14 June 2023, noon. */
const NOW = Date.UTC(2023, 5, 14, 12);
const DAY_MS = 86_400_000;

function shown(question: string): string[] {
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  return timeWords(question, NOW).periods.map(
    ({ fromMs, toMs }) => `${day(fromMs)}..${day(toMs - 1)}`,
  );
}

describe("the same in other languages", () => {
  test.each([
    ["Wo war ich gestern?", ["2023-06-13..2023-06-13"]],
    ["Was geschah am 3. März 2023?", ["2023-03-03..2023-03-03"]],
    ["Wen traf ich im Mai?", ["2023-05-01..2023-05-31", "2022-05-01..2022-05-31"]],
    ["Wer rief letzten Montag an?", ["2023-06-12..2023-06-12"]],
    ["Was war vor zwei Wochen?", ["2023-05-28..2023-06-03"]],
    ["¿Qué hice ayer?", ["2023-06-13..2023-06-13"]],
    ["¿Dónde estuve el 3 de marzo de 2023?", ["2023-03-03..2023-03-03"]],
    ["¿Quién llamó el lunes pasado?", ["2023-06-12..2023-06-12"]],
    ["¿Qué pasó hace diez días?", ["2023-06-03..2023-06-05"]],
    ["¿Qué planes tenía el año pasado?", ["2022-01-01..2022-12-31"]],
    ["Qu'ai-je acheté hier ?", ["2023-06-13..2023-06-13"]],
    ["Où étais-je le 3 mars 2023 ?", ["2023-03-03..2023-03-03"]],
    ["Qui a appelé lundi dernier ?", ["2023-06-12..2023-06-12"]],
    ["Il y a deux semaines", ["2023-05-28..2023-06-03"]],
    ["昨天我买了什么？", ["2023-06-13..2023-06-13"]],
    ["2023年3月3日我在哪里？", ["2023-03-03..2023-03-03"]],
    ["五月我见了谁？", ["2023-05-01..2023-05-31", "2022-05-01..2022-05-31"]],
    ["上周一谁打了电话？", ["2023-06-05..2023-06-05"]],
    ["两周前", ["2023-05-28..2023-06-03"]],
    ["去年的计划", ["2022-01-01..2022-12-31"]],
    // Words of one language that mean something else in another say nothing by themselves.
    ["Do we have mayo and mars bars?", []],
    ["Wir essen sehr gern", []],
  ])("%s", (question, periods) => {
    expect(shown(question)).toEqual(periods);
  });

  test.each([
    ["Wo wohnte Ada früher?", true],
    ["Arbeitet sie nicht mehr dort?", true],
    ["Wo wohnt Ada?", false],
    ["¿Dónde vivía antes?", true],
    ["¿Ya no trabaja allí?", true],
    ["¿Dónde vive Ada?", false],
    ["Où habitait-elle auparavant ?", true],
    ["Elle ne travaille plus ici ?", true],
    ["Où habite Ada ?", false],
    ["她以前住在哪里？", true],
    ["她不再在那里工作吗？", true],
    ["她住在哪里？", false],
  ])("%s asks for what was: %s", (question, past) => {
    expect(timeWords(question, NOW).past).toBe(past);
  });
});

describe("phrases that are easily taken for another", () => {
  /** Wednesday is the present; the Monday before it is the 12th. */
  test.each([
    ["What did I do the day before yesterday?", ["2023-06-12..2023-06-12"]],
    ["Was habe ich vorgestern gemacht?", ["2023-06-12..2023-06-12"]],
    ["Qu'ai-je fait avant-hier ?", ["2023-06-12..2023-06-12"]],
    ["¿Qué hice anteayer?", ["2023-06-12..2023-06-12"]],
    ["¿Qué hice antes de ayer?", ["2023-06-12..2023-06-12"]],
    ["前天我做了什么？", ["2023-06-12..2023-06-12"]],
    ["大前天我做了什么？", []],
    ["一昨日何をしましたか？", ["2023-06-12..2023-06-12"]],
    ["おととい何をした？", ["2023-06-12..2023-06-12"]],
    ["昨日何を買いましたか？", ["2023-06-13..2023-06-13"]],
    ["先週何をしましたか？", ["2023-06-01..2023-06-13"]],
    ["先週の月曜日に誰と会いましたか？", ["2023-06-05..2023-06-05"]],
    ["月曜日に誰と会いましたか？", ["2023-06-12..2023-06-12"]],
    ["月曜日の予定は何ですか？", []],
    ["三日前に何を食べましたか？", ["2023-06-10..2023-06-12"]],
    ["2023年5月3日に何をした？", ["2023-05-03..2023-05-03"]],
    ["Was ist hier los?", []],
    ["Wer wohnt hier?", []],
    ["Qui a appelé hier ?", ["2023-06-13..2023-06-13"]],
    ["What did I read this year?", ["2023-01-01..2023-12-31"]],
    ["Was habe ich dieses Jahr gelesen?", ["2023-01-01..2023-12-31"]],
    ["¿Qué leí este año?", ["2023-01-01..2023-12-31"]],
    ["Qu'ai-je lu cette année ?", ["2023-01-01..2023-12-31"]],
    ["今年我读了什么书？", ["2023-01-01..2023-12-31"]],
    ["What did I do on Monday?", ["2023-06-12..2023-06-12"]],
    ["What do I have to do on Monday?", []],
    ["When is the meeting on Monday?", []],
    ["Was habe ich am Montag gemacht?", ["2023-06-12..2023-06-12"]],
    ["Wer rief am Montag an?", ["2023-06-12..2023-06-12"]],
    ["Was habe ich am Montag vor?", []],
    ["¿Qué hice el lunes?", ["2023-06-12..2023-06-12"]],
    ["¿Qué tengo el lunes?", []],
    ["Qu'ai-je fait lundi ?", ["2023-06-12..2023-06-12"]],
    ["Qu'est-ce que j'ai lundi ?", []],
    ["周一我做了什么？", ["2023-06-12..2023-06-12"]],
    ["周一我要做什么？", []],
    ["What did I do over the weekend?", ["2023-06-10..2023-06-11"]],
    ["What did I do last weekend?", ["2023-06-10..2023-06-11"]],
    ["What will I do on the weekend?", []],
    ["Wo war ich letztes Wochenende?", ["2023-06-10..2023-06-11"]],
    ["Where did I go last summer?", ["2022-06-01..2022-08-31"]],
    ["Where did I ski last winter?", ["2022-12-01..2023-02-28"]],
    ["Wo war ich letzten Sommer?", ["2022-06-01..2022-08-31"]],
    ["¿Adónde fui el verano pasado?", ["2022-06-01..2022-08-31"]],
    ["Où suis-je allé l'été dernier ?", ["2022-06-01..2022-08-31"]],
    ["What was on 3 Jan 2023?", ["2023-01-03..2023-01-03"]],
    ["Who came on Sept. 5th, 2022?", ["2022-09-05..2022-09-05"]],
    ["trips in Sept", ["2022-09-01..2022-09-30", "2021-09-01..2021-09-30"]],
    ["What did Jan say?", []],
    ["Il y a sept jours", ["2023-06-06..2023-06-08"]],
    ["Was war am 4.3.2023?", ["2023-03-04..2023-03-04"]],
    ["Was war am 04.03.2023?", ["2023-03-04..2023-03-04"]],
    ["Was geschah am 3. April 2023?", ["2023-04-03..2023-04-03"]],
    ["in der zweiten Woche im November 2022", ["2022-11-08..2022-11-14"]],
    ["la última semana de febrero de 2024", ["2024-02-23..2024-02-29"]],
    ["le 1er mai 2023", ["2023-05-01..2023-05-01"]],
    // No month has such a day.
    ["what was on 2023-02-31?", []],
    ["Was war am 31.2.2023?", []],
    ["version 1.13.2023", []],
    ["May 45", []],
  ])("%s", (question, periods) => {
    expect(shown(question)).toEqual(periods);
  });
});

describe("the time a question speaks of", () => {
  test.each([
    ["what happened on 2022-03-04?", ["2022-03-04..2022-03-04"]],
    ["What did Joanna finish in January 2022?", ["2022-01-01..2022-01-31"]],
    ["where was I on 3 March 2023", ["2023-03-03..2023-03-03"]],
    ["where was I on March 3rd, 2023", ["2023-03-03..2023-03-03"]],
    ["which spot did she visit in May?", ["2023-05-01..2023-05-31", "2022-05-01..2022-05-31"]],
    ["in November, of which year?", ["2022-11-01..2022-11-30", "2021-11-01..2021-11-30"]],
    ["the second week of November 2022", ["2022-11-08..2022-11-14"]],
    ["the last week of February 2024", ["2024-02-23..2024-02-29"]],
    ["what did I buy yesterday?", ["2023-06-13..2023-06-13"]],
    ["who called last Monday?", ["2023-06-12..2023-06-12"]],
    ["who called last Wednesday?", ["2023-06-07..2023-06-07"]],
    ["what changed last week?", ["2023-06-01..2023-06-13"]],
    ["two weeks ago I met someone", ["2023-05-28..2023-06-03"]],
    ["10 days ago", ["2023-06-03..2023-06-05"]],
    ["trips in 2021", ["2021-01-01..2021-12-31"]],
    ["last year's plan", ["2022-01-01..2022-12-31"]],
  ])("%s", (question, periods) => {
    expect(shown(question)).toEqual(periods);
  });

  test.each([
    "what may happen if I march on?",
    "where do I live?",
    "room 2022 in the hotel",
    "",
    "我住在哪里",
  ])("names no time: %s", (question) => {
    expect(shown(question)).toEqual([]);
  });

  test.each([
    ["What did I do in the last three days?", 3],
    ["What have we talked about over the past two weeks?", 14],
    ["What did I do over the last few months?", 90],
    ["What happened in the last couple of days?", 2],
    ["What have I been doing lately?", 14],
    ["Was habe ich in den letzten Tagen gemacht?", 3],
    ["Was habe ich in den letzten zwei Wochen gemacht?", 14],
    ["Was ist in letzter Zeit passiert?", 14],
    ["¿Qué hice en los últimos cinco días?", 5],
    ["¿Qué he hecho últimamente?", 14],
    ["Qu'ai-je fait ces deux dernières semaines ?", 14],
    ["Qu'est-ce que j'ai fait récemment ?", 14],
    ["最近两周我做了什么？", 14],
    ["这几天我做了什么？", 3],
    ["最近我做了什么？", 14],
    ["この三日間に何をしましたか？", 3],
    ["最近何をしましたか？", 14],
  ])("the days until now, where nothing else is asked for: %s", (question, days) => {
    const { periods, alone } = timeWords(question, NOW);
    const [{ fromMs, toMs } = { fromMs: 0, toMs: 0 }] = periods;
    expect([alone, periods.length, (toMs - fromMs) / DAY_MS]).toEqual([true, 1, days + 1]);
    expect(toMs).toBeGreaterThan(NOW);
  });

  test.each([
    "Which book did I recently finish?",
    "How many miles did I run in the last three days?",
    "最近我买了什么书？",
  ])("narrows nothing beside other words: %s", (question) => {
    expect(timeWords(question, NOW)).toMatchObject({ periods: [], alone: false });
  });

  test.each([
    ["where did I live before Porto?", true],
    ["where did she used to work", true],
    ["what was the original plan, originally?", true],
    ["where do I live now?", false],
    ["Where did Ada use to live?", true],
    ["where didn't she use to go", true],
    ["what was my old number?", true],
    ["Ada's old flat", true],
    ["who did I work with back when I lived in Lyon?", true],
    ["does she work there anymore?", true],
    ["is that still so, or not any more?", true],
    ["what was the prior address", true],
    ["where did he live in those days?", true],
    ["what do I use to cook?", false],
    ["which tool did we pick? we use to build", false],
    ["how old is Ada?", false],
    ["a house that is 90 years old", false],
    ["the 5-year-old child", false],
    ["is she old enough to drive?", false],
    ["what is my number?", false],
  ])("asks about the past: %s", (question, past) => {
    expect(timeWords(question, NOW).past).toBe(past);
  });

  test("fits best inside, a little beside, not at all elsewhere", () => {
    const period = { fromMs: NOW, toMs: NOW + 30 * DAY_MS };
    expect(fitOf(NOW, period)).toBe(1);
    expect(fitOf(NOW + 30 * DAY_MS - 1, period)).toBe(1);
    const beside = fitOf(NOW - DAY_MS, period);
    expect(beside).toBeGreaterThan(0);
    expect(beside).toBeLessThan(0.5);
    expect(fitOf(NOW - 8 * DAY_MS, period)).toBe(0);
    expect(fitOf(NOW + 60 * DAY_MS, period)).toBe(0);
  });
});

test("of a long text its begin and its end say what is asked, and neither makes it slow", () => {
  const pasted = "What was said hier hier on Monday and 3 de May. ".repeat(2000);
  expect(shown(`${"so it is, ".repeat(9000)} What did I do the day before yesterday?`)).toEqual([
    "2023-06-12..2023-06-12",
  ]);
  expect(timeWords(pasted, NOW).periods.length).toBeGreaterThan(0);
});
