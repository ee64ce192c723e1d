/**
 * How fast does a store come to be from an exported journal, every hash, row and root checked on the
 * way, and does the memory this needs stay the same however far it has come? The clock stops when
 * the store has taken its place and is on the disk.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { importJournal } from "@cortex-memory/core";
import { answerPass } from "../lib/passes.mjs";
import { preparedExport } from "../lib/prepared.mjs";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { file, entries: memories } = await preparedExport(settings);
  const place = (/** @type {number} */ run) => join(settings.folder, `import-${run}`);
  const about = { question: "import", sync: "one fsync at the end", memories };
  return answerPass(settings, about, {
    pass: async (run) => (await importJournal(place(run), file)).entries,
    after: (run) => rm(place(run), { recursive: true }),
  });
}
