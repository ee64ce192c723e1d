/**
 * Kill -9 of whoever works on a store, at any moment: `npm run kills -- --rounds 1000 --only vacuum`.
 *
 * Each round a process opens the store of its work and goes on until its whole group is killed. Then the
 * store is opened and held to its word: `check` finds nothing, what was acknowledged is there (or gone,
 * where it was forgotten), what was not is there wholly or not at all, and no file is left over. The same
 * store goes on into the next round. An import that was killed left a whole store or none.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { open } from "@cortex-memory/core";
import { seededRandom } from "@cortex-memory/core/testing";
import { fail, newSeed, readFlags } from "./arguments.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {{ name: string, there?: string[], gone?: string[], session?: string, turns?: string[] }} Tried
 * @typedef {ReturnType<typeof seededRandom>} Random
 */

const WORKS = ["single", "grouped", "batch", "remember", "forget", "vacuum", "rebuild", "import"];
const WORKER = fileURLToPath(new URL("kill-worker.mjs", import.meta.url));
/** Longest time that a process lives after it has opened its store. */
const LIVES_MS = 60;
/** Entries of the journal that is imported. */
const IMPORTED = 400;

const flags = readFlags("Kills processes that work on a store, and checks what they left.", [
  { name: "rounds", kind: "number", standard: 20, help: "kills of each kind of work" },
  { name: "only", kind: "text", standard: "", help: `one kind of work: ${WORKS.join(", ")}` },
  { name: "seed", kind: "number", standard: 0, help: "repeats a run; a new one when not given" },
]);
const { only } = flags;
if (only !== "" && !WORKS.includes(String(only))) {
  fail(`--only: expected one of ${WORKS.join(", ")}, got ${only}`);
}
const seed = Number(flags.seed) || newSeed();
const works = only === "" ? WORKS : [String(only)];
process.stdout.write(`kills: seed ${seed}\n`);
for (const work of works) {
  const folder = mkdtempSync(join(tmpdir(), "cortex-kills-"));
  try {
    const told = await killMany(work, folder, seededRandom(seed));
    process.stdout.write(`kills: ${work} ${JSON.stringify(told)}\n`);
  } catch (error) {
    const line = `npm run kills -- --only ${work} --rounds ${flags.rounds} --seed ${seed}`;
    process.stderr.write(`${error instanceof Error ? error.stack : error}\nrepeat: ${line}\n`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} work @param {string} folder @param {Random} random */
async function killMany(work, folder, random) {
  const source = join(folder, "source.cortex");
  if (work === "import") await makeSource(folder, source);
  const told = { rounds: 0, tried: 0, acknowledged: 0, moved: 0 };
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    const place = work === "import" ? join(folder, `import-${round}`) : folder;
    const lines = await workAndKill({ work, folder: place, round, source }, random);
    const said = (/** @type {string} */ word) =>
      lines.flatMap((line) =>
        line.startsWith(`${word} `) ? [JSON.parse(line.slice(word.length + 1))] : [],
      );
    const tried = /** @type {Tried[]} */ (said("try"));
    const acknowledged = new Set(said("ack").map(({ name, actor }) => name ?? actor));
    if (work === "import") await judgeImport(place, acknowledged.size > 0);
    else await judge(place, tried, acknowledged);
    told.rounds += 1;
    told.tried += tried.length;
    told.acknowledged += acknowledged.size;
    told.moved += said("moved").length;
  }
  return told;
}

/** @param {string} folder @param {string} source */
async function makeSource(folder, source) {
  const memory = await open(join(folder, "origin"), { actor: "ada" });
  const items = Array.from({ length: IMPORTED }, (_, n) => ({
    write: { type: /** @type {const} */ ("note"), text: `imported ${n}` },
  }));
  await memory.batch(items);
  await memory.exportJournal(source);
  await memory.close();
}

/** What a process said before it was killed. @param {object} task @param {Random} random */
async function workAndKill(task, random) {
  const child = spawn(process.execPath, [WORKER], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const ended = once(child, "close");
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${JSON.stringify(task)}\n`);
  const lines = /** @type {string[]} */ ([]);
  const reader = createInterface({ input: child.stdout });
  const opened = new Promise((resolve) => {
    reader.on("line", (line) => {
      lines.push(line);
      if (line.startsWith("open ")) resolve(undefined);
    });
  });
  // Some are killed while they open.
  if (random.chance(90)) await Promise.race([opened, ended]);
  else await sleep(random.below(200));
  await sleep(random.below(LIVES_MS));
  if (child.exitCode !== null) throw new Error(`the process ended by itself: ${child.exitCode}`);
  process.kill(-Number(child.pid), "SIGKILL");
  await ended;
  return lines;
}

/** @param {string} folder @param {readonly Tried[]} tried @param {ReadonlySet<string>} acknowledged */
async function judge(folder, tried, acknowledged) {
  const memory = await open(folder, { actor: "ada" });
  try {
    const { ok, problems } = await memory.check();
    if (!ok) throw new Error(`check: ${JSON.stringify(problems)}`);
    for (const one of tried) {
      const done = await isDone(memory, one);
      if (done === "half") throw new Error(`${one.name} is there in part`);
      if (!done && acknowledged.has(one.name))
        throw new Error(`${one.name} was acknowledged and is lost`);
    }
    await memory.vacuum();
  } finally {
    await memory.close();
  }
  const files = readdirSync(join(folder, "ada")).filter((name) => /\.mdb$/.test(name));
  if (files.length !== 1) throw new Error(`files are left over: ${files.join(", ")}`);
}

/** @param {Cortex} memory @param {Tried} tried @returns {Promise<boolean | "half">} */
async function isDone(memory, { there = [], gone = [], session, turns = [] }) {
  let done = 0;
  for (const name of there) {
    const found = await memory.get(name);
    if (found !== undefined && found.text !== `text of ${name}`)
      throw new Error(`${name}: ${found.text}`);
    if (found !== undefined) done += 1;
  }
  for (const name of gone) if ((await memory.history(name)) === undefined) done += 1;
  if (session !== undefined) {
    const kept = new Set((await memory.session(session)).turns.map(({ content }) => content));
    done += turns.filter((content) => kept.has(content)).length;
  }
  const whole = there.length + gone.length + turns.length;
  return done === whole ? true : done === 0 ? false : "half";
}

/** @param {string} folder @param {boolean} isAcknowledged */
async function judgeImport(folder, isAcknowledged) {
  if (!existsSync(join(folder, "ada"))) {
    if (isAcknowledged) throw new Error("an import was acknowledged and is lost");
    return;
  }
  const opened = await open(folder, { actor: "ada", create: false }).catch((error) => {
    if (!isAcknowledged && error?.code === "ERR_FORMAT_UNKNOWN") return undefined;
    throw error;
  });
  if (opened === undefined) return;
  try {
    const { ok, entries } = await opened.check();
    if (!ok || entries !== IMPORTED + 1)
      throw new Error(`an import left ${entries} entries, ${ok}`);
  } finally {
    await opened.close();
  }
}
