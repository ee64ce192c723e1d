/**
 * memgraph's own routes, for the clients it has: the same paths, parameters, statuses and JSON. A graph
 * is an actor's store; what a node or an edge is, the hub says.
 *
 * Where memgraph is lenient, so are these: a number that cannot be read is the default, a list is split
 * at commas. Failures are problem documents that also carry memgraph's `error` and `error_code`.
 */
import {
  CortexError,
  type GraphInfo,
  type Hub,
  isCortexError,
  memgraphText,
} from "@cortex-memory/core";
import type { Context, Hono } from "hono";
import {
  checked,
  edgeInput,
  graphInput,
  graphPatch,
  nodeInput,
  timeMs,
  toEdge,
  toGraph,
  toNode,
  toPatch,
} from "../memgraph/inputs.js";
import { edgeJson, manifestJson, nodeJson, schemaJson } from "../memgraph/shapes.js";
import type { AppOptions, Env } from "./app.js";
import type { Streams } from "./events.js";
import { accessOf } from "./guard.js";
import type { HubDoor } from "./hub-door.js";
import { sendGraphEvents } from "./hub-events.js";
import { readJsonBody } from "./input.js";
import { hitJson, type Json, restGraphJson } from "./memgraph-json.js";
import { DEFAULTS, DIRECTIONS, MEMGRAPH_ROUTES, type MemgraphRouteName } from "./memgraph-table.js";
import { endOfTurn } from "./perform.js";
import { PROBLEM_TYPE, problemOf } from "./problem.js";
import { commonHeaders, jsonResponse } from "./respond.js";
import { BASE } from "./routes.js";

/** Who wrote when nobody is named. */
const UNNAMED = "unknown";

/** An answer: its status and what it says. */
interface Said {
  readonly status: number;
  readonly json?: Json;
}

/** What a route is asked with. */
interface Call {
  readonly hub: Hub;
  readonly c: Context<Env>;
  readonly access: ReturnType<typeof accessOf>;
  /** A part of the path. */
  readonly part: (name: string) => string;
  /** The body; whoever asks for it is about to write. */
  readonly body: () => Promise<Json>;
}

type Answer = (call: Call) => Promise<Said>;

/** Adds the routes. */
export function addMemgraphRoutes(
  hono: Hono<Env>,
  made: AppOptions,
  { hub: door, streams }: { readonly hub: HubDoor; readonly streams: Streams },
): void {
  const { info, stream, ...routes } = MEMGRAPH_ROUTES;
  hono.on(info.method, BASE + info.path, (c) => {
    c.env.seen.operation = "memgraph.info";
    const time = new Date(made.clock()).toISOString();
    const store = made.location === "memory:" ? "memory" : "lmdb";
    return respond(c, ok({ version: made.version, time, store }));
  });
  hono.on(stream.method, BASE + stream.path, (c) => {
    const { seen } = c.env;
    seen.operation = "stream";
    return sendGraphEvents(door, streams, { request: c.req.raw, seen });
  });
  for (const [name, { method, path }] of Object.entries(routes)) {
    const answer = ANSWERS[name as AnsweredRoute];
    hono.on(method, BASE + path, async (c) => {
      c.env.seen.operation = `memgraph.${name}`;
      try {
        const said = await door.use((hub) => answer(callOf(hub, c, made)));
        return await respond(c, said);
      } catch (error) {
        return failed(c, error);
      }
    });
  }
}

function callOf(hub: Hub, c: Context<Env>, made: AppOptions): Call {
  return {
    hub,
    c,
    access: accessOf(c.req.raw),
    part: (name) => c.req.param(name) ?? "",
    body: async () => {
      const json = await readJsonBody(c.req.raw, made.bodyLimitBytes);
      await endOfTurn();
      return json;
    },
  };
}

function ok(json: Json): Said {
  return { status: 200, json };
}

