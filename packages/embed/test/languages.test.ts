/**
 * Recall with the model that comes along, in languages that it does not know: nothing that the other lanes find is
 * lost by it, and it is no surer of what nothing answers.
 */
import { open } from "@cortex-memory/core";
import { describe, expect, test } from "vitest";
import { type LocalEmbedder, local } from "../src/index.js";

interface Talk {
  readonly language: "none" | "german" | "spanish" | "french";
  /** A question and what answers it; everything said is in the store, whichever is asked. */
  readonly told: readonly (readonly [question: string, said: string])[];
  readonly untold: readonly string[];
}

const TALKS: { readonly [name: string]: Talk } = {
  chinese: {
    language: "none",
    told: [
      ["我妹妹住在哪里？", "我妹妹住在杭州。"],
      ["我最喜欢的颜色是什么？", "我最喜欢的颜色是蓝色。"],
      ["我养了什么宠物？", "我养了一只黑猫，叫墨墨。"],
      ["我对什么过敏？", "我对虾过敏。"],
      ["我在哪家公司上班？", "我在一家出版公司上班。"],
      ["我的生日是哪天？", "我的生日是十月九号。"],
      ["我每天几点起床？", "我每天六点起床跑步。"],
      ["我爸爸做什么工作？", "我爸爸是木匠，工作很忙。"],
      ["我在学哪种乐器？", "我在学二胡这种乐器。"],
      ["我去年去了哪里旅行？", "去年我去了敦煌旅行。"],
    ],
    untold: ["火车票多少钱？", "谁修好了屋顶？", "图书馆开门了吗？"],
  },
  japanese: {
    language: "none",
    told: [
      ["妹はどこに住んでいますか？", "妹は仙台に住んでいます。"],
      ["私の好きな色は何ですか？", "私の好きな色は緑です。"],
      ["何のペットを飼っていますか？", "白い犬のペットを飼っています。"],
      ["私は何にアレルギーがありますか？", "そばにアレルギーがあります。"],
      ["どこの会社で働いていますか？", "印刷の会社で働いています。"],
      ["誕生日はいつですか？", "誕生日は三月五日です。"],
      ["毎朝何時に起きますか？", "毎朝五時半に起きます。"],
      ["父の仕事は何ですか？", "父の仕事は大工です。"],
      ["どんな楽器を習っていますか？", "三味線という楽器を習っています。"],
    ],
    untold: ["切符はいくらですか？", "屋根を直したのは誰ですか？", "図書館は開いていますか？"],
  },
  korean: {
    language: "none",
    told: [
      ["내 여동생은 어디에 살아?", "내 여동생은 전주에 살아."],
      ["내가 좋아하는 색은 뭐야?", "내가 좋아하는 색은 보라색이야."],
      ["내가 키우는 동물은 뭐야?", "나는 고슴도치를 키우는 중이야, 작은 동물이지."],
      ["나는 무슨 알레르기가 있어?", "나는 복숭아 알레르기가 있어."],
      ["내 생일은 언제야?", "내 생일은 십일월 이일이야."],
      ["아버지의 직업은 뭐야?", "아버지의 직업은 목수야."],
      ["요즘 배우는 악기는 뭐야?", "요즘 배우는 악기는 가야금이야."],
    ],
    untold: ["기차표는 얼마야?", "누가 지붕을 고쳤어?", "도서관이 열었어?"],
  },
  german: {
    language: "german",
    told: [
      ["Wo wohnt meine Schwester?", "Meine Schwester wohnt in Rostock."],
      ["Welche Farbe mag ich am liebsten?", "Die Farbe, die ich am liebsten mag, ist Türkis."],
      ["Welches Haustier habe ich?", "Mein Haustier ist ein Igel namens Balthasar."],
      ["Wogegen bin ich allergisch?", "Ich bin gegen Haselnüsse allergisch."],
      ["Wann habe ich Geburtstag?", "Am neunten Oktober habe ich Geburtstag."],
      ["Was ist mein Vater von Beruf?", "Mein Vater ist Tischler von Beruf."],
      ["Welches Instrument lerne ich?", "Seit Mai lerne ich ein Instrument, die Oboe."],
      ["Wie heißt meine Zahnärztin?", "Meine Zahnärztin heißt Frau Köhler."],
    ],
    untold: ["Was kostet die Fahrkarte?", "Wer hat das Dach repariert?", "Ist die Bücherei offen?"],
  },
  spanish: {
    language: "spanish",
    told: [
      ["¿Dónde vive mi hermana?", "Mi hermana vive en Cuenca."],
      ["¿Cuál es mi color favorito?", "Mi color favorito es el turquesa."],
      ["¿Qué mascota tengo?", "Tengo una mascota, una tortuga vieja."],
      ["¿A qué soy alérgico?", "Soy alérgico a las avellanas."],
      ["¿Cuándo es mi cumpleaños?", "Mi cumpleaños es el nueve de octubre."],
      ["¿En qué trabaja mi padre?", "Mi padre trabaja de carpintero."],
      ["¿Qué instrumento estudio?", "Estudio un instrumento antiguo, el laúd."],
      ["¿Cómo se llama mi dentista?", "Mi dentista se llama Remedios."],
    ],
    untold: ["¿Cuánto cuesta el billete?", "¿Quién arregló el tejado?", "¿Abre hoy la biblioteca?"],
  },
  french: {
    language: "french",
    told: [
      ["Où habite ma sœur ?", "Ma sœur habite à Quimper."],
      ["Quelle est ma couleur préférée ?", "Ma couleur préférée est le turquoise."],
      ["Quel animal ai-je à la maison ?", "J'ai un animal à la maison, une vieille tortue."],
      ["À quoi suis-je allergique ?", "Je suis allergique aux noisettes."],
      ["Quand est mon anniversaire ?", "Mon anniversaire est le neuf octobre."],
      ["Quel est le métier de mon père ?", "Le métier de mon père est menuisier."],
      ["Quel instrument est-ce que j'apprends ?", "J'apprends un instrument, le hautbois."],
      ["Comment s'appelle ma dentiste ?", "Ma dentiste s'appelle Solange."],
    ],
    untold: [
      "Combien coûte le billet ?",
      "Qui a réparé le toit ?",
      "La bibliothèque est-elle ouverte ?",
    ],
  },
};

