/**
 * Links, walks, and the graphs that links lead between, for people to read.
 */

import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type {
  copiedShape,
  graphCheckShape,
  graphListShape,
  graphShape,
  removedGraphShape,
  symlinksShape,
} from "../operations/graphs.js";
import { clean, counted, folded, type Ink, oneLine, pairs, row, showTime } from "./ink.js";

type Edge = Output<"getEdge">;

function edgeLine(edge: Edge, ink: Ink): string {
  const reason = edge.reason === undefined ? "" : `  ${oneLine(edge.reason, 80)}`;
  const strength = edge.strength === undefined ? "" : ` (strength ${edge.strength})`;
  const gone = edge.tombstone === undefined ? "" : ` ${ink.yellow("[removed]")}`;
  const far = edge.toGraph === undefined ? edge.to : `${edge.toGraph}/${edge.to}`;
  return `${edge.from} ${ink.cyan(`─${clean(edge.kind)}→`)} ${clean(far)}${gone}${ink.dim(`${strength}${reason}`)}`;
}

/** One edge in full. */
export function showEdge(edge: Edge, ink: Ink): string {
  const when = `${showTime(edge.createdAt)} by ${clean(edge.createdBy)}, ${edge.source}`;
  const details = [
    `id ${edge.id}`,
    `written ${when}`,
    ...(edge.weight === undefined ? [] : [`weight ${edge.weight}`]),
    ...(edge.metadata === undefined ? [] : [`metadata ${clean(JSON.stringify(edge.metadata))}`]),
  ];
  return [folded(edgeLine(edge, ink), 4), ...details.map((line) => `  ${ink.dim(line)}`)].join(
    "\n",
  );
}

/** What adding an edge did. */
export function showEdgeAdded(answer: Output<"addEdge">, ink: Ink): string {
  const did = answer.changed ? `${ink.green("✓")} linked` : ink.dim("linked already");
  const line = folded(`${did} ${edgeLine(answer.edge, ink)}`, 4);
  return `${line}\n  ${ink.dim(`edge ${answer.id}, seq ${answer.seq}`)}`;
}

/** What removing an edge did. */
export function showEdgeRemoved(answer: Output<"removeEdge">, ink: Ink): string {
  if (answer.edge === undefined) return ink.dim("there was no such edge");
  const did = answer.changed ? `${ink.green("✓")} removed` : ink.dim("removed before");
  return folded(`${did} ${edgeLine(answer.edge, ink)} ${ink.dim(`seq ${answer.seq}`)}`, 4);
}

/** Edges, a row each. */
export function showEdges(answer: Output<"edgesOut">, ink: Ink): string {
  if (answer.edges.length === 0) return ink.dim("no edges");
  return answer.edges.map((edge) => folded(edgeLine(edge, ink), 4)).join("\n");
}

type Link = Output<"linksFrom">["links"][number];

/** What links are about, the most telling first. */
const GROUPS = ["factual", "lifecycle", "provenance", "open", "thematic", "legacy"] as const;

/** Links in brief, a row each under the group they are of, with strength and reason. */
export function showLinks(answer: Output<"linksFrom">, ink: Ink): string {
  if (answer.links.length === 0) return ink.dim("none");
  const groups = [...new Set([...GROUPS, ...answer.links.map(({ group }) => group)])];
  return groups
    .flatMap((group) => {
      const links = answer.links.filter((link) => link.group === group);
      return links.length === 0 ? [] : [clean(group), ...links.map((link) => linkLine(link, ink))];
    })
    .join("\n");
}

function linkLine({ from, kind, to, inverse, strength, reason }: Link, ink: Ink): string {
  const notes = [
    ...(inverse === true ? ["inverse"] : []),
    ...(strength === undefined ? [] : [`strength ${strength}`]),
  ];
  const marks = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
  const why = reason === undefined ? "" : `  ${oneLine(reason, 80)}`;
  const ends = `  ${from} ${ink.cyan(`─${clean(kind)}→`)} ${clean(to)}`;
  return folded(`${ends}${ink.dim(`${marks}${why}`)}`, 6);
}

/** What a walk found, by distance. */
export function showTraversal(walk: Output<"traverse">, ink: Ink): string {
  const hits = walk.hits.map(({ hop, memory: { id, type, text } }) =>
    row(`${"  ".repeat(hop - 1)}${ink.dim(String(hop))} ${id}  ${ink.cyan(type)}  `, text),
  );
  const notes = [
    ...(walk.clamped ? [`at most ${walk.maxHops} hops are walked`] : []),
    ...(walk.truncated ? ["the walk was cut short: raise --max-nodes"] : []),
  ];
  return [
    ...(hits.length === 0 ? [ink.dim("nothing within reach")] : hits),
    ...(walk.edges.length === 0 ? [] : ["", showEdges(walk, ink)]),
    ...notes.map((note) => ink.yellow(note)),
  ].join("\n");
}

