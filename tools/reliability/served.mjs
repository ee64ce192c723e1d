/**
 * `cortex serve` as a process of its own, over a folder and on a free port, for the programs of this
 * folder. It embeds with no model, so that what is measured is the server.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
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

/** Resident memory in MiB, descriptors, and processor seconds of a process; Linux only. */
export function usageOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return {
    residentMib: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    cpuSeconds: (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / 100,
  };
}
