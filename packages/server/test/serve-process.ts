/** `cortex serve` as a process of its own: started, spoken to, and ended by signals. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { MAIN, NO_EMBEDDER } from "./cortex-process.js";
import { ALONE } from "./http-server.js";

/** A server in a process. */
export interface ServeProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** What it wrote to stderr so far. */
  err(): string;
  /** How it ended: an exit code, or the name of a signal. */
  readonly ended: Promise<number | string>;
  post(path: string, body: unknown): Promise<Response>;
  /** Ends it, if it still runs, and waits. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

const isPostgres = (location: string): boolean => /^postgres(ql)?:/.test(location);

function serveWords(folder: string, args: readonly string[]): readonly string[] {
  return [MAIN, "serve", "--data", folder, "--port", "0", ...args];
}

/** What a server tells people when it starts, read while it runs; it is ended after `use`. */
export async function whileServing(
  folder: string,
  env: Readonly<Record<string, string>>,
  use: (said: string) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, serveWords(folder, []), {
    env: {
      PATH: process.env.PATH,
      HOME: isPostgres(folder) ? tmpdir() : folder,
      ...NO_EMBEDDER,
      ...env,
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await untilTold(child, use, () => child.kill("SIGTERM"));
}

/**
 * Runs what `npm start` runs in this checkout once it is built, on a free port, for the user of a home; gives what
 * it said. Building belongs to `npm test`: here it would replace the files that other tests are starting.
 */
export function npmStart(home: string, use: (said: string) => Promise<void>): Promise<string> {
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8")) as {
    readonly scripts: { readonly start: string };
  };
  const [build, line = ""] = scripts.start.split(" && ");
  if (build !== "npm run build") throw new Error(`npm start builds nothing: ${scripts.start}`);
  const child = spawn("sh", ["-c", `exec ${line} --port 0`], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, ...NO_EMBEDDER },
    stdio: ["ignore", "pipe", "ignore"],
  });
  return untilTold(child, use, () => child.kill("SIGTERM"));
}

/** Waits until a server has told people where it is, lets `use` work with it, and ends it. */
async function untilTold(
  child: ChildProcessByStdio<null, Readable, null>,
  use: (said: string) => Promise<void>,
  end: () => void,
): Promise<string> {
  const ended = new Promise((resolve) => child.once("close", resolve));
  let said = "";
  try {
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      said += text;
    });
    while (!said.includes("Ctrl-C") && child.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await use(said);
  } finally {
    if (child.exitCode === null) end();
    await ended;
  }
  return said;
}

/**
 * The document in which a server says where it is; empty when it ended instead. The pipe stays open: who stops
 * reading closes it, and a server that then has something to say ends.
 */
function announced(stdout: Readable): Promise<string> {
  return new Promise((resolve) => {
    let out = "";
    stdout.setEncoding("utf8");
    stdout.on("data", (text: string) => {
      out += text;
      if (out.endsWith("\n}\n")) resolve(out);
    });
    stdout.once("close", () => resolve(""));
  });
}

/** Starts a server over a folder; resolves when it says where it is. */
export async function startServe(
  folder: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ServeProcess> {
  // Beside a store in a folder; one in a database has nothing beside it, and nothing is kept at home there.
  const home = isPostgres(folder) ? tmpdir() : join(folder, "..", "home");
  mkdirSync(home, { recursive: true });
  const child = spawn(process.execPath, serveWords(folder, ["--json", ...args]), {
    env: { PATH: process.env.PATH, HOME: home, ...NO_EMBEDDER, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let err = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => {
    err += text;
  });
  const ended = new Promise<number | string>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  const out = await announced(child.stdout);
  if (out === "") throw new Error(`serve ended with ${await ended}: ${err}`);
  const { url } = JSON.parse(out) as { readonly url: string };
  return {
    url,
    port: Number(new URL(url).port),
    child,
    err: () => err,
    ended,
    post: (path, body) =>
      fetch(url + path, {
        method: "POST",
        headers: { ...ALONE, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended;
    },
  };
}
