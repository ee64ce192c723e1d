/**
 * How do memgraph's calls compare with memgraph's own way? `cortex mcp --profile memgraph` and a
 * hand-written SQLite store with memgraph's schema, each in a process of its own behind MCP on stdio,
 * both durable, both holding the same nodes and edges. One client asks them in turn, a few calls each,
 * one call at a time; what counts is our time over theirs. How much of that is the storage's own is shown by
 * the commits alone (`lib/memgraph-floor.mjs`). Then two clients of two servers write to one
 * folder at once, and everything they wrote must be there.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHub } from "@cortex-memory/core";
import { throughDoor } from "@cortex-memory/core/doors";
import { memgraph } from "@cortex-memory/core/memgraph";
import { median, quantile, timeMs } from "../lib/clock.mjs";
import { commitFloor } from "../lib/memgraph-floor.mjs";
import { fillSqlite } from "../lib/memgraph-sqlite.mjs";
import { ownCommand } from "../lib/server-process.mjs";
import { startStdio } from "../lib/stdio-client.mjs";
import { seededNumbers } from "../lib/workload.mjs";

const NODES = 5000;
const GRAPH = "bench";
/** Calls of one kind that one server answers before it is the other's turn. */
const SLICE = 10;
const SLICES = 12;
/** The calls that only read are asked once more after so many slices: an agent's first calls meet code that is cold. */
const WARMING_SLICES = 60;
const READS = ["get_node", "list", "traverse"];
const WRITES_EACH = 500;

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {{ readonly name: string, readonly arguments: Record<string, unknown> }} Call
 * @typedef {{ ours: number[], theirs: number[] }} Times
 */

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const folder = join(settings.folder, "memgraph");
  await mkdir(folder, { recursive: true });
  const nodes = settings.quick ? 200 : NODES;
  settings.progress(`memgraph: filling ${nodes}`);
  const filled = await fill(folder, nodes, settings);
  if (!filled)
    return { rows: [], figures: {}, notes: ["memgraph: there is no SQLite to compare with"] };
  /** @type {Map<string, Times>} */
  const all = new Map();
  for (let run = 0; run < (settings.quick ? 1 : 2); run += 1) {
    settings.progress(`memgraph: run ${run + 1}`);
    await contest(folder, { nodes, seed: settings.seed + run, all });
  }
  settings.progress("memgraph: two servers write at once");
  const lost = await writeAtOnce(folder, settings.quick ? 20 : WRITES_EACH);
  settings.progress("memgraph: commits alone");
  const floor = await commitFloor(folder, GRAPH, writesAlone(nodes, settings.quick ? 20 : 130));
  await rm(folder, { recursive: true });
  const { rows, ...rest } = report(all, nodes, lost);
  return { ...rest, rows: [...rows, ...floorRows(floor, nodes)] };
}

/**
 * The writes of the contest, for both stores without their servers.
 * @param {number} nodes
 * @param {number} count
 * @returns {Readonly<Record<string, readonly import("../lib/memgraph-floor.mjs").Write[]>>}
 */
function writesAlone(nodes, count) {
  const next = seededNumbers(7);
  let made = 90_000_000;
  const put = (/** @type {boolean} */ isNamed) => () => {
    made += 1;
    const { lineage_id, content, kind, tags } = nodeAt(made);
    const name = isNamed ? { externalId: lineage_id } : {};
    const write = { type: /** @type {const} */ ("note"), kind, tags, data: { content }, ...name };
    const named = isNamed ? { lineage_id } : {};
    /** @type {import("../lib/memgraph-floor.mjs").Write} */
    const both = {
      ours: (memory, access) => memory.write(write, { access }),
      theirs: (file) => file.putNode({ graph_id: GRAPH, kind, content, tags, ...named }),
    };
    return both;
  };
  const edge = () => {
    const [from, to] = [`n${next(nodes)}`, `n${next(nodes)}`];
    const ends = { graph_id: GRAPH, from_lineage: from, to_lineage: to, kind: "supports" };
    /** @type {import("../lib/memgraph-floor.mjs").Write} */
    const both = {
      ours: (memory, access) => memory.link(from, "supports", to, { loose: {}, access }),
      theirs: (file) => file.putEdge(ends),
    };
    return both;
  };
  const some = (/** @type {() => import("../lib/memgraph-floor.mjs").Write} */ one) =>
    Array.from({ length: count }, one);
  return {
    put_node: some(put(false)),
    "put_node, named": some(put(true)),
    put_edge: some(edge),
  };
}

