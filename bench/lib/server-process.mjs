/**
 * `cortex serve` of some build as a process of its own, started as users start it and stopped again, and a wait
 * until it is at rest.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

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
  const args = [main, "serve", "--data", folder, "--port", "0", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", log] });
  closeSync(log);
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
