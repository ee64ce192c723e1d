/**
 * A PostgreSQL server for the benchmark: in a temporary folder of its own, which the user it runs as can
 * reach, on a free port, with its usual settings. `stop` leaves no process and no folder behind.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/**
 * @typedef {{
 *   readonly url: string,
 *   ask(text: string): Promise<string>,
 *   fillPgbench(): Promise<void>,
 *   pgbench(clients: number, seconds: number): Promise<number>,
 *   stop(): Promise<void>,
 * }} Database
 */

const DEBIAN = "/usr/lib/postgresql";
const run = promisify(execFile);

/** The folder of the server's programs, if there is one. */
function binFolder() {
  if (!existsSync(DEBIAN)) return undefined;
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(DEBIAN, version, "bin"))
    .find((folder) => existsSync(join(folder, "pgbench")));
}

/** Why nothing can be measured here; `undefined` where it can. */
export function whyNoDatabase() {
  return binFolder() === undefined ? "this machine has no PostgreSQL server" : undefined;
}

/** Whom the server runs as: it refuses to be root's. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync("/etc/passwd", "utf8").split("\n");
  const found = line.find((one) => one.startsWith("postgres:")) ?? "nobody:x:65534:65534";
  const [, , uid, gid] = found.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/**
 * Starts a server.
 * @returns {Promise<Database>}
 */
export async function startDatabase() {
  const bin = binFolder() ?? "";
  const who = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "cortex-bench-pg-"));
  if (who.uid !== undefined && who.gid !== undefined) chownSync(folder, who.uid, who.gid);
  const data = join(folder, "data");
  const how = { ...who, cwd: folder };
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "cortex", "-A", "trust", "--locale=C"], {
    ...how,
    stdio: "ignore",
  });
  const port = await freePort();
  const settings = ["listen_addresses = '127.0.0.1'", "unix_socket_directories = ''"];
  const lines = [`port = ${port}`, "max_connections = 200", ...settings, ""];
  writeFileSync(join(data, "postgresql.auto.conf"), lines.join("\n"));
  const child = spawn(join(bin, "postgres"), ["-D", data], { ...how, stdio: "ignore" });
  const where = ["-h", "127.0.0.1", "-p", String(port), "-U", "cortex"];
  const ask = async (/** @type {string} */ text) => {
    const words = [...where, "-d", "postgres", "-AtX", "-c", text];
    return (await run(join(bin, "psql"), words)).stdout.trim();
  };
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const isUp = await ask("SELECT 1").catch(() => undefined);
    if (isUp !== undefined) break;
    await sleep(100);
  }
  return {
    url: `postgres://cortex@127.0.0.1:${port}/postgres`,
    ask,
    async fillPgbench() {
      await run(join(bin, "pgbench"), ["-i", "-q", "-s", "10", ...where, "postgres"]);
    },
    async pgbench(clients, seconds) {
      const all = [...where, "postgres"];
      const load = ["-N", "-n", "-c", String(clients), "-j", "2", "-T", String(seconds)];
      const { stdout } = await run(join(bin, "pgbench"), [...load, ...all]);
      return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    },
    async stop() {
      child.kill("SIGINT");
      if (child.exitCode === null) await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
