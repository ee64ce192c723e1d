/**
 * What does a hub cost with thousands of graphs? Listing them, opening one that is closed, the memory
 * of a process that has been in every one of them, and a walk from a lineage with ten thousand edges.
 *
 * The graphs are made first; what is measured about them runs in a process of its own, so that making
 * them is not in its memory.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import { median, processorMs, quantile, timeMs } from "../lib/clock.mjs";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {import("../lib/hub-visitor.mjs").Visit} Visit
 */

const GRAPHS = 5000;
const GRAPHS_QUICK = 40;
const EDGES = 10_000;
const EDGES_QUICK = 200;
const WALKS = 60;
/** What one call of `putSubgraph` takes. */
const NODES_PER_CALL = 50;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const graphs = settings.quick ? GRAPHS_QUICK : GRAPHS;
  const folder = join(settings.folder, "hub");
  await makeGraphs(settings, folder, graphs);
  const visits = Array.from({ length: settings.runs }, (_, run) => {
    settings.progress(`hub: visit ${run + 1} of ${settings.runs}`);
    return visit(folder, graphs);
  });
  const walks = await walk(settings);
  const about = { question: "hub", sync: NO_SYNC, memories: graphs };
  const each = (/** @type {(one: Visit) => number} */ figure) => visits.map(figure);
  const figure = (/** @type {readonly number[]} */ runs, memories = graphs) => ({
    value: median(runs),
    memories,
  });
  const lists = each(({ listMs }) => median(listMs));
  const opens = each(({ openMs }) => quantile(openMs, 0.95));
  const sizes = each(({ rssMb }) => rssMb);
  return {
    rows: [
      engineRow(about, "list, again", "ms", lists),
      engineRow(
        about,
        "list, again, processor",
        "ms",
        each((one) => one.listProcessorMs),
      ),
      engineRow(
        about,
        "list, first of a process",
        "ms",
        each(({ firstListMs }) => firstListMs),
      ),
      engineRow(about, "open a closed graph and read, 95 of 100", "ms", opens),
      engineRow(about, "resident memory after a read in every graph", "MB", sizes),
      engineRow({ ...about, memories: walks.edges }, "walk, 1,024 nodes", "ms", walks.runs),
      engineRow(
        { ...about, memories: walks.edges },
        "walk, 1,024 nodes, processor",
        "ms",
        walks.processor,
      ),
    ],
    figures: {
      hubListMs: figure(lists),
      hubOpenMs: figure(opens),
      hubMemoryMb: figure(sizes),
      hubWalkMs: figure(walks.runs, walks.edges),
    },
    notes: [],
  };
}

/**
 * Makes the graphs, with one node in each.
 * @param {Settings} settings
 * @param {string} folder
 * @param {number} graphs
 */
async function makeGraphs(settings, folder, graphs) {
  const hub = await openHub(folder, { relaxedDurability: true });
  const store = memgraph(hub);
  for (let at = 0; at < graphs; at += 1) {
    if (at % 500 === 0) settings.progress(`hub: making graph ${at} of ${graphs}`);
    await hub.createGraph({ id: `graph-${at}`, name: `Graph ${at}` });
    const node = { kind: "fact", content: `The fact of graph ${at}`, lineageId: `node-${at}` };
    await store.putNode(`graph-${at}`, node);
  }
  await hub.close();
}

/**
 * @param {string} folder
 * @param {number} graphs
 * @returns {Visit}
 */
function visit(folder, graphs) {
  const program = fileURLToPath(new URL("../lib/hub-visitor.mjs", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, folder, `${graphs}`], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the visitor ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/**
 * Walks from a lineage with many edges: half of the calls of each run take no longer.
 * @param {Settings} settings
 */
async function walk(settings) {
  const edges = settings.quick ? EDGES_QUICK : EDGES;
  const hub = await openHub(join(settings.folder, "hub-walk"), { relaxedDurability: true });
  const store = memgraph(hub);
  try {
    const graph = { graph: "walk" };
    await hub.createGraph({ id: "walk", name: "Walk" });
    await store.putNode("walk", { kind: "centre", lineageId: "centre" });
    settings.progress(`hub: making ${edges} edges`);
    for (let first = 0; first < edges; first += NODES_PER_CALL) {
      const places = Array.from({ length: NODES_PER_CALL }, (_, at) => first + at);
      await store.putSubgraph("walk", {
        nodes: places.map((at) => ({ kind: "leaf", content: `Leaf ${at}`, ref: `${at}` })),
        edges: places.map((at) => ({ fromLineage: "centre", toRef: `${at}`, kind: "has" })),
      });
    }
    const runs = [];
    const processor = [];
    for (let run = 0; run <= settings.runs; run += 1) {
      const times = [];
      const before = processorMs();
      for (let at = 0; at < WALKS; at += 1) {
        times.push(
          await timeMs(async () => {
            const { nodes } = await store.traverse("centre", graph);
            if (nodes.length !== Math.min(1024, edges + 1)) throw new Error("a walk lost its way");
          }),
        );
      }
      // The first round warms everything up.
      if (run === 0) continue;
      runs.push(median(times));
      processor.push((processorMs() - before) / WALKS);
    }
    return { runs, processor, edges };
  } finally {
    await hub.close();
  }
}
