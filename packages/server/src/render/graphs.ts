/** Graphs and the links between them, for people to read. */
import type * as z from "zod";
import type {
  copiedShape,
  graphCheckShape,
  graphListShape,
  graphShape,
  removedGraphShape,
  symlinksShape,
} from "../operations/graph-shapes.js";
import { clean, counted, type Ink, oneLine, pairs, showTime } from "./ink.js";

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
  return lines.length + problems.length === 0
    ? ink.dim("no graphs yet")
    : [...lines, ...problems].join("\n");
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
