/** Mastra's memory storage in libSQL: a message a memory, a thread a tag. It wants Node 22. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { LibSQLStore } from "@mastra/libsql";

/**
 * @param {string} folder
 * @returns {Promise<import("./peers.mjs").Store>}
 */
export async function openStore(folder) {
  const store = new LibSQLStore({ id: "bench", url: `file:${join(folder, "mastra.db")}` });
  await store.init();
  const memory = await store.getStore("memory");
  if (memory === undefined) throw new Error("no memory storage");
  const threads = new Set();
  const save = async (/** @type {readonly import("./peers.mjs").Item[]} */ items) => {
    for (const { tag } of items) {
      if (threads.has(tag)) continue;
      threads.add(tag);
      const at = new Date();
      await memory.saveThread({
        thread: { id: tag, resourceId: "bench", title: tag, createdAt: at, updatedAt: at },
      });
    }
    const messages = items.map(({ text, tag }) => ({
      id: randomUUID(),
      threadId: tag,
      resourceId: "bench",
      role: /** @type {const} */ ("user"),
      type: "text",
      createdAt: new Date(),
      content: {
        format: /** @type {const} */ (2),
        parts: [{ type: /** @type {const} */ ("text"), text }],
      },
    }));
    await memory.saveMessages({ messages });
    return messages.map(({ id }) => id);
  };
  return {
    write: async (item) => (await save([item]))[0] ?? "",
    batch: save,
    get: async (id) => (await memory.listMessagesById({ messageIds: [id] })).messages[0],
    page: async (tag, limit) =>
      (await memory.listMessages({ threadId: tag, perPage: limit, page: 0 })).messages,
    close: () => store.close?.(),
  };
}
