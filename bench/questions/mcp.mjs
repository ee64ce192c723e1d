/**
 * How fast is the MCP door? `cortex mcp` runs as clients start it, in a process of its own; this process
 * is the client, on its stdin and stdout, without a library, so that the server's time is what counts.
 * The time from the start to the first answer, then one memory read by a random id and one found by tag. And the shortest
 * command there is, because whatever every command loads is part of the start.
 */
import { spawnSync } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { open } from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";
import { ownCommand } from "../lib/server-process.mjs";
import { startStdio } from "../lib/stdio-client.mjs";
import { asWrite, seededNumbers, startWorkload } from "../lib/workload.mjs";

const MEMORIES = 20_000;
const UNDER_WAY = 50;
const CALLS_MIN = 2000;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const folder = join(settings.folder, "mcp");
  await mkdir(folder, { recursive: true });
  const memories = Math.min(settings.size, MEMORIES);
  settings.progress(`mcp: filling ${memories}`);
  const { ids, tag } = await fill(folder, memories, settings);
  const starts = [];
  const versions = [];
  const gets = [];
  const finds = [];
  try {
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`mcp: run ${run + 1} of ${settings.runs}`);
      const fromMs = performance.now();
      const server = await startStdio([ownCommand(), "mcp", "--data", folder]);
      starts.push(performance.now() - fromMs);
      versions.push(commandMs(["--version"]));
      const next = seededNumbers(settings.seed + run);
      const get = () => ({ name: "memory_get", arguments: { id: ids[next(ids.length)] } });
      const find = () => ({ name: "memory_find", arguments: { tags: [tag], limit: 5 } });
      const count = Math.max(CALLS_MIN, settings.reads);
      await callsPerSecond(server, get, Math.ceil(count / 4));
      gets.push(await callsPerSecond(server, get, count));
      finds.push(await callsPerSecond(server, find, count));
      await server.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const about = { question: "mcp", sync: NO_SYNC, memories };
  const rows = [
    engineRow(about, "start to first answer", "ms", starts),
    engineRow(about, "cortex --version", "ms", versions),
    engineRow(about, "memory_get", "calls/s", gets),
    engineRow(about, "memory_find by tag", "calls/s", finds),
  ];
  return {
    rows,
    figures: {
      mcpStartMs: { value: rows[0]?.value ?? Number.NaN, memories },
      versionMs: { value: rows[1]?.value ?? Number.NaN, memories },
      mcpCalls: { value: rows[2]?.value ?? Number.NaN, memories },
    },
    notes: [`MCP: over stdio, ${UNDER_WAY} calls under way, the client in a process of its own.`],
  };
}

/**
 * From the start of a command to its end.
 * @param {readonly string[]} args
 */
function commandMs(args) {
  const fromMs = performance.now();
  const { status } = spawnSync(process.execPath, [ownCommand(), ...args], { stdio: "ignore" });
  if (status !== 0) throw new Error(`cortex ${args.join(" ")} ended with ${status}`);
  return performance.now() - fromMs;
}

/**
 * @param {string} folder
 * @param {number} count
 * @param {import("../lib/settings.mjs").Settings} settings
 */
async function fill(folder, count, { seed, batchItems }) {
  const engine = await open(folder, { embedder: local() });
  const workload = startWorkload(seed);
  const ids = [];
  let tag = "";
  while (ids.length < count) {
    const items = workload.take(Math.min(batchItems, count - ids.length)).map(asWrite);
    tag ||= items.flatMap(({ tags }) => tags ?? [])[0] ?? "";
    const { results } = await engine.batch(items.map((write) => ({ write })));
    for (const one of results) if (one.ok) ids.push(one.id);
  }
  // A server at rest: what it would do in the background is done.
  await engine.embedPending();
  await engine.close();
  return { ids, tag };
}

/**
 * @param {Awaited<ReturnType<typeof startStdio>>} server
 * @param {() => { readonly name: string, readonly arguments: object }} next
 * @param {number} count
 */
async function callsPerSecond(server, next, count) {
  const fromMs = performance.now();
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const call = next();
      await server.call(call.name, call.arguments);
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, worker));
  return (count / (performance.now() - fromMs)) * 1000;
}