async function respond(c: Context<Env>, { status, json }: Said): Promise<Response> {
  const { seen } = c.env;
  if (json === undefined) return new Response(null, { status, headers: commonHeaders(seen) });
  if (status === 200) return jsonResponse(seen, c.req.raw, JSON.stringify(json));
  const headers = commonHeaders(seen, { "Content-Type": "application/json" });
  return new Response(JSON.stringify(json), { status, headers });
}

/** A problem document in which memgraph's clients find what they look for. */
function failed(c: Context<Env>, error: unknown, more: Json = {}): Response {
  const { seen } = c.env;
  const { problem, headers } = problemOf(error, seen.requestId);
  seen.code = problem.code;
  if (problem.status === 500) seen.fault = error;
  const text = isCortexError(error) ? memgraphText(error) : problem.detail;
  const isDirection = problem.field === "direction";
  const body = {
    ...problem,
    error: text,
    ...(isDirection ? { error_code: "invalid_direction" } : {}),
    ...more,
  };
  return new Response(JSON.stringify(body), {
    status: problem.status,
    headers: commonHeaders(seen, { "Content-Type": PROBLEM_TYPE, ...headers }),
  });
}

async function withTies(hub: Hub, graph: GraphInfo): Promise<Json> {
  return restGraphJson(graph, await hub.symlinks(graph.id));
}

const listGraphs: Answer = async ({ hub, access }) => {
  const { graphs } = await hub.listGraphs({ access });
  return ok({ graphs: await Promise.all(graphs.map((graph) => withTies(hub, graph))) });
};

const createGraph: Answer = async ({ hub, access, body }) => {
  const input = toGraph(checked(graphInput, await body()));
  return { status: 201, json: await withTies(hub, await hub.createGraph(input, { access })) };
};

const getGraph: Answer = async ({ hub, access, part }) =>
  ok(await withTies(hub, await graphAt(hub, part("id"), access)));

const configureGraph: Answer = async ({ hub, access, part, body }) => {
  const id = part("id");
  const patch = checked(graphPatch, await body());
  const { metadata } = await graphAt(hub, id, access);
  const graph = await hub.configureGraph(id, toPatch(patch, metadata), { access });
  return ok(await withTies(hub, graph));
};

async function graphAt(hub: Hub, id: string, access: Call["access"]) {
  const graph = await hub.getGraph(id, { access });
  if (graph !== undefined) return graph;
  throw new CortexError("ERR_NOT_FOUND", "id: no such graph", { field: "id" });
}

const listNodes: Answer = async ({ hub, access, part, c }) => {
  const offset = Math.max(0, numberIn(c, "offset", 0));
  const limit = numberIn(c, "limit", DEFAULTS.list);
  const filter = { ...filterIn(c), offset, limit, access };
  const { nodes } = isSet(c, "compact")
    ? await hub.listNodes(part("id"), { ...filter, compact: true })
    : await hub.listNodes(part("id"), filter);
  return ok({ nodes: nodes.map(nodeJson), next_offset: offset + nodes.length });
};

const search: Answer = async ({ hub, access, part, c }) => {
  const query = {
    text: c.req.query("q") ?? "",
    ...filterIn(c),
    freshOnly: isSet(c, "fresh_only"),
    limit: numberIn(c, "limit", DEFAULTS.search),
  };
  const { hits } = await hub.search(part("id"), query, { access });
  return ok({ hits: hits.map(hitJson) });
};

const listTags: Answer = async ({ hub, access, part, c }) => {
  const prefix = c.req.query("prefix") ?? "";
  const limit = numberIn(c, "limit", DEFAULTS.tags);
  const { tags } = await hub.listTags(part("id"), { prefix, limit, access });
  return ok({ tags });
};

const putNode: Answer = async ({ hub, access, body }) => {
  const input = checked(nodeInput, await body());
  const { node, conflict } = await hub.putNode(input.graph_id, toNode(input, UNNAMED), { access });
  if (conflict === undefined) return { status: 201, json: nodeJson(node) };
  // The node was written beside its rivals, which memgraph tells as a failure that holds it.
  const error = memgraphText(conflict);
  return { status: 409, json: { error, node: nodeJson(node), conflicts: node.conflicts } };
};

