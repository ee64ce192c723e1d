/**
 * LangGraph's `PostgresStore`, without vectors: those want an extension that a plain server lacks. Its search for words
 * is the server's own.
 */
import { randomUUID } from "node:crypto";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";

const NAMESPACE = ["bench"];

/**
 * @param {string} url
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(url) {
  const store = PostgresStore.fromConnString(url);
  await store.start();
  const put = async (/** @type {import("./peers.mjs").Item} */ { text, tag, level }) => {
    const id = randomUUID();
    await store.put(NAMESPACE, id, { text, tag, level });
    return id;
  };
  return {
    write: put,
    batch: async (items) => {
      const ids = items.map(() => randomUUID());
      await store.batch(
        items.map(({ text, tag, level }, at) => ({
          namespace: NAMESPACE,
          key: ids[at] ?? "",
          value: { text, tag, level },
        })),
      );
      return ids;
    },
    get: (id) => store.get(NAMESPACE, id),
    page: (tag, limit) => store.search(NAMESPACE, { filter: { tag }, limit }),
    filter: ({ tag, leastLevel, limit }) =>
      store.search(NAMESPACE, { filter: { tag, level: { $gte: leastLevel } }, limit }),
    search: (words, limit) =>
      store.search(NAMESPACE, { query: words.join(" "), mode: "text", limit }),
    close: () => store.stop(),
  };
}