/**
 * @param {Awaited<ReturnType<typeof commitFloor>>} floor
 * @param {number} nodes
 */
function floorRows(floor, nodes) {
  const about = { question: "memgraph", sync: "one sync a write", memories: nodes, unit: "ms" };
  return floor.flatMap(({ what, raw, sqlite }) => {
    const alone = { ...about, what: `${what}, the commit alone` };
    return [
      { ...alone, store: "raw lmdb", value: raw, runs: [raw], overSqlite: raw / sqlite },
      { ...alone, store: "SQLite", value: sqlite, runs: [sqlite] },
    ];
  });
}

/**
 * @param {Map<string, Times>} all
 * @param {number} nodes
 * @param {number} lost
 * @returns {import("../lib/settings.mjs").Answer}
 */
function report(all, nodes, lost) {
  const about = { question: "memgraph", sync: "one sync a write", memories: nodes };
  const rows = [...all].flatMap(([what, { ours, theirs }]) => [
    { ...about, what, store: "engine", value: median(ours), unit: "ms", runs: [median(ours)] },
    { ...about, what, store: "SQLite", value: median(theirs), unit: "ms", runs: [median(theirs)] },
    p95(about, what, "engine", ours),
    p95(about, what, "SQLite", theirs),
  ]);
  const over = (/** @type {string} */ what, share = 0.5) => {
    const { ours, theirs } = all.get(what) ?? { ours: [], theirs: [] };
    return { value: quantile(ours, share) / quantile(theirs, share), memories: nodes };
  };
  return {
    rows,
    figures: {
      memgraphPutNode: over("put_node"),
      memgraphPutNamed: over("put_node, named"),
      memgraphNewVersion: over("new version"),
      memgraphPutEdge: over("put_edge"),
      memgraphTraverse: over("traverse"),
      memgraphList: over("list"),
      memgraphReadP95: over("get_node", 0.95),
      memgraphLost: { value: lost, memories: nodes },
    },
    notes: ["memgraph: over stdio, one client, one call at a time, the servers asked in turn."],
  };
}

/**
 * @param {Pick<import("../lib/contest.mjs").Row, "question" | "sync" | "memories">} about
 * @param {string} what
 * @param {string} store
 * @param {readonly number[]} times
 */
function p95(about, what, store, times) {
  const value = quantile(times, 0.95);
  return { ...about, what: `${what}, 95 of 100`, store, value, unit: "ms", runs: [value] };
}

/** @param {number} at */
function nodeAt(at) {
  return {
    kind: ["fact", "decision", "event"][at % 3] ?? "fact",
    content: `Node ${at} says that part ${at % 97} of the plan depends on part ${(at * 7) % 89}.`,
    tags: [`topic:${at % 40}`, "bench"],
    lineage_id: `n${at}`,
  };
}

/** Three edges from every node, as a tree with short cuts. @param {number} nodes */
function edgesOf(nodes) {
  return Array.from({ length: nodes }, (_, at) =>
    [at * 3 + 1, at * 3 + 2, at + 7].map((to) => ({ from: `n${at}`, to: `n${to % nodes}` })),
  ).flat();
}

/**
 * The same nodes and edges in both stores.
 * @param {string} folder
 * @param {number} nodes
 * @param {Settings} settings
 */
async function fill(folder, nodes, settings) {
  const list = Array.from({ length: nodes }, (_, at) => nodeAt(at));
  const edges = edgesOf(nodes);
  const isThere = await fillSqlite(join(folder, "memgraph.db"), {
    graph: GRAPH,
    nodes: list.map((node) => ({ graph_id: GRAPH, ...node })),
    edges: edges.map(({ from, to }) => ({
      graph_id: GRAPH,
      from_lineage: from,
      to_lineage: to,
      kind: "cites",
    })),
  });
  if (!isThere) return false;
  const hub = await openHub(join(folder, "cortex"));
  await hub.createGraph({ id: GRAPH, name: GRAPH });
  const notes = list.map(({ lineage_id, content, ...node }) => ({
    write: {
      type: /** @type {const} */ ("note"),
      externalId: lineage_id,
      data: { content },
      ...node,
    },
  }));
  const links = edges.map(({ from, to }) => ({ link: { from, to, kind: "cites", loose: {} } }));
  const items = [...notes.map(({ write: { lineage_id: _, ...write } }) => ({ write })), ...links];
  await hub.use(GRAPH, async (memory) => {
    for (let at = 0; at < items.length; at += settings.batchItems) {
      // An agent wrote them, so that an agent may write them anew.
      const how = { loose: true, access: throughDoor("mcp", "mcp:bench") };
      await memory.batch(items.slice(at, at + settings.batchItems), how);
    }
  });
  await memgraph(hub).symlinks(GRAPH);
  await hub.close();
  return true;
}

