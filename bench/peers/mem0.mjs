/**
 * mem0's open-source memory with its own SQLite vector store and history, the local model of Cortex as
 * its embedder, and no language model: `infer: false` keeps what is given, so that only its own work is timed.
 */
import { join } from "node:path";
import { embeddings } from "./embeddings.mjs";

// Read when the module loads: nothing of a measurement leaves this machine.
process.env.MEM0_TELEMETRY = "false";

const USER = { userId: "bench" };
const OF_USER = { user_id: "bench" };

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const { Memory } = await import("mem0ai/oss");
  const { model, dims } = await embeddings();
  const memory = new Memory({
    embedder: { provider: "langchain", config: { model, embeddingDims: dims } },
    vectorStore: {
      provider: "memory",
      config: { collectionName: "bench", dimension: dims, dbPath: join(folder, "vectors.db") },
    },
    llm: { provider: "openai", config: { apiKey: "none", model: "none" } },
    historyStore: { provider: "sqlite", config: { historyDbPath: join(folder, "history.db") } },
  });
  return {
    write: async ({ text, tag, level }) => {
      const { results } = await memory.add(text, {
        ...USER,
        infer: false,
        metadata: { tag, level },
      });
      return results[0]?.id ?? "";
    },
    get: (id) => memory.get(id),
    page: async (tag, limit) =>
      (await memory.getAll({ filters: { ...OF_USER, tag }, topK: limit })).results,
    filter: async ({ tag, leastLevel, limit }) => {
      const filters = { ...OF_USER, tag, level: { gte: leastLevel } };
      return (await memory.getAll({ filters, topK: limit })).results;
    },
    recall: async (question, limit) =>
      (await memory.search(question, { filters: OF_USER, topK: limit, threshold: 0 })).results,
    update: (id, { text }) => memory.update(id, { text }),
    history: (id) => memory.history(id),
    close: () => {},
  };
}
