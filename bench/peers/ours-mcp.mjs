/** Cortex through `cortex mcp`, as a client starts it. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { startStdio } from "../lib/stdio-client.mjs";
import { asWrite } from "../lib/workload.mjs";

const MAIN = join(
  dirname(createRequire(import.meta.url).resolve("@cortex-memory/server")),
  "../bin/cortex.js",
);

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const server = await startStdio([MAIN, "mcp", "--data", folder, "--profile", "full"]);
  const structured = async (/** @type {string} */ name, /** @type {object} */ args) =>
    /** @type {Record<string, unknown>} */ ((await server.call(name, args)).structuredContent);
  return {
    pid: server.pid,
    write: async (item) => String((await structured("memory_write", asWrite(item))).id),
    batch: async (items) => {
      const { results } = await structured("memory_batch", {
        items: items.map((item) => ({ write: asWrite(item) })),
      });
      return /** @type {{ id: string }[]} */ (results).map(({ id }) => id);
    },
    get: (id) => structured("memory_get", { id }),
    page: (tag, limit) => structured("memory_find", { tags: [tag], limit }),
    search: (words, limit) => structured("memory_search", { query: words.join(" "), limit }),
    recall: (question, limit) => structured("memory_recall", { question, limit }),
    link: (from, to) =>
      server.call("memory_link", {
        from,
        kind: "relates_to",
        to,
        reason: "a link of the benchmark",
      }),
    near: (id) => server.call("memory_traverse", { id, maxHops: 2, direction: "both" }),
    update: (id, { text }) => structured("memory_update", { id, text }),
    history: (id) => structured("memory_history", { id }),
    close: () => server.close(),
  };
}
