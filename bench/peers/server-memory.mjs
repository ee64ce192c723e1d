/**
 * `@modelcontextprotocol/server-memory` over stdio. Its entities have a name, a type and observations:
 * the name stands for the id, the type for the tag.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { startStdio } from "../lib/stdio-client.mjs";

const MAIN = join(
  dirname(
    createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/package.json"),
  ),
  "dist/index.js",
);

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const server = await startStdio([MAIN], { MEMORY_FILE_PATH: join(folder, "memory.jsonl") });
  const create = async (/** @type {readonly import("./peers.mjs").Item[]} */ items) => {
    const entities = items.map(entityOf);
    await server.call("create_entities", { entities });
    return entities.map(({ name }) => name);
  };
  return {
    pid: server.pid,
    write: async (item) => (await create([item]))[0] ?? "",
    batch: create,
    get: (id) => entities(server.call("open_nodes", { names: [id] })),
    search: (words) => entities(server.call("search_nodes", { query: words[0] })),
    link: (from, to) =>
      server.call("create_relations", { relations: [{ from, to, relationType: "relates to" }] }),
    close: () => server.close(),
  };
}

/**
 * A memory as an entity. Its name is one word that no other name or text holds, so that a search for it finds it alone.
 * @param {import("./peers.mjs").Item} item
 */
export function entityOf({ text, tag }) {
  const name = `${text.slice(0, text.indexOf(":")).replace(" ", "")}.`;
  return { name, entityType: tag, observations: [text] };
}

/** @param {Promise<import("../lib/stdio-client.mjs").ToolResult>} answer */
async function entities(answer) {
  return /** @type {unknown[]} */ ((await answer).structuredContent?.entities);
}
