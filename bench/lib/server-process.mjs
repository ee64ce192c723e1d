/**
 * `cortex serve` of some build as a process of its own, started as users start it and stopped again, and a wait
 * until it is at rest.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The command of this tree, as npm links it for users: bundled. */
export function ownCommand() {
  const built = dirname(createRequire(import.meta.url).resolve("@cortex-memory/server"));
  return join(built, "..", "bin", "cortex.js");
}

/**
 * The built binary on a free port; its log goes to a file, as it would under a supervisor.
 * @param {string} main
 * @param {string} folder
 * @returns {Promise<{
 *   readonly port: number,
 *   readonly pid: number | undefined,
 *   stop(): Promise<void>,
 * }>}
 */
export async function startServer(main, folder) {
  const log = openSync(join(folder, "log.jsonl"), "a", 0o600);
  try {
    return await started([main, "serve", "--data", folder, "--port", "0", "--json"], log);
  } finally {
    closeSync(log);
  }
}

/**
 * A server that sends one answer to every request and does nothing else: what Node's own takes.
 * @param {string} type
 * @param {string} body
 */
export function startBareServer(type, body) {
  const program = fileURLToPath(new URL("./bare-server.mjs", import.meta.url));
  return started([program, type, body], "inherit");
}

/**
 * Starts a program that says in a document of JSON where it listens.
 * @param {readonly string[]} args
 * @param {number | "inherit"} log
 */
async function started(args, log) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", log] });
  if (child.stdout === null) throw new Error("the server has no output");
  const gone = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  child.stdout.setEncoding("utf8");
  for await (const chunk of child.stdout) {
    said += chunk;
    if (said.trimEnd().endsWith("}")) break;
  }
  const { url } = JSON.parse(said);
  return {
    port: Number(new URL(url).port),
    pid: child.pid,
    stop: async () => {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

/**
 * Waits until a server has nothing left to do of what was written before it started: the part of the journal that
 * its words and its vectors lack grows no smaller.
 * @param {number} port
 */
export async function atRest(port) {
  let left = Number.POSITIVE_INFINITY;
  for (let same = 0; same < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { text, vectors } = await askServer(port, "stats", {});
    const now = text.lag + (vectors?.lag ?? 0);
    same = now < left ? 0 : same + 1;
    left = now;
  }
}

/**
 * The answer of a verb.
 * @param {number} port
 * @param {string} verb
 * @param {object} body
 */
export async function askServer(port, verb, body) {
  const answered = await fetch(`http://127.0.0.1:${port}/v1/${verb}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answered.ok) throw new Error(`${verb} answered ${answered.status}`);
  return answered.json();
}
