/**
 * Operations on the graphs of a folder: a folder of actors is a hub, and each actor's store a graph of
 * it. They go by the folder and open no store of their own.
 */
import { CortexError, copyHub, type Hub, openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import * as z from "zod";
import { showCopied, showGraph, showGraphs, showSymlinks } from "../render/graphs.js";
import { type CallContext, defineOperation } from "./define.js";
import { anyObject, by, listOf } from "./fields.js";
import { copiedShape, graphListShape, graphShape, symlinksShape } from "./graph-shapes.js";

/** Runs `body` with the hub of the folder in use; only making a graph may make the folder. */
async function withHub<T>(
  { location }: CallContext,
  body: (hub: Hub) => Promise<T>,
  create = false,
): Promise<T> {
  const hub = await openHub(location, { create });
  try {
    return await body(hub);
  } finally {
    await hub.close();
  }
}

const ON_THE_MACHINE = "it works on the folder of the machine it runs on";

const id = z.string().describe("the graph: its id, which is the actor of its store");

const policy = z
  .enum(["lww", "manual"])
  .describe("a stale node wins (lww), or is kept as a rival (manual)")
  .exactOptional();

const kinds = listOf(z.string())
  .describe("a kind that nodes may have; may be repeated; every kind when not given")
  .exactOptional();

const createOperation = defineOperation({
  name: "createGraph",
  verbs: [],
  place: "openHub",
  kind: "write",
  summary: "Make a graph",
  help: `Names need not be unique; ids are, and one is made from the name unless given. The id is the actor of the
graph's store: every other command works on it with --actor.`,
  example: 'cortex graph create "Team notes" --id team-notes',
  input: z.strictObject({
    name: z.string().describe("what people call it"),
    id: z
      .string()
      .describe(
        "a safe name: a-z, 0-9, dot, underscore and hyphen; made from the name when not given",
      )
      .exactOptional(),
    conflictPolicy: policy,
    kindWhitelist: kinds,
    metadata: anyObject.describe("anything to keep about it, as JSON").exactOptional(),
    by,
  }),
  output: graphShape,
  call: (_memory, input, context) => withHub(context, (hub) => hub.createGraph(input), true),
  cli: {
    command: "graph create",
    group: "graphs",
    store: "fresh",
    arguments: [{ field: "name", label: "NAME" }],
    flags: { kindWhitelist: "kind" },
    human: showGraph,
  },
  http: { unavailable: ON_THE_MACHINE },
});

const listOperation = defineOperation({
  name: "listGraphs",
  verbs: [],
  place: "openHub",
  kind: "read",
  summary: "List the graphs of the folder",
  help: "Oldest first, as they are now, whichever process wrote them. A store that cannot be read is named with the reason.",
  example: "cortex graph ls",
  input: z.strictObject({
    includeArchived: z.boolean().describe("show archived graphs as well").exactOptional(),
  }),
  output: graphListShape,
  call: (_memory, input, context) => withHub(context, (hub) => hub.listGraphs(input)),
  cli: {
    command: "graph ls",
    group: "graphs",
    store: "fresh",
    flags: { includeArchived: "all" },
    human: showGraphs,
  },
  http: { unavailable: ON_THE_MACHINE },
});

const copyOperation = defineOperation({
  name: "copyHub",
  verbs: [],
  place: "copyHub",
  kind: "write",
  summary: "Copy every graph of a folder or a database into another",
  help: `Each graph goes as its journal; every hash, snapshot and root is checked where it arrives, and a graph is there
whole or not at all. Run it again after a stop: graphs that are there with the same history are left as they are. FROM
is only read, and may be written to meanwhile. --data is not looked at.`,
  example: "cortex copy ./memory postgres://cortex@db.internal/cortex",
  input: z.strictObject({
    from: z.string().describe("the folder or postgres:// address to read"),
    to: z.string().describe("the folder or postgres:// address to write to"),
    graphs: listOf(z.string())
      .describe("a graph to copy; may be repeated; every graph when not given")
      .exactOptional(),
  }),
  output: copiedShape,
  call: (_memory, { from, to, graphs }, { onProgress }) =>
    copyHub(from, to, {
      onProgress: ({ done, total }) => onProgress(done, total),
      ...(graphs === undefined ? {} : { graphs }),
    }),
  cli: {
    command: "copy",
    group: "graphs",
    store: "none",
    broken: "Graphs that were copied whole are there; the same command goes on with the others.",
    arguments: [
      { field: "from", label: "FROM" },
      { field: "to", label: "TO" },
    ],
    flags: { graphs: "graph" },
    human: showCopied,
  },
  http: { unavailable: ON_THE_MACHINE },
});

const configOperation = defineOperation({
  name: "configureGraph",
  verbs: [],
  place: "openHub",
  kind: "write",
  summary: "Show or change the configuration of a graph",
  help: `Without a change it shows what holds. What is not given stays; a member of the metadata that is null goes.
Every change is journaled in the graph. An archived graph is left out of lists and works as before.`,
  example: "cortex graph config team-notes --conflict-policy manual",
  input: z.strictObject({
    id,
    name: z.string().describe("what people call it").exactOptional(),
    conflictPolicy: policy,
    kindWhitelist: kinds,
    metadata: anyObject
      .describe("members to set, or to remove where they are null, as JSON")
      .exactOptional(),
    archive: z.boolean().describe("leave it out of lists").exactOptional(),
    unarchive: z.boolean().describe("list it again").exactOptional(),
    by,
  }),
  output: graphShape,
  absent: (input) => `id: no graph ${input.id}`,
  call: (_memory, input, context) =>
    withHub(context, async (hub) => {
      const { id: graph, by: principal, archive, unarchive, ...fields } = input;
      if (archive === true && unarchive === true) {
        throw new CortexError("ERR_INVALID", "archive, unarchive: expected one of them, got both");
      }
      const isMoved = archive === true || unarchive === true;
      const patch = { ...fields, ...(isMoved ? { archived: archive === true } : {}) };
      if (Object.keys(patch).length === 0) return hub.getGraph(graph);
      return hub.configureGraph(graph, patch, principal === undefined ? {} : { by: principal });
    }),
  cli: {
    command: "graph config",
    group: "graphs",
    store: "fresh",
    arguments: [{ field: "id", label: "ID" }],
    flags: { kindWhitelist: "kind" },
    human: showGraph,
  },
  http: { unavailable: ON_THE_MACHINE },
});

const symlinksOperation = defineOperation({
  name: "symlinks",
  verbs: [],
  place: "openHub",
  kind: "read",
  summary: "Show which graphs a graph is tied to",
  help: "Edges that lead into other graphs, and edges of others that lead into this one, counted by graph.",
  example: "cortex graph symlinks team-notes",
  input: z.strictObject({
    id,
    dangling: z
      .boolean()
      .describe("look for far ends that are missing, which opens the graphs they should be in")
      .exactOptional(),
  }),
  output: symlinksShape,
  absent: (input) => `id: no graph ${input.id}`,
  call: (_memory, { id: graph, dangling }, context) =>
    withHub(context, async (hub) => {
      if ((await hub.getGraph(graph)) === undefined) return undefined;
      return memgraph(hub).symlinks(graph, dangling === undefined ? {} : { dangling });
    }),
  cli: {
    command: "graph symlinks",
    group: "graphs",
    store: "fresh",
    arguments: [{ field: "id", label: "ID" }],
    human: showSymlinks,
  },
  http: { unavailable: ON_THE_MACHINE },
});

/** The operations on graphs. */
export const GRAPH_OPERATIONS = [
  createOperation,
  listOperation,
  configOperation,
  symlinksOperation,
  copyOperation,
];
