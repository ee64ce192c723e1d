/**
 * What the graph page shows: the union of some walks, never everything. A start is a memory, a search, or
 * what matters most; opening a memory adds its neighbours. Which walks those are, what of them is hidden and
 * how it is coloured is in the address.
 *
 * What is left out is counted: the page says so.
 */

import type { MemoryType, RemoteCortex } from "@cortex-memory/core/remote";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { linksOutside, useRead } from "../base/reads.ts";
import type { Params } from "../base/route.ts";
import { type Past, useStudio } from "../base/studio.tsx";
import { isMemoryType, TYPES } from "../base/words.ts";

type Walk = Awaited<ReturnType<RemoteCortex["traverse"]>>;

/** A memory of the walks. */
export type Node = Walk["hits"][number]["memory"];

/** A link of the walks. */
export type Edge = Walk["edges"][number];

/** How the picture is begun, as the address says. */
export interface Start {
  /** The memory in the middle. */
  readonly from?: string;
  /** Words whose hits are the middle. */
  readonly words?: string;
  /** Memories whose neighbours were opened as well. */
  readonly opened: readonly string[];
  /** How far from the middle. */
  readonly hops: number;
  /** Memories at most, from each place in the middle. */
  readonly most: number;
  /** Whether what was retired is walked to as well. */
  readonly hasRetired: boolean;
}

/** What was loaded. */
export interface Neighbourhood {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly edges: ReadonlyMap<string, Edge>;
  /** How much each matters, where that is known by now. */
  readonly salience: ReadonlyMap<string, number>;
  /** Whether walks ended at their limit: there is more. */
  readonly isCut: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
}

/** Places in the middle when no memory is named. */
const SEEDS = { most: 24, hits: 20 };

/** Memories of every life that still have words. */
const EVERY_LIFE = ["active", "archived", "tombstoned"] as const;

/** Loads what a start asks for. */
export function useNeighbourhood(start: Start): Neighbourhood {
  const { memory, graph, at, past } = useStudio();
  const seeds = useSeeds(start);
  const roots = [
    ...seeds.ids.map((id) => ({ id, hops: start.from === undefined ? 1 : start.hops })),
    ...start.opened.filter((id) => !seeds.ids.includes(id)).map((id) => ({ id, hops: 1 })),
  ];
  const walks = useQueries({
    queries: roots.map(({ id, hops }) => ({
      queryKey: [graph, at ?? "now", "walk", id, hops, start.most, start.hasRetired],
      queryFn: () => walkFrom(memory, id, { hops, start, past }),
      staleTime: at === undefined ? 30_000 : Number.POSITIVE_INFINITY,
    })),
    combine: (results) => ({
      data: results.flatMap(({ data }) => (data === undefined ? [] : [data])),
      isLoading: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error !== null)?.error,
    }),
  });
  const { data } = walks;
  const merged = useMemo(() => merge(data), [data]);
  return {
    ...merged,
    isLoading: seeds.isLoading || walks.isLoading,
    error: seeds.error ?? walks.error,
  };
}

/** The places in the middle. */
function useSeeds({ from, words, hasRetired }: Start) {
  const lifecycles = hasRetired ? { lifecycles: EVERY_LIFE } : {};
  const byWords = useRead(
    ["graph-words", words, hasRetired],
    async (memory, past) => {
      const { hits } = await memory.search(words ?? "", {
        limit: SEEDS.hits,
        snippets: false,
        ...lifecycles,
        ...past,
      });
      return hits.map(({ id }): string => id);
    },
    { enabled: from === undefined && words !== undefined },
  );
  const byWorth = useRead(
    ["graph-worth", hasRetired],
    async (memory, past) => {
      const { hits } = await memory.find({
        type: TYPES,
        orderBy: ["salience"],
        limit: SEEDS.most,
        form: "short",
        ...lifecycles,
        ...past,
      });
      return hits.map(({ id }): string => id);
    },
    { enabled: from === undefined && words === undefined },
  );
  if (from !== undefined) return { ids: [from], isLoading: false, error: undefined };
  const found = words === undefined ? byWorth : byWords;
  return { ids: found.data ?? [], isLoading: found.isPending, error: found.error ?? undefined };
}

interface WalkResult extends Walk {
  readonly root: Node | undefined;
  readonly scores: readonly (readonly [id: string, score: number])[];
}