type Graph = z.output<typeof graphShape>;

/** One graph in full. */
export function showGraph(graph: Graph, ink: Ink): string {
  const { kindWhitelist, metadata } = graph;
  const rows = [
    ["id", graph.id],
    ["name", clean(graph.name)],
    ["conflictPolicy", graph.conflictPolicy],
    ["kindWhitelist", kindWhitelist.length === 0 ? "every kind" : clean(kindWhitelist.join(", "))],
    ["metadata", Object.keys(metadata).length === 0 ? "none" : clean(JSON.stringify(metadata))],
    ["archived", graph.archived ? "yes" : "no"],
    ["created", showTime(graph.createdAt)],
    ["seq", String(graph.seq)],
  ] as const;
  return pairs(rows, ink);
}

/** Graphs, one per line. */
export function showGraphs(list: z.output<typeof graphListShape>, ink: Ink): string {
  const lines = list.graphs.map((graph) => {
    const name = graph.name === graph.id ? "" : `  ${oneLine(graph.name, 60)}`;
    const gone = graph.archived ? ` ${ink.yellow("[archived]")}` : "";
    const size = ink.dim(`  ${counted(graph.seq + 1, "entry", "entries")}`);
    return `${ink.cyan(graph.id)}${name}${gone}${size}`;
  });
  const problems = list.problems.map(
    ({ id, code, message }) => `${ink.red(clean(id))}  ${clean(message)} ${ink.dim(code)}`,
  );
  const more = list.cursor === undefined ? [] : [ink.dim(`more: --cursor ${list.cursor}`)];
  return lines.length + problems.length === 0
    ? ink.dim("no graphs yet")
    : [...lines, ...problems, ...more].join("\n");
}

/** What is wrong with the graphs together. */
export function showGraphCheck(
  { ok, graphs, problems }: z.output<typeof graphCheckShape>,
  ink: Ink,
): string {
  const first = `${ok ? ink.green("ok") : ink.red("not ok")}  ${counted(graphs, "graph")}`;
  const lines = problems.map(
    ({ id, code, message }) => `${ink.red(clean(id))}  ${clean(message)} ${ink.dim(code)}`,
  );
  return [first, ...lines].join("\n");
}

/** What became of a copy of graphs. */
export function showCopied(report: z.output<typeof copiedShape>, ink: Ink): string {
  const { copied, same, entries, failed } = report;
  const mark = report.ok ? ink.green("✓") : ink.yellow("!");
  const there = same === 0 ? "" : `, ${counted(same, "graph")} there already`;
  const size = counted(entries, "entry", "entries");
  return [
    `${mark} copied ${counted(copied, "graph")} with ${size}${there}`,
    ...failed.map(
      ({ graph, code, message }) => `${ink.red(clean(graph))}  ${clean(message)} ${ink.dim(code)}`,
    ),
  ].join("\n");
}

/** A graph that is gone, and what it was tied to. */
export function showRemoved(gone: z.output<typeof removedGraphShape>, ink: Ink): string {
  const { id, name, entries, symlinks } = gone;
  const called = name === id ? id : `${id} (${oneLine(name, 60)})`;
  const size = entries === undefined ? "" : ink.dim(`  ${counted(entries, "entry", "entries")}`);
  const lines = symlinks.inbound.map(
    ({ graphId, edgeCount }) =>
      `  ${ink.yellow("leads nowhere now")} ${counted(edgeCount, "edge")} of ${clean(graphId)}`,
  );
  return [`${ink.green("✓")} removed ${called}${size}`, ...lines].join("\n");
}

/** Which graphs a graph is tied to. */
export function showSymlinks(manifest: z.output<typeof symlinksShape>, ink: Ink): string {
  const line = (arrow: string, ref: (typeof manifest.outbound)[number]): string => {
    const gone = ref.exists ? "" : ` ${ink.yellow("[no such graph]")}`;
    return `${arrow} ${ink.cyan(clean(ref.graphId))}  ${counted(ref.edgeCount, "edge")}${gone}`;
  };
  const lines = [
    ...manifest.outbound.map((ref) => line("→", ref)),
    ...manifest.inbound.map((ref) => line("←", ref)),
    ...(manifest.dangling ?? []).map(
      ({ id, toGraph, toLineage }) =>
        `${ink.yellow("missing")} ${clean(toGraph)}/${clean(toLineage)} ${ink.dim(`edge ${id}`)}`,
    ),
  ];
  return lines.length === 0 ? ink.dim("tied to no other graph") : lines.join("\n");
}
