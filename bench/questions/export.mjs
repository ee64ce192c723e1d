/**
 * How fast does a whole journal go out into a file, and does the memory this needs stay the same
 * however far it has come? The clock stops when the file is complete and on the disk.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { answerPass } from "../lib/passes.mjs";
import { preparedStore } from "../lib/prepared.mjs";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { path, entries: memories } = await preparedStore(settings);
  const engine = await open(path);
  const file = (/** @type {number} */ run) => join(settings.folder, `export-${run}.cortex`);
  try {
    const about = { question: "export", sync: "one fsync at the end", memories };
    return await answerPass(settings, about, {
      pass: async (run) => (await engine.exportJournal(file(run))).entries,
      after: (run) => rm(file(run)),
    });
  } finally {
    await engine.close();
  }
}
