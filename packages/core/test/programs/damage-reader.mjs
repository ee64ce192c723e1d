/**
 * Reads damaged copies of a store, and says of each what came of it. The test that starts it damages
 * nothing itself: whoever opens a damaged file may be ended by it, and then the last line says by which.
 *
 * Takes `{ folder, good, damages }`, where `good` is the text of every memory by its external id and a
 * damage is a bit to turn (`at`, `bit`). Says `next N`, then `outcome N WORD`: `found` by looking at the
 * pages, `refused` by a read, `noticed` by `check` alone, `same` where nothing changed, or what is wrong.
 */
import { closeSync, copyFileSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { examineStore } from "../../dist/doors.js";
import { CortexError, open } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder, good, damages } = await receive();
for (const [n, damage] of damages.entries()) {
  say(`next ${n}`);
  const copy = join(folder, `damaged-${n}`);
  mkdirSync(join(copy, "ada"), { recursive: true });
  const path = join(copy, "ada", "g000001.mdb");
  copyFileSync(join(folder, "ada", "g000001.mdb"), path);
  turn(path, damage);
  say(`outcome ${n} ${await judged(copy)}`);
  rmSync(copy, { recursive: true, force: true });
}
process.exit(0);

function turn(path, { at, bit }) {
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
}

async function judged(copy) {
  if ((await examineStore(copy, "ada")).length > 0) return "found";
  let memory;
  try {
    memory = await open(copy, { actor: "ada", create: false });
    const said = await answers(memory);
    if (said === "same") return "same";
    // What a read did not give must at least be found when somebody looks for it.
    const { ok } = await memory.check();
    return ok ? said : said.startsWith("wrong") ? said : "noticed";
  } catch (error) {
    if (error instanceof CortexError) return "refused";
    return `fault ${error instanceof Error ? error.message.replaceAll("\n", " ") : error}`;
  } finally {
    await memory?.close();
  }
}

/** Every memory by its name, by a list and by a find. */
async function answers(memory) {
  let said = "same";
  for (const [name, text] of Object.entries(good)) {
    const found = await memory.get(name);
    if (found === undefined) said = `lost ${name}`;
    else if (found.text !== text) return `wrong ${name}`;
  }
  const listed = await memory.list({ limit: 1000 });
  for (const { externalId, text } of listed.memories) {
    if (externalId !== undefined && good[externalId] !== text)
      return `wrong ${externalId} in a list`;
  }
  if (listed.memories.length !== Object.keys(good).length) said = "lost from a list";
  const { hits } = await memory.find({ type: "note", limit: 100 });
  for (const { text } of hits) if (!Object.values(good).includes(text)) return "wrong in a find";
  return said;
}