/**
 * @param {string} folder
 * @param {{ nodes: number, seed: number, all: Map<string, Times> }} how
 */
async function contest(folder, { nodes, seed, all }) {
  const sqlite = fileURLToPath(new URL("../lib/memgraph-sqlite.mjs", import.meta.url));
  const [ours, theirs] = await Promise.all([
    ourServer(folder),
    startStdio([sqlite, join(folder, "memgraph.db")]),
  ]);
  const next = seededNumbers(seed);
  let made = seed * 1_000_000;
  const some = () => `n${next(nodes)}`;
  const fresh = () => {
    made += 1;
    return { graph_id: GRAPH, ...nodeAt(made), created_by: "bench" };
  };
  /** @type {Record<string, () => Call>} */
  const calls = {
    put_node: () => {
      const { lineage_id: _, ...node } = fresh();
      return { name: "memgraph_put_node", arguments: node };
    },
    "put_node, named": () => ({ name: "memgraph_put_node", arguments: fresh() }),
    "new version": () => ({
      name: "memgraph_put_node",
      arguments: { ...fresh(), lineage_id: some() },
    }),
    put_edge: () => ({
      name: "memgraph_put_edge",
      arguments: { graph_id: GRAPH, from_lineage: some(), to_lineage: some(), kind: "supports" },
    }),
    get_node: () => ({ name: "memgraph_get_node", arguments: { lineage_id: some() } }),
    list: () => ({
      name: "memgraph_list_nodes",
      arguments: { graph_id: GRAPH, limit: 50, offset: next(200) },
    }),
    traverse: () => ({ name: "memgraph_traverse", arguments: { from_lineage: some() } }),
  };
  const askBoth = async (
    /** @type {string} */ what,
    /** @type {() => Call} */ call,
    /** @type {number} */ warming,
  ) => {
    const times = all.get(what) ?? { ours: [], theirs: [] };
    all.set(what, times);
    for (let slice = 0; slice < warming + SLICES; slice += 1) {
      const asked = Array.from({ length: SLICE }, call);
      const [own, others] = [await timed(ours, asked), await timed(theirs, asked)];
      if (slice < warming) continue;
      times.ours.push(...own);
      times.theirs.push(...others);
    }
  };
  for (const [what, call] of Object.entries(calls)) await askBoth(what, call, 1);
  for (const what of READS) {
    const call = calls[what];
    if (call !== undefined) await askBoth(`${what}, warm`, call, WARMING_SLICES);
  }
  await Promise.all([ours.close(), theirs.close()]);
}

/**
 * Two processes write to one folder at once; how many of their writes failed or are not there.
 * @param {string} folder
 * @param {number} each
 */
async function writeAtOnce(folder, each) {
  const servers = await Promise.all([ourServer(folder), ourServer(folder)]);
  const lineages = await Promise.all(
    servers.map(async (server, number) => {
      const done = [];
      for (let at = 0; at < each; at += 1) {
        const node = { ...nodeAt(at), lineage_id: `w${number}-${at}`, graph_id: GRAPH };
        const isDone = await server.call("memgraph_put_node", node).then(
          () => true,
          () => false,
        );
        if (isDone) done.push(node.lineage_id);
      }
      return done;
    }),
  );
  await Promise.all(servers.map((server) => server.close()));
  const hub = await openHub(join(folder, "cortex"));
  const store = memgraph(hub);
  let there = 0;
  for (const lineage of lineages.flat()) {
    if ((await store.getNode(lineage))?.version === 1) there += 1;
  }
  await hub.close();
  return 2 * each - there;
}

/** @param {string} folder */
function ourServer(folder) {
  const args = [ownCommand(), "mcp", "--data", join(folder, "cortex"), "--profile", "memgraph"];
  return startStdio(args, { CORTEX_EMBEDDER_ENDPOINT: "none" });
}

/**
 * Milliseconds of each call, one after another.
 * @param {Awaited<ReturnType<typeof startStdio>>} server
 * @param {readonly Call[]} calls
 */
async function timed(server, calls) {
  const times = [];
  for (const call of calls) {
    times.push(
      await timeMs(async () => {
        await server.call(call.name, call.arguments);
      }),
    );
  }
  return times;
}
