/**
 * What a model's cosines mean: how near it puts texts that speak of the same in other words, and texts
 * that have nothing to do with each other.
 *
 * Every model has a scale of its own: one puts unrelated texts at 0.05, another at 0.7. So nothing above
 * compares a cosine with a constant; it asks `closenessOf`, which is 0 at what is usual between unrelated
 * texts and 1 at what is usual between a question and its answer. Measured once for a model, when it is
 * first asked, on the pairs below. A model that does not tell them apart (a stub for tests, another
 * language) is taken at its word: its cosines are used as they are.
 */
import { dot } from "./distance.js";
import type { Embedder } from "./embedder.js";

/** The usual cosines of a model. */
export interface Calibration {
  readonly unrelated: number;
  readonly related: number;
}

/** A model whose two usual cosines are nearer than this does not tell texts apart. */
const APART_LEAST = 0.05;
/** Cosines as they are. */
export const UNCALIBRATED: Calibration = { unrelated: 0, related: 1 };

/** Questions with an answer in other words; each answer is unrelated to every other question. */
export const PAIRS: readonly (readonly [question: string, answer: string])[] = [
  ["What do I do for a living?", "Since May I have been a welder at the shipyard"],
  ["Which pet lives with us?", "The kitten shredded the curtains again"],
  ["Where is my apartment?", "Our home is on the fourth floor near the harbour in Bergen"],
  ["What am I allergic to?", "Walnuts give me hives and a swollen tongue"],
  ["When was I born?", "My birthday is the second of August"],
  ["Which sport do I practise?", "Tennis on Tuesdays is the best part of my week"],
  ["How do I get to the office?", "I take the 42 bus every morning"],
  ["What medicine do I need?", "The doctor prescribed two tablets of ibuprofen a day"],
  ["Who is my spouse?", "Henrik and I got married nine years ago"],
  ["What musical instrument can I play?", "I have been taking cello lessons since I was six"],
  ["How much money do I make?", "They pay me 3,200 euros a month before tax"],
  ["Which language am I studying?", "Portuguese verbs still confuse me after a year of classes"],
  ["What was wrong with the car?", "The mechanic replaced the alternator and the brake pads"],
  ["Where did we go on holiday?", "Two weeks in Crete, mostly on the beach"],
  ["What did I cook for the guests?", "Everyone asked for a second plate of the lasagna"],
  ["Why did the build fail?", "The compiler stopped at a missing semicolon"],
  ["Which book am I reading?", "I am halfway through a novel about a lighthouse keeper"],
  ["What are my children called?", "My son Milo and my daughter Freya start school soon"],
  ["How is my father's health?", "Dad came out of hospital after the heart operation"],
  ["What do I drink in the morning?", "No day begins without a double espresso"],
  ["What phone do I use?", "I dropped my new Pixel and cracked the screen"],
  ["Which university did I attend?", "I studied physics in Uppsala and graduated in 2011"],
  ["What is growing in the garden?", "The tomatoes and beans are finally ripe"],
  ["When is the meeting with the client?", "We see the customer on Friday at ten"],
];

/** Measures a model. */
export async function calibrate(embedder: Embedder): Promise<Calibration> {
  const vectors = await embedder.embed(PAIRS.flat());
  let related = 0;
  let unrelated = 0;
  for (let question = 0; question < PAIRS.length; question += 1) {
    for (let answer = 0; answer < PAIRS.length; answer += 1) {
      const [a, b] = [vectors[2 * question], vectors[2 * answer + 1]];
      if (a === undefined || b === undefined) return UNCALIBRATED;
      if (question === answer) related += dot(a, b);
      else unrelated += dot(a, b);
    }
  }
  related /= PAIRS.length;
  unrelated /= PAIRS.length * (PAIRS.length - 1);
  return related - unrelated < APART_LEAST ? UNCALIBRATED : { related, unrelated };
}

/** A cosine on the model's own scale: 0 is unrelated, 1 is a question and its answer; it may be beyond. */
export function closenessOf({ unrelated, related }: Calibration, cosine: number): number {
  return (cosine - unrelated) / (related - unrelated);
}
