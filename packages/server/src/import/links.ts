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
import { IMPORTER } from "./decide.js";
import { BATCH_ITEMS, type ImportWork, plain } from "./memories.js";
import { attempt, badRecord, isUnusable, type LinkRecord } from "./records.js";
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
    if (file.graphs === undefined) {
      if (work.dryRun || memory === undefined) await count(work, memory, fresh);
      else await join(work, memory, fresh);
    } else if (work.dryRun || memory === undefined) await tryOut(work, memory, fresh);
    else await put(work, memory, fresh);
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

function hasMark(edge: Edge, { mark, metadata, imported }: LinkRecord): boolean {
  if (imported !== undefined) return edge.origin?.id === imported.id;
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
      tally.link(isChanged(result) ? "added" : "unchanged");
    }
  }
}

function isChanged(result: BatchItemResult | undefined): boolean {
  return result !== undefined && "changed" in result && result.changed;
}

/** Adds edges that may repeat and lead elsewhere, in their order and in one commit. */
async function put(
  { tally }: ImportWork,
  memory: Cortex,
  links: readonly LinkRecord[],
): Promise<void> {
  const items = links.map((link) => attempt(link.at, () => looseItem(link)));
  const good = items.flatMap((item) => (isUnusable(item) ? [] : [item]));
  const { results } =
    good.length === 0 ? { results: [] } : await memory.batch(good, { atomic: false, loose: true });
  let next = 0;
  for (const [at, link] of links.entries()) {
    const item = items[at];
    if (item !== undefined && isUnusable(item)) {
      tally.unusable(item);
      continue;
    }
    const result = results[next++];
    if (result?.ok === false) failed(tally, link, plain(result.error));
    // Another import that runs at the same time may have brought it in.
    else tally.link(isChanged(result) ? "added" : "unchanged");
  }
}

/** A link as memgraph's edges are made. */
function looseItem(link: LinkRecord): BatchItem {
  const { from, kind, to, toGraph, ordinal, metadata, by, imported } = link;
  return {
    link: {
      ...linkOf(
        { prefix: "" },
        {
          fromLineage: from,
          toLineage: to,
          kind,
          createdBy: by ?? IMPORTER,
          ...(toGraph === undefined ? {} : { toGraph }),
          ...(ordinal === undefined ? {} : { ordinal }),
          ...(metadata === undefined ? {} : { metadata }),
          ...(imported === undefined ? {} : { imported }),
        },
        undefined,
      ),
      source: "imported",
    },
  };
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
  for (const { at, from } of links) if (!there.has(from)) tally.skip(at, noEnd("from"));
  if (there.size === 0) return;
  await using scratch = await open("memory:");
  await scratch.batch(
    [...there].map((externalId) => ({ write: { type: "note", text: "", externalId } })),
  );
  await put(
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
  if (PASSED_OVER.includes(error.code) && !isLost) tally.skip(link.at, error.message);
  else tally.unusable(badRecord(link.at, error));
}

function noEnd(end: "from" | "to"): string {
  return `${end}: the link names a memory that is not there`;
}

function selfEdge(kind: string): string {
  return `${kind}: the link joins a memory to itself`;
}
