/**
 * Runs the programs of `peers/peers.mjs`, each job in a process of its own (`peers/worker.mjs`) and in a
 * folder or a database server of its own, and gives what they say line by line. Programs that are not installed are left out, and a
 * note says so: `npm ci --prefix bench/peers` installs them.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { PEERS } from "../peers/peers.mjs";
import { median } from "./clock.mjs";
import { startDatabase, whyNoDatabase } from "./postgres-database.mjs";
import { folderBytes } from "./stores.mjs";

/**
 * @typedef {import("../peers/peers.mjs").Peer} Peer
 * @typedef {{
 *   readonly peer: Peer,
 *   readonly question: string,
 *   readonly settings: import("./settings.mjs").Settings,
 *   readonly extent: Pick<import("../peers/worker.mjs").Job, "calls" | "limitMs" | "readMs" | "fillLimitMs">,
 * }} Bench
 */

/** Where the programs are installed. */
export const PEERS_FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../peers");
const NODE22 = join(PEERS_FOLDER, "node_modules/node22/bin/node");

const FULL = { calls: 1000, limitMs: 2000, readMs: 600, fillLimitMs: 30_000 };
const QUICK = { calls: 10, limitMs: 100, readMs: 50, fillLimitMs: 5000 };

/**
 * Asks each program that is there, one after another.
 * @param {string} question
 * @param {import("./settings.mjs").Settings} settings
 * @param {(bench: Bench, notes: string[]) => Promise<import("./contest.mjs").Row[]>} ask
 * @returns {Promise<import("./settings.mjs").Answer>}
 */
export async function askPeers(question, settings, ask) {
  const rows = [];
  const notes = [];
  for (const peer of PEERS) {
    const missing = whyMissing(peer);
    if (missing !== undefined) {
      notes.push(`${peer.name} is left out: ${missing}.`);
      continue;
    }
    settings.progress(`${question}: ${peer.name}`);
    const extent = settings.quick ? QUICK : FULL;
    rows.push(...(await ask({ peer, question, settings, extent }, notes)));
  }
  return { rows, figures: {}, notes };
}

/** @param {Peer} peer */
function whyMissing(peer) {
  if (peer.postgres === true && whyNoDatabase() !== undefined) return whyNoDatabase();
  if (peer.package === undefined || peer.package.startsWith("@cortex-memory/")) return undefined;
  if (!existsSync(join(PEERS_FOLDER, "node_modules", peer.package))) {
    return "npm ci --prefix bench/peers was not run";
  }
  if (peer.node22 === true && !existsSync(NODE22)) return "it wants Node 22, which is not there";
  return undefined;
}

/**
 * What a worker says, line by line, until it ends or has said `killAfter` lines and is killed.
 * @param {Bench} bench
 * @param {string} place
 * @param {Partial<import("../peers/worker.mjs").Job> & { readonly killAfter?: number | undefined }} job
 * @returns {AsyncGenerator<Finding>}
 */
export async function* work({ peer, settings, extent }, place, { killAfter, ...job }) {
  const node = peer.node22 === true ? NODE22 : process.execPath;
  const child = spawn(node, [join(PEERS_FOLDER, "worker.mjs")], { stdio: "pipe" });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors = `${errors}${text}`.slice(-2000);
  });
  const gone = new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? code)),
  );
  const about = { peer: peer.name, place, seed: settings.seed, ids: [] };
  child.stdin.end(JSON.stringify({ ...about, ...extent, ...job }));
  let said = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("{")) continue;
    yield JSON.parse(line);
    said += 1;
    if (said === killAfter) child.kill("SIGKILL");
  }
  const end = await gone;
  // A second writer may be refused by a lock: that is a finding, and the ids it got are counted.
  if (end === 0 || end === "SIGKILL" || job.job === "write") return;
  throw new Error(`${peer.name}: ${job.job} ended with ${end}\n${errors}`);
}

/**
 * A line that a worker says.
 * @typedef {{
 *   readonly size: number,
 *   readonly what: string,
 *   readonly perSecond: number,
 *   readonly memory?: { readonly resident: number, readonly anonymous: number },
 *   readonly stopped?: string,
 *   readonly id: string,
 *   readonly there: number,
 *   readonly torn: number,
 * }} Finding
 */

/**
 * Ids that a process of its own acknowledged; it may be killed after some.
 * @param {Bench} bench
 * @param {string} place
 * @param {{ readonly calls: number, readonly skip: number, readonly killAfter?: number }} how
 */
export async function written(bench, place, { calls, skip, killAfter }) {
  const ids = [];
  for await (const { id } of work(bench, place, { job: "write", calls, skip, killAfter })) {
    ids.push(id);
  }
  return ids;
}

/**
 * Where a program keeps its store: a new folder, or the address of a new database. It is gone afterwards.
 * @template T
 * @param {Bench} bench
 * @param {(place: string, storedBytes: () => Promise<number>) => Promise<T>} run
 */
export async function inPlace({ peer, settings, question }, run) {
  if (peer.postgres === true) {
    const database = await startDatabase();
    const sized = async () =>
      Number(await database.ask("SELECT pg_database_size(current_database())"));
    try {
      const emptyBytes = await sized();
      return await run(database.url, async () => (await sized()) - emptyBytes);
    } finally {
      await database.stop();
    }
  }
  const folder = join(settings.folder, question);
  await mkdir(folder, { recursive: true });
  try {
    return await run(folder, async () => folderBytes(folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * @param {Bench} bench
 * @param {string} what
 * @param {string} unit
 * @param {number} memories
 * @param {number[]} runs
 * @returns {import("./contest.mjs").Row}
 */
export function peerRow({ peer, question }, what, unit, memories, runs) {
  const sync = `${peer.sync}: ${peer.how}`;
  return { question, what, store: peer.name, sync, memories, value: median(runs), unit, runs };
}
