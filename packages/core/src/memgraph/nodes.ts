/**
 * memgraph's calls about nodes: put, get, history, list, and the open conflicts with their settlement.
 *
 * A node of a new lineage is a new note. A node of a known lineage is its next version: `write` with
 * `upsert`, which decides what becomes of the versions that were current (`memory/upsert.ts` has the
 * table).
 */
import type { Upsert, WriteInput } from "../contract/memory.js";
import type { Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { checkKind, checkTime } from "../records/frames.js";
import { type CompactNode, compactNode, type GraphNode, nodeOf } from "./node.js";
import { type AccessOption, admitted, CONFLICT_TEXT, inWords } from "./policies.js";

/** What a node is to be. */
export interface NodeInput {
  readonly kind: string;
  readonly content?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly metadata?: { readonly [key: string]: unknown };
  /** When the content should be looked at again, in milliseconds. */
  readonly freshnessAt?: number;
  readonly createdBy?: string;
  /** Any text; a lineage that is not there yet is made under it. */
  readonly lineageId?: string;
  /** The version the writer read. */
  readonly basedOnVersion?: number;
}

/** What writing a node did. */
export interface NodeResult {
  readonly node: GraphNode;
  /** True when the lineage is new. */
  readonly created: boolean;
  /** Present when policy `manual` kept the node as a rival of others; it was written all the same. */
  readonly conflict?: CortexError;
  readonly seq: number;
}

const NODE_FIELDS = [
  "kind",
  "content",
  "summary",
  "tags",
  "metadata",
  "freshnessAt",
  "createdBy",
  "lineageId",
  "basedOnVersion",
];

/** A note to be written, as `write` and an item of a batch take it. */
export interface Note {
  readonly write: WriteInput;
  readonly upsert?: Upsert;
}

/** A node to be, as a note. */
export function noteOf(node: NodeInput): Note {
  checkOptions(node, NODE_FIELDS, "node");
  const { content = "", summary, tags, metadata, freshnessAt } = node;
  const { createdBy, lineageId, basedOnVersion } = node;
  if (basedOnVersion !== undefined && !Number.isSafeInteger(basedOnVersion)) {
    throw invalid("basedOnVersion", "a version number", basedOnVersion);
  }
  const based = basedOnVersion === undefined ? {} : { basedOnVersion };
  const write: WriteInput = {
    type: "note",
    kind: checkKind(node.kind),
    data: {
      content,
      ...(summary === undefined || summary === "" ? {} : { summary }),
      ...(metadata === undefined ? {} : { metadata }),
    },
    ...(tags === undefined ? {} : { tags }),
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
    // Who wrote it is a note of provenance; an empty one is as good as none.
    ...(createdBy === undefined || createdBy === "" ? {} : { by: createdBy }),
  };
  if (lineageId === undefined) return { write };
  return { write: { ...write, externalId: lineageId }, upsert: based };
}

/** How a field of a note is called here. */
export const NODE_WORDS = { externalId: "lineageId" } as const;

/** Writes a node: a new lineage, or the next version of one. */
export async function putNode(
  hub: Hub,
  graph: string,
  node: NodeInput,
  options: AccessOption = {},
): Promise<NodeResult> {
  admitted("putNode", options);
  const note = noteOf(node);
  return hub.use(graph, async (memory) => {
    if (node.lineageId !== undefined) await hub.lineages.claim(graph, node.lineageId);
    return writeNode(hub, memory, note);
  });
}

async function writeNode(hub: Hub, memory: Cortex, note: Note): Promise<NodeResult> {
  const { write, upsert } = note;
  const written = await memory
    .write(write, { memory: true, upsert })
    .catch((error: unknown) => inWords(error, NODE_WORDS));
  if (written.memory === undefined) throw new Error("a note was written and is not there");
  const node = nodeOf(written.memory, hub.now());
  hub.lineages.note(node.lineageId, node.graphId);
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

/** How a node is read. */
export interface GetNodeOptions extends LineageOptions {
  /** This version; wins over `atTime`. */
  readonly atVersion?: number;
  /** The version that was current then, in milliseconds. */
  readonly atTime?: number;
}

/** One node: the current one of a lineage, or that of a version or a time, or one by its own id. */
export async function getNode(
  hub: Hub,
  ref: string,
  options: GetNodeOptions = {},
): Promise<GraphNode | undefined> {
  admitted("getNode", options);
  checkOptions(options, ["atVersion", "atTime", "graph", "access"]);
  const { atVersion, atTime, access } = options;
  if (atVersion !== undefined && !(Number.isSafeInteger(atVersion) && atVersion >= 1)) {
    throw invalid("atVersion", "a version number of at least 1", atVersion);
  }
  if (atTime !== undefined) checkTime(atTime, "atTime");
  const isPinned = (atVersion ?? atTime) !== undefined;
  if (isPinned && String(ref).startsWith("cortex://")) {
    throw invalid("atVersion, atTime", "none of them beside a node id, which names a version", ref);
  }
  return inHome(hub, ref, options, async (memory) => {
    const wanted = {
      ...(access === undefined ? {} : { access }),
      ...(atVersion === undefined ? {} : { version: atVersion }),
    };
    const then = atVersion === undefined && atTime !== undefined;
    const found = await (then ? asOf(memory, ref, atTime, wanted) : memory.get(ref, wanted));
    if (found === undefined) return undefined;
    // What took the place of an older version, and what came with it, only the others can tell.
    const isNow = !then && found.version === found.head.version;
    if (isNow) return nodeOf(found, hub.now());
    const nodes = await versionNodes(hub, memory, found.id, options);
    return nodes.find(({ version }) => version === found.version);
  });
}

/** A memory as it was at a time; one that was undone later counts until then. */
async function asOf(
  memory: Cortex,
  ref: string,
  time: number,
  options: AccessOption,
): Promise<Memory | undefined> {
  try {
    return await memory.get(ref, { ...options, asOf: new Date(time) });
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
  { graph }: LineageOptions,
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
  const own = access === undefined ? {} : { access };
  const items = (await memory.history(ref, { memories: true, ...own })) ?? [];
  const replacedBy = new Map<number, number>();
  for (const { undone, version, versionRecord } of items) {
    if (undone === true) continue;
    for (const number of versionRecord.supersedes) replacedBy.set(number, version);
  }
  return items.flatMap((item) =>
    item.memory === undefined ? [] : [nodeOf(item.memory, hub.now(), replacedBy.get(item.version))],
  );
}

/** Which nodes to list. */
export interface NodeFilter<C extends boolean = boolean> extends AccessOption {
  /** Any of these kinds; all when empty. */
  readonly kinds?: readonly string[];
  /** All of these tags, each exactly. */
  readonly tags?: readonly string[];
  /** Most nodes to return; all of them when it is absent or not above 0. */
  readonly limit?: number;
  readonly offset?: number;
  /** Leaves out content, metadata, freshness, author, successor and conflicts. */
  readonly compact?: C;
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
  checkOptions(filter, ["kinds", "tags", "limit", "offset", "compact", "access"], "filter");
  const { kinds, tags, limit, compact, access } = filter;
  for (const [name, number] of Object.entries({ limit, offset: filter.offset })) {
    if (number === undefined || Number.isSafeInteger(number)) continue;
    throw invalid(name, "an integer", number);
  }
  const offset = Math.max(0, filter.offset ?? 0);
  const bounds = { offset, ...(limit === undefined || limit <= 0 ? {} : { limit }) };
  const page = await hub.useIfThere(graph, (memory) =>
    memory.list({ written: { kinds, tags, siblings: true, ...bounds }, access }),
  );
  const nodes = (page?.memories ?? []).map((memory) => nodeOf(memory, hub.now()));
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
        if (first !== undefined) open.push({ graphId: graph, lineageId: first.lineageId, nodes });
      }
      if (page.cursor === undefined) return { conflicts: open, seq: page.seq };
      cursor = page.cursor;
    }
  });
  return found ?? { conflicts: [], seq: -1 };
}

