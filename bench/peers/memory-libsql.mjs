/** `mcp-memory-libsql` over stdio: entities with observations, and relations, in a libSQL file. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { startStdio } from "../lib/stdio-client.mjs";
import { entityOf } from "./server-memory.mjs";

const MAIN = join(
  dirname(createRequire(import.meta.url).resolve("mcp-memory-libsql/package.json")),
  "dist/index.js",
);

/** The most that it takes, and gives, in one call. */
const MOST = 50;

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const server = await startStdio([MAIN], { LIBSQL_URL: `file:${join(folder, "memory.db")}` });
  const create = async (/** @type {readonly import("./peers.mjs").Item[]} */ items) => {
    const entities = items.map(entityOf);
    for (let at = 0; at < entities.length; at += MOST) {
      await server.call("create_entities", { entities: entities.slice(at, at + MOST) });
    }
    return entities.map(({ name }) => name);
  };
  const search = async (/** @type {string | undefined} */ query, /** @type {number} */ limit) => {
    const { content } = await server.call("search_nodes", { query, limit });
    return /** @type {{ readonly name: string }[]} */ (JSON.parse(content[0]?.text ?? "").entities);
  };
  return {
    pid: server.pid,
    write: async (item) => (await create([item]))[0] ?? "",
    batch: create,
    // It has no call for one entity by name: its search finds names first.
    get: async (id) => (await search(id, MOST)).find(({ name }) => name === id),
    search: (words, limit) => search(words[0], limit),
    link: (from, to) =>
      server.call("create_relations", {
        relations: [{ source: from, target: to, type: "relates_to" }],
      }),
    close: () => server.close(),
  };
}
