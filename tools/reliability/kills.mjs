/**
 * Kill -9 of whoever works on a store, at any moment: `npm run kills -- --rounds 1000 --only vacuum`.
 *
 * Each round a process opens the store of its work and goes on until its whole group is killed. Then the
 * store is opened and held to its word by `kill-judges.mjs`: `check` finds nothing, what was acknowledged
 * is there (or gone, where it was forgotten), what was not is there wholly or not at all, and no file is left over.
 * Writers and movers go on with the same store for a hundred rounds; what happens once to a store (import,
 * removal, promote, repair) has a fresh copy of a prepared one.
 *
 * The moment is drawn from as long as the work takes: the first round of a kind lets one piece of it come to
 * its end and measures it, so that kills fall into every phase, on whatever machine.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { seededRandom } from "@cortex-memory/core/testing";
import { rolldown } from "rolldown";
import { fail, newSeed, progress, readFlags } from "./arguments.mjs";
import { WORKS } from "./kill-judges.mjs";

/**
 * @typedef {ReturnType<typeof seededRandom>} Random
 * @typedef {import("./kill-judges.mjs").Said} Said
 */

/** Inside the checkout, where the storage engine, which stays a package of its own, is found by its name. */
const BUNDLES = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
const NAMES = Object.keys(WORKS);
/** Pieces of work after which a process is killed at the latest, in their usual time. */
const PIECES_MOST = 1.25;
/** The least time that kills are spread over. */
const LIVES_MS = 40;
/** Of a hundred processes so many are killed while they open their store. */
const OPENING_PERCENT = 8;

const flags = readFlags("Kills processes that work on a store, and checks what they left.", [
  { name: "rounds", kind: "number", standard: 20, help: "kills of each kind of work" },
  { name: "only", kind: "text", standard: "", help: `kinds of work: ${NAMES.join(",")}` },
  { name: "seed", kind: "number", standard: 0, help: "repeats a run; a new one when not given" },
]);
const works = flags.only === "" ? NAMES : String(flags.only).split(",");
for (const work of works) {
  if (!NAMES.includes(work)) fail(`--only: expected one of ${NAMES.join(", ")}, got ${work}`);
}
const seed = Number(flags.seed) || newSeed();
const tell = progress();
process.stdout.write(`kills: seed ${seed}\n`);
const bundle = await bundleWorker();
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
rmSync(bundle.folder, { recursive: true, force: true });

/**
 * The worker and all that it loads as one file: starting from five hundred took two thirds of the processor time of a
 * round, and a thousand rounds of every kind have to fit into an evening.
 */
async function bundleWorker() {
  mkdirSync(BUNDLES, { recursive: true });
  const folder = mkdtempSync(join(BUNDLES, "cortex-kills-"));
  const build = await rolldown({
    input: fileURLToPath(new URL("kill-worker.mjs", import.meta.url)),
    platform: "node",
    external: ["lmdb", "pg"],
    logLevel: "warn",
  });
  const file = join(folder, "worker.mjs");
  await build.write({ file, format: "esm", codeSplitting: false });
  return { folder, file };
}

/** @param {string} work @param {string} folder @param {Random} random */
async function killMany(work, folder, random) {
  const { prepare, place, judge } = /** @type {import("./kill-judges.mjs").Work} */ (WORKS[work]);
  const made = await prepare(folder);
  const told = { rounds: 0, tried: 0, acknowledged: 0, moved: 0 };
  let usualMs = 0;
  let spare = startWorker();
  try {
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      const at = await place(folder, round);
      const task = { work, folder: at, round, ...made };
      const worker = spare;
      spare = startWorker();
      const { said, tookMs } = await workAndKill(worker, task, usualMs, random);
      // A machine that stood still meanwhile must not make the next rounds long.
      if (tookMs !== undefined)
        usualMs = usualMs === 0 ? tookMs : (3 * usualMs + Math.min(tookMs, 4 * usualMs)) / 4;
      await judge(at, said, made);
      told.rounds += 1;
      told.tried += said.tried.length;
      told.acknowledged += said.acknowledged.size;
      told.moved += said.moved;
      tell(`${work}: ${round + 1} of ${flags.rounds}`);
    }
  } finally {
    await end(spare);
  }
  return { ...told, usualMs: Math.round(usualMs) };
}

/** A process that has loaded everything and waits for its task. */
function startWorker() {
  const child = spawn(process.execPath, [bundle.file], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const ended = once(child, "close");
  child.stdin.on("error", () => undefined);
  const lines = /** @type {{ word: string, what: any, atMs: number }[]} */ ([]);
  const listeners = new Set(/** @type {(() => void)[]} */ ([]));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word = ""] = line.split(" ", 1);
    lines.push({ word, what: JSON.parse(line.slice(word.length + 1)), atMs: performance.now() });
    for (const listener of listeners) listener();
  });
  /** Until a line begins with one of these words, or the process has ended. @param {string[]} words */
  const until = (...words) =>
    new Promise((resolve) => {
      const look = () => {
        if (!lines.some(({ word }) => words.includes(word))) return;
        listeners.delete(look);
        resolve(undefined);
      };
      listeners.add(look);
      look();
      void ended.then(resolve);
    });
  return { child, ended, lines, until };
}

/** @param {ReturnType<typeof startWorker>} worker */
async function end({ child, ended }) {
  if (child.exitCode === null && child.signalCode === null)
    process.kill(-Number(child.pid), "SIGKILL");
  await ended;
}

/**
 * What a process said before it was killed, and how long a piece of its work took, where one was done.
 * @param {ReturnType<typeof startWorker>} worker
 * @param {object} task @param {number} usualMs @param {Random} random
 */
async function workAndKill(worker, task, usualMs, random) {
  const { child, lines, until } = worker;
  try {
    await until("ready");
    child.stdin.write(`${JSON.stringify(task)}\n`);
    if (usualMs === 0) await until("ack", "moved");
    else if (random.chance(OPENING_PERCENT)) await sleep(random.below(60));
    else {
      await until("open");
      await sleep(random.below(Math.max(LIVES_MS, Math.round(PIECES_MOST * usualMs))));
    }
    if (child.exitCode !== null) throw new Error(`the process ended by itself: ${child.exitCode}`);
  } finally {
    await end(worker);
  }
  const of = (/** @type {string} */ word) => lines.filter((line) => line.word === word);
  const [begun, done] = [of("try")[0] ?? of("open")[0], of("moved")[0] ?? of("ack")[0]];
  /** @type {Said} */
  const said = {
    tried: of("try").map(({ what }) => what),
    acknowledged: new Set(of("ack").map(({ what }) => what.name)),
    moved: of("moved").length,
  };
  const tookMs = begun === undefined || done === undefined ? undefined : done.atMs - begun.atMs;
  return { said, tookMs };
}
