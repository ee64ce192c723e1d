/**
 * Recall of what questions ask for beyond one fact: all of something, an order, what always holds, in other
 * languages, and in a store in which everything names everything.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { openTestStore } from "../testing/fixtures.js";

describe("a question and its answer", () => {
  test.each([
    ["german", "Ich bin gegen Erdnüsse allergisch.", "Wogegen bin ich allergisch?"],
    [
      "german",
      "Meine Schwester heiratete in Graz.",
      "Wann hat meine Schwester geheiratet, und warum in Graz?",
    ],
    ["spanish", "Soy alérgica a los cacahuetes.", "¿A qué soy alérgica?"],
    ["spanish", "Mi hermana se casó en Vigo.", "¿Cuándo se casó mi hermana en Vigo?"],
    ["french", "Je suis allergique aux cacahuètes.", "À quoi suis-je allergique ?"],
    ["french", "Ma sœur s'est mariée à Gand.", "Quand ma sœur s'est-elle mariée à Gand ?"],
    ["none", "我对花生过敏。", "我对什么过敏？"],
    ["none", "我姐姐在波尔图结婚了。", "我姐姐什么时候在波尔图结婚了？"],
    ["none", "私はピーナッツアレルギーです。", "私は何のアレルギーですか？"],
    ["none", "姉はポルトで結婚しました。", "姉はいつポルトで結婚しましたか？"],
  ] as const)("in %s: %s", async (language, said, question) => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ language });
    const others = [
      "Das Wetter ist schön.",
      "El tren llega tarde.",
      "Le chat dort.",
      "今天很热。",
      "雨が降る。",
    ];
    const turns = [...others, said].map((content) => ({ role: "user" as const, content }));
    await memory.remember(turns, { session: "a" });
    const { hits, weak } = await memory.recall(question);
    expect(hits[0]?.text).toContain(said.slice(0, 8));
    expect(weak).toBe(false);
  });
});

describe("a word of a question and its irregular forms", () => {
  test.each([
    ["english", "I bought a cargo bike.", "What did I buy?", "We sell bikes."],
    ["english", "Paul ate a pho with tofu.", "What has Paul eaten?", "Paul cooks a lot."],
    ["english", "I write a novel about bees.", "What have I written?", "The novel was long."],
    ["german", "Ich ging mit Mira klettern.", "Mit wem bin ich gegangen?", "Mira bleibt hier."],
    ["french", "J'ai lu un roman sur les abeilles.", "Que lire ?", "Le roman était long."],
    ["spanish", "Hice una tarta de nueces.", "¿Qué he hecho?", "La tarta era grande."],
  ] as const)("in %s: %s", async (language, said, question, other) => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ language });
    for (const text of [other, said]) await memory.write({ type: "fact", text });
    const { hits, weak } = await memory.recall(question);
    expect(hits[0]?.text).toBe(said);
    expect(weak).toBe(false);
  });

  test.each([
    ["english", "I'm allergic to peanuts.", "Do I have any allergies?", "I like bread."],
    ["german", "Gegen Nüsse bin ich allergisch.", "Habe ich Allergien?", "Ich mag Brot."],
    ["german", "Ich habe Gulasch gekocht.", "Was kocht Jonas?", "Das Brot ist alt."],
    ["german", "Im Mai zog ich nach Halle.", "Wohin bin ich umgezogen?", "Halle ist schön."],
    ["german", "Meine Ärztin heißt Köhler.", "Wer ist mein Arzt?", "Köhler ist krank."],
    ["french", "Je suis allergique aux noix.", "Ai-je des allergies ?", "J'aime le pain."],
    ["french", "J'ai lu La Peste.", "Quels livres ai-je lus ?", "Le chat dort."],
    ["french", "Je travaille à Nantes.", "Quel est mon travail ?", "Nantes est belle."],
    ["spanish", "Soy alérgica al marisco.", "¿Tengo alguna alergia?", "Me gusta el pan."],
    ["spanish", "Ayer toqué el laúd.", "¿Qué instrumento toco?", "El pan es bueno."],
    ["spanish", "El billete costó veinte euros.", "¿Cuánto cuesta?", "El pan es bueno."],
  ] as const)("or another of its family, in %s: %s", async (language, said, question, other) => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ language });
    for (const text of [other, said]) await memory.write({ type: "fact", text });
    const { hits } = await memory.recall(question);
    expect(hits[0]?.text).toBe(said);
  });

  test("the form that was asked for stands above another", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "Ada wrote a play" });
    await memory.write({ type: "fact", text: "Bo can write plays" });
    await memory.write({ type: "fact", text: "Cy reads a play" });
    const { hits } = await memory.recall("Who wrote anything?");
    expect(hits.map(({ text }) => text)).toEqual(["Ada wrote a play", "Bo can write plays"]);
    // "Anything" asks, and is no word that an answer has to hold.
    expect(hits[0]?.why.coverage).toBe(1);
  });
});

describe("questions that ask for more than one thing", () => {
  const TOWNS = ["Vigo", "Graz", "Cork", "Brno", "Oslo", "Turin"];

  async function travelled(memory: Cortex): Promise<void> {
    for (const [at, town] of TOWNS.entries()) {
      // The newest visit is written first: the order of time is not the order of writing.
      const day = Date.UTC(2024, 11 - at, 3);
      await memory.remember(
        [
          { role: "user", content: `This month I visited ${town} by train.`, at: day },
          { role: "assistant", content: `How was the train to ${town}?`, at: day },
          { role: "user", content: "The train was late.", at: day },
        ],
        { session: `trip ${at}` },
      );
    }
  }

  test("get one hit for each thing before several for the first, and shorter ones", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await travelled(memory);
    const { hits } = await memory.recall("Which towns have I visited by train?", { limit: 6 });
    for (const town of TOWNS) expect(hits.some(({ text }) => text.includes(town))).toBe(true);
    // Fifty visits, each told at length: twenty are given whole otherwise.
    const told = "and then walked around its harbour, its market and its old walls ".repeat(6);
    for (let at = 0; at < 50; at += 1) {
      const content = `Visit ${at}: I visited town ${at} by train ${told}`;
      await memory.remember([{ role: "user", content }], { session: `long ${at}` });
    }
    const wide = await memory.recall("Which towns have I visited by train?", {
      budgetTokens: 9000,
    });
    const usual = await memory.recall("Where did the train go?", { budgetTokens: 9000 });
    expect(usual.hits).toHaveLength(20);
    expect(wide.hits).toHaveLength(40);
    const longest = (hits: typeof wide.hits): number =>
      Math.max(...hits.map(({ text }) => text.length));
    expect(longest(wide.hits)).toBeLessThanOrEqual(200);
    expect(longest(usual.hits)).toBeGreaterThan(400);
  });

  test("are told in the order of time where an order is asked for", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await travelled(memory);
    const question = "In which order did I visit the towns?";
    const { text } = await memory.recall(question, { limit: 6 });
    const told = TOWNS.filter((town) => text.includes(`visited ${town}`));
    const places = [...told].reverse().map((town) => text.indexOf(`visited ${town}`));
    expect(told.length).toBeGreaterThan(2);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  test("are told in the order of a conversation where all of it has one time", async () => {
    await using store = await openTestStore({ stepMs: 0 });
    const { memory } = store;
    const moved = (towns: readonly string[]) =>
      towns.map((town) => ({ role: "user" as const, content: `I moved to ${town} then.` }));
    await memory.remember(moved(["Vigo", "Graz", "Cork", "Brno"]), { session: "z" });
    await memory.write({ type: "fact", text: "I moved to Riga after that." });
    await memory.remember(moved(["Lund", "Bern"]), { session: "a" });
    const { hits, inOrder, text } = await memory.recall("In which order did I move?");
    const byId = new Map(hits.map((hit) => [hit.id, hit.text]));
    const told = inOrder?.map((id) => /to (\w+)/.exec(byId.get(id) ?? "")?.[1] ?? "") ?? [];
    expect(told).toEqual(["Vigo", "Graz", "Cork", "Brno", "Riga", "Lund", "Bern"]);
    const places = told.map((town) => text.indexOf(town));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect((await memory.recall("Where did I move?")).inOrder).toBeUndefined();
  });

  test("what the user said shall always hold is found for what it bears on", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await travelled(memory);
    const said = (content: string) => [{ role: "user" as const, content }];
    await memory.remember(said("Always write dates with the month first."), { session: "rules" });
    await memory.remember(said("I always write dates on my calendar."), { session: "chat" });
    const { hits } = await memory.recall("On which dates was I on a train?");
    const rule = hits.find(({ text }) => text.includes("month first"));
    expect(rule?.why.lanes.standing).toBeGreaterThan(0.5);
    expect(hits.indexOf(rule as (typeof hits)[number])).toBeLessThan(5);
    expect(hits.filter(({ why }) => why.lanes.standing !== undefined)).toHaveLength(1);
    const other = await memory.recall("What does Ada like to eat?");
    expect(other.hits.some(({ why }) => why.lanes.standing !== undefined)).toBe(false);
  });
});

describe("a store in which everything names everything", () => {
  const NOTES = 10_000;
  /** Names that are taken from one text are 64: of as many titles all can be named by every note. */
  const TITLES = 60;
  /** Named by every note as well, and by the one that answers. */
  const HUB = "Hubert";
  const note = (summary: string, content: string) => ({
    write: { type: "note" as const, data: { summary, content } },
  });

  async function asked(notes: readonly ReturnType<typeof note>[]) {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.batch(notes);
    await memory.batch([
      note(HUB, "Everybody knows him."),
      note("Ada", `Ada grew up in Quillby, near ${HUB}.`),
      note("Quillby", "Its mayor is Brindo Tarnix."),
    ]);
    let rows = 0;
    const onPlan = ({ rowsRead }: { readonly rowsRead: number }): void => {
      rows = rowsRead;
    };
    const question = "who is the mayor of the town where Ada grew up?";
    const { hits } = await memory.recall(question, { onPlan });
    return { rows, best: hits.slice(0, 3).map(({ text }) => text) };
  }

  test.each([
    // Every note names every title there is: 166 notes have each, and all 10,000 name all.
    ["share few titles and all name each other", (at: number) => at % TITLES, () => 0],
    // Every note has a title of its own and names as many others as a text may.
    ["have a title each and name the next sixty", (at: number) => at, (at: number) => at + 1],
  ])("10,000 notes that %s drown neither words nor a rare link", async (_, titleOf, namedFrom) => {
    const name = (at: number): string => `Person${at % NOTES}`;
    const { rows, best } = await asked(
      Array.from({ length: NOTES }, (_, at) => {
        const named = Array.from({ length: TITLES }, (_, more) => name(namedFrom(at) + more));
        return note(name(titleOf(at)), `Knows ${named.join(", ")} and ${HUB}.`);
      }),
    );
    expect(best.some((text) => text.includes("Ada grew up"))).toBe(true);
    expect(best.some((text) => text.includes("Brindo"))).toBe(true);
    // The work is bounded, whatever the store holds.
    expect(rows).toBeLessThan(2000);
  });

  test("80 notes with an edge between any two drown no edge that says more", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const keeper = note("keeper", "The lighthouse keeper writes letters.");
    const crowd = Array.from({ length: 80 }, (_, at) =>
      note(
        `crowd ${at}`,
        at < 4 ? `The lighthouse keeper writes letters, part ${at}.` : `Talk ${at}.`,
      ),
    );
    const { results } = await memory.batch([keeper, note("cousin", "Lives in Odessa."), ...crowd]);
    const ids = results.flatMap((result) => ("id" in result ? [result.id] : []));
    const [from = "", cousin = "", ...some] = ids;
    const edges = some.flatMap((one, at) =>
      some.slice(at + 1).map((to) => ({ link: { from: one, kind: "about", to } as const })),
    );
    await memory.batch([{ link: { from, kind: "about", to: cousin } }, ...edges]);
    let rows = 0;
    const { hits } = await memory.recall("To whom does the lighthouse keeper write letters?", {
      limit: 100,
      onPlan: ({ rowsRead }) => {
        rows = rowsRead;
      },
    });
    const graph = new Map(hits.map(({ id, why }) => [String(id), why.lanes.graph ?? 0]));
    const strongest = Math.max(...some.map((id) => graph.get(id) ?? 0));
    // Four of those who stand in the crowd are hits as good, and each of their 79 edges says little.
    expect(strongest).toBeGreaterThan(0);
    expect(graph.get(cousin)).toBeGreaterThan(3 * strongest);
    expect([...graph.values()].filter((share) => share > 0).length).toBeLessThanOrEqual(64);
    expect(rows).toBeLessThan(2000);
  });
});
