/**
 * Builds of Cortex that stand in different folders, and processes of them. A build is known by its two
 * public entries, the library's and the command's, and by nothing inside it.
 */
import { fork, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * @typedef {{
 *   readonly name: "against" | "ours",
 *   readonly folder: string,
 *   readonly core: string,
 *   readonly main: string,
 * }} Build core: the address of the library's entry; main: the path of the command
 *
 * @typedef {Awaited<ReturnType<typeof startWorker>>} Worker
 */

const CORE = "packages/core/dist/index.js";
const MAIN = "packages/server/dist/main.js";
const WORKER = fileURLToPath(new URL("./build-worker.mjs", import.meta.url));
const CLOCK = new URL("./processor-clock.mjs", import.meta.url).href;

/**
 * The build in a folder; throws where there is none.
 * @param {Build["name"]} name
 * @param {string} folder
 * @returns {Build}
 */
export function buildAt(name, folder) {
  const [core, main] = [resolve(folder, CORE), resolve(folder, MAIN)];
  for (const path of [core, main]) {
    if (existsSync(path)) continue;
    throw new Error(`--against: expected a checkout that is built, got ${folder}: no ${path}`);
  }
  return { name, folder: resolve(folder), core: pathToFileURL(core).href, main };
}

/**
 * A process that holds the engine of a build; see `build-worker.mjs` for what it can be asked.
 * @param {Build} build
 */
export async function startWorker(build) {
  const child = fork(WORKER, [build.core], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const gone = new Promise((done) => child.once("exit", done));
  return {
    /**
     * @param {"open" | "fill" | "close" | "slice"} task
     * @param {unknown} [input]
     */
    async ask(task, input) {
      const answered = new Promise((done) => child.once("message", done));
      // A process that is gone is told of by its end.
      child.send({ task, input }, () => {});
      const answer = await Promise.race([answered, gone.then(() => ({ error: "it ended" }))]);
      if (answer.error === undefined) return answer.value;
      throw new Error(`the build ${build.name} failed at ${task}: ${answer.error}`);
    },
    async stop() {
      child.kill();
      await gone;
    },
  };
}

/**
 * Milliseconds of processor time that a command of a build takes, from its start to its end.
 * @param {Build} build
 * @param {readonly string[]} args
 */
export function commandProcessorMs({ name, main }, args) {
  const words = ["--import", CLOCK, main, ...args];
  const { status, output } = spawnSync(process.execPath, words, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit", "pipe"],
  });
  if (status !== 0) throw new Error(`the build ${name} failed at ${args.join(" ")}: ${status}`);
  return Number(output[3]);
}

/**
 * Processor time that another process has used so far, in ticks of the system; `undefined` where the
 * system does not tell. Good for ratios only.
 * @param {number | undefined} pid
 */
export function processorTicksOf(pid) {
  try {
    const stat = readFileSync(join("/proc", String(pid), "stat"), "utf8");
    // The name of the process stands in brackets and may hold spaces; utime and stime are the 14th and
    // 15th of all fields.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
