/**
 * Links of a file into a store, after its memories. A link that is there is left alone, one that was
 * removed here stays removed, and one that cannot be made is passed over with its reason.
 *
 * In one store a link is an edge as `link` makes it: two memories are joined once by each kind. In a
 * file with graphs links may repeat and lead into other graphs; there an edge is known again by the id
 * that it had, or by a mark of the file in its metadata.
 */
import {
  type BatchItem,
  type Cortex,
  type CortexError,
  type Edge,
  type ErrorCode,
  isCortexError,
  open,
} from "@cortex-memory/core";
import type { BatchItemResult } from "@cortex-memory/core/contract";
import { linkOf } from "@cortex-memory/core/memgraph";
import { charsOf, IMPORTER, type ImportWork, plain } from "./memories.js";
import { attempt, badRecord, isUnusable, type LinkRecord, NO_LINEAGE } from "./records.js";
import { drain } from "./tally.js";

/** Failures that are about this link alone: the file may well have such links. */
const PASSED_OVER: readonly ErrorCode[] = [
  "ERR_UNKNOWN_ENDPOINT",
  "ERR_SELF_EDGE",
  "ERR_EDGE_KIND",
  "ERR_TOMBSTONED",
  "ERR_ERASED",
];

const REMOVED_HERE = "the link was removed here since; it stays removed";

/** Brings the links of a file in. */
export async function importLinks(work: ImportWork): Promise<void> {
  await drain(
    work.file.links(),
    { bringIn: (links) => bringIn(work, links), charsOf: (link) => charsOf(link) },
    work,
  );
}

async function bringIn(work: ImportWork, links: readonly LinkRecord[]): Promise<void> {
  const { target, file, dryRun } = work;
  const graph = links[0]?.graph;
  const isOneStore = file.graphs === undefined;
  await target.use(graph, async (memory) => {
    // A store that is new has no links; one that the file repeats is joined once all the same.
    const isAsked = memory !== undefined && !target.isNew(graph);
    const find = isOneStore ? joining : marked;
    const fresh = isAsked ? withoutKnown(work, links, await find(memory, links)) : links;
    if (dryRun || memory === undefined) await (isOneStore ? count : tryOut)(work, memory, fresh);
    else await add(work, memory, fresh);
  });
}

/** Of links, those that no edge stands for; `edges` are the edges that do, link by link. */
function withoutKnown(
  { tally }: ImportWork,
  links: readonly LinkRecord[],
  edges: readonly (Edge | undefined)[],
): readonly LinkRecord[] {
  return links.filter((link, at) => {
    const edge = edges[at];
    if (edge === undefined) return true;
    if (edge.tombstone === undefined) tally.link("unchanged");
    else tally.skip(link.at, REMOVED_HERE);
    return false;
  });
}

/** The edges that join what links join, in one store. */
function joining(
  memory: Cortex,
  links: readonly LinkRecord[],
): Promise<readonly (Edge | undefined)[]> {
  return Promise.all(
    links.map(({ from, kind, to }) =>
      // What is wrong with the link is said when it is made.
      memory.getEdge(from, kind, to).catch((error: unknown) => {
        if (!isCortexError(error)) throw error;
        return undefined;
      }),
    ),
  );
}

/** The edges that carry the marks of links. */
async function marked(
  memory: Cortex,
  links: readonly LinkRecord[],
): Promise<readonly (Edge | undefined)[]> {
  const froms = [...new Set(links.map(({ from }) => from))];
  const lists = await Promise.all(
    froms.map((from) => memory.edgesOut(from, { includeTombstoned: true })),
  );
  const edges = new Map(froms.map((from, at) => [from, lists[at]?.edges ?? []]));
  return links.map((link) => edges.get(link.from)?.find((one) => hasMark(one, link)));
}

function hasMark(edge: Edge, { mark, metadata, imported }: LinkRecord): boolean {
  if (imported !== undefined) return edge.origin?.id === imported.id;
  if (mark === undefined) return false;
  return edge.metadata?.[mark] !== undefined && edge.metadata[mark] === metadata?.[mark];
}