const getNode: Answer = async ({ hub, access, part, c }) => {
  const lineage = part("lineage");
  const version = c.req.query("version");
  const at = c.req.query("at");
  if (version !== undefined && !/^-?\d{1,15}$/.test(version)) {
    throw new CortexError("ERR_INVALID", "version: expected a whole number", { field: "version" });
  }
  const node = await hub.getNode(lineage, {
    access,
    ...(version === undefined ? {} : { atVersion: Number(version) }),
    ...(at === undefined ? {} : { atTime: timeMs(at, "at") }),
  });
  if (node !== undefined) return ok(nodeJson(node));
  throw new CortexError("ERR_NOT_FOUND", "lineage: no such node", { field: "lineage" });
};

function edgesAlong(side: "outgoing" | "incoming"): Answer {
  return async ({ hub, access, part, c }) => {
    const edgeKinds = listIn(c, "kinds");
    const { edges } = await hub[side](part("lineage"), { edgeKinds, access });
    return ok({ edges: edges.map(edgeJson) });
  };
}

const neighborhood: Answer = async ({ hub, access, part, c }) => {
  const asked = c.req.query("direction") ?? "";
  const direction = asked === "" ? "outgoing" : DIRECTIONS.find((one) => one === asked);
  if (direction === undefined) {
    const expected = `one of ${DIRECTIONS.join(", ")}`;
    throw new CortexError("ERR_INVALID", `direction: expected ${expected}`, {
      field: "direction",
      expected,
    });
  }
  const { nodes, edges } = await hub.traverse(part("lineage"), {
    access,
    direction,
    edgeKinds: listIn(c, "kinds"),
    followSymlinks: isSet(c, "follow_symlinks"),
    maxDepth: numberIn(c, "depth", DEFAULTS.depth),
    maxNodes: numberIn(c, "max_nodes", DEFAULTS.nodes),
  });
  return ok({ nodes: nodes.map(nodeJson), edges: edges.map(edgeJson) });
};

const putEdge: Answer = async ({ hub, access, body }) => {
  const input = checked(edgeInput, await body());
  const { edge } = await hub.putEdge(input.graph_id, toEdge(input, UNNAMED), { access });
  return { status: 201, json: edgeJson(edge) };
};

/** Routes that the hub answers. */
type AnsweredRoute = Exclude<MemgraphRouteName, "info" | "stream">;

const ANSWERS: { readonly [name in AnsweredRoute]: Answer } = {
  listGraphs,
  createGraph,
  getGraph,
  configureGraph,
  symlinks: async ({ hub, access, part }) =>
    ok(manifestJson(await hub.symlinks(part("id"), { access }))),
  listNodes,
  search,
  describeSchema: async ({ hub, access, part }) =>
    ok(schemaJson(await hub.describeSchema(part("id"), { access }))),
  listTags,
  putNode,
  getNode,
  history: async ({ hub, access, part }) => {
    const versions = await hub.history(part("lineage"), { access });
    return ok({ versions: versions.map(nodeJson) });
  },
  outgoing: edgesAlong("outgoing"),
  incoming: edgesAlong("incoming"),
  traverse: neighborhood,
  putEdge,
  deleteEdge: async ({ hub, access, part }) => {
    await hub.deleteEdge(part("id"), { access });
    return { status: 204 };
  },
};

/** A list: repeated, or with commas in between. */
function listIn(c: Context<Env>, name: string): readonly string[] {
  const given = c.req.queries(name) ?? [];
  return given.flatMap((text) => text.split(",")).filter((text) => text !== "");
}

function filterIn(c: Context<Env>) {
  return { kinds: listIn(c, "kinds"), tags: listIn(c, "tags") };
}

function numberIn(c: Context<Env>, name: string, otherwise: number): number {
  const text = c.req.query(name) ?? "";
  return /^-?\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

function isSet(c: Context<Env>, name: string): boolean {
  return /^(1|true|yes|y)$/i.test(c.req.query(name) ?? "");
}
