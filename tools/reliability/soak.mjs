/**
 * `npm run soak`: `cortex serve` under mixed load for minutes: many actors that write and ask through REST and
 * MCP, and streams that listen; in the middle the server is stopped and started again. Memory, descriptors,
 * latency and files are recorded. What must hold: every request is answered and none is refused, nothing
 * acknowledged is lost, memory and descriptors do not grow (`growthOf`), and a clean check of every store.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openHub } from "../../packages/core/dist/index.js";
import { seededRandom } from "../../packages/core/dist/testing/seeded-random.js";
import { OPEN_MAX } from "../../packages/server/dist/http/stores.js";
import { newSeed, progress, readFlags } from "./arguments.mjs";
import { growthOf, startServer, usageOf } from "./served.mjs";

const LANES = 8;
const STREAMS = 10;
/** Stores that may be open at once: twice as many as stay open, those in use, and those that are closing. */
const STORES_MOST = 2 * OPEN_MAX + LANES + STREAMS + 2;

/** What happened so far. */
const seen = { requests: 0, writes: 0, failures: [], latencies: [], events: 0 };
/** For every actor the texts that were acknowledged. */
const acknowledged = new Map();

async function post(url, body, headers = {}) {
  const started = performance.now();
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  seen.requests += 1;
  seen.latencies.push(performance.now() - started);
  // A tool that refuses says so in an answer that is well.
  const isRefused = !answer.ok || text.includes('"isError":true') || text.includes('"error":');
  if (isRefused) seen.failures.push(`${url} ${answer.status}: ${text.slice(0, 300)}`);
  return !isRefused;
}

function callTool(server, actor, name, given) {
  const message = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: given },
  };
  return post(`${server.url}/v1/actors/${actor}/mcp`, message, {
    Accept: "application/json, text/event-stream",
  });
}

/** One thing that some actor does. */
async function actOnce(server, random, actors, number) {
  const actor = `actor${random.below(actors)}`;
  const base = `${server.url}/v1/actors/${actor}`;
  const text = `thing ${number} of ${actor}, ${random.pick(["tea", "travel", "work"])}`;
  const dice = random.below(100);
  const turns = [{ role: "user", content: text }];
  if (dice < 40) note(actor, text, await post(`${base}/write`, { type: "note", text }));
  else if (dice < 50) {
    note(actor, text, await callTool(server, actor, "memory_remember", { text, type: "event" }));
  } else if (dice < 65) await post(`${base}/recall`, { question: "tea and travel" });
  else if (dice < 75) await callTool(server, actor, "memory_recall", { query: "what about work" });
  else if (dice < 85) await post(`${base}/find`, { type: ["note"], limit: 10 });
  else if (dice < 95) note(actor, text, await post(`${base}/remember`, { turns, session: "s" }));
  else await post(`${base}/search`, { text: "thing", limit: 5 });
}

/** Keeps in mind what was acknowledged. */
function note(actor, text, isAcknowledged) {
  if (!isAcknowledged) return;
  seen.writes += 1;
  const texts = acknowledged.get(actor) ?? [];
  texts.push(text);
  acknowledged.set(actor, texts);
}

/** Listens to everything until it is ended. */
async function listen(server, signal) {
  try {
    const answer = await fetch(`${server.url}/v1/stream`, {
      headers: { Accept: "text/event-stream" },
      signal,
    });
    for await (const chunk of answer.body ?? []) {
      seen.events += Buffer.from(chunk)
        .toString("utf8")
        .split("\n")
        .filter((line) => line.startsWith("id:")).length;
    }
  } catch (error) {
    if (!signal.aborted) seen.failures.push(`a stream ended: ${error.message}`);
  }
}