/** How a conflict is settled: by one of the rivals, or by a node of its own. */
export interface ResolveInput {
  /** The graph that holds the lineage; looked up when not given. */
  readonly graph?: string;
  /** Every version that was in conflict when the caller looked, so that none is lost unseen. */
  readonly versions: readonly number[];
  /** The rival whose words stand. */
  readonly keep?: number;
  /** What stands instead of all of them. */
  readonly node?: Omit<NodeInput, "lineageId" | "basedOnVersion">;
  readonly by?: string;
}

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
  checkResolve(input);
  const { keep, by, versions } = input;
  const settled = await inHome(hub, lineage, input, async (memory) => {
    const graph = memory.actor;
    const at = keep === undefined ? {} : { atVersion: keep };
    const kept = await getNode(hub, lineage, { graph, ...at });
    if (kept === undefined) return undefined;
    const words = input.node ?? wordsOf(kept);
    const createdBy = by === undefined ? {} : { createdBy: by };
    const { write } = noteOf({ ...words, ...createdBy, lineageId: lineage });
    return writeNode(hub, memory, { write, upsert: { basedOnVersion: versions } }).catch(
      (error: unknown) => inWords(error, { basedOnVersion: "versions" }),
    );
  });
  if (settled !== undefined) return settled;
  throw new CortexError("ERR_NOT_FOUND", "lineageId: expected a lineage, got one that names none", {
    field: "lineageId",
    subject: lineage,
  });
}

function checkResolve(input: ResolveInput): void {
  checkOptions(input, ["versions", "keep", "node", "by", "graph"], "resolution");
  const { versions, keep, node } = input;
  if (!Array.isArray(versions) || !versions.every((one) => Number.isSafeInteger(one))) {
    throw invalid("versions", "the version numbers of all rivals", versions);
  }
  if ((keep === undefined) === (node === undefined)) {
    throw invalid("keep, node", "exactly one of them", keep === undefined ? "none" : "both");
  }
  if (keep !== undefined && !versions.includes(keep)) {
    throw invalid("keep", "one of versions", keep);
  }
}

/** What a node says, to be said again. */
function wordsOf(node: GraphNode): Omit<NodeInput, "lineageId" | "basedOnVersion"> {
  const { kind, content, summary, tags, metadata, freshnessAt } = node;
  return {
    kind,
    content,
    summary,
    tags,
    ...(metadata === undefined ? {} : { metadata }),
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
  };
}
