/**
 * A PostgreSQL server for tests: in a temporary folder, on a free port, as a user without rights; and
 * pgbouncer in front of one.
 *
 * Promises: `stop` leaves no process and no folder behind. Where the programs are not installed,
 * `whyNoPostgres` says so; tests then skip with that sentence, or fail if everything must run.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const PASSWORD = "a password";
const USER = "cortex";
const DEBIAN = "/usr/lib/postgresql";

/** Why no server or no pooler can be started here; `undefined` where both can. */
export function whyNoPostgres(): string | undefined {
  if (binFolder() === undefined) return "this machine has no PostgreSQL server";
  return bouncerPath() === undefined ? "this machine has no pgbouncer" : undefined;
}

function binFolder(): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))
    : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, "bin")),
    ...(process.env.PATH ?? "").split(":"),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")));
}

function bouncerPath(): string | undefined {
  const folders = ["/usr/sbin", ...(process.env.PATH ?? "").split(":")];
  return folders.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));
}

/** Whom to run as: the server refuses to be root's. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found =
    users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  return { uid: Number(found?.[2]), gid: Number(found?.[3]) };
}

/** A folder that belongs to whom the server runs as. */
function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), name));
  const { uid, gid } = unprivileged();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Waits until something listens. */
async function listening(port: number, child: ChildProcess, told: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${told()}`);
    const socket = connect(port, "127.0.0.1");
    const isUp = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isUp) return;
    await sleep(20);
  }
}

/** Starts a server; `settings` are lines of its configuration. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const bin = binFolder();
  if (bin === undefined) throw new Error(whyNoPostgres());
  const folder = ownFolder("cortex-pg-");
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  const who = unprivileged();
  if (who.uid !== undefined && who.gid !== undefined) chownSync(passwordFile, who.uid, who.gid);
  const safety = ["-A", "scram-sha-256", "--pwfile", passwordFile, "--no-sync"];
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-U", USER, ...safety, "-E", "UTF8", "--locale=C"],
    { ...who, cwd: folder, stdio: "ignore" },
  );
  const port = await freePort();
  const usual = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${folder}'`,
    "max_connections = 100",
    "log_min_messages = fatal",
  ];
  writeFileSync(join(data, "postgresql.auto.conf"), [...usual, ...settings, ""].join("\n"));
  const server = new PostgresServer(bin, folder, port);
  await server.start();
  return server;
}

/** Starts a server that follows another one as its standby, until it is promoted. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  const bin = binFolder();
  if (bin === undefined) throw new Error(whyNoPostgres());
  const folder = ownFolder("cortex-pg-");
  const port = await freePort();
  const from = ["-h", "127.0.0.1", "-p", String(primary.port), "-U", USER];
  const how = ["-D", join(folder, "data"), "-R", "-X", "stream", "-c", "fast", "--no-sync"];
  await promisify(execFile)(join(bin, "pg_basebackup"), [...from, ...how], {
    ...unprivileged(),
    cwd: folder,
    env: { ...process.env, PGPASSWORD: PASSWORD, PGAPPNAME: "standby" },
  });
  // What comes later in the file counts.
  const own = [`port = ${port}`, `unix_socket_directories = '${folder}'`];
  const settings = [...own, "synchronous_standby_names = ''", ""].join("\n");
  appendFileSync(join(folder, "data", "postgresql.auto.conf"), settings);
  const server = new PostgresServer(bin, folder, port);
  await server.start();
  return server;
}

/** Lines of a configuration by which a server keeps what it writes in a folder, for restores to a point in time. */
export function archiving(folder: string): readonly string[] {
  return ["archive_mode = on", `archive_command = 'cp %p "${folder}/%f"'`, "max_wal_senders = 4"];
}

/** A copy of a server's files, from which it can be restored to any later point of what it keeps in an archive. */
export async function takeBase(server: PostgresServer): Promise<string> {
  const folder = ownFolder("cortex-pg-");
  const from = ["-h", "127.0.0.1", "-p", String(server.port), "-U", USER];
  const how = ["-D", join(folder, "data"), "-X", "none", "-c", "fast", "--no-sync"];
  await promisify(execFile)(join(server.bin, "pg_basebackup"), [...from, ...how], {
    ...unprivileged(),
    cwd: folder,
    env: { ...process.env, PGPASSWORD: PASSWORD },
  });
  return folder;
}

