/**
 * `npm run together`: several processes on one store at once, readers and writers, while one of them vacuums,
 * rebuilds and backs up. What must hold: no update is lost (a counter that all of them raise by
 * compare-and-set ends where it should), no seq is missing, every batch is seen whole or not at all, a reader's
 * position never goes back, and nobody starves: the longest wait of each role is printed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { open } from "../../packages/core/dist/index.js";
import { readFlags } from "./arguments.mjs";

const BATCH = 4;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Does something over and over until the time is up; tells how often, and the longest wait. */
async function repeat(endMs, work) {
  let times = 0;
  let longestMs = 0;
  while (Date.now() < endMs) {
    const started = performance.now();
    await work(times);
    longestMs = Math.max(longestMs, performance.now() - started);
    times += 1;
    await turn();
  }
  return { times, longestMs: Math.round(longestMs) };
}

async function raise(memory) {
  for (;;) {
    const { text, version } = await memory.get("counter");
    try {
      await memory.update("counter", { text: String(Number(text) + 1), basedOnVersion: version });
      return;
    } catch (error) {
      if (error.code !== "ERR_CONFLICT") throw error;
    }
  }
}

/** What a process of each role does in one turn. */
const ROLES = {
  writer: (memory, name) => async (at) => {
    await raise(memory);
    const tag = `${name}-${at}`;
    const items = Array.from({ length: BATCH }, (_, nth) => ({
      write: { type: "note", text: `${tag}.${nth}`, tags: [tag, "batch"] },
    }));
    await memory.batch(items);
  },
  reader: (memory) => {
    let last = -1;
    let count = 0;
    return async () => {
      const { memories, seq } = await memory.list({ tag: "batch", limit: BATCH * 25 });
      if (seq < last) throw new Error(`the position went back from ${last} to ${seq}`);
      last = seq;
      const sizes = new Map();
      for (const { head } of memories) {
        const tag = head.tags.find((one) => one !== "batch");
        sizes.set(tag, (sizes.get(tag) ?? 0) + 1);
      }
      // The last one may be cut by the end of the page.
      const halves = [...sizes].slice(0, -1).filter(([, size]) => size !== BATCH);
      if (halves.length > 0 && memories.length < BATCH * 25)
        throw new Error(`half a batch: ${halves[0]}`);
      const now = Number((await memory.get("counter")).text);
      if (now < count) throw new Error(`the counter went back from ${count} to ${now}`);
      count = now;
    };
  },
  keeper: (memory, name, folder) => async (at) => {
    if (at % 3 === 0) await memory.vacuum();
    else if (at % 3 === 1) {
      const { ok } = await memory.rebuild();
      if (!ok) throw new Error("rebuild found a difference");
    } else await memory.backup(join(folder, `${name}-${at}.backup`));
  },
};

async function work(role, name, folder) {
  const memory = await open(join(folder, "store"), { actor: "ada", rateLimits: false });
  process.stdout.write("ready\n");
  const [endMs] = await once(createInterface({ input: process.stdin }), "line");
  const done = await repeat(Number(endMs), ROLES[role](memory, name, folder));
  await memory.close();
  process.stdout.write(`${JSON.stringify({ role, name, ...done })}\n`);
  process.stdin.destroy();
}

/** Starts a process; `go` tells it how long, once it has the store open. */
function startWorker(role, name, folder) {
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [self, "work", role, name, folder], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, "close");
  const next = async () => {
    const { value, done } = await lines.next();
    if (!done) return value;
    const [code, signal] = await ended;
    throw new Error(`${name} ended with ${code ?? signal}: ${errors}`);
  };
  return {
    ready: next(),
    async go(endMs) {
      child.stdin.write(`${endMs}\n`);
      const done = JSON.parse(await next());
      await ended;
      return done;
    },
  };
}

/** What is wrong with the store in the end. */
async function problemsOf(folder, raised) {
  const problems = [];
  const memory = await open(join(folder, "store"), { actor: "ada" });
  const counter = Number((await memory.get("counter")).text);
  if (counter !== raised)
    problems.push(`the counter is ${counter}, and was raised ${raised} times`);
  let expected = 0;
  for (let next = 0; next !== undefined; ) {
    const page = await memory.log({ from: next, limit: 1000 });
    for (const { seq } of page.entries)
      if (seq !== expected++) problems.push(`seq ${seq} where ${expected - 1} should be`);
    next = page.next;
  }
  const report = await memory.check();
  if (!report.ok) problems.push(`check: ${JSON.stringify(report.problems)}`);
  await memory.close();
  return { problems, entries: expected };
}

async function main() {
  const flags = readFlags(
    "Several processes read and write one store at once, while one vacuums, rebuilds and backs up.",
    [
      { name: "seconds", kind: "number", standard: 60, help: "how long" },
      {
        name: "processes",
        kind: "number",
        standard: 10,
        help: "how many, at least 3: one keeper, half of the others writers",
      },
    ],
  );
  const folder = mkdtempSync(join(tmpdir(), "cortex-together-"));
  try {
    const memory = await open(join(folder, "store"), { actor: "ada" });
    await memory.write({ type: "note", externalId: "counter", text: "0" });
    await memory.close();
    const others = Math.max(3, Number(flags.processes)) - 1;
    const roles = [
      "keeper",
      ...Array.from({ length: others }, (_, at) => (at % 2 === 0 ? "writer" : "reader")),
    ];
    const workers = roles.map((role, at) => startWorker(role, `${role}${at}`, folder));
    await Promise.all(workers.map(({ ready }) => ready));
    const endMs = Date.now() + Number(flags.seconds) * 1000;
    const done = await Promise.all(workers.map((worker) => worker.go(endMs)));
    const writers = done.filter(({ role }) => role === "writer");
    const { problems, entries } = await problemsOf(
      folder,
      writers.reduce((sum, { times }) => sum + times, 0),
    );
    for (const role of ["writer", "reader", "keeper"]) {
      const own = done.filter((one) => one.role === role);
      const turns = own.map(({ times }) => times).join(", ");
      process.stdout.write(
        `${role}s: turns ${turns}; longest wait ${Math.max(...own.map(({ longestMs }) => longestMs))} ms\n`,
      );
    }
    for (const { name, times } of done)
      if (times === 0) problems.push(`${name} had no turn at all`);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    process.stdout.write(`${entries} entries, ${problems.length} problems\n`);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [, , word, ...rest] = process.argv;
if (word === "work") await work(...rest);
else await main();
