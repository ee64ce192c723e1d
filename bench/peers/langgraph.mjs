/** LangGraph's `InMemoryStore`, with the local model of Cortex as its embeddings. */
import { randomUUID } from "node:crypto";
import { InMemoryStore } from "@langchain/langgraph";
import { embeddings } from "./embeddings.mjs";

/** @returns {Promise<import("./peers.mjs").Store>} */
export async function openStore() {
  const { model, dims } = await embeddings();
  const store = new InMemoryStore({ index: { dims, embeddings: model, fields: ["text"] } });
  const put = async (/** @type {import("./peers.mjs").Item} */ item) => {
    const id = randomUUID();
    await store.put(["bench"], id, { text: item.text, tag: item.tag, level: item.level });
    return id;
  };
  return {
    write: put,
    batch: (items) => Promise.all(items.map(put)),
    get: (id) => store.get(["bench"], id),
    page: (tag, limit) => store.search(["bench"], { filter: { tag }, limit }),
    filter: ({ tag, leastLevel, limit }) =>
      store.search(["bench"], { filter: { tag, level: { $gte: leastLevel } }, limit }),
    recall: (query, limit) => store.search(["bench"], { query, limit }),
    close: () => {},
  };
}
