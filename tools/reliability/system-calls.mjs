/**
 * Looking at, and interfering with, the system calls of a process: recording what a run writes and
 * syncs, as `strace` tells it, and asking `verify-store.mjs` about what was left.
 *
 * Promise: `recordRun` gives every change of the files below a folder in the order in which the kernel
 * was asked, with its bytes; a call it does not understand is an error and not a gap.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const WORKLOAD = fileURLToPath(new URL("workload.mjs", import.meta.url));
const VERIFIER = fileURLToPath(new URL("verify-store.mjs", import.meta.url));

/** Every call by which a process can change a file, and those that say where it stands in one. */
const TRACED =
  "openat,creat,close,lseek,write,writev,pwrite64,pwritev,pwritev2,fdatasync,fsync,msync,sync_file_range,rename,renameat,renameat2,link,ftruncate,fallocate,unlink,unlinkat,mkdir,mkdirat,rmdir,copy_file_range";

/** Whether processes can be traced here. */
export function canTrace() {
  return spawnSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" }).status === 0;
}

/**
 * Runs the workload in a folder under strace; `options` are strace's own.
 * @returns {Promise<{ lines: string[], end: string }>} what it said, and how it ended
 */
export async function runWorkload(folder, trace, options) {
  const args = [
    "-f",
    "--seccomp-bpf",
    "-y",
    "-o",
    trace,
    ...options,
    process.execPath,
    WORKLOAD,
    folder,
  ];
  const child = spawn("strace", args, { stdio: ["ignore", "pipe", "ignore"] });
  const lines = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const [code, signal] = await once(child, "close");
  return { lines, end: signal ?? `${code}` };
}

/** Which pieces a run began, and which it was told are done. */
export function toldBy(lines) {
  const after = (word) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  return { started: after("start"), acknowledged: after("ack") };
}

/** Runs the workload and gives its changes, in order; see the file header. */
export async function recordRun(folder, trace) {
  const { lines } = await runWorkload(folder, trace, [
    "-xx",
    "-s",
    "1000000",
    "-e",
    `trace=${TRACED}`,
  ]);
  return { lines, events: readTrace(readFileSync(trace, "latin1"), folder) };
}

/** Bytes as strace prints them under -xx. */
function bytesOf(hex) {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

function textOf(shown) {
  return shown.includes("\\x") ? bytesOf(shown).toString() : shown;
}

/** Each call as one line, with those put together that another thread interrupted. */
function* callsOf(text) {
  const begun = new Map();
  for (const line of text.split("\n")) {
    const [, thread = "", call = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (call.endsWith("<unfinished ...>"))
      begun.set(thread, call.slice(0, -"<unfinished ...>".length));
    else if (call.startsWith("<... "))
      yield `${begun.get(thread) ?? ""}${call.replace(/^<\.\.\. \w+ resumed>/, "")}`;
    else yield call;
  }
}

function readTrace(text, folder) {
  const events = [];
  /** Where each descriptor stands, and whether its writes wait for the disk. */
  const descriptors = new Map();
  const isOurs = (path) => path.startsWith(`${folder}/`) && !path.endsWith("-lock");
  for (const call of callsOf(text)) {
    const [, name = "", rest = "", result = ""] = /^(\w+)\((.*)\)\s+= (-?\d+)/s.exec(call) ?? [];
    if (name === "" || Number(result) < 0) continue;
    const strings = [...rest.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = ""]) => hex);
    const [, number = "", shownPath = ""] = /^(\d+)<([^>]*)>/.exec(rest) ?? [];
    const path = textOf(shownPath);
    const state = descriptors.get(number) ?? { at: 0, isSynced: false };
    switch (name) {
      case "openat":
      case "creat": {
        const opened = textOf(/ = \d+<([^>]*)>/.exec(call)?.[1] ?? "");
        descriptors.set(result, { at: 0, isSynced: /O_D?SYNC/.test(rest) });
        if (isOurs(opened) && rest.includes("O_CREAT"))
          events.push({ kind: "create", path: opened });
        if (isOurs(opened) && rest.includes("O_TRUNC"))
          events.push({ kind: "truncate", path: opened, length: 0 });
        break;
      }
      case "lseek":
        descriptors.set(number, { ...state, at: Number(result) });
        break;
      case "write":
      case "writev":
      case "pwrite64":
      case "pwritev":
      case "pwritev2": {
        const data = Buffer.concat(strings.map(bytesOf)).subarray(0, Number(result));
        if (number === "1") events.push({ kind: "said", line: data.toString().trim() });
        if (!isOurs(path)) break;
        if (data.length !== Number(result)) throw notUnderstood(call);
        const offset = offsetOf(name, rest) ?? state.at;
        if (!name.startsWith("p")) state.at += data.length;
        events.push({ kind: "write", path, offset, data, isSynced: state.isSynced });
        break;
      }
      case "fdatasync":
      case "fsync":
        if (isOurs(path) || path === folder) events.push({ kind: "sync", path });
        break;
      case "ftruncate":
        if (isOurs(path))
          events.push({ kind: "truncate", path, length: Number(rest.split(", ")[1]) });
        break;
      case "rename":
      case "renameat":
      case "renameat2":
      case "link":
      case "unlink":
      case "unlinkat":
      case "mkdir":
      case "mkdirat":
        events.push(
          ...nameChange(name, strings.map(textOf)).filter((one) => isOurs(one.to ?? one.path)),
        );
        break;
      case "close":
        break;
      default:
        if (isOurs(path)) throw notUnderstood(call);
    }
  }
  return events;
}

function notUnderstood(call) {
  return new Error(`a call that is not understood: ${call.slice(0, 120)}`);
}

/** Where a call says that it writes; absent where it goes on from where the descriptor stands. */
function offsetOf(name, rest) {
  if (!name.startsWith("p")) return undefined;
  return Number(rest.split(", ").findLast((part) => /^\d+$/.test(part)));
}

/** What a call does to names. */
function nameChange(name, [path = "", to = ""]) {
  if (name.startsWith("rename")) return [{ kind: "rename", path, to }];
  if (name === "link") return [{ kind: "link", path, to }];
  return [{ kind: name.startsWith("mkdir") ? "folder" : "remove", path }];
}

/** Asks about many folders, one after another, in one process as long as it lives. */
export class Verifier {
  #child;
  #lines;

  /** @returns {Promise<string[]>} what is wrong with what is in a folder */
  async problemsOf(folder, { acknowledged, started }) {
    if (this.#child === undefined) {
      this.#child = spawn(process.execPath, [VERIFIER], { stdio: ["pipe", "pipe", "inherit"] });
      this.#child.stdin.on("error", () => undefined);
      this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    }
    const child = this.#child;
    child.stdin.write(`${JSON.stringify({ folder, acknowledged, started })}\n`);
    const { value, done } = await this.#lines.next();
    if (done !== true) return JSON.parse(value);
    this.#child = undefined;
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    return [`whoever opens it is ended by ${child.signalCode ?? child.exitCode}`];
  }

  async close() {
    if (this.#child === undefined) return;
    this.#child.stdin.end();
    await once(this.#child, "close");
    this.#child = undefined;
  }
}

/** A path below another folder. */
export function moved(path, from, to) {
  return path === from ? to : join(to, path.slice(from.length));
}
