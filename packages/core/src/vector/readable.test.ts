/** Which texts a model reads, by the languages that it names and the letters of the text. */
import { expect, test } from "vitest";
import { open } from "../open.js";
import { checkEmbedder, type Embedder } from "./embedder.js";
import { readerOf } from "./readable.js";

test.each([
  [["en"], "Where does my sister live?", true],
  [["en"], "Où habite ma sœur ?", true],
  [["en"], "我妹妹住在哪里？", false],
  [["en"], "妹はどこに住んでいますか？", false],
  [["en"], "내 여동생은 어디에 살아?", false],
  [["en"], "Где живёт моя сестра?", false],
  [["en"], "أين تسكن أختي؟", false],
  [["en"], "मेरी बहन कहाँ रहती है?", false],
  [["en"], "น้องสาวของฉันอยู่ที่ไหน", false],
  // A name or a word in another script takes nothing away, and does not make a sentence readable.
  [["en"], "Who is 王小明, and where does he live?", true],
  [["en"], "What does 我妹妹 mean?", true],
  [["en"], "Docker 部署在哪里？", false],
  [["en"], "我用 Kubernetes 和 Docker 部署 microservices on AWS", true],
  [["en"], "12:30 – 14:00 🎉", true],
  [["en"], "", true],
  [["zh"], "我妹妹住在哪里？", true],
  [["zh"], "Where does my sister live?", false],
  [["en", "zh-Hant"], "Docker 部署在哪里？", true],
  [["ja"], "コーヒーは好き？", true],
  [["ko"], "내 여동생은 어디에 살아?", true],
  [["ru"], "Где живёт моя сестра?", true],
  [["sr-Latn"], "Где живёт моя сестра?", false],
  [["mul"], "Где живёт 我妹妹?", true],
  [undefined, "我妹妹住在哪里？", true],
] as const)("who knows %j reads %j: %s", (languages, text, isRead) => {
  expect(readerOf(languages)(text)).toBe(isRead);
});

const counting = (own: Partial<Embedder> = {}): Embedder & { readonly texts: string[] } => {
  const texts: string[] = [];
  return {
    model: "counting",
    dimensions: 2,
    ...own,
    texts,
    embed: async (some) => {
      texts.push(...some);
      return some.map(() => Float32Array.of(1, 0));
    },
  };
};

test("a text that the model cannot read gets no vector, and a question is answered without one", async () => {
  const embedder = counting({
    languages: ["en"],
    readsQuestion: (text) => !text.includes("secret"),
  });
  await using memory = await open("memory:", { actor: "ada", embedder });
  await memory.write({ type: "fact", text: "The tram runs all night" });
  await memory.write({ type: "fact", text: "电车整夜运行" });
  await memory.write({ type: "fact", text: "A secret tram" });
  expect(await memory.embedPending()).toMatchObject({ texts: 2, memories: 2, refused: 0, lag: 0 });
  for (const question of ["电车什么时候运行？", "the secret tram"]) {
    const { hits, notEmbedded } = await memory.recall(question);
    expect(hits.length).toBeGreaterThan(0);
    expect(hits.some(({ why }) => why.lanes.vector !== undefined)).toBe(false);
    expect(notEmbedded).toBeUndefined();
  }
  expect(embedder.texts).toEqual(["The tram runs all night", "A secret tram"]);
});

test.each(["en", 7, [], [7], ["xx-not a language"]])("%j are no languages", (languages) => {
  const broken = { ...counting(), languages } as unknown as Embedder;
  expect(() => checkEmbedder(broken)).toThrow("embedder.languages");
});

test("an embedder that fails to say whether it reads a question is at fault", async () => {
  const failing = counting({
    readsQuestion: () => {
      throw new Error("no table");
    },
  });
  await expect(checkEmbedder(failing).readsQuestion("a tram")).rejects.toMatchObject({
    code: "ERR_EMBEDDER",
  });
});
