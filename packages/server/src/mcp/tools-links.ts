/**
 * Tools on links between memories: adding and removing one, and walking them.
 */

import type { Edge, Traversal } from "@cortex-memory/core";
import { listOf, quoted, VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";
import { asking } from "../operations/define.js";
import { counted } from "../render/ink.js";
import { briefLine, briefOf, briefShape, fenced, fit, flat } from "./briefs.js";
import { BUDGET_TOKENS, budgetTokens, defineTool, memoryRef } from "./define.js";

const linkTool = defineTool({
  name: "memory_link",
  title: "Link two memories",
  description:
    "Add or remove one directed link with a reason, e.g. supports, contradicts, depends_on, part_of, " +
    "caused_by, related_to, or a kind of your own.",
  verbs: ["addEdge", "removeEdge"],
  effect: "write",
  idempotent: true,
  input: z.strictObject({
    from: memoryRef,
    kind: z.string().describe("kind of link"),
    to: memoryRef,
    reason: z.string().describe("why, in one line"),
    strength: z.int().min(1).max(5).describe("1 weak to 5 stated").exactOptional(),
    remove: z.boolean().describe("remove it").exactOptional(),
  }),
  output: z.object({
    id: z.string().exactOptional(),
    from: z.string(),
    kind: z.string(),
    to: z.string(),
    linked: z.boolean(),
    /** False when it was so before. */
    changed: z.boolean(),
    seq: z.int(),
  }),
  call: async (memory, { from, kind, to, reason, strength, remove }, { access }) => {
    if (remove === true) {
      const done = await memory.removeEdge(from, kind, to, { reason, access });
      return {
        ...endsOf(done.edge, { from, kind, to }),
        linked: false,
        changed: done.changed,
        seq: done.seq,
      };
    }
    const input = strength === undefined ? { reason } : { reason, strength };
    const done = await memory.addEdge(from, kind, to, input, { access });
    return {
      ...endsOf(done.edge, { from, kind, to }),
      linked: true,
      changed: done.changed,
      seq: done.seq,
    };
  },
  text: ({ from, kind, to, linked, changed }) => {
    const done = linked ? "Linked" : "Link removed";
    return flat(`${changed ? done : "No change"}: ${from} ${kind} ${to}`);
  },
});

interface Ends {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
}

/** The ends as stored: a kind may have been turned round to its canonical form. */
function endsOf(edge: Edge | undefined, asked: Ends) {
  return edge === undefined
    ? asked
    : { id: edge.id, from: edge.from, kind: edge.kind, to: edge.to };
}

const reachedShape = briefShape.extend({ hop: z.int() });

const walkShape = z.object({
  memories: listOf(reachedShape),
  links: listOf(
    z.object({
      from: z.string(),
      kind: z.string(),
      to: z.string(),
      reason: z.string().exactOptional(),
    }),
  ),
  /** Memories and links that the budget left out. */
  left: z.int(),
  truncated: z.boolean(),
  seq: z.int(),
});

const LIMIT = 30;

const exploreTool = defineTool({
  name: "memory_explore",
  title: "Walk the links",
  description: "The memories that are linked with one, one or two hops away, and by which links.",
  verbs: ["traverse"],
  effect: "read",
  idempotent: true,
  input: z.strictObject({
    id: memoryRef,
    hops: z.int().min(1).max(2).describe("1 when not given").exactOptional(),
    direction: z.enum(["out", "in", "both"]).describe("both when not given").exactOptional(),
    kinds: VERBS.traverse.options.kinds.describe("only these kinds of links"),
    budgetTokens,
  }),
  words: { maxHops: "hops" },
  output: walkShape,
  call: async (memory, { id, hops, direction, kinds, budgetTokens: budget }, context) => {
    const walk = await memory.traverse(id, {
      direction: direction ?? "both",
      maxHops: hops ?? 1,
      maxNodes: LIMIT,
      kinds,
      ...asking(context),
    });
    return walkWithin(walk, budget ?? BUDGET_TOKENS);
  },
  text: ({ memories, links, left, seq }) => {
    const head = `${counted(memories.length, "memory", "memories")}, seq ${seq}`;
    const lines = [
      ...memories.map((one) => `${briefLine(one)} hop ${one.hop}`),
      ...links.map(({ from, kind, to }) => `- ${from} ${kind} ${to}`),
    ];
    return fenced(head, lines, left);
  },
});

/** A walk within a budget: memories first, then the links between those that are shown. */
function walkWithin(walk: Traversal, budget: number): z.input<typeof walkShape> {
  const reached = walk.hits.map(({ memory, hop }) => ({ ...briefOf(memory, 60), hop }));
  const memories = fit(reached, Math.floor(budget * 0.7));
  const links = walk.edges.map(({ from, kind, to, reason }) => ({
    from,
    kind: quoted(kind),
    to,
    ...(reason === undefined ? {} : { reason: quoted(reason, { tokens: 60 }) }),
  }));
  const shown = fit(links, Math.floor(budget * 0.3));
  return {
    memories: memories.items,
    links: shown.items,
    left: memories.left + shown.left,
    truncated: walk.truncated,
    seq: walk.seq,
  };
}

/** The tools on links. */
export const LINK_TOOLS = [linkTool, exploreTool];
