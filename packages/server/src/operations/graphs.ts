/**
 * Operations on the graphs of a folder: a folder of actors is a hub, and each actor's store a graph of
 * it. They go by the hub that the door has open, or by the folder, and open no store of their own.
 *
 * The shapes of what operations on graphs answer.
 */

import { CortexError, copyHub, type Hub, openHub } from "@cortex-memory/core";
import { anyObject, listOf, NAME_FORM, VERBS } from "@cortex-memory/core/contract";
import { memgraph } from "@cortex-memory/core/memgraph";
import * as z from "zod";
import {
  showCopied,
  showGraph,
  showGraphCheck,
  showGraphs,
  showRemoved,
  showSymlinks,
} from "../render/edges.js";
import { type CallContext, defineOperation } from "./define.js";

/** A graph. */
export const graphShape = z.object({
  id: z.string(),
  name: z.string(),
  conflictPolicy: z.enum(["lww", "manual"]),
  kindWhitelist: listOf(z.string()),
  metadata: anyObject,
  archived: z.boolean(),
  createdAt: z.int(),
  seq: z.int(),
});

/** Graphs, and what could not be read. */
export const graphListShape = z.object({
  graphs: listOf(graphShape),
  /** Give it back to read on; absent at the end. */
  cursor: z.string().exactOptional(),
  problems: listOf(z.object({ id: z.string(), code: z.string(), message: z.string() })),
});

const graphRef = z.object({ graphId: z.string(), edgeCount: z.int(), exists: z.boolean() });

const graphEdge = z.object({
  id: z.string(),
  graphId: z.string(),
  fromLineage: z.string(),
  toGraph: z.string(),
  toLineage: z.string(),
  kind: z.string(),
  metadata: anyObject.exactOptional(),
  ordinal: z.int().exactOptional(),
  createdAt: z.int(),
  createdBy: z.string(),
});

/** Which graphs a graph is tied to. */
export const symlinksShape = z.object({
  outbound: listOf(graphRef),
  inbound: listOf(graphRef),
  dangling: listOf(graphEdge).exactOptional(),
});

/** What a check of the graphs together found. */
export const graphCheckShape = z.object({
  ok: z.boolean(),
  graphs: z.int(),
  problems: listOf(z.object({ id: z.string(), code: z.string(), message: z.string() })),
});

/** What became of a copy of graphs. */
export const copiedShape = z.object({
  ok: z.boolean(),
  copied: z.int(),
  same: z.int(),
  entries: z.int(),
  failed: listOf(z.object({ graph: z.string(), code: z.string(), message: z.string() })),
});

/** A graph that is gone. */
export const removedGraphShape = z.object({
  id: z.string(),
  name: z.string(),
  reason: z.string(),
  entries: z.int().exactOptional(),
  symlinks: symlinksShape.omit({ dangling: true }),
});

/** Runs `body` with the hub in use; only making a graph may make its folder. */
async function withHub<T>(
  { location, hub: opened }: CallContext,
  body: (hub: Hub) => Promise<T>,
  create = false,
): Promise<T> {
  if (opened !== undefined) return opened(body);
  const hub = await openHub(location, { create });
  try {
    return await body(hub);
  } finally {
    await hub.close();
  }
}

const id = z.string().meta({
  description: "the graph: its id, which is the actor of its store",
  ...NAME_FORM,
});

/** The fields of a graph's configuration, as its own verb has them. */
const config = VERBS.configure.options;

/** What the check of `configureGraph` refuses, as a document says it. */
const ARCHIVED_BOTH_WAYS = {
  properties: { archive: { const: true }, unarchive: { const: true } },
  required: ["archive", "unarchive"],
};

const name = config.name.unwrap().unwrap().describe("what people call it");

const policy = config.conflictPolicy
  .unwrap()
  .describe("a stale node wins (lww), or is kept as a rival (manual)")
  .exactOptional();

const kinds = config.kindWhitelist
  .unwrap()
  .describe("a kind that nodes may have; may be repeated; every kind when not given")
  .exactOptional();

const by = config.by.unwrap().exactOptional();

