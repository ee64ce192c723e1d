/**
 * Links of a file into a store, after its memories. A link that is there is left alone, one that was
 * removed here stays removed, and one that cannot be made is passed over with its reason.
 *
 * In one store a link is an edge as `link` makes it: two memories are joined once by each kind. In a
 * file with graphs links may repeat and lead into other graphs; there an edge carries a mark of the
 * file in its metadata, by which it is known again.
 */
import {
  type Cortex,
  type CortexError,
  type Edge,
  type ErrorCode,
  isCortexError,
} from "@cortex-memory/core";
import type { GraphEdgeInput } from "@cortex-memory/core/memgraph";
import { IMPORTER } from "./decide.js";
import { drain } from "./drain.js";
import { BATCH_ITEMS, type ImportWork } from "./memories.js";
import { badRecord, type LinkRecord } from "./records.js";

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
  let group: LinkRecord[] = [];
  await drain(
    work.file.links(),
    {
      takes: ({ graph }) =>
        group[0] === undefined || (group.length < BATCH_ITEMS && group[0].graph === graph),
      add: (link) => group.push(link),
      flush: async () => {
        const links = group;
        group = [];
        if (links.length > 0) await bringIn(work, links);
      },
    },
    work,
  );
}

async function bringIn(work: ImportWork, links: readonly LinkRecord[]): Promise<void> {
  const { target, file } = work;
  const graph = links[0]?.graph;
  await target.use(graph, async (memory) => {
    const find = file.graphs === undefined ? unjoined : unmarked;
    // A store that is new has no links; one that the file repeats is joined once all the same.
    const fresh = target.isNew(graph) ? links : await find(work, memory, links);
    if (work.dryRun || memory === undefined) await count(work, memory, fresh);
    else if (target.putEdge === undefined) await join(work, memory, fresh);
    else await put(work, graph ?? memory.actor, target.putEdge, fresh);
  });
}

/** Of links in one store, those that are not there. */
async function unjoined(
  { tally }: ImportWork,
  memory: Cortex | undefined,
  links: readonly LinkRecord[],
): Promise<readonly LinkRecord[]> {
  if (memory === undefined) return links;
  const found = await Promise.all(
    links.map(({ from, kind, to }) =>
      // What is wrong with the link is said when it is made.
      memory.getEdge(from, kind, to).catch((error: unknown) => {
        if (!isCortexError(error)) throw error;
        return undefined;
      }),
    ),
  );
  return links.filter((link, at) => {
    const edge = found[at];
    if (edge === undefined) return true;
    if (edge.tombstone === undefined) tally.link("unchanged");
    else tally.skip(link.at, REMOVED_HERE);
    return false;
  });
}

/** Of links with a mark, those whose mark no edge carries. */
async function unmarked(
  { tally }: ImportWork,
  memory: Cortex | undefined,
  links: readonly LinkRecord[],
): Promise<readonly LinkRecord[]> {
  if (memory === undefined) return links;
  const froms = [...new Set(links.map(({ from }) => from))];
  const lists = await Promise.all(
    froms.map((from) => memory.edgesOut(from, { includeTombstoned: true })),
  );
  const edges = new Map(froms.map((from, at) => [from, lists[at]?.edges ?? []]));
  return links.filter((link) => {
    const edge = edges.get(link.from)?.find((one) => hasMark(one, link));
    if (edge === undefined) return true;
    if (edge.tombstone === undefined) tally.link("unchanged");
    else tally.skip(link.at, REMOVED_HERE);
    return false;
  });
}

function hasMark(edge: Edge, { mark, metadata }: LinkRecord): boolean {
  if (mark === undefined) return false;
  return edge.metadata?.[mark] !== undefined && edge.metadata[mark] === metadata?.[mark];
}

/** Joins memories of one store, many in one commit. */
async function join(
  { tally }: ImportWork,
  memory: Cortex,
  links: readonly LinkRecord[],
): Promise<void> {
  if (links.length === 0) return;
  const items = links.map(({ from, kind, to, ordinal, reason, metadata, validFrom, by }) => ({
    link: {
      from,
      kind,
      to,
      by: by ?? IMPORTER,
      source: "imported" as const,
      ...(ordinal === undefined ? {} : { ordinal }),
      ...(reason === undefined ? {} : { reason }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(validFrom === undefined ? {} : { validFrom }),
    },
  }));
  const { results } = await memory.batch(items, { atomic: false });
  for (const [at, link] of links.entries()) {
    const result = results[at];
    if (result?.ok === false) {
      const { error } = result;
      failed(tally, link, isCortexError(error.cause) ? error.cause : error);
    } else {
      // The same link twice in one file is one edge.
      const isNew = result !== undefined && "changed" in result && result.changed;
      tally.link(isNew ? "added" : "unchanged");
    }
  }
}

/** Adds edges that may repeat and lead elsewhere; the writer gathers them into few commits. */
async function put(
  { tally }: ImportWork,
  graph: string,
  putEdge: (graph: string, edge: GraphEdgeInput) => Promise<unknown>,
  links: readonly LinkRecord[],
): Promise<void> {
  const settled = await Promise.allSettled(
    links.map(({ from, kind, to, toGraph, ordinal, metadata, by }) =>
      putEdge(graph, {
        fromLineage: from,
        toLineage: to,
        kind,
        createdBy: by ?? IMPORTER,
        ...(toGraph === undefined ? {} : { toGraph }),
        ...(ordinal === undefined ? {} : { ordinal }),
        ...(metadata === undefined ? {} : { metadata }),
      }),
    ),
  );
  for (const [at, link] of links.entries()) {
    const one = settled[at];
    if (one?.status !== "rejected") tally.link("added");
    else if (isCortexError(one.reason)) failed(tally, link, one.reason);
    else throw one.reason;
  }
}

/** What a dry run can tell: whether both ends are there, or would be. */
async function count(
  { tally, known, file }: ImportWork,
  memory: Cortex | undefined,
  links: readonly LinkRecord[],
): Promise<void> {
  for (const link of links) {
    const { graph, from, to, kind } = link;
    // An edge of a graph may lead to what is not there; what it leaves must be.
    const ends = file.graphs === undefined ? [from, to] : [from];
    const seen = await Promise.all(
      ends.map(async (end) => known.has(graph, end) || (await memory?.get(end)) !== undefined),
    );
    const missing = ends[seen.indexOf(false)];
    if (missing !== undefined) tally.skip(link.at, noEnd(missing === from ? "from" : "to"));
    else if (file.graphs === undefined && from === to) tally.skip(link.at, selfEdge(kind));
    else tally.link("added");
  }
}

function failed(tally: ImportWork["tally"], link: LinkRecord, error: CortexError): void {
  if (PASSED_OVER.includes(error.code)) tally.skip(link.at, error.message);
  else tally.unusable(badRecord(link.at, error));
}

function noEnd(end: "from" | "to"): string {
  return `${end}: the link names a memory that is not there`;
}

function selfEdge(kind: string): string {
  return `${kind}: the link joins a memory to itself`;
}