/** One walk, with the memory it began at and how much each memory matters. */
async function walkFrom(
  memory: RemoteCortex,
  id: string,
  { hops, start, past }: { readonly hops: number; readonly start: Start; readonly past: Past },
): Promise<WalkResult> {
  const { most, hasRetired } = start;
  const [walk, root, outside, found] = await Promise.all([
    memory.traverse(id, {
      direction: "both",
      maxHops: hops,
      maxNodes: most,
      includeTombstoned: hasRetired,
      ...past,
    }),
    memory.get(id, past),
    linksOutside(memory, id, past),
    memory
      .find({
        from: id,
        follow: { direction: "both", maxHops: hops },
        limit: Math.min(most, 1000),
        form: "short",
        ...past,
      })
      // Without the scores everything is drawn in one size.
      .catch(() => undefined),
  ]);
  const scores = (found?.hits ?? []).map(({ id: one, score }) => [one as string, score] as const);
  return { ...walk, edges: [...walk.edges, ...outside], root, scores };
}

function merge(walks: readonly WalkResult[]): Omit<Neighbourhood, "isLoading" | "error"> {
  const nodes = new Map<string, Node>();
  const edges = new Map<string, Edge>();
  const salience = new Map<string, number>();
  let isCut = false;
  for (const { hits, edges: found, root, scores, truncated } of walks) {
    if (root !== undefined) nodes.set(root.id, root);
    for (const { memory } of hits) nodes.set(memory.id, memory);
    for (const edge of found) edges.set(edge.id, edge);
    for (const [id, score] of scores) salience.set(id, score);
    isCut ||= truncated;
  }
  return { nodes, edges, salience, isCut };
}

/** What of the loaded is shown. */
export interface Filter {
  readonly hiddenTypes: ReadonlySet<MemoryType>;
  readonly hiddenGroups: ReadonlySet<string>;
  readonly kind?: string;
  readonly tag?: string;
  /** How sure it has to be. */
  readonly trust?: "owner" | "sure";
  readonly lifecycle?: "active" | "all";
  /** Written at or after this time. */
  readonly sinceMs?: number;
}

/** Whether a memory is shown. */
export function isShown({ type, head }: Node, filter: Filter): boolean {
  if (filter.hiddenTypes.has(type)) return false;
  if (filter.kind !== undefined && head.kind !== filter.kind) return false;
  if (filter.tag !== undefined && !head.tags.includes(filter.tag)) return false;
  if (filter.trust === "owner" && head.source !== "user_input") return false;
  if (filter.trust === "sure" && !["asserted", "confirmed"].includes(head.status)) return false;
  if (filter.lifecycle !== "all" && head.lifecycle !== "active") return false;
  return filter.sinceMs === undefined || head.createdAt >= filter.sinceMs;
}

/** How memories are coloured. */
export type ColourBy = "type" | "kind";

/** What is looked at, and how: the graph page's part of the address. */
export interface View {
  readonly start: Start;
  readonly filter: Filter;
  readonly colourBy: ColourBy;
  /** The far end of a path that begins at the memory in the panel. */
  readonly pathTo: string | undefined;
}

/** How many memories a walk takes at most. */
export const MOST = [100, 300, 1000, 5000] as const;

/** Reads the view of an address. */
export function readView(params: Params): View {
  const { from, q, kind, tag } = params;
  const most = MOST.find((one) => String(one) === params.most) ?? (from === undefined ? 100 : 300);
  const hops = Math.min(6, Math.max(1, Number(params.hops ?? 2) || 2));
  const since = Date.parse(params.since ?? "");
  return {
    start: {
      ...(from === undefined ? {} : { from }),
      ...(q === undefined ? {} : { words: q }),
      opened: listIn(params.open),
      hops,
      most,
      hasRetired: params.life === "all",
    },
    filter: {
      hiddenTypes: new Set(listIn(params.hide).filter(isMemoryType)),
      hiddenGroups: new Set(listIn(params.nolinks)),
      ...(kind === undefined ? {} : { kind }),
      ...(tag === undefined ? {} : { tag }),
      ...(params.trust === "owner" || params.trust === "sure" ? { trust: params.trust } : {}),
      lifecycle: params.life === "all" ? "all" : "active",
      ...(Number.isNaN(since) ? {} : { sinceMs: since }),
    },
    colourBy: params.colour === "kind" ? "kind" : "type",
    pathTo: params.to,
  };
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? "").split(",").filter((one) => one !== "");
}

/** A set in an address with one member more, or one less. */
export function toggled(set: ReadonlySet<string>, member: string): string | undefined {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next.size === 0 ? undefined : [...next].join(",");
}