/** The operations on graphs. */
export const GRAPH_OPERATIONS = [
  defineOperation({
    name: "createGraph",
    verbs: [],
    place: "openHub",
    kind: "write",
    summary: "Make a graph",
    help: `Names need not be unique; ids are, and one is made from the name unless given. The id is the actor of the
graph's store: every other command works on it with --actor.`,
    example: 'cortex graph create "Team notes" --id team-notes',
    input: z.strictObject({
      name,
      id: z
        .string()
        .meta({
          description:
            "a safe name: a-z, 0-9, dot, underscore and hyphen; made from the name when not given",
          ...NAME_FORM,
        })
        .exactOptional(),
      conflictPolicy: policy,
      kindWhitelist: kinds,
      metadata: config.metadata
        .unwrap()
        .unwrap()
        .describe("anything to keep about it, as JSON")
        .exactOptional(),
      by,
    }),
    output: graphShape,
    call: (_memory, input, context) =>
      withHub(context, (hub) => hub.createGraph(input, { access: context.access }), true),
    cli: {
      command: "graph create",
      group: "graphs",
      store: "fresh",
      arguments: [{ field: "name", label: "NAME" }],
      flags: { kindWhitelist: "kind" },
      human: showGraph,
    },
  }),
  defineOperation({
    name: "listGraphs",
    verbs: [],
    place: "openHub",
    kind: "read",
    summary: "List the graphs of the folder",
    help: "Oldest first, as they are now, whichever process wrote them. A store that cannot be read is named with the reason.",
    example: "cortex graph ls",
    input: z.strictObject({
      includeArchived: z.boolean().describe("show archived graphs as well").exactOptional(),
      limit: VERBS.list.options.limit,
      cursor: VERBS.list.options.cursor,
    }),
    output: graphListShape,
    call: (_memory, input, context) =>
      withHub(context, (hub) => hub.listGraphs({ ...input, access: context.access })),
    cli: {
      command: "graph ls",
      group: "graphs",
      store: "fresh",
      flags: { includeArchived: "all" },
      human: showGraphs,
    },
  }),
  defineOperation({
    name: "configureGraph",
    verbs: [],
    place: "openHub",
    kind: "write",
    summary: "Show or change the configuration of a graph",
    help: `Without a change it shows what holds. What is not given stays; a member of the metadata that is null goes.
Every change is journaled in the graph. An archived graph is left out of lists and works as before.`,
    example: "cortex graph config team-notes --conflict-policy manual",
    input: z
      .strictObject({
        id,
        name: name.exactOptional(),
        conflictPolicy: policy,
        kindWhitelist: kinds,
        metadata: config.metadata
          .unwrap()
          .unwrap()
          .describe("members to set, or to remove where they are null, as JSON")
          .exactOptional(),
        archive: z.boolean().describe("leave it out of lists").exactOptional(),
        unarchive: z.boolean().describe("list it again").exactOptional(),
        by,
      })
      .meta({ allOf: [{ not: ARCHIVED_BOTH_WAYS }] }),
    output: graphShape,
    absent: (input) => `id: no graph ${input.id}`,
    call: (_memory, input, context) =>
      withHub(context, async (hub) => {
        const { id: graph, by: principal, archive, unarchive, ...fields } = input;
        if (archive === true && unarchive === true) {
          throw new CortexError(
            "ERR_INVALID",
            "archive, unarchive: expected one of them, got both",
          );
        }
        const isMoved = archive === true || unarchive === true;
        const patch = { ...fields, ...(isMoved ? { archived: archive === true } : {}) };
        const { access } = context;
        if (Object.keys(patch).length === 0) return hub.getGraph(graph, { access });
        const options = principal === undefined ? { access } : { by: principal, access };
        return hub.configureGraph(graph, patch, options);
      }),
    cli: {
      command: "graph config",
      group: "graphs",
      store: "fresh",
      arguments: [{ field: "id", label: "ID" }],
      flags: { kindWhitelist: "kind" },
      human: showGraph,
    },
  }),
  defineOperation({
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
        if ((await hub.getGraph(graph, { access: context.access })) === undefined) return undefined;
        return memgraph(hub).symlinks(graph, dangling === undefined ? {} : { dangling });
      }),
    cli: {
      command: "graph symlinks",
      group: "graphs",
      store: "fresh",
      arguments: [{ field: "id", label: "ID" }],
      human: showSymlinks,
    },
  }),
  defineOperation({
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
  }),
  defineOperation({
    name: "removeGraph",
    verbs: [],
    place: "openHub",
    kind: "write",
    summary: "Remove a graph with everything in it, for good",
    help: `The bytes are gone, and so is what the hub knew of it; a process that has the graph open is refused from
then on. Broken off anywhere, it is finished by whoever opens the folder next. The answer names the graphs it was
tied to: their edges into it stay there and lead nowhere. Backups made before are yours to remove.`,
    example: 'cortex graph rm team-notes --reason "the team is gone"',
    input: z.strictObject({
      id,
      reason: VERBS.forget.args.reason.describe("why it is removed"),
    }),
    output: removedGraphShape,
    absent: (input) => `id: no graph ${input.id}`,
    call: (_memory, { id: graph, reason }, context) =>
      withHub(context, (hub) => hub.remove(graph, reason, { access: context.access })),
    cli: {
      command: "graph rm",
      group: "graphs",
      store: "fresh",
      arguments: [
        { field: "id", label: "ID" },
        { field: "reason", label: "REASON", optional: true, words: true },
      ],
      broken:
        "The graph is kept whole, or its removal is finished when the folder is next opened: cortex graph ls does it.",
      human: showRemoved,
    },
  }),
  defineOperation({
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
    call: (_memory, { from, to, ...which }, { onProgress }) =>
      copyHub(from, to, { ...which, onProgress: ({ done, total }) => onProgress(done, total) }),
    cli: {
      command: "copy",
      group: "graphs",
      store: "none",
      broken: "Graphs that were copied whole are kept; the same command goes on with the others.",
      arguments: [
        { field: "from", label: "FROM" },
        { field: "to", label: "TO" },
      ],
      flags: { graphs: "graph" },
      human: showCopied,
    },
    http: { unavailable: "it works on places that the machine it runs on can reach" },
  }),
];