/** Adds edges in their order and in one commit; in a file with graphs they may repeat and lead elsewhere. */
async function add(
  { tally, file }: ImportWork,
  memory: Cortex,
  links: readonly LinkRecord[],
): Promise<void> {
  const loose = file.graphs !== undefined;
  const items = links.map((link) =>
    attempt(link.at, () => (loose ? looseItem(link) : joinItem(link))),
  );
  const good = items.flatMap((item) => (isUnusable(item) ? [] : [item]));
  const { results } =
    good.length === 0 ? { results: [] } : await memory.batch(good, { atomic: false, loose });
  let next = 0;
  for (const [at, link] of links.entries()) {
    const item = items[at];
    if (item !== undefined && isUnusable(item)) {
      tally.unusable(item);
      continue;
    }
    const result = results[next++];
    if (result?.ok === false) failed(tally, link, plain(result.error));
    // The same link twice in one file is one edge, and another import may have brought it in meanwhile.
    else tally.link(isChanged(result) ? "added" : "unchanged");
  }
}

function isChanged(result: BatchItemResult | undefined): boolean {
  return result !== undefined && "changed" in result && result.changed;
}

/** A link that joins two memories of one store. */
function joinItem({ from, kind, to, by = IMPORTER, ...link }: LinkRecord): BatchItem {
  const { ordinal, reason, metadata, validFrom } = link;
  const source = "imported";
  return { link: { from, kind, to, by, source, ordinal, reason, metadata, validFrom } };
}

/** A link as memgraph's edges are made. */
function looseItem({ from, to, by = IMPORTER, ...link }: LinkRecord): BatchItem {
  const { kind, toGraph, ordinal, metadata, imported } = link;
  const edge = { fromLineage: from, toLineage: to, kind, toGraph, ordinal, metadata, imported };
  const made = linkOf({ prefix: "" }, { ...edge, createdBy: by }, undefined);
  return { link: { ...made, source: "imported" } };
}

/** Adds edges to a store that is thrown away, where what they leave is there or would be. */
async function tryOut(
  work: ImportWork,
  memory: Cortex | undefined,
  links: readonly LinkRecord[],
): Promise<void> {
  const { known, tally } = work;
  const froms = [...new Set(links.map(({ from }) => from))];
  const seen = await Promise.all(
    froms.map(
      async (from) => known.has(links[0]?.graph, from) || (await memory?.get(from)) !== undefined,
    ),
  );
  const there = new Set(froms.filter((_, at) => seen[at] === true));
  for (const link of links) if (!there.has(link.from)) tally.skip(link.at, noNearEnd(link));
  if (there.size === 0) return;
  await using scratch = await open("memory:");
  await scratch.batch(
    [...there].map((externalId) => ({ write: { type: "note", text: "", externalId } })),
  );
  await add(
    work,
    scratch,
    links.filter(({ from }) => there.has(from)),
  );
}

/** What a dry run can tell: whether both ends are there, or would be. */
async function count(
  { tally, known }: ImportWork,
  memory: Cortex | undefined,
  links: readonly LinkRecord[],
): Promise<void> {
  for (const link of links) {
    const { graph, from, to, kind } = link;
    const ends = [from, to];
    const seen = await Promise.all(
      ends.map(async (end) => known.has(graph, end) || (await memory?.get(end)) !== undefined),
    );
    const missing = ends[seen.indexOf(false)];
    if (missing !== undefined) tally.skip(link.at, noEnd(missing === from ? "from" : "to"));
    else if (from === to) tally.skip(link.at, selfEdge(kind));
    else tally.link("added");
  }
}

function failed(tally: ImportWork["tally"], link: LinkRecord, error: CortexError): void {
  // What is to be kept as it was is not left out for the sake of its kind without a word.
  const isLost = link.imported !== undefined && error.code === "ERR_EDGE_KIND";
  const isLoose = link.imported !== undefined && error.code === "ERR_UNKNOWN_ENDPOINT";
  if (isLoose) tally.skip(link.at, noNearEnd(link));
  else if (PASSED_OVER.includes(error.code) && !isLost) tally.skip(link.at, error.message);
  else tally.unusable(badRecord(link.at, error));
}

/** Why an edge of a file with graphs is not made: its far end need not be there. */
function noNearEnd({ imported }: LinkRecord): string {
  return imported === undefined ? noEnd("from") : NO_LINEAGE;
}

function noEnd(end: "from" | "to"): string {
  return `${end}: the link names a memory that is not there`;
}

function selfEdge(kind: string): string {
  return `${kind}: the link joins a memory to itself`;
}
