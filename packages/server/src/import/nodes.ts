/**
 * Nodes of memgraph into its graphs, a thousand to a commit: every version as it was there, under its own
 * id, number and time.
 *
 * A node that is there already is known by its id and left alone; what was written here since, or hidden,
 * stays as it is. A bad node leaves nothing. Where bad nodes end the import, nothing behind one is written,
 * so that the file can be repaired and the import goes on there; where they are passed over, the versions
 * behind one keep their numbers. Two imports of the same store at once bring every node in once.
 */
import {
  type BatchItem,
  type Cortex,
  CortexError,
  isCortexError,
  type Memory,
  open,
} from "@cortex-memory/core";
import { namesIn, renamed } from "@cortex-memory/core/contract";
import {
  CHANGED_HERE,
  charsOf,
  existingOf,
  HIDDEN_HERE,
  type ImportWork,
  plain,
} from "./memories.js";
import { badRecord, type NodeRecord } from "./records.js";
import { drain } from "./tally.js";

const LATER_HERE =
  "later versions of the lineage are here already, and none can be put before them";

/** Lineages that this run has begun and not ended. */
type Begun = Set<string>;

/** Brings the nodes of a file in. */
export async function importNodes(work: ImportWork): Promise<void> {
  const rows = work.file.nodes?.();
  if (rows === undefined) return;
  const begun: Begun = new Set();
  await drain(
    rows,
    {
      bringIn: (nodes) => bringIn(work, nodes, begun),
      charsOf: ({ input, imported }) => charsOf(input) + charsOf(imported),
    },
    work,
  );
}

/** Brings nodes in; those that another import wrote meanwhile are looked at again. */
async function bringIn(
  work: ImportWork,
  nodes: readonly NodeRecord[],
  begun: Begun,
): Promise<void> {
  const graph = nodes[0]?.graph;
  await work.target.use(graph, async (memory) => {
    let rest = await bringOnce(work, memory, { nodes, begun, lookUp: !work.target.isNew(graph) });
    while (rest.length > 0) {
      rest = await bringOnce(work, memory, { nodes: rest, begun, lookUp: true });
    }
  });
}

/** Brings nodes in, and gives those that are to be looked at again. */
async function bringOnce(
  work: ImportWork,
  memory: Cortex | undefined,
  what: {
    readonly nodes: readonly NodeRecord[];
    readonly begun: Begun;
    readonly lookUp: boolean;
  },
): Promise<readonly NodeRecord[]> {
  const { tally, dryRun, known } = work;
  const { nodes, begun } = what;
  const there = what.lookUp ? await lineagesOf(memory, nodes) : new Map();
  const planned: NodeRecord[] = [];
  for (const node of nodes) {
    const decision = await decideNode(memory, node, there.get(node.ref));
    if (decision === "write") planned.push(node);
    else if (decision === "unchanged") count(work, begun, node, "unchanged");
    else {
      if (isCortexError(decision)) tally.unusable(badRecord(node.at, decision));
      else tally.skip(node.at, decision.reason);
      count(work, begun, node, "left");
      if (tally.hasStopped) break;
    }
  }
  const failures = await write(work, memory, planned);
  const again: NodeRecord[] = [];
  for (const [at, node] of planned.entries()) {
    const failure = failures.get(at);
    const isLate = failure === "not tried" && again.length > 0;
    if (isLate || (isCortexError(failure) && (await wasWritten(memory, node, failure)))) {
      again.push(node);
    } else if (failure !== "not tried") {
      if (failure !== undefined) tally.unusable(badRecord(node.at, inColumns(failure)));
      else if (dryRun) known.add(node.graph, node.ref);
      count(work, begun, node, failure === undefined ? "written" : "left");
    }
  }
  return again;
}

/** What the columns are called whose values a write calls otherwise. */
const COLUMNS = namesIn({ externalId: "lineage_id", freshnessAt: "freshness_at" });

/** The failure of a node under the names of its columns. */
function inColumns(error: CortexError): CortexError {
  const own = plain(error);
  const inside = /^(?:data|imported)\.(.+)$/.exec(own.details.field ?? "")?.[1];
  if (inside === undefined) return renamed(own, COLUMNS);
  const from = (own.details.field ?? "").length - inside.length;
  const message = own.message.startsWith(own.details.field ?? "")
    ? own.message.slice(from)
    : own.message;
  return new CortexError(own.code, message, { ...own.details, field: inside });
}

