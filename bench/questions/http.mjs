/**
 * How much does the HTTP door carry? `cortex serve` runs as users start it, log included, in a process
 * of its own; this process is the load, over 32 connections on loopback. One memory read by a random
 * id; one memory written durably, where requests that wait together share a commit. Beside it a server that
 * sends one such memory to every request and does nothing else: the pace of Node's own.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { quantile } from "../lib/clock.mjs";
import { CONNECTIONS, putLoad, readLoad } from "../lib/http-load.mjs";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";
import { atRest, ownCommand, startBareServer, startServer } from "../lib/server-process.mjs";
import { asWrite, startWorkload } from "../lib/workload.mjs";

const MEMORIES = 20_000;
/** Reads of one run; a durable write takes about five times as long. */
const READS_PER_SETTING = 4;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const folder = join(settings.folder, "http");
  await mkdir(folder, { recursive: true });
  const memories = Math.min(settings.size, MEMORIES);
  const workload = startWorkload(settings.seed);
  settings.progress(`http: filling ${memories}`);
  const { ids, syncMode } = await fill(folder, memories, workload, settings.batchItems);
  const server = await startServer(ownCommand(), folder);
  const bare = await bareBeside(server.port, ids[0] ?? "");
  try {
    settings.progress("http: waiting until the indexes are written out");
    await atRest(server.port);
    const reads = [];
    const bareReads = [];
    const writes = [];
    const each = settings.reads * READS_PER_SETTING;
    for (const { port } of [server, bare]) {
      await readLoad(port, ids, { count: Math.ceil(each / 4), seed: settings.seed });
    }
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`http: run ${run + 1} of ${settings.runs}`);
      const seed = settings.seed + run + 1;
      reads.push(await readLoad(server.port, ids, { count: each, seed }));
      bareReads.push(await readLoad(bare.port, ids, { count: each, seed }));
      writes.push(await writeLoad(server.port, workload, Math.ceil(each / 5)));
    }
    const about = { question: "http", memories };
    const readRows = loadRows({ ...about, sync: NO_SYNC }, "GET of one memory", reads);
    const bareRows = loadRows({ ...about, sync: NO_SYNC }, "GET of one memory", bareReads);
    const writeRows = loadRows({ ...about, sync: syncMode }, "POST of one memory", writes);
    return {
      rows: [...readRows, ...bareRows.map((row) => ({ ...row, store: "node:http" })), ...writeRows],
      figures: {
        httpReads: { value: readRows[0]?.value ?? Number.NaN, memories },
        httpReadP99: { value: readRows[1]?.value ?? Number.NaN, memories },
        httpWrites: { value: writeRows[0]?.value ?? Number.NaN, memories },
      },
      notes: [
        `HTTP: ${CONNECTIONS} connections on loopback, the load in a process of its own, the server at rest before.`,
      ],
    };
  } finally {
    await server.stop();
    await bare.stop();
    await rm(folder, { recursive: true });
  }
}

/**
 * A server that sends what another one answers for one memory.
 * @param {number} port
 * @param {string} id
 */
async function bareBeside(port, id) {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/get?id=${id}`);
  return startBareServer(answer.headers.get("content-type") ?? "", await answer.text());
}

/**
 * @param {string} folder
 * @param {number} count
 * @param {ReturnType<typeof startWorkload>} workload
 * @param {number} batchItems
 */
async function fill(folder, count, workload, batchItems) {
  const engine = await open(folder);
  const ids = [];
  while (ids.length < count) {
    const items = workload.take(Math.min(batchItems, count - ids.length));
    const { results } = await engine.batch(items.map((item) => ({ write: asWrite(item) })));
    for (const one of results) if (one.ok) ids.push(one.id);
  }
  const { syncMode } = engine.manifest;
  await engine.close();
  return { ids, syncMode };
}

/**
 * @param {number} port
 * @param {ReturnType<typeof startWorkload>} workload
 * @param {number} count
 */
function writeLoad(port, workload, count) {
  const bodies = workload.take(count).map((item) => JSON.stringify(asWrite(item)));
  const request = (/** @type {number} */ at) => {
    const body = bodies[at] ?? "";
    return (
      `POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`
    );
  };
  return putLoad({ port, connections: CONNECTIONS, count, request });
}

/**
 * A rate, and the time that 99 of 100 requests do not exceed.
 * @param {Pick<import("../lib/contest.mjs").Row, "question" | "sync" | "memories">} about
 * @param {string} what
 * @param {readonly import("../lib/http-load.mjs").Loaded[]} runs
 */
function loadRows(about, what, runs) {
  const rates = runs.map(({ perSecond }) => perSecond);
  const tails = runs.map(({ times }) => quantile(times, 0.99));
  return [
    engineRow(about, what, "requests/s", rates),
    engineRow(about, `${what}, 99th of 100`, "ms", tails),
  ];
}
