/** Cortex as a library, with the local model, as `open` gives it. */
import { open } from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { asWrite } from "../lib/workload.mjs";

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const cortex = await open(folder, { embedder: local() });
  return {
    write: async (item) => (await cortex.write(leveled(item))).id,
    batch: async (items) => {
      const { results } = await cortex.batch(items.map((item) => ({ write: leveled(item) })));
      return results.map((result) => {
        if (!result.ok) throw result.error;
        return result.id;
      });
    },
    remember: async (session, turns) => {
      const given = turns.map(({ role, content, speaker, at }, index) => ({
        role,
        content,
        index,
        ...(speaker === undefined ? {} : { speaker }),
        ...(at === undefined ? {} : { at }),
      }));
      const { turns: kept } = await cortex.remember(given, { session });
      return kept.map(({ id }) => id);
    },
    titled: async (title, text) => {
      const note = { type: /** @type {const} */ ("note"), data: { summary: title, content: text } };
      return (await cortex.write(note)).id;
    },
    get: (id) => cortex.get(id),
    page: (tag, limit) => cortex.list({ tag, limit }).then(({ memories }) => memories),
    filter: async ({ tag, leastLevel, limit }) => {
      const where = { gte: ["head.importance", leastLevel] };
      return (await cortex.find({ tags: [tag], where, limit })).hits;
    },
    search: (words, limit) => cortex.search(words.join(" "), { limit }).then(({ hits }) => hits),
    recall: (question, limit) => cortex.recall(question, { limit }).then(({ hits }) => hits),
    link: (from, to) => cortex.addEdge(from, "relates_to", to),
    near: (id) => cortex.traverse(id, { maxHops: 2, direction: "both" }).then(({ hits }) => hits),
    update: (id, { text }) => cortex.update(id, { text }),
    history: (id) => cortex.history(id),
    settle: async () => {
      await cortex.embedPending();
    },
    close: () => cortex.close(),
  };
}

/** @param {import("./peers.mjs").Item} item */
function leveled(item) {
  return { ...asWrite(item), importance: item.level };
}