/** Whether a node failed because another import brought it in since it was looked for. */
async function wasWritten(
  memory: Cortex | undefined,
  node: NodeRecord,
  failure: CortexError,
): Promise<boolean> {
  if (plain(failure).code !== "ERR_CONFLICT") return false;
  return (await decideNode(memory, node, await existingOf(memory, node.ref))) === "unchanged";
}

/** What the store has of the lineages of some nodes; a failure where one can be no id. */
async function lineagesOf(
  memory: Cortex | undefined,
  nodes: readonly NodeRecord[],
): Promise<ReadonlyMap<string, Memory | CortexError | undefined>> {
  const refs = [...new Set(nodes.map(({ ref }) => ref))];
  const found = await Promise.all(refs.map((ref) => existingOf(memory, ref)));
  return new Map(refs.map((ref, at) => [ref, found[at]]));
}

async function decideNode(
  memory: Cortex | undefined,
  { ref, imported }: NodeRecord,
  before: Memory | CortexError | undefined,
): Promise<"write" | "unchanged" | { readonly reason: string } | CortexError> {
  if (before === undefined || before instanceof CortexError) return before ?? "write";
  if (before.head.lifecycle === "tombstoned") return { reason: HIDDEN_HERE };
  if (imported.version > before.head.version) {
    return before.versionRecord.origin === undefined ? { reason: CHANGED_HERE } : "write";
  }
  const own =
    imported.version === before.version
      ? before
      : await memory?.get(ref, { version: imported.version });
  if (own === undefined) return { reason: LATER_HERE };
  return own.versionRecord.origin?.id === imported.id ? "unchanged" : { reason: CHANGED_HERE };
}

/** Writes nodes; which failed, by their place, and which were not tried behind the first that did. */
async function write(
  { tally, dryRun }: ImportWork,
  memory: Cortex | undefined,
  nodes: readonly NodeRecord[],
): Promise<ReadonlyMap<number, CortexError | "not tried">> {
  const items = nodes.map(({ input, imported }) => ({ write: input, upsert: { imported } }));
  if (items.length === 0) return new Map();
  if (dryRun || memory === undefined) {
    await using scratch = await open("memory:");
    return await writeEach(scratch, items);
  }
  return tally.passesBad ? writeEach(memory, items) : writeUpToBad(memory, items);
}

async function writeEach(
  memory: Cortex,
  items: readonly BatchItem[],
): Promise<ReadonlyMap<number, CortexError>> {
  const { results } = await memory.batch(items, { atomic: false, loose: true });
  return new Map(results.flatMap((result, at) => (result.ok ? [] : [[at, result.error] as const])));
}

async function writeUpToBad(
  memory: Cortex,
  items: readonly BatchItem[],
): Promise<Map<number, CortexError | "not tried">> {
  try {
    await memory.batch(items, { loose: true });
    return new Map();
  } catch (error) {
    const [, number] = isCortexError(error)
      ? (/^items\[(\d+)\]/.exec(error.details.field ?? "") ?? [])
      : [];
    if (number === undefined || !isCortexError(error)) throw error;
    const bad = Number(number);
    const failures = bad === 0 ? new Map() : await writeUpToBad(memory, items.slice(0, bad));
    // Where another import came in between, what is before the bad one may fail as well.
    const from = failures.size === 0 ? bad + 1 : bad;
    if (failures.size === 0) failures.set(bad, error);
    for (let at = from; at < items.length; at += 1) failures.set(at, "not tried");
    return failures;
  }
}

/** Counts a lineage once, with its last version: as added where this run began it. */
function count(
  { tally }: ImportWork,
  begun: Begun,
  { graph, ref, isFirst, isLast }: NodeRecord,
  outcome: "written" | "unchanged" | "left",
): void {
  if (outcome === "written" && isFirst) begun.add(ref);
  if (!isLast) return;
  if (begun.delete(ref)) tally.memory(graph, "added");
  else if (outcome === "written") tally.memory(graph, "updated");
  else if (outcome === "unchanged") tally.memory(graph, "unchanged");
}
