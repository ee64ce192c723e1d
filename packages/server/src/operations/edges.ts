/**
 * Operations on links between memories.
 */
import { VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";
import {
  showEdge,
  showEdgeAdded,
  showEdgeRemoved,
  showEdges,
  showLinks,
  showTraversal,
} from "../render/edges.js";
import { defineOperation, verbRow } from "./define.js";

/** The operations on links. */
export const EDGE_OPERATIONS = [
  verbRow("addEdge", {
    help: `Adding a link that is there changes nothing; adding a removed one revives it. Built-in kinds are
listed on the page about edges; any other name becomes a kind of this graph.`,
    example: 'cortex edge add rule related_to home --reason "both came up in chat-1"',
    also: ["link"],
    cli: { command: "edge add", alias: "link", group: "edges", human: showEdgeAdded },
  }),
  verbRow("removeEdge", {
    help: "The link stays readable as removed. Removing what is not there changes nothing.",
    example: "cortex edge rm rule related_to home",
    cli: { command: "edge rm", group: "edges", human: showEdgeRemoved },
  }),
  verbRow("removeEdgeById", {
    help: "With --id instead of the ends. An id that no link has is a failure with ERR_NOT_FOUND.",
    example: 'cortex edge rm --id "$EDGE"',
    cli: { command: "edge rm", group: "edges", when: "id", arguments: [], human: showEdgeRemoved },
  }),
  verbRow("getEdge", {
    help: "A link that never was is a failure with ERR_NOT_FOUND.",
    example: "cortex edge get rule related_to home",
    absent: ({ from, kind, to }) => `edge: none from ${from} by ${kind} to ${to}`,
    cli: { command: "edge get", group: "edges", human: showEdge },
  }),
  defineOperation({
    name: "edges",
    verbs: ["edgesOut", "edgesIn"],
    kind: "read",
    summary: "List the links of a memory",
    help: "Both directions unless --direction says otherwise, all at one position of the journal.",
    example: "cortex edge ls home --direction in",
    input: VERBS.edgesOut.input.extend({
      direction: z.enum(["out", "in", "both"]).describe("both when not given").optional(),
    }),
    output: VERBS.edgesOut.output,
    call: async (memory, { id, direction = "both", ...rest }, { access }) => {
      const options = { ...rest, access };
      if (direction === "in") return memory.edgesIn(id, options);
      const out = await memory.edgesOut(id, options);
      if (direction === "out") return out;
      const into = await memory.edgesIn(id, { ...options, asOf: out.seq });
      // A symmetric link is found from both ends, and listed once.
      const known = new Set(out.edges.map((edge) => edge.id));
      const edges = [...out.edges, ...into.edges.filter((edge) => !known.has(edge.id))];
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
  }),
  verbRow("traverse", {
    help: "Breadth first, along outgoing links one hop far unless told otherwise; 6 hops at most.",
    example: "cortex traverse home --direction both --max-hops 2",
    cli: {
      command: "traverse",
      group: "edges",
      flags: { kinds: "kind" },
      human: showTraversal,
    },
  }),
  verbRow("linksFrom", {
    help: `In the words of this memory, by group: what it causes and what it was caused by (marked as inverse), and
symmetric links whichever way round they were said. edge ls gives them in full.`,
    example: "cortex links rule",
    cli: { command: "links", group: "edges", human: showLinks },
  }),
  verbRow("backlinksTo", {
    help: "Links in brief; edge ls gives them in full.",
    example: "cortex backlinks home",
    cli: { command: "backlinks", group: "edges", human: showLinks },
  }),
];
