/**
 * Operations on links between memories.
 */
import { SOURCES } from "@cortex-memory/core";
import * as z from "zod";
import {
  showEdge,
  showEdgeAdded,
  showEdgeRemoved,
  showEdges,
  showLinks,
  showTraversal,
} from "../render/edges.js";
import { asking, defineOperation } from "./define.js";
import {
  anyObject,
  asOf,
  by,
  edgeKinds,
  includeTombstoned,
  limit,
  ref,
  timeField,
  words,
} from "./fields.js";
import {
  edgeAddedShape,
  edgeListShape,
  edgeRemovedShape,
  edgeShape,
  linksShape,
  traversalShape,
} from "./shapes.js";

const ends = {
  from: z.string().describe("where the link starts: id, URI or external id"),
  kind: z.string().describe("the kind of link, built in or of your own"),
  to: z.string().describe("where the link ends: id, URI or external id"),
};

const endArguments = [
  { field: "from", label: "FROM" },
  { field: "kind", label: "KIND" },
  { field: "to", label: "TO" },
] as const;

const why = z.string().describe("why, in one line").exactOptional();

const addOperation = defineOperation({
  name: "addEdge",
  verbs: ["addEdge", "link"],
  kind: "write",
  summary: "Link two memories",
  help: `Adding a link that is there changes nothing; adding a removed one revives it. Built-in kinds are
listed on the modelling page; any other name becomes a kind of this graph.`,
  example: 'cortex edge add rule related_to home --reason "both came up in chat-1"',
  input: z.strictObject({
    ...ends,
    reason: why,
    strength: z.int().min(1).max(5).describe("1 (weak) to 5 (strongly stated)").exactOptional(),
    weight: z.number().describe("a number of your own").exactOptional(),
    ordinal: z.int().describe("its place among its siblings").exactOptional(),
    metadata: anyObject.describe("anything else, as JSON").exactOptional(),
    source: words(SOURCES).describe("where the link came from").exactOptional(),
    validFrom: timeField("from when on it holds in the world").exactOptional(),
    validTo: timeField("until when it holds in the world").exactOptional(),
    by,
  }),
  output: edgeAddedShape,
  call: (memory, { from, kind, to, ...input }, { access }) =>
    memory.addEdge(from, kind, to, input, { access }),
  cli: {
    command: "edge add",
    alias: "link",
    group: "edges",
    arguments: endArguments,
    human: showEdgeAdded,
  },
});

const removeOperation = defineOperation({
  name: "removeEdge",
  verbs: ["removeEdge"],
  kind: "write",
  summary: "Remove a link, softly",
  help: "The link stays readable as removed. Removing what is not there changes nothing.",
  example: "cortex edge rm rule related_to home",
  input: z.strictObject({ ...ends, reason: why, by }),
  output: edgeRemovedShape,
  call: (memory, { from, kind, to, ...options }, { access }) =>
    memory.removeEdge(from, kind, to, { ...options, access }),
  cli: { command: "edge rm", group: "edges", arguments: endArguments, human: showEdgeRemoved },
});

const removeByIdOperation = defineOperation({
  name: "removeEdgeById",
  verbs: ["removeEdgeById"],
  kind: "write",
  summary: "Remove a link by its own id",
  help: "With --id instead of the ends. An id that no link has is a failure with ERR_NOT_FOUND.",
  example: 'cortex edge rm --id "$EDGE"',
  input: z.strictObject({ id: z.string().describe("the id of the edge"), reason: why, by }),
  output: edgeRemovedShape,
  call: (memory, { id, ...options }, { access }) =>
    memory.removeEdgeById(id, { ...options, access }),
  cli: { command: "edge rm", group: "edges", when: "id", human: showEdgeRemoved },
});

const getOperation = defineOperation({
  name: "getEdge",
  verbs: ["getEdge"],
  kind: "read",
  summary: "Read one link, a removed one as well",
  help: "A link that never was is a failure with ERR_NOT_FOUND.",
  example: "cortex edge get rule related_to home",
  input: z.strictObject({ ...ends, asOf }),
  output: edgeShape,
  absent: ({ from, kind, to }) => `edge: none from ${from} by ${kind} to ${to}`,
  call: (memory, { from, kind, to, ...options }, { access }) =>
    memory.getEdge(from, kind, to, { ...options, access }),
  cli: { command: "edge get", group: "edges", arguments: endArguments, human: showEdge },
});

