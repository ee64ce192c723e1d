/**
 * What sentences are for, by a table of sentences in every language that is given.
 */
import { describe, expect, test } from "vitest";
import { isStanding, questionShape } from "./asking-words.js";

describe("a question that asks for all of something", () => {
  test.each([
    "Which books have I read?",
    "What kinds of music does she like?",
    "How many times did we go to Porto?",
    "List the trips I took.",
    "Tell me all the places we visited",
    "Welche Bücher habe ich gelesen?",
    "Wie oft war ich in Porto?",
    "¿Cuáles son mis libros?",
    "¿Cuántas veces fuimos a Oporto?",
    "Quels livres ai-je lus ?",
    "Combien de fois sommes-nous allés à Porto ?",
    "我读过哪些书？",
    "我们去过波尔图多少次？",
    "What are my hobbies?",
    "Which people did I meet?",
    "Name all restaurants",
    "every city I've lived in",
    "Who are my friends?",
    "What are Ada's favourite books?",
    "¿Qué libros leí?",
    "¿Quiénes son mis amigos?",
    "Was für Haustiere habe ich?",
    "Welche Städte habe ich besucht?",
    "Welche Sprachen spreche ich?",
    "In welchen Städten habe ich gewohnt?",
    "Wer sind meine Freunde?",
    "Qui sont mes amis ?",
    "我读了什么书？",
    "我有什么爱好？",
    "我都去过哪里？",
    "どんな本を読みましたか？",
    "何回ポルトに行きましたか？",
    "趣味は何ですか？",
    "読んだ本をすべて教えて",
  ])("%s", (question) => {
    expect(questionShape(question)).toEqual({ gathers: true, inOrder: false });
  });

  test.each([
    "In which order did I visit the towns?",
    "What happened, in order?",
    "In welcher Reihenfolge war ich dort?",
    "¿En qué orden visité las ciudades?",
    "Dans quel ordre ai-je visité les villes ?",
    "我按什么顺序去的？",
    "Tell me my jobs, first to last",
    "What came first, the flat or the dog?",
    "Was kam zuerst?",
    "Meine Reisen, von der ersten bis zur letzten",
    "¿Qué fue primero?",
    "Mes voyages, du premier au dernier",
    "どの順番で訪れましたか？",
  ])("in its order: %s", (question) => {
    expect(questionShape(question)).toEqual({ gathers: true, inOrder: true });
  });

  test.each([
    "Where does Ada live?",
    "What does he do?",
    "Which class was it?",
    "Who called in order to complain?",
    "Wo wohnt Ada?",
    "¿Dónde vive Ada?",
    "Où habite Ada ?",
    "她住在哪里？",
    "Welche Farbe mag ich?",
    "Welche Blutgruppe habe ich?",
    "Welche Nummer hat Ada?",
    "Was für ein Auto fahre ich?",
    "What are you doing this weekend?",
    "What do I do every day?",
    "¿Qué haces los lunes?",
    "¿Qué quieres hoy?",
    "Quelle est ma couleur préférée ?",
    "我最喜欢什么颜色？",
    "我什么时候搬了家？",
    "妹はどこに住んでいますか？",
    "好きな色は何ですか？",
  ])("but not: %s", (question) => {
    expect(questionShape(question)).toEqual({ gathers: false, inOrder: false });
  });
});

describe("what shall hold for every answer", () => {
  test.each([
    "Always format dates as day, month, year.",
    "Thanks. Please never book me a red-eye.",
    "From now on, answer in French.",
    "Antworte immer auf Deutsch.",
    "Responde en breve. Siempre cita tus fuentes.",
    "Réponds toujours en français.",
    "请总是用中文回答。",
  ])("%s", (text) => {
    expect(isStanding(text)).toBe(true);
  });

  test.each([
    "Never mind.",
    "I have always liked trains.",
    "She never came back.",
    "Ich gehe immer zu Fuß.",
    "我住在波尔图。",
    `Always. ${"x".repeat(2000)}`,
  ])("but not: %s", (text) => {
    expect(isStanding(text)).toBe(false);
  });
});
