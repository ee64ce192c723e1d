/** What a good engineer writes in an afternoon: `lib/sqlite.mjs`, which durable rows are compared with. */
import { join } from "node:path";
import { openSqlite, SqliteStore } from "../lib/sqlite.mjs";

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const store = await openSqlite(join(folder, "hand-rolled.db"));
  if (!(store instanceof SqliteStore)) throw new Error(store.missing);
  return {
    write: (item) => store.write([item])[0] ?? "",
    batch: (items) => store.write(items),
    get: (id) => store.get(id),
    page: (tag, limit) => store.list(tag, limit),
    filter: ({ tag, leastLevel, limit }) => store.filter(tag, leastLevel, limit),
    search: (words, limit) => store.search(words, limit),
    link: (from, to) => store.link(from, to),
    near: (id) => store.near(id),
    update: (id, { text }) => store.update(id, text),
    history: (id) => store.history(id),
    close: () => store.close(),
  };
}
