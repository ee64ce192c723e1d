/** A text that waits for its vector is given to the embedder once, however often and in whichever way is asked. */
import { expect, test } from "vitest";
import { type Embedder, hashEmbedder, open } from "../src/index.js";

/** A backlog that no single question does. */
const TEXTS = 300;

test("questions of every kind embed a waiting text once, writes between them included", async () => {
  const hash = hashEmbedder({ dimensions: 16 });
  const times = new Map<string, number>();
  const embedder: Embedder = {
    model: hash.model,
    dimensions: hash.dimensions,
    isQuick: true,
    embed: async (texts, signal) => {
      for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
      return hash.embed(texts, signal);
    },
    embedQuery: async (text) => (await hash.embed([text]))[0] ?? new Float32Array(),
  };
  await using memory = await open("memory:", { actor: "ada", embedder });
  const write = (at: number) => ({ type: "fact" as const, text: `Boat ${at} lies in the harbour` });
  await memory.batch(Array.from({ length: TEXTS }, (_, at) => ({ write: write(at) })));
  for (let round = 0; round < 12; round += 1) {
    await memory.recall(`where is boat ${round}?`);
    await memory.recall(`which boats lie there, ${round}?`, { by: "session" });
    await memory.find({ near: { text: `Boat ${round}` }, limit: 3 });
    await memory.search(`boat ${round}`);
    await memory.write(write(TEXTS + round));
  }
  // The rest is done behind the answers; somebody who waits for it shares the work.
  expect((await memory.embedPending()).lag).toBe(0);
  expect((await memory.recall("where are all the boats?")).notEmbedded).toBeUndefined();
  const written = [...times].filter(([text]) => text.startsWith("Boat "));
  expect(written).toHaveLength(TEXTS + 12);
  expect(written.filter(([, count]) => count !== 1)).toEqual([]);
});
