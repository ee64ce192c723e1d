/**
 * Links and walks, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import type {} from "../operations/shapes.js";
import { clean, type Ink, oneLine, showTime } from "./ink.js";

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
  return [edgeLine(edge, ink), ...details.map((line) => `  ${ink.dim(line)}`)].join("\n");
}

/** What adding an edge did. */
export function showEdgeAdded(answer: Output<"addEdge">, ink: Ink): string {
  const did = answer.changed ? `${ink.green("✓")} linked` : ink.dim("linked already");
  return `${did} ${edgeLine(answer.edge, ink)}\n  ${ink.dim(`edge ${answer.id}, seq ${answer.seq}`)}`;
}

/** What removing an edge did. */
export function showEdgeRemoved(answer: Output<"removeEdge">, ink: Ink): string {
  if (answer.edge === undefined) return ink.dim("there was no such edge");
  const did = answer.changed ? `${ink.green("✓")} removed` : ink.dim("removed before");
  return `${did} ${edgeLine(answer.edge, ink)} ${ink.dim(`seq ${answer.seq}`)}`;
}

/** Edges, one per line. */
export function showEdges(answer: Output<"edgesOut">, ink: Ink): string {
  if (answer.edges.length === 0) return ink.dim("no edges");
  return answer.edges.map((edge) => edgeLine(edge, ink)).join("\n");
}

type Link = Output<"linksFrom">["links"][number];

/** What links are about, the most telling first. */
const GROUPS = ["factual", "lifecycle", "provenance", "open", "thematic", "legacy"] as const;

/** Links in brief, one per line under the group they are of, with strength and reason. */
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
  return `  ${from} ${ink.cyan(`─${clean(kind)}→`)} ${clean(to)}${ink.dim(`${marks}${why}`)}`;
}

/** What a walk found, by distance. */
export function showTraversal(walk: Output<"traverse">, ink: Ink): string {
  const hits = walk.hits.map(
    ({ hop, memory }) =>
      `${"  ".repeat(hop - 1)}${ink.dim(String(hop))} ${memory.id}  ${ink.cyan(memory.type)}  ${oneLine(memory.text)}`,
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
