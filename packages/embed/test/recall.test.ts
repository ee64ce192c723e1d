/** Recall with the model that comes along: scores mean the same in a store of one memory and of hundreds. */
import { type Embedder, open, type RecallHit } from "@cortex-memory/core";
import { expect, test } from "vitest";
import { local } from "../src/index.js";

const PEOPLE = ["Tom", "Ines", "Yusuf", "Marta", "Olof", "Priya", "Hugo", "Wanda", "Kenji", "Rosa"];
const DEEDS = [
  "repaired the roof of the barn",
  "sold an old motorbike",
  "painted the fence green",
  "missed the train to Leeds",
  "is learning to play chess",
  "ordered forty chairs for the hall",
  "won a prize for photography",
  "forgot an umbrella in the cinema",
  "planted three apple trees",
  "broke a window with a football",
];
/** What is told besides; a tenth of it is about each person, and a tenth about each deed. */
const OTHERS = Array.from({ length: 298 }, (_, at) => {
  const [person, deed] = [PEOPLE[at % 10], DEEDS[Math.floor(at / 10) % 10]];
  return `${person} ${deed}${at < 100 ? "" : ` in ${1990 + Math.floor(at / 100)}`}`;
});
/** Every size from 1 to 50, and stores in which meaning counts less and less beside words. */
const SIZES = [...Array.from({ length: 50 }, (_, at) => at + 1), 80, 120, 160, 220, 300];

/** Questions of which the first two are answered, and the scores that their first hit may have. */
const ASKED = [
  { question: "Where does Ada live?", answer: "Ada lives in Porto", least: 1.1, most: 1.6 },
  { question: "Do I have any allergies?", answer: "Peanuts make me ill", least: 0.5, most: 1.6 },
  { question: "Which currency is used in Japan?", answer: undefined, least: 0, most: 0.9 },
];

/** What a score is said to be: the lanes' sum, weighed as the page of recall says, times trust and use. */
function addedUp({ why: { lanes, trust, salience } }: RecallHit): number {
  const { slot = 0, time = 0, ...whole } = lanes;
  const sum = Object.values(whole).reduce((total, value = 0) => total + value, 0);
  return (sum + 1.2 * slot + 0.4 * time) * trust * (0.9 + 0.2 * salience);
}

test("a score means the same among 1 memory and among 300, and what nothing answers scores low and is weak", async () => {
  await using memory = await open("memory:", { actor: "ada", embedder: local() });
  const told = ASKED.flatMap(({ answer }) => answer ?? []);
  const texts = [...told, ...OTHERS];
  let size = 0;
  for (const next of SIZES) {
    const page = texts.slice(size, next);
    await memory.batch(page.map((text) => ({ write: { type: "note", text } })));
    await memory.embedPending();
    size = next;
    for (const { question, answer, least, most } of ASKED) {
      const where = `${question} among ${size}`;
      const isTold = answer !== undefined && texts.indexOf(answer) < size;
      const { hits, weak } = await memory.recall(question);
      for (const hit of hits) expect(hit.score, where).toBeCloseTo(addedUp(hit), 9);
      if (isTold) expect(hits[0]?.text, where).toBe(answer);
      expect(hits[0]?.score ?? 0, where).toBeGreaterThanOrEqual(isTold ? least : 0);
      expect(hits[0]?.score ?? 0, where).toBeLessThan(isTold ? most : 0.9);
      // What is told in other words may be near or not; the words of the first question are clear.
      if (answer === told[0]) expect(weak, where).toBe(false);
      if (!isTold) expect(weak, where).toBe(true);
    }
  }
});

/** The local model on another scale: what all texts share moves every cosine up and leaves their order. */
function lifted(lift: number): Embedder {
  const model = local();
  const raised = (vector: Float32Array): Float32Array => {
    const length = Math.hypot(1, lift);
    return Float32Array.from([...vector, lift], (value) => value / length);
  };
  return {
    model: `lifted-${lift}`,
    dimensions: model.dimensions + 1,
    embed: async (texts) => (await model.embed(texts)).map(raised),
  };
}

