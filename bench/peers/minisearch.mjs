/** minisearch: what people take for text search alone. */
import MiniSearch from "minisearch";

/** @returns {import("./peers.mjs").Store} */
export function openStore() {
  const index = new MiniSearch({ fields: ["text"], storeFields: ["text", "tag", "level"] });
  let last = 0;
  const add = (/** @type {import("./peers.mjs").Item} */ item) => {
    last += 1;
    index.add({ id: last, ...item });
    return String(last);
  };
  return {
    write: add,
    batch: (items) => items.map(add),
    get: (id) => index.getStoredFields(Number(id)),
    filter: ({ tag, leastLevel, limit }) =>
      index
        .search(MiniSearch.wildcard, {
          filter: (one) => one.tag === tag && one.level >= leastLevel,
        })
        .slice(0, limit),
    search: (words, limit) => index.search(words.join(" ")).slice(0, limit),
    close: () => {},
  };
}