/** Starts a server from a copy and an archive, as of a point that was given a name. */
export async function startAt(
  base: string,
  archive: string,
  point: string,
): Promise<PostgresServer> {
  const bin = binFolder();
  if (bin === undefined) throw new Error(whyNoPostgres());
  const port = await freePort();
  const data = join(base, "data");
  const settings = [
    `port = ${port}`,
    `unix_socket_directories = '${base}'`,
    "archive_mode = off",
    `restore_command = 'cp "${archive}/%f" "%p"'`,
    `recovery_target_name = '${point}'`,
    "recovery_target_action = 'promote'",
  ];
  appendFileSync(join(data, "postgresql.auto.conf"), [...settings, ""].join("\n"));
  const signal = join(data, "recovery.signal");
  writeFileSync(signal, "");
  const { uid, gid } = unprivileged();
  if (uid !== undefined && gid !== undefined) chownSync(signal, uid, gid);
  const server = new PostgresServer(bin, base, port);
  await server.start();
  return server;
}

/** A server that runs, or ran. */
export class PostgresServer {
  readonly port: number;
  readonly folder: string;
  readonly url: string;
  readonly bin: string;
  #child: ChildProcess | undefined;
  #said = "";

  constructor(bin: string, folder: string, port: number) {
    this.bin = bin;
    this.folder = folder;
    this.port = port;
    this.url = this.address("postgres");
  }

  /** The address of a database. */
  address(database: string): string {
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts it again on the same port. */
  async start(): Promise<void> {
    const data = join(this.folder, "data");
    rmSync(join(data, "postmaster.pid"), { force: true });
    const how = { ...unprivileged(), cwd: this.folder };
    const child = spawn(join(this.bin, "postgres"), ["-D", data], how);
    this.#child = child;
    child.stderr.on("data", (text) => {
      this.#said = `${this.#said}${text}`.slice(-4000);
    });
    await listening(this.port, child, () => this.#said);
    for (;;) {
      try {
        this.psql("SELECT 1");
        return;
      } catch (error) {
        if (child.exitCode !== null) throw error;
        await sleep(50);
      }
    }
  }

  /** Runs statements as the owner of everything; gives what they answer. */
  psql(text: string, database = "postgres"): string {
    const where = ["-h", "127.0.0.1", "-p", String(this.port), "-U", USER, "-d", database];
    const env = { ...process.env, PGPASSWORD: PASSWORD };
    const how = ["-AtX", "-v", "ON_ERROR_STOP=1", "-c", text];
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    return execFileSync(join(this.bin, "psql"), [...where, ...how], {
      env,
      encoding: "utf8",
      stdio,
    }).trim();
  }

  /** Gives a folder to whom the server runs as. */
  own(folder: string): void {
    const { uid, gid } = unprivileged();
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  }

  /** Makes a standby a server of its own. */
  async promote(): Promise<void> {
    this.psql("SELECT pg_promote(true, 60)");
  }

  /** Ends all its processes at once, as a power cut would. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGINT");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const others = childrenOf(child.pid);
    child.kill(signal);
    if (signal === "SIGKILL") for (const pid of others) killQuietly(pid);
    await once(child, "exit");
  }
}

/** The processes that a server has started. */
function childrenOf(pid: number | undefined): readonly number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").trim().split(/\s+/).filter(Boolean).map(Number);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went with its parent.
  }
}

/** A running pooler. */
export interface Pgbouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts pgbouncer in transaction mode in front of a server. */
export async function startPgbouncer(
  server: Pick<PostgresServer, "port">,
  more: readonly string[] = [],
): Promise<Pgbouncer> {
  const path = bouncerPath();
  if (path === undefined) throw new Error(whyNoPostgres());
  const folder = ownFolder("cortex-bouncer-");
  const port = await freePort();
  const users = join(folder, "users.txt");
  writeFileSync(users, `"${USER}" "${PASSWORD}"\n`);
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    [
      "[databases]",
      `* = host=127.0.0.1 port=${server.port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = plain",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      "default_pool_size = 20",
      "max_client_conn = 400",
      ...more,
      "",
    ].join("\n"),
  );
  const child = spawn(path, [settings], { ...unprivileged(), cwd: folder });
  let said = "";
  child.stderr.on("data", (text) => {
    said = `${said}${text}`.slice(-4000);
  });
  await listening(port, child, () => said);
  return {
    url: `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    async stop() {
      child.kill("SIGINT");
      if (child.exitCode === null) await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