test("a model whose cosines lie elsewhere finds the same, and is as sure of it", async () => {
  const answers: unknown[] = [];
  for (const embedder of [local(), lifted(1), lifted(2)]) {
    await using memory = await open("memory:", { actor: "ada", embedder });
    const texts = [...ASKED.flatMap(({ answer }) => answer ?? []), ...OTHERS.slice(0, 40)];
    await memory.batch(texts.map((text) => ({ write: { type: "note", text } })));
    await memory.embedPending();
    const told = [];
    for (const { question } of ASKED) {
      const { hits, weak } = await memory.recall(question);
      told.push({ question, weak, best: hits.slice(0, 2).map(({ text }) => text) });
    }
    answers.push(told);
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

/** What a small store of one person holds, beside what a test adds. */
const FEW = [
  "Work is stressful this month, the bridge has to be inspected",
  "We rent a small flat above a bakery",
  "She has just started at her new school",
  "I gave up coffee two weeks ago",
  "My knees hurt after the half marathon",
];

test("among few texts the slot that a question names is first, and what it was before is found", async () => {
  await using memory = await open("memory:", { actor: "ada", embedder: local() });
  await memory.batch(FEW.map((text) => ({ write: { type: "note", text } })));
  for (const text of ["Ada is with Ridgeway", "Ada is with Hale and Pike"]) {
    await memory.write({ type: "fact", slot: "employer", text });
  }
  const now = await memory.recall("Who is my employer?");
  expect(now.hits[0]).toMatchObject({
    text: "Ada is with Hale and Pike",
    why: { lanes: { slot: 1 } },
  });
  expect(now.weak).toBe(false);
  const before = await memory.recall("Who was my employer before?");
  expect(before.hits.slice(0, 2).map(({ text }) => text)).toContain("Ada is with Ridgeway");
});

test("a slot whose name is but a part of the question does not displace what is meant", async () => {
  await using memory = await open("memory:", { actor: "ada", embedder: local() });
  await memory.batch(FEW.map((text) => ({ write: { type: "note", text } })));
  await memory.write({ type: "fact", slot: "name", text: "The user is called Ada" });
  await memory.write({ type: "note", text: "We adopted a greyhound, his name is Biscuit" });
  const { hits } = await memory.recall("What is the name of my dog?");
  expect(hits[0]?.text).toContain("Biscuit");
  expect(hits[1]?.why.lanes.slot).toBeLessThan(0.8);
});

test("among few texts what holds every word of a question is not lost behind what is somewhat near", async () => {
  await using memory = await open("memory:", { actor: "ada", embedder: local() });
  const others = [
    "I moved to Bristol with Imogen in June",
    "I've been learning the cello since January",
    "I finished reading Piranesi yesterday, brilliant",
    "The vet says the dog needs drops twice a day",
    "Imogen's mother visits us for Christmas",
    "I ran ten kilometres along the river",
    "The mechanic wants 640 pounds for the clutch",
    "I can't stand cilantro",
    "Our daughter was born in March",
  ];
  await memory.batch([...FEW, ...others].map((text) => ({ write: { type: "note", text } })));
  await memory.write({ type: "fact", text: "Tomas works for Halden and Pike" });
  const { hits } = await memory.recall("Where do I work?");
  expect(hits.slice(0, 2).map(({ text }) => text)).toContain("Tomas works for Halden and Pike");
});

test("among few texts meaning says how sure an answer is, beside words as well", async () => {
  await using memory = await open("memory:", { actor: "ada", embedder: local() });
  const talks = [
    ["I drive an old Skoda, and the clutch is going.", "The mechanic wants 640 pounds for it."],
    ["I finished reading Piranesi yesterday, brilliant.", "Next on my pile is The Overstory."],
    ["I read Klara and the Sun on the train to Leeds.", "A bit slow but moving."],
    ["My knees hurt after the half marathon.", "I have to rest for a few days."],
    ["We adopted a greyhound from the shelter.", "The vet says he needs drops twice a day."],
  ];
  for (const [at, said] of talks.entries()) {
    const turns = said.map((content) => ({ role: "user" as const, content }));
    await memory.remember(turns, { session: `talk-${at}` });
  }
  expect((await memory.recall("In what order did I read my books?")).weak).toBe(false);
  expect((await memory.recall("How many films did I see?")).weak).toBe(true);
  expect((await memory.recall("Who painted the fence?")).weak).toBe(true);
});
