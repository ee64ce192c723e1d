/**
 * What was found, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import { counted, type Ink, oneLine, row } from "./ink.js";

type Found = Output<"find">;
type Hit = Found["hits"][number];
type Explanation = NonNullable<Found["explain"]>;

/** A page of hits, and how it was found. */
export function showFound(found: Found, ink: Ink): string {
  const hits = found.hits.map((hit) => hitLine(hit, ink));
  return [
    ...(hits.length === 0 ? [ink.dim("nothing found")] : hits),
    ...notes(found).map((note) => ink.dim(note)),
    ...(found.explain === undefined ? [] : ["", ...explainLines(found.explain, ink)]),
  ].join("\n");
}

function hitLine(hit: Hit, ink: Ink): string {
  const lifecycle = hit.memory?.head.lifecycle ?? "active";
  const state = lifecycle === "active" ? "" : ` ${ink.yellow(`[${lifecycle}]`)}`;
  const hop = hit.hop === undefined ? "" : ` ${ink.dim(counted(hit.hop, "hop"))}`;
  const far = hit.distance === undefined ? "" : ` ${ink.dim(`at ${hit.distance.toFixed(3)}`)}`;
  const score = ink.dim(hit.score.toFixed(3));
  return row(
    `${hit.id}  ${ink.cyan(hit.type.padEnd(10))}  ${score}${hop}${far}  `,
    hit.text,
    state,
  );
}

function notes(found: Found): readonly string[] {
  const { total, trimmed, tokens, cursor, clamped, lateSeq } = found;
  return [
    ...(total === undefined ? [] : [`${counted(total, "hit")} in all`]),
    ...(tokens === undefined ? [] : [`${counted(tokens, "token")}, ${trimmed} left out`]),
    ...(clamped?.hops === undefined ? [] : [`at most ${clamped.hops} hops are walked`]),
    ...(clamped?.nodes === undefined ? [] : [`the walk ended at ${clamped.nodes} memories`]),
    ...(lateSeq === undefined ? [] : [`use journaled as seq ${lateSeq}`]),
    ...(cursor === undefined ? [] : [`more: --cursor ${cursor}`]),
  ];
}

function explainLines(explain: Explanation, ink: Ink): readonly string[] {
  const { source, indexes, candidates, rowsRead, rowsKept } = explain;
  return [
    `${ink.bold("read")} ${oneLine(source)}, ${explain.orderBy.join(", ")} (${explain.order})`,
    `  ${counted(rowsRead, "row")} read, ${counted(candidates, "memory", "memories")} tested, ${rowsKept} kept`,
    `  where ${oneLine(explain.where, 200)}`,
    ...indexes.map(({ name, estimate, counted: exact, keysRead }) => {
      const size = estimate === undefined ? "not probed" : `${exact ? "" : "about "}${estimate}`;
      return ink.dim(`  ${oneLine(name)}: ${size}, ${counted(keysRead, "key")} read by the probe`);
    }),
    ...explain.steps.map((step, at) => ink.dim(`  ${at + 1}. ${oneLine(step)}`)),
  ];
}
