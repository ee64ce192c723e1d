/**
 * Operations on the graphs of a folder: a folder of actors is a hub, and each actor's store a graph of
 * it. They go by the folder and open no store of their own.
 */
import { CortexError, type Hub, openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import * as z from "zod";
import { showGraph, showGraphCheck, showGraphs, showSymlinks } from "../render/graphs.js";
import { type CallContext, defineOperation } from "./define.js";
import { anyObject, by, listOf } from "./fields.js";
import { graphCheckShape, graphListShape, graphShape, symlinksShape } from "./graph-shapes.js";

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

const checkOperation = defineOperation({
  name: "checkGraphs",
  verbs: [],
  place: "openHub",
  kind: "write",
  summary: "Check the graphs of a folder together",
  help: `Compares the catalogue with the journals, and finds lineages that are visible in more than one graph:
a move that was cut short, or a pair that an older release made. --repair hides all but the head of each,
with a reason; its history stays, and restore brings it back. Each store by itself is for cortex check.`,
  example: "cortex graph check --repair",
  input: z.strictObject({
    repair: z
      .boolean()
      .describe("hide, of a lineage that is visible in several graphs, all but its head")
      .exactOptional(),
  }),
  output: graphCheckShape,
  call: (_memory, input, context) =>
    withHub(context, async (hub) => {
      const { ok, graphs, problems } = await hub.check(input);
      return { ok, graphs, problems };
    }),
  cli: {
    command: "graph check",
    group: "graphs",
    store: "fresh",
    human: showGraphCheck,
  },
  http: { unavailable: ON_THE_MACHINE },
});

/** The operations on graphs. */
export const GRAPH_OPERATIONS = [
  createOperation,
  listOperation,
  configOperation,
  symlinksOperation,
  checkOperation,
];
