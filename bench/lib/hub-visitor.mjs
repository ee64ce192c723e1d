/**
 * A process that visits every graph of a hub: it lists them, opens each and reads its node, and prints
 * how long that took and how large it has become. Started by the question about hubs.
 */
import { performance } from "node:perf_hooks";
import { openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import { processorMs } from "./clock.mjs";

/**
 * @typedef {{
 *   readonly firstListMs: number,
 *   readonly listMs: readonly number[],
 *   readonly listProcessorMs: number,
 *   readonly openMs: readonly number[],
 *   readonly rssMb: number,
 * }} Visit
 */

const LISTS = 15;

const [folder = "", count = "0"] = process.argv.slice(2);
const graphs = Number(count);
const hub = await openHub(folder, { relaxedDurability: true });
const store = memgraph(hub);

async function list() {
  const start = performance.now();
  const listed = await hub.listGraphs();
  const ms = performance.now() - start;
  if (listed.graphs.length !== graphs) throw new Error("a graph is missing from the list");
  return ms;
}

const firstListMs = await list();
const listMs = [];
const before = processorMs();
for (let round = 0; round < LISTS; round += 1) listMs.push(await list());
const listProcessorMs = (processorMs() - before) / LISTS;
const openMs = [];
for (let at = 0; at < graphs; at += 1) {
  const start = performance.now();
  const node = await store.getNode(`node-${at}`, { graph: `graph-${at}` });
  openMs.push(performance.now() - start);
  if (node === undefined) throw new Error("a node is missing");
}
const rssMb = process.memoryUsage().rss / 1e6;
await hub.close();
process.stdout.write(JSON.stringify({ firstListMs, listMs, listProcessorMs, openMs, rssMb }));
