/**
 * `cortex serve` of some build as a process of its own, started as users start it and stopped again.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";

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
