/**
 * memgraph's calls about nodes: put, get, history, list. Open conflicts and their settlement: `conflicts.ts`.
 *
 * A node of a new lineage is a new note. A node of a known lineage is its next version: `write` with
 * `upsert`, which decides what becomes of the versions that were current (`memory/upsert.ts` has the
 * table).
 */
import * as z from "zod";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { anyObject, listOf, textField, timeOf } from "../contract/fields.js";
import { kind, tag, type Upsert, type WriteInput } from "../contract/memory.js";
import { checkInput } from "../contract/refusal.js";
import type { Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { isLeft } from "../hub/lineages.js";
import { LIMITS, VERSION_MAX } from "../limits.js";
import type { JsonObject } from "../records/fields.js";
import type { Access } from "../scope/access.js";
import { leaveOne, moveOf } from "./moves.js";
import { type CompactNode, compactNode, type GraphNode, idsIn, nodeOf, nodesOf } from "./node.js";
import {
  type AccessOption,
  admitted,
  authorIn,
  CONFLICT_TEXT,
  inWords,
  type KeyedOptions,
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
  const { freshnessAt, basedOnVersion } = node;
  const { tags, wide } = withinWrite(content, node.tags);
  const data = {
    content: wide?.content === undefined ? content : "",
    ...(summary === undefined || summary === "" ? {} : { summary }),
    ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
  };
  const by = authorIn(access, node.createdBy);
  const write = { type: "note", kind, data, tags, freshnessAt, by, externalId: lineageId } as const;
  const beyond = wide === undefined ? {} : { wide };
  if (lineageId !== undefined) return { write, upsert: { basedOnVersion, ...beyond } };
  return wide === undefined ? { write } : { write, upsert: beyond };
}

/** The tags that a write takes, and beside them what is more than it takes: nodes were never bound so. */
function withinWrite(
  content: string,
  tags: readonly string[] | undefined,
): { readonly tags: readonly string[] | undefined; readonly wide?: Upsert["wide"] } {
  // A text of so many characters has no more bytes than the limit, whatever they are.
  const isLong =
    content.length * 3 > LIMITS.contentBytes && utf8Length(content) > LIMITS.contentBytes;
  const isMany = tags !== undefined && tags.length > LIMITS.tags;
  const different = isMany ? [...new Set(tags)] : [];
  const many = different.length > LIMITS.tags ? { tags: different } : {};
  if (!isLong && different.length <= LIMITS.tags) return { tags };
  const wide = { ...(isLong ? { content } : {}), ...many };
  return { tags: different.length > LIMITS.tags ? undefined : tags, wide };
}

/** How a field of a note is called here. */
export const NODE_WORDS = { externalId: "lineageId", by: "createdBy" } as const;

/** Writes a node: a new lineage, or the next version of one, wherever it lived. */
export async function putNode(
  hub: Hub,
  graph: string,
  node: NodeInput,
  options: KeyedOptions = {},
): Promise<NodeResult> {
  admitted("putNode", options);
  const note = noteOf(node, options.access);
  const { lineageId } = node;
  return hub.use(graph, async (memory) => {
    if (lineageId === undefined) return writeNode(hub, memory, note, options);
    const here = memory.actor;
    // Mostly it still is where it was, and then nothing has to be looked up.
    if (hub.lineages.wasIn(here, lineageId)) {
      const next = await hub.lineages.writing([lineageId], here, () =>
        writeNext(hub, memory, note, options),
      );
      if (next !== undefined) return next;
    }
    return hub.lineages.writing([lineageId], undefined, () =>
      writeHere(hub, memory, note, options),
    );
  });
}

/** How often a lineage may be taken away by another process before the next version of it is refused. */
const CHASES = 20;

/** Writes a version of a lineage that may be anywhere, or nowhere yet. */
async function writeHere(
  hub: Hub,
  memory: Cortex,
  note: Note,
  options: KeyedOptions,
): Promise<NodeResult> {
  for (let chase = 1; ; chase += 1) {
    try {
      const move = await moveOf(hub, memory.actor, note, options);
      const moved = { ...note, upsert: { ...note.upsert, ...move?.upsert } };
      const written = await writeNode(hub, memory, moved, options);
      if (move !== undefined) await move.leave();
      else if (written.created) await leaveOne(hub, memory.actor, written.node.lineageId);
      return written;
    } catch (error) {
      // Another process moved it on since this one looked; nothing was written.
      const { externalId: lineage = "" } = note.write;
      const hasMoved =
        chase < CHASES &&
        isCortexError(error, "ERR_TOMBSTONED") &&
        (await hub.lineages.placeIn(memory.actor, lineage))?.isLeft === true;
      if (!hasMoved) throw error;
    }
  }
}

/** Writes the next version of a lineage; `undefined` when it is not there, or no more. */
async function writeNext(
  hub: Hub,
  memory: Cortex,
  note: Note,
  options: KeyedOptions,
): Promise<NodeResult | undefined> {
  const existing = { ...note, upsert: { ...note.upsert, mustExist: true } };
  try {
    return await writeNode(hub, memory, existing, options);
  } catch (error) {
    if (isCortexError(error, "ERR_NOT_FOUND") || isCortexError(error, "ERR_TOMBSTONED")) {
      return undefined;
    }
    throw error;
  }
}

/** Writes a note as the next version of its lineage, and gives the node as it then is. */
export async function writeNode(
  hub: Hub,
  memory: Cortex,
  note: Note,
  { access, idempotencyKey }: KeyedOptions,
): Promise<NodeResult> {
  const { write, upsert } = note;
  const written = await memory
    .write({ ...write, idempotencyKey }, { memory: true, upsert, access })
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
  readonly graph?: string | undefined;
}

const nodeAt = z.strictObject({
  /** This version, if there is one of that number; wins over `atTime`. */
  atVersion: z.int().optional(),
  /** The version that was current then. */
  atTime: timeOf("a time").optional(),
  /** The graph that holds the lineage; looked up when not given. */
  graph: z.string().optional(),
  /** True asks for a node by its own id: it wins over a lineage that is called the same. */
  isNode: z.boolean().optional(),
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
  const { atVersion, atTime, isNode = false } = checkInput(nodeAt, given);
  const isPinned = (atVersion ?? atTime) !== undefined;
  const isUri = String(ref).startsWith("cortex://");
  if (isPinned && (isUri || isNode)) {
    throw invalid("atVersion, atTime", "none of them beside a node id, which names a version", ref);
  }
  const isId = isNode && !isUri && typeof ref === "string" && isWellFormed(ref);
  const meant = isId ? await importedNode(hub, ref, access) : undefined;
  if (meant !== undefined) return meant;
  // Versions are counted from 1.
  if (atVersion !== undefined && (atVersion < 1 || atVersion > VERSION_MAX)) return undefined;
  const isName = options.graph === undefined && !isUri;
  const likely = isPinned || !isName ? undefined : await likelyNode(hub, ref, access);
  if (likely !== undefined) return likely;
  const found = await inHome(hub, ref, options, async (memory) => {
    if (atVersion === undefined && atTime !== undefined) {
      return nodeAtTime(hub, memory, ref, { time: atTime, access });
    }
    return nodeAtVersion(hub, memory, ref, { version: atVersion, access });
  });
  if (found !== undefined) return found;
  if (isPinned) {
    // An older version may have stayed where the lineage lived then.
    const nodes = options.graph === undefined ? await lineageNodes(hub, ref, options) : [];
    const isMeant = ({ version, createdAt }: GraphNode): boolean =>
      atVersion === undefined ? createdAt <= (atTime ?? 0) : version === atVersion;
    return nodes.find(isMeant);
  }
  // Not the name of a lineage: perhaps the id that a node was imported with.
  return isUri || isNode ? undefined : importedNode(hub, ref, access);
}

/** The node that was imported with an id. */
async function importedNode(
  hub: Hub,
  id: string,
  access: Access | undefined,
): Promise<GraphNode | undefined> {
  const place = await hub.lineages.originOf("node", id);
  if (place === undefined) return undefined;
  return hub.useIfThere(place.graph, (memory) =>
    nodeAtVersion(hub, memory, place.id, { version: place.version, access }),
  );
}

/** The current node of a lineage where it most likely is; `undefined` when it has to be looked for. */
async function likelyNode(
  hub: Hub,
  lineage: string,
  access: Access | undefined,
): Promise<GraphNode | undefined> {
  if (typeof lineage !== "string" || lineage === "") return undefined;
  const graph = await hub.lineages.likelyIn(lineage);
  const found =
    graph === undefined
      ? undefined
      : await hub.useIfThere(graph, (memory) => memory.get(lineage, { access }));
  if (graph === undefined || found?.head.lifecycle !== "active") return undefined;
  hub.lineages.note(lineage, graph);
  return (await nodesOf(hub, [found]))[0];
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
  const hasLeft = isLeft(found.head);
  if (found.version === found.head.version && !hasLeft) return (await nodesOf(hub, [found]))[0];
  // What took the place of an older version, and what came with it, only the others can tell.
  const nodes = hasLeft
    ? await placedNodes(hub, found.head.externalId ?? found.id, { access })
    : (await versionNodes(hub, memory, found.id, { access })).map((node) => ({
        node,
        graph: memory.actor,
      }));
  const own = nodes.find(
    ({ node, graph }) => graph === memory.actor && node.version === found.version,
  );
  return own?.node;
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
  return lineageNodes(hub, lineage, options);
}

/** The nodes of a lineage in all graphs that it lived in, the highest version first. */
async function lineageNodes(
  hub: Hub,
  ref: string,
  options: LineageOptions,
): Promise<readonly GraphNode[]> {
  return (await placedNodes(hub, ref, options)).map(({ node }) => node);
}

/** A node, and the graph that holds it, whatever it is called. */
interface PlacedNode {
  readonly node: GraphNode;
  readonly graph: string;
}

async function placedNodes(
  hub: Hub,
  ref: string,
  options: LineageOptions,
): Promise<readonly PlacedNode[]> {
  const isNamed = options.graph !== undefined || ref.startsWith("cortex://");
  const places = isNamed
    ? [await hub.lineages.graphOf(ref, options.graph)]
    : (await hub.lineages.placesOf(ref)).map(({ graph }) => graph);
  const found = await Promise.all(
    places.map(async (graph): Promise<readonly PlacedNode[]> => {
      if (graph === undefined) return [];
      const nodes = await hub.useIfThere(graph, (memory) =>
        versionNodes(hub, memory, ref, options),
      );
      return (nodes ?? []).map((node) => ({ node, graph }));
    }),
  );
  const [own = [], ...others] = found;
  if (others.length === 0) return own;
  const all = [...own, ...others.flat()].sort((a, b) => b.node.version - a.node.version);
  return all.map((placed, at) =>
    own.includes(placed) && placed.node.isCurrent ? placed : formerNode(placed, all.slice(0, at)),
  );
}

/** A node that is no head, among those above it: the next of its own graph or of another took its place. */
function formerNode({ node, graph }: PlacedNode, above: readonly PlacedNode[]): PlacedNode {
  const { lifecycle: _, supersededBy, ...rest } = node;
  const next = above.findLast((one) => one.graph !== graph || one.node.id === supersededBy);
  const taken = next === undefined ? {} : { supersededBy: next.node.id };
  const former = { ...rest, ...taken, isCurrent: false, isStale: false, conflicts: [] };
  return { node: former, graph };
}

/** Runs `body` in the graph that holds a lineage, if there is one. */
export async function inHome<T>(
  hub: Hub,
  ref: string,
  { graph }: { readonly graph?: string | undefined },
  body: (memory: Cortex) => Promise<T>,
): Promise<T | undefined> {
  const home = await hub.lineages.graphOf(ref, graph);
  return home === undefined ? undefined : hub.useIfThere(home, body);
}

/** The nodes of all versions of a lineage, the highest first. */
export async function versionNodes(
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
  kinds: listOf(kind).optional(),
  /** All of these tags, each exactly. */
  tags: listOf(tag).optional(),
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
type Listed<C extends boolean> = C extends true ? CompactNode : GraphNode;

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
