/**
 * A process that writes, searches and keeps the text index. Each message asks for one thing and is
 * answered by one line; `{ folder }` comes first.
 *
 * - `write { texts }`: writes facts in one batch; answers their ids.
 * - `search { text, limit }`: answers texts and scores.
 * - `searches { text, times }`: searches that often and answers every different answer it got.
 * - `flush`, `merge`, `status`: what the index offers.
 * - `forget { id }`: forgets a memory.
 * - `churn { prefix }`: until it is killed, writes batches under a word of their own, changes some,
 *   flushes and merges; says `kept NAME` after each batch whose promise has resolved.
 */
import { openGraph } from "../../dist/open.js";
import { receive, say } from "./lines.mjs";

const { folder } = await receive();
const { memory, engine } = await openGraph(folder, { actor: "ada" });
say("open");

async function write({ texts }) {
  const { results } = await memory.batch(texts.map((text) => ({ write: { type: "fact", text } })));
  return { ids: results.map(({ id }) => id) };
}

async function search({ text, limit }) {
  const { hits, seq } = await memory.search(text, { limit, snippets: false });
  return { hits: hits.map((hit) => [hit.text, hit.score]), seq };
}

const verbs = {
  write,
  search,
  async searches({ text, times }) {
    const different = new Set();
    for (let i = 0; i < times; i += 1) {
      different.add(JSON.stringify((await search({ text, limit: 50 })).hits));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { different: [...different].map((one) => JSON.parse(one)) };
  },
  flush: async () => void (await engine.text.flush()),
  merge: () => engine.text.merge(),
  status: () => engine.text.status(),
  forget: ({ id }) => memory.forget(id, "asked"),
  async churn({ prefix }) {
    for (let round = 0; ; round += 1) {
      const name = `${prefix}x${round}`;
      const { ids } = await write({
        texts: Array.from(
          { length: 60 },
          (_, at) => `${name} common word ${prefix} ${round} ${at}`,
        ),
      });
      say(`kept ${name}`);
      await memory.update(ids[0], { text: `${name} common changed ${prefix} ${round}` });
      await engine.text.flush();
      await memory.forget(ids[1], "asked");
      if (round % 4 === 3) await engine.text.merge();
    }
  },
};

for (let message = await receive(); message !== undefined; message = await receive()) {
  say(`done ${JSON.stringify((await verbs[message.verb](message)) ?? {})}`);
}
await memory.close();