const listOperation = defineOperation({
  name: "edges",
  verbs: ["edgesOut", "edgesIn"],
  kind: "read",
  summary: "List the links of a memory",
  help: "Both directions unless --direction says otherwise, all at one position of the journal.",
  example: "cortex edge ls home --direction in",
  input: z.strictObject({
    id: ref,
    direction: z.enum(["out", "in", "both"]).describe("both when not given").exactOptional(),
    kinds: edgeKinds,
    includeTombstoned,
    order: z.enum(["kind", "ordinal"]).describe("by kind when not given").exactOptional(),
    limit,
    asOf,
  }),
  output: edgeListShape,
  call: async (memory, { id, direction = "both", ...rest }, { access }) => {
    const options = { ...rest, access };
    if (direction === "in") return memory.edgesIn(id, options);
    const out = await memory.edgesOut(id, options);
    if (direction === "out") return out;
    const into = await memory.edgesIn(id, { ...options, asOf: out.seq });
    const edges = [...out.edges, ...into.edges];
    return { edges: edges.slice(0, rest.limit ?? edges.length), seq: out.seq };
  },
  cli: {
    command: "edge ls",
    group: "edges",
    arguments: [{ field: "id", label: "ID" }],
    flags: { kinds: "kind" },
    human: showEdges,
  },
  // The noun alone is memgraph's path for writing one.
  http: { path: "list-edges" },
});

const traverseOperation = defineOperation({
  name: "traverse",
  verbs: ["traverse"],
  kind: "read",
  summary: "Walk the links from a memory",
  help: "Breadth first, along outgoing links one hop far unless told otherwise; 6 hops at most.",
  example: "cortex traverse home --direction both --max-hops 2",
  input: z.strictObject({
    id: ref,
    direction: z.enum(["out", "in", "both"]).describe("out when not given").exactOptional(),
    kinds: edgeKinds,
    minHops: z.int().min(1).describe("leave out what is nearer").exactOptional(),
    maxHops: z.int().min(1).describe("1 when not given").exactOptional(),
    maxNodes: z.int().min(1).describe("most memories to return").exactOptional(),
    includeTombstoned,
    asOf,
  }),
  output: traversalShape,
  call: (memory, { id, ...options }, context) =>
    memory.traverse(id, { ...options, ...asking(context) }),
  cli: {
    command: "traverse",
    group: "edges",
    arguments: [{ field: "id", label: "ID" }],
    flags: { kinds: "kind" },
    human: showTraversal,
  },
});

const linksOperation = defineOperation({
  name: "linksFrom",
  verbs: ["linksFrom"],
  kind: "read",
  summary: "What a memory points at, without repeats",
  help: "Links in brief; edge ls gives them in full.",
  example: "cortex links rule",
  input: z.strictObject({ id: ref, asOf }),
  output: linksShape,
  call: async (memory, { id, ...options }, { access }) => ({
    links: await memory.linksFrom(id, { ...options, access }),
  }),
  cli: {
    command: "links",
    group: "edges",
    arguments: [{ field: "id", label: "ID" }],
    human: showLinks,
  },
});

const backlinksOperation = defineOperation({
  name: "backlinksTo",
  verbs: ["backlinksTo"],
  kind: "read",
  summary: "What points at a memory, without repeats",
  help: "Links in brief; edge ls gives them in full.",
  example: "cortex backlinks home",
  input: z.strictObject({ id: ref, asOf }),
  output: linksShape,
  call: async (memory, { id, ...options }, { access }) => ({
    links: await memory.backlinksTo(id, { ...options, access }),
  }),
  cli: {
    command: "backlinks",
    group: "edges",
    arguments: [{ field: "id", label: "ID" }],
    human: showLinks,
  },
});

/** The operations on links. */
export const EDGE_OPERATIONS = [
  addOperation,
  removeOperation,
  removeByIdOperation,
  getOperation,
  listOperation,
  traverseOperation,
  linksOperation,
  backlinksOperation,
];
