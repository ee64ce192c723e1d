/**
 * `cortex serve` as a process of its own, over a folder and on a free port, for the programs of this
 * folder. It embeds with no model, so that what is measured is the server. And what a process takes, and
 * whether that grows.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../packages/server/bin/cortex.js", import.meta.url));

/** Starts a server; resolves when it says where it is. */
export async function startServer(folder, args = []) {
  const words = [MAIN, "serve", "--data", folder, "--port", "0", "--json", ...args];
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env.PATH, HOME: folder, CORTEX_EMBEDDER_ENDPOINT: "none" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors = (errors + text).slice(-4000);
  });
  const ended = once(child, "close");
  const out = await announced(child.stdout);
  if (out === "") throw new Error(`the server did not start: ${errors}`);
  return {
    url: JSON.parse(out).url,
    pid: child.pid,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    errors: () => errors,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      const [code, by] = await ended;
      return code ?? by;
    },
  };
}

/** The document in which a server says where it is, or nothing; the pipe stays open, or a server might end by it. */
function announced(stdout) {
  return new Promise((resolve) => {
    let out = "";
    stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
      if (out.endsWith("\n}\n")) resolve(out);
    });
    stdout.once("close", () => resolve(""));
  });
}

/**
 * Resident memory in MiB, processor seconds, and what the descriptors of a process are of: stores that are
 * open, the descriptors on their files, and all others; Linux only.
 */
export function usageOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const targets = readdirSync(`/proc/${pid}/fd`).map((name) => targetOf(`/proc/${pid}/fd/${name}`));
  const files = targets.filter((target) => /\.mdb(-lock)?( \(deleted\))?$/.test(target));
  return {
    residentMib: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024),
    descriptors: targets.length,
    stores: new Set(files.filter((path) => path.endsWith(".mdb"))).size,
    storeFiles: files.length,
    others: targets.length - files.length,
    cpuSeconds: (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / 100,
  };
}

/** What a descriptor is of; one that was closed meanwhile is of nothing. */
function targetOf(link) {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

/** How much more memory, in MiB, and how many more descriptors are no growth. */
const SLACK_MIB = 60;
const SLACK_DESCRIPTORS = 20;
/**
 * What an open store takes at most, and what a write leaves in one until it is closed or its words are written out: 3 KB
 * of words and pages of the trees, measured over 20,000 writes into 40 stores.
 */
const STORE_MIB = 3;
const WRITE_KIB = 4;
const STORE_DESCRIPTORS = 4;

/**
 * What grew between the second third of some samples and the last, in words; nothing where all is well.
 *
 * How many stores are open depends on who is asked and which jobs have work. So stores are held to the
 * bound that the server declares, their files to what a store takes, and memory may follow the number of
 * open stores and of writes; everything else must not grow.
 */
export function growthOf(samples, storesMost) {
  const third = Math.floor(samples.length / 3);
  const most = (some, name) => Math.max(0, ...some.map((sample) => sample[name]));
  const [early, late] = [samples.slice(third, 2 * third), samples.slice(samples.length - third)];
  const told = [];
  const stores = most(samples, "stores");
  if (stores > storesMost) told.push(`${stores} stores were open, expected ${storesMost} at most`);
  const files = late.find(
    (one) => one.storeFiles > STORE_DESCRIPTORS * one.stores + SLACK_DESCRIPTORS,
  );
  if (files !== undefined)
    told.push(`${files.storeFiles} descriptors on the files of ${files.stores} stores`);
  const [others, then] = [most(late, "others"), most(early, "others")];
  if (others > then + SLACK_DESCRIPTORS)
    told.push(`other descriptors grew from ${then} to ${others}`);
  const opened = Math.max(0, most(late, "stores") - most(early, "stores"));
  const [mib, before] = [most(late, "residentMib"), most(early, "residentMib")];
  const written = (late.at(-1)?.writes ?? 0) - (early[0]?.writes ?? 0);
  if (mib > before + SLACK_MIB + STORE_MIB * opened + (WRITE_KIB * written) / 1024)
    told.push(
      `memory grew from ${before} to ${mib} MiB, with ${opened} more stores open and ${written} writes`,
    );
  return told;
}
