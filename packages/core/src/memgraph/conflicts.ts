/**
 * memgraph's calls about conflicts: which lineages of a graph have rival nodes, and settling one by a new
 * version that takes the place of all of them.
 */
import * as z from "zod";
import { listOf } from "../contract/fields.js";
import { checkInput } from "../contract/refusal.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import type { GraphNode } from "./node.js";
import {
  getNode,
  inHome,
  type NodeInput,
  type NodeResult,
  nodeFields,
  noteOf,
  versionNodes,
  writeNode,
} from "./nodes.js";
import { type AccessOption, admitted, inWords } from "./policies.js";

/** A lineage with rival nodes. */
export interface NodeConflict {
  readonly graphId: string;
  readonly lineageId: string;
  /** The rivals, the highest version first. */
  readonly nodes: readonly GraphNode[];
}

/** The open conflicts of a graph. */
export interface NodeConflicts {
  readonly conflicts: readonly NodeConflict[];
  readonly seq: number;
}

/** Every lineage of a graph that has rival nodes. */
export async function conflicts(
  hub: Hub,
  graph: string,
  options: AccessOption = {},
): Promise<NodeConflicts> {
  admitted("conflicts", options);
  checkOptions(options, ["access"]);
  const found = await hub.useIfThere(graph, async (memory): Promise<NodeConflicts> => {
    const open: NodeConflict[] = [];
    let cursor: string | undefined;
    for (;;) {
      const from = cursor === undefined ? {} : { cursor };
      const page = await memory.review({ ...options, kinds: ["siblings"], ...from });
      for (const { sides } of page.items) {
        const versions = await versionNodes(hub, memory, sides[0]?.id ?? "", options);
        const nodes = versions.filter(({ isCurrent }) => isCurrent);
        const [first] = nodes;
        if (first !== undefined) {
          open.push({ graphId: first.graphId, lineageId: first.lineageId, nodes });
        }
      }
      if (page.cursor === undefined) return { conflicts: open, seq: page.seq };
      cursor = page.cursor;
    }
  });
  return found ?? { conflicts: [], seq: -1 };
}

const { lineageId: _lineage, basedOnVersion: _based, ...wordFields } = nodeFields;

const resolution = z.strictObject({
  /** The graph that holds the lineage; looked up when not given. */
  graph: z.string().optional(),
  /** Every version that was in conflict when the caller looked, so that none is lost unseen. */
  versions: listOf(z.int()),
  /** The rival whose words stand. */
  keep: z.int().optional(),
  /** What stands instead of all of them. */
  node: z.strictObject(wordFields).optional(),
  by: z.string().optional(),
});

/** How a conflict is settled: by one of the rivals, or by a node of its own. */
export interface ResolveInput extends z.input<typeof resolution> {}

/**
 * Settles an open conflict by a new version that takes the place of all rivals. `ERR_CONFLICT` when
 * the rivals are not exactly those the caller names; nothing is written then.
 */
export async function resolve(
  hub: Hub,
  lineage: string,
  input: ResolveInput,
  options: AccessOption = {},
): Promise<NodeResult> {
  admitted("resolve", options);
  const { keep, by, versions, node } = checkInput(resolution, input);
  if ((keep === undefined) === (node === undefined)) {
    throw invalid("keep, node", "exactly one of them", keep === undefined ? "none" : "both");
  }
  if (keep !== undefined && !versions.includes(keep)) {
    throw invalid("keep", "one of versions", keep);
  }
  const settled = await inHome(hub, lineage, input, async (memory) => {
    const kept = await getNode(hub, lineage, { graph: memory.actor, atVersion: keep });
    if (kept === undefined) return undefined;
    const words = { ...(node ?? wordsOf(kept)), createdBy: by, lineageId: lineage };
    const { write } = noteOf(words, options.access);
    const note = { write, upsert: { basedOnVersion: versions } };
    return writeNode(hub, memory, note, options).catch((error: unknown) =>
      inWords(error, { basedOnVersion: "versions" }),
    );
  });
  if (settled !== undefined) return settled;
  throw new CortexError("ERR_NOT_FOUND", "lineageId: expected a lineage, got one that names none", {
    field: "lineageId",
    subject: lineage,
  });
}

/** What a node says, to be said again. */
function wordsOf({ kind, content, summary, tags, metadata, freshnessAt }: GraphNode): NodeInput {
  return { kind, content, summary, tags, metadata, freshnessAt };
}