/** What is said of each question: the place of its answer, and whether the answer is weak. */
async function asked(
  { language, told, untold }: Talk,
  embedder: LocalEmbedder | undefined,
): Promise<{ readonly places: readonly number[]; readonly weak: readonly boolean[] }> {
  const model = embedder === undefined ? {} : { embedder };
  await using memory = await open("memory:", { actor: "ada", ...model });
  await memory.configure({ language });
  const turns = told.map(([, content]) => ({ role: "user" as const, content }));
  await memory.remember(turns, { session: "a" });
  const places: number[] = [];
  const weak: boolean[] = [];
  for (const [question, said] of told) {
    const answer = await memory.recall(question);
    places.push(answer.hits.findIndex(({ text }) => text.includes(said)));
    weak.push(answer.weak);
  }
  for (const question of untold) weak.push((await memory.recall(question)).weak);
  return { places, weak };
}

describe("with the model and without it", () => {
  test.each(Object.entries(TALKS))("the same is found, and as surely: %s", async (_, talk) => {
    const without = await asked(talk, undefined);
    expect(without.places).toEqual(talk.told.map(() => 0));
    expect(without.weak).toEqual([...talk.told.map(() => false), ...talk.untold.map(() => true)]);
    expect(await asked(talk, local())).toEqual(without);
  });

  test("what is told in English is found by meaning among texts that the model cannot read", async () => {
    await using memory = await open("memory:", { actor: "ada", embedder: local() });
    const talks = [TALKS.chinese, TALKS.japanese, TALKS.korean];
    const texts = talks.flatMap((talk) => talk?.told.map(([, said]) => said) ?? []);
    for (const text of [...texts, "Peanuts make me ill"])
      await memory.write({ type: "fact", text });
    await memory.embedPending();
    const { hits } = await memory.recall("Do I have any allergies?");
    expect(hits[0]?.text).toBe("Peanuts make me ill");
    expect(hits.map(({ why }) => Object.keys(why.lanes))).toEqual([["vector"]]);
  });
});

test.each([
  ["Where does my sister live?", true],
  ["Did Ines sell the motorbike?", true],
  ["Who is Jürgen Klöppel?", true],
  ["Allergies?", true],
  ["Zbigniew birthday", true],
  ["favourite schnauzer food", true],
  ["", true],
  ["Wo wohnt meine Schwester?", false],
  ["¿Dónde vive mi hermana?", false],
  ["Où habite ma sœur ?", false],
  ["Dove abita mia sorella?", false],
])("the model says whether it can read %j: %s", async (text, isRead) => {
  expect(await local().readsQuestion(text)).toBe(isRead);
});
