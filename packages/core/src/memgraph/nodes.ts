/**
 * memgraph's calls about nodes: put, get, history, list, and the open conflicts with their settlement.
 *
 * A node of a new lineage is a new note. A node of a known lineage is its next version: `write` with
 * `upsert`, which decides what becomes of the versions that were current (`memory/upsert.ts` has the
 * table).
 */
import * as z from "zod";
import { anyObject, listOf, textField, timeOf, whole } from "../contract/fields.js";
import type { Upsert, WriteInput } from "../contract/memory.js";
import { checkInput } from "../contract/refusal.js";
import type { Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { LIMITS } from "../limits.js";
import type { JsonObject } from "../records/fields.js";
import type { Access } from "../scope/access.js";
import { type CompactNode, compactNode, type GraphNode, idsIn, nodeOf, nodesOf } from "./node.js";
import {
  type AccessOption,
  admitted,
  asking,
  authorIn,
  CONFLICT_TEXT,
  inWords,
} from "./policies.js";

/** What a node is to be; what its texts may hold, `write` says. */
export const nodeFields = {
  kind: textField({ maxBytes: LIMITS.kindBytes }),
  content: z.string().optional(),
  summary: z.string().optional(),
  tags: listOf(z.string()).optional(),
  metadata: anyObject.optional(),
  /** When the content should be looked at again, in milliseconds. */
  freshnessAt: z.number().optional(),
  createdBy: z.string().optional(),
  /** Any text; a lineage that is not there yet is made under it. */
  lineageId: z.string().optional(),
  /** The version the writer read. */
  basedOnVersion: z.int().optional(),
};

const nodeSchema = z.strictObject(nodeFields);

/** A node to be. */
export interface NodeInput extends z.input<typeof nodeSchema> {}

/** What writing a node did. */
export interface NodeResult {
  readonly node: GraphNode;
  /** True when the lineage is new. */
  readonly created: boolean;
  /** Present when policy `manual` kept the node as a rival of others; it was written all the same. */
  readonly conflict?: CortexError;
  readonly seq: number;
}

/** A note to be written, as `write` and an item of a batch take it. */
export interface Note {
  readonly write: WriteInput;
  readonly upsert?: Upsert;
}

/** A node to be, as a note. */
export function noteOf(input: NodeInput, access: Access | undefined): Note {
  const {
    kind,
    content = "",
    summary,
    metadata,
    lineageId,
    ...node
  } = checkInput(nodeSchema, input);
  const { tags, freshnessAt, basedOnVersion } = node;
  const data = {
    content,
    ...(summary === undefined || summary === "" ? {} : { summary }),
    ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
  };
  const by = authorIn(access, node.createdBy);
  const write = { type: "note", kind, data, tags, freshnessAt, by, externalId: lineageId } as const;
  return { write, ...(lineageId === undefined ? {} : { upsert: { basedOnVersion } }) };
}

/** How a field of a note is called here. */
export const NODE_WORDS = { externalId: "lineageId", by: "createdBy" } as const;

/** Writes a node: a new lineage, or the next version of one. */
export async function putNode(
  hub: Hub,
  graph: string,
  node: NodeInput,
  options: AccessOption = {},
): Promise<NodeResult> {
  admitted("putNode", options);
  const note = noteOf(node, options.access);
  const { lineageId } = node;
  return hub.use(graph, async (memory) => {
    if (lineageId === undefined) return writeNode(hub, memory, note, options);
    if (hub.lineages.wasIn(memory.actor, lineageId)) {
      // Mostly it still is, and then nothing has to be looked up or claimed.
      const next = await writeNext(hub, memory, note, options);
      if (next !== undefined) return next;
    }
    await hub.lineages.claim(memory.actor, lineageId);
    return writeNode(hub, memory, note, options);
  });
}

/** Writes the next version of a lineage; `undefined` when it is not there. */
async function writeNext(
  hub: Hub,
  memory: Cortex,
  note: Note,
  options: AccessOption,
): Promise<NodeResult | undefined> {
  const existing = { ...note, upsert: { ...note.upsert, mustExist: true } };
  try {
    return await writeNode(hub, memory, existing, options);
  } catch (error) {
    if (isCortexError(error, "ERR_NOT_FOUND")) return undefined;
    throw error;
  }
}

async function writeNode(
  hub: Hub,
  memory: Cortex,
  note: Note,
  { access }: AccessOption,
): Promise<NodeResult> {
  const { write, upsert } = note;
  const written = await memory
    .write(write, { memory: true, upsert, ...asking(access) })
    .catch((error: unknown) => inWords(error, NODE_WORDS));
  if (written.memory === undefined) throw new Error("a note was written and is not there");
  const [node] = await nodesOf(hub, [written.memory]);
  if (node === undefined) throw new Error("a memory is no node");
  hub.lineages.note(node.lineageId, memory.actor);
  const isRival = written.conflicts.length > 0;
  return {
    node,
    created: written.version === 1,
    seq: written.seq,
    ...(isRival ? { conflict: conflictOf(written.memory.head.siblings) } : {}),
  };
}

function conflictOf(others: readonly number[]): CortexError {
  return new CortexError("ERR_CONFLICT", CONFLICT_TEXT, {
    field: "basedOnVersion",
    expected: `one of ${others.join(", ")}`,
  });
}

/** How a lineage is read. */
export interface LineageOptions extends AccessOption {
  /** The graph that holds it; looked up when not given. */
  readonly graph?: string;
}

const nodeAt = z.strictObject({
  /** This version; wins over `atTime`. */
  atVersion: whole(1).optional(),
  /** The version that was current then. */
  atTime: timeOf("a time").optional(),
  /** The graph that holds the lineage; looked up when not given. */
  graph: z.string().optional(),
});

/** How a node is read. */
export interface GetNodeOptions extends AccessOption, z.input<typeof nodeAt> {}

/** One node: the current one of a lineage, or that of a version or a time, or one by its own id. */
export async function getNode(
  hub: Hub,
  ref: string,
  options: GetNodeOptions = {},
): Promise<GraphNode | undefined> {
  admitted("getNode", options);
  const { access, ...given } = options;
  const { atVersion, atTime } = checkInput(nodeAt, given);
  const isPinned = (atVersion ?? atTime) !== undefined;
  if (isPinned && String(ref).startsWith("cortex://")) {
    throw invalid("atVersion, atTime", "none of them beside a node id, which names a version", ref);
  }
  const found = await inHome(hub, ref, options, async (memory) => {
    if (atVersion === undefined && atTime !== undefined) {
      return nodeAtTime(hub, memory, ref, { time: atTime, access });
    }
    return nodeAtVersion(hub, memory, ref, { version: atVersion, access });
  });
  if (found !== undefined || isPinned) return found;
  // Not the name of a lineage: perhaps the id that a node was imported with.
  const place = ref.startsWith("cortex://") ? undefined : await hub.lineages.originOf("node", ref);
  if (place === undefined) return undefined;
  return hub.useIfThere(place.graph, (memory) =>
    nodeAtVersion(hub, memory, place.id, { version: place.version, access }),
  );
}

/** A version of a lineage as a node: the current one unless told otherwise. */
async function nodeAtVersion(
  hub: Hub,
  memory: Cortex,
  ref: string,
  { version, access }: { readonly version?: number | undefined } & AccessOption,
): Promise<GraphNode | undefined> {
  const found = await memory.get(ref, { version, access });
  if (found === undefined) return undefined;
  if (found.version === found.head.version) return (await nodesOf(hub, [found]))[0];
  // What took the place of an older version, and what came with it, only the others can tell.
  const nodes = await versionNodes(hub, memory, found.id, { access });
  return nodes.find((node) => node.version === found.version);
}

/**
 * The node that was current at a time. Versions that were imported count from the time at which they were
 * made, wherever that was; of a lineage that was always here the journal knows also what was undone since.
 */
async function nodeAtTime(
  hub: Hub,
  memory: Cortex,
  ref: string,
  { time, access }: { readonly time: number } & AccessOption,
): Promise<GraphNode | undefined> {
  const nodes = await versionNodes(hub, memory, ref, { access });
  const items = (await memory.history(ref, { access })) ?? [];
  if (items.some(({ versionRecord }) => versionRecord.origin !== undefined)) {
    const undone = new Set(items.flatMap((item) => (item.undone === true ? [item.version] : [])));
    return nodes.find(({ version, createdAt }) => createdAt <= time && !undone.has(version));
  }
  const found = await asOf(memory, ref, time, access);
  return nodes.find(({ version }) => version === found?.version);
}

/** A memory as it was at a time; one that was undone later counts until then. */
async function asOf(
  memory: Cortex,
  ref: string,
  time: number,
  access: Access | undefined,
): Promise<Memory | undefined> {
  try {
    return await memory.get(ref, { access, asOf: new Date(time) });
  } catch (error) {
    // The graph was not born then.
    if (isCortexError(error, "ERR_AS_OF")) return undefined;
    throw error;
  }
}

/** Every node of a lineage, the highest version first; empty when there is none. */
export async function history(
  hub: Hub,
  lineage: string,
  options: LineageOptions = {},
): Promise<readonly GraphNode[]> {
  admitted("history", options);
  checkOptions(options, ["graph", "access"]);
  const nodes = await inHome(hub, lineage, options, (memory) =>
    versionNodes(hub, memory, lineage, options),
  );
  return nodes ?? [];
}

/** Runs `body` in the graph that holds a lineage, if there is one. */
async function inHome<T>(
  hub: Hub,
  ref: string,
  { graph }: { readonly graph?: string | undefined },
  body: (memory: Cortex) => Promise<T>,
): Promise<T | undefined> {
  const home = await hub.lineages.graphOf(ref, graph);
  return home === undefined ? undefined : hub.useIfThere(home, body);
}

/** The nodes of all versions of a lineage, the highest first. */
async function versionNodes(
  hub: Hub,
  memory: Cortex,
  ref: string,
  { access }: AccessOption,
): Promise<readonly GraphNode[]> {
  const items = (await memory.history(ref, { memories: true, access })) ?? [];
  const replacedBy = new Map<number, number>();
  for (const { undone, version, versionRecord } of items) {
    if (undone === true) continue;
    for (const number of versionRecord.supersedes) replacedBy.set(number, version);
  }
  const names = { graph: await hub.lineages.shownName(memory.actor), ids: idsIn(items) };
  return items.flatMap((item) =>
    item.memory === undefined
      ? []
      : [nodeOf(item.memory, hub.now(), names, replacedBy.get(item.version))],
  );
}

const nodeFilter = z.strictObject({
  /** Any of these kinds; all when empty. */
  kinds: listOf(z.string()).optional(),
  /** All of these tags, each exactly. */
  tags: listOf(z.string()).optional(),
  /** Most nodes to return; all of them when it is absent or not above 0. */
  limit: z.int().optional(),
  offset: z.int().optional(),
  /** Leaves out content, metadata, freshness, author, successor and conflicts. */
  compact: z.boolean().optional(),
});

/** Which nodes to list. */
export interface NodeFilter<C extends boolean = boolean>
  extends AccessOption,
    Omit<z.input<typeof nodeFilter>, "compact"> {
  readonly compact?: C | undefined;
}

/** A page of nodes. */
export interface NodePage<N extends CompactNode = GraphNode> {
  readonly nodes: readonly N[];
  /** How many there are in all. */
  readonly total: number;
  /** Where the next page begins; absent at the end. */
  readonly nextOffset?: number;
  readonly seq: number;
}

/** What a list of the kind that was asked for holds. */
export type Listed<C extends boolean> = C extends true ? CompactNode : GraphNode;

/** The current nodes of a graph, newest first, rivals each by itself; empty without such a graph. */
export async function listNodes<C extends boolean = false>(
  hub: Hub,
  graph: string,
  filter: NodeFilter<C> = {},
): Promise<NodePage<Listed<C>>> {
  admitted("listNodes", filter);
  const { access, ...given } = filter;
  const { kinds, tags, limit = 0, offset: skipped = 0, compact } = checkInput(nodeFilter, given);
  const offset = Math.max(0, skipped);
  const bounds = { offset, limit: limit <= 0 ? undefined : limit };
  const page = await hub.useIfThere(graph, (memory) =>
    memory.list({ written: { kinds, tags, siblings: true, ...bounds }, access }),
  );
  const nodes = await nodesOf(hub, page?.memories ?? []);
  const shown: readonly CompactNode[] = compact === true ? nodes.map(compactNode) : nodes;
  const [end, total] = [offset + nodes.length, page?.total ?? 0];
  return {
    nodes: shown as readonly Listed<C>[],
    total,
    ...(end < total ? { nextOffset: end } : {}),
    seq: page?.seq ?? -1,
  };
}

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