/** Half of the time on one server. */
async function half(folder, { halfMs, random, actors, tell }) {
  const server = await startServer(folder);
  const over = new AbortController();
  const streams = Array.from({ length: STREAMS }, () => listen(server, over.signal));
  const samples = [];
  const watch = (async () => {
    while (!over.signal.aborted) {
      samples.push({ ...usageOf(server.pid), writes: seen.writes });
      tell(
        `${seen.requests} requests, ${samples.at(-1).residentMib} MiB, ${samples.at(-1).descriptors} descriptors, ${samples.at(-1).stores} stores open`,
      );
      await sleep(1000, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  let number = seen.requests;
  // Everybody is there before anything is compared: a store costs memory and descriptors when it is opened.
  for (let at = 0; at < actors; at += LANES) {
    const some = Array.from(
      { length: Math.min(LANES, actors - at) },
      (_, nth) => `actor${at + nth}`,
    );
    await Promise.all(
      some.map((actor) =>
        post(`${server.url}/v1/actors/${actor}/write`, { type: "note", text: "hello" }).catch(
          (error) => seen.failures.push(`no answer to the first write: ${error.message}`),
        ),
      ),
    );
  }
  samples.length = 0;
  const endMs = Date.now() + halfMs;
  const lane = async () => {
    while (Date.now() < endMs && seen.failures.length < 20) {
      await actOnce(server, random, actors, number++).catch((error) => {
        seen.failures.push(
          `no answer: ${error.message}; ${server.isAlive() ? "" : server.errors()}`,
        );
      });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  // What is idle is closed by itself; streams are still open.
  over.abort();
  await Promise.all([watch, ...streams]);
  const ended = await server.stop();
  if (ended !== 0) seen.failures.push(`the server ended with ${ended}: ${server.errors()}`);
  return samples;
}

/** What was recorded, as the least and the most of each. */
function spread(samples) {
  const of = (name) => samples.map((sample) => sample[name]);
  const words = { residentMib: "MiB", stores: "stores open", descriptors: "descriptors" };
  return Object.entries(words)
    .map(([name, word]) => `${Math.min(...of(name))} to ${Math.max(...of(name))} ${word}`)
    .join(", ");
}

/** Opens everything again and looks for what was acknowledged. */
async function verifyAll(folder) {
  const problems = [];
  const hub = await openHub(folder);
  for (const [actor, texts] of acknowledged) {
    await hub.use(actor, async (memory) => {
      const kept = new Set();
      for (let cursor; ; ) {
        const page = await memory.list({
          limit: 1000,
          lifecycles: ["active", "archived", "tombstoned"],
          ...(cursor === undefined ? {} : { cursor }),
        });
        for (const { text } of page.memories) kept.add(text);
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      for (const text of texts) if (!kept.has(text)) problems.push(`lost: ${actor} "${text}"`);
      const report = await memory.check();
      if (!report.ok) problems.push(`check of ${actor}: ${JSON.stringify(report.problems)}`);
    });
  }
  const { ok, ...rest } = await hub.check();
  if (!ok) problems.push(`hub: ${JSON.stringify(rest).slice(0, 500)}`);
  await hub.close();
  return problems;
}

async function main() {
  const flags = readFlags(
    "Minutes of cortex serve with many actors, REST, MCP and streams mixed, and a restart in the middle.",
    [
      { name: "minutes", kind: "number", standard: 10, help: "how long" },
      { name: "actors", kind: "number", standard: 200, help: "how many" },
      {
        name: "seed",
        kind: "number",
        standard: "",
        help: "who does what; a new one when not given",
      },
    ],
  );
  const seed = flags.seed === "" ? newSeed() : Number(flags.seed);
  const folder = mkdtempSync(join(tmpdir(), "cortex-soak-"));
  const random = seededRandom(seed);
  const tell = progress();
  const halfMs = Number(flags.minutes) * 30_000;
  try {
    const data = join(folder, "data");
    for (const name of ["first half", "second half"]) {
      const samples = await half(data, { halfMs, random, actors: Number(flags.actors), tell });
      process.stdout.write(`${name}: ${spread(samples)}\n`);
      for (const told of growthOf(samples, STORES_MOST)) seen.failures.push(`${name}: ${told}`);
    }
    seen.failures.push(...(await verifyAll(data)));
    const sorted = seen.latencies.sort((a, b) => a - b);
    const at = (share) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    const bytes = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce(
        (sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size,
        0,
      );
    const kept = [...acknowledged.values()].reduce((sum, texts) => sum + texts.length, 0);
    process.stdout.write(
      `seed ${seed}: ${seen.requests} requests, ${kept} acknowledged writes all found, ${seen.events} events; ` +
        `latency p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(0.999999)} ms; files ${Math.round(bytes / 2 ** 20)} MiB\n`,
    );
    for (const failure of seen.failures.slice(0, 20)) process.stdout.write(`${failure}\n`);
    process.stdout.write(`${seen.failures.length} problems\n`);
    process.exitCode = seen.failures.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
