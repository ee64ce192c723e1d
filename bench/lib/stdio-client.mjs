/**
 * An MCP server as a process of its own, and this process as its client: lines of JSON on stdin and
 * stdout, without a library, so that the server's time is what counts.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const HANDSHAKE = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

/**
 * Starts a server and waits until it has answered the handshake.
 * @param {readonly string[]} args of node
 * @param {Readonly<Record<string, string>>} [env]
 */
export async function startStdio(args, env = {}) {
  const child = spawn(process.execPath, [...args], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  /** @type {Map<number, { resolve(result: ToolResult): void, reject(error: Error): void }>} */
  const waiting = new Map();
  const gone = new Promise((resolve) => {
    child.once("exit", () => {
      for (const { reject } of waiting.values()) reject(new Error("the server ended"));
      resolve(undefined);
    });
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    const message = JSON.parse(line);
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error !== undefined) asked?.reject(new Error(message.error.message));
    else asked?.resolve(message.result);
  });
  let last = 0;
  /**
   * @param {string} method
   * @param {object} params
   * @returns {Promise<ToolResult>}
   */
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: last, method, params })}\n`);
    });
  await ask("initialize", HANDSHAKE);
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return {
    pid: child.pid,
    /**
     * One tool called; throws when it says that it failed.
     * @param {string} name
     * @param {object} args
     */
    async call(name, args) {
      const result = await ask("tools/call", { name, arguments: args });
      if (result.isError === true) throw new Error(`${name}: ${result.content[0]?.text}`);
      return result;
    },
    async close() {
      child.stdin.end();
      const wait = setTimeout(() => child.kill(), 2000);
      await gone;
      clearTimeout(wait);
    },
  };
}

/**
 * @typedef {{
 *   readonly isError?: boolean,
 *   readonly content: readonly { readonly text: string }[],
 *   readonly structuredContent?: Readonly<Record<string, unknown>>,
 * }} ToolResult
 */
