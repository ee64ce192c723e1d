/**
 * Keeps a small store of the form that this release writes, for the releases to come:
 *
 *     npm run build && node tools/make-store.mjs
 *
 * writes `packages/core/test/stores/FORMAT-FOLD.mdb.gz` with what must be read from it beside it, and refuses
 * to write over one that is there. To be run once, by whoever changes the format or the fold;
 * `packages/core/test/stores.test.ts` asks for it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { FOLD_VERSION, FORMAT } from "../packages/core/dist/history/head-row.js";
import { open } from "../packages/core/dist/index.js";
import { seededRandom } from "../packages/core/dist/testing/index.js";

const stem = fileURLToPath(
  new URL(`../packages/core/test/stores/${FORMAT}-${FOLD_VERSION}`, import.meta.url),
);
if (existsSync(`${stem}.mdb.gz`)) {
  process.stderr.write(`${stem}.mdb.gz is there already, and is kept as it is\n`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "cortex-store-"));
try {
  const kept = await fill(folder);
  const file = readFileSync(join(folder, "ada", "g000001.mdb"));
  writeFileSync(`${stem}.mdb.gz`, gzipSync(file, { level: 9 }));
  writeFileSync(`${stem}.json`, `${JSON.stringify(kept, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A little of every kind of record. @param {string} place */
async function fill(place) {
  let now = Date.UTC(2030, 0, 1);
  const memory = await open(place, {
    actor: "ada",
    clock: () => ++now,
    random: seededRandom(1).bytes,
  });
  await memory.remember(
    [
      { role: "user", content: "I moved to Porto." },
      { role: "assistant", content: "Noted." },
    ],
    { session: "chat" },
  );
  await memory.write({ type: "fact", slot: "home city", text: "Ada lives in Lyon" });
  await memory.write({ type: "fact", slot: "home city", text: "Ada lives in Porto" });
  const note = { type: /** @type {const} */ ("note"), tags: ["kept"], kind: "page" };
  for (const name of ["one", "two", "hidden", "forgotten"]) {
    await memory.write({ ...note, externalId: name, text: `the note ${name}` });
  }
  await memory.update("one", { text: "the note one, changed" });
  await memory.link("one", "supports", "two", { reason: "it says the same" });
  await memory.link("two", "an open kind", "one");
  await memory.tombstone("hidden", "out of date");
  await memory.forget("forgotten", "asked to");
  await memory.write({ type: "constraint", text: "No red-eye flights" });
  await memory.attest({ intentId: "trip", outcome: "success", cited: ["one"] });
  const { checkpoint } = await memory.snapshot("kept");
  const { root, seq } = await memory.root();
  const texts = { one: "the note one, changed", two: "the note two" };
  await memory.close();
  return { root, seq, checkpoint, texts, slot: ["home city", "Ada lives in Porto"] };
}
