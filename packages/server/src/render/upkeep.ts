/**
 * What a graph is made of, its tags, and what upkeep and the embedder did, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { repairShape } from "../operations/move-shapes.js";
import { clean, counted, type Ink, oneLine } from "./ink.js";

/** What a graph is made of. */
export function showSchema(schema: Output<"describeSchema">, ink: Ink): string {
  const { distinct } = schema;
  const memories = counted(schema.nodeCount, "active memory", "active memories");
  return [
    `${ink.bold(clean(schema.graphId))}  ${memories} ${ink.dim(`seq ${schema.seq}`)}`,
    ...section(
      "types",
      schema.types.map(({ type, count }) => [type, count] as const),
      ink,
    ),
    ...kindLines(schema, ink),
    ...section("tags", schema.tags.map(tagLine), ink, distinct.tags),
    ...section(
      "tag prefixes",
      schema.tagPrefixes.map(
        ({ prefix, count, values }) => [`${prefix}: ${values.join(", ")}`, count] as const,
      ),
      ink,
      distinct.tagPrefixes,
    ),
    ...section(
      "slots",
      schema.slots.map(({ slot, count }) => [slot, count] as const),
      ink,
      distinct.slots,
    ),
    ...section(
      "edges",
      schema.edgeKinds.map(({ kind, count }) => [kind, count] as const),
      ink,
    ),
  ].join("\n");
}

/** Tags, the most frequent first. */
export function showTags({ tags }: Output<"listTags">, ink: Ink): string {
  return tags.length === 0 ? ink.dim("no tags") : lines(tags.map(tagLine), ink).join("\n");
}

/** What upkeep did, or would do. */
export function showMaintained(report: Output<"maintain">, ink: Ink): string {
  const head = report.dryRun
    ? "what there is to do"
    : report.complete
      ? `${ink.green("✓")} nothing is left to do`
      : `${ink.yellow("…")} the time is over; run it again`;
  const steps = report.steps.map(({ step, done, left }) => {
    const did = report.dryRun ? "" : `${done} done, `;
    return `  ${clean(step)}: ${did}${left} ${report.dryRun ? "to do" : "left"}`;
  });
  const changes = report.changes.map(({ step, memories, reason, seq }) => {
    const entry = seq === undefined ? "" : ` ${ink.dim(`seq ${seq}`)}`;
    return `  ${step} ${memories.map(clean).join(" ")}: ${oneLine(reason, 80)}${entry}`;
  });
  const said = changes.length === 0 ? [] : ["", ink.bold("changes"), ...changes];
  return [`${head} ${ink.dim(`seq ${report.seq}`)}`, ...steps, ...said].join("\n");
}

/** What embedding did. */
export function showEmbedded(report: Output<"embedPending">, ink: Ink): string {
  const { texts, memories, refused, purged, lag } = report;
  const head = `${counted(memories, "memory", "memories")} got a vector, ${counted(texts, "text")} embedded`;
  const more = [
    refused === 0 ? undefined : ink.yellow(`${counted(refused, "text")} refused by the embedder`),
    purged === 0 ? undefined : `${counted(purged, "vector")} of forgotten memories removed`,
    lag === 0 ? undefined : `${counted(lag, "entry", "entries")} came meanwhile`,
  ].filter((line) => line !== undefined);
  const first = `${ink.green("✓")} ${head} ${ink.dim(`${clean(report.model)}, seq ${report.seq}`)}`;
  return [first, ...more.map((line) => `  ${line}`)].join("\n");
}

/** What a scrub found. */
export function showScrubbed(report: Output<"scrub">, ink: Ink): string {
  const { entries, memories, edges, problems, more, complete } = report;
  const read = [
    counted(entries, "entry", "entries"),
    counted(memories, "memory", "memories"),
    counted(edges, "link"),
  ].join(", ");
  const verdict = report.ok
    ? `${ink.green("✓")} ${read} read, all as its hashes say`
    : `${ink.red("✗")} ${read} read, ${counted(problems.length + more, "problem")}`;
  const named = problems.flatMap(({ code, message, expected, found }) => [
    `  ${ink.red(code)} ${clean(message)}`,
    ...(expected === undefined ? [] : [ink.dim(`    expected ${clean(expected)}`)]),
    ...(found === undefined ? [] : [ink.dim(`    found    ${clean(found)}`)]),
  ]);
  return [
    `${verdict} ${ink.dim(`seq ${report.seq}`)}`,
    ...named,
    ...(more === 0 ? [] : [ink.dim(`  and ${more} more`)]),
    ...(complete ? [] : [ink.yellow("  it did not come to the end")]),
  ].join("\n");
}

/** What a repair did, or would do. */
export function showRepaired(report: z.output<typeof repairShape>, ink: Ink): string {
  const { ok, needed, dryRun, entries, taken, missing, lost, aside } = report;
  if (!needed) return `${ink.green("✓")} nothing is damaged, nothing was done`;
  const built = `${counted(entries, "entry", "entries")}, ${taken} of them from elsewhere`;
  const named = lost.map(String).join(", ");
  const rest = missing > lost.length ? ` and ${missing - lost.length} more` : "";
  if (!ok && missing === 0) {
    return `${ink.red("✗")} nothing of its journal can be read; set the folder aside and restore a backup`;
  }
  const verdict = ok
    ? `${ink.green("✓")} ${dryRun ? "can be built again" : "built again"}: ${built}`
    : `${ink.red("✗")} not repaired, and nothing was changed: ${counted(missing, "entry", "entries")} cannot be had`;
  return [
    verdict,
    ...report.problems.map((problem) => `  ${ink.yellow(clean(problem))}`),
    ...(missing === 0 ? [] : [`  seq ${named}${rest}`]),
    ...(aside === undefined ? [] : [ink.dim(`  the damaged store is kept in ${clean(aside)}`)]),
  ].join("\n");
}

type Line = readonly [name: string, count: number];

function tagLine({ tag, count }: { readonly tag: string; readonly count: number }): Line {
  return [tag, count];
}

function kindLines({ kinds, distinct }: Output<"describeSchema">, ink: Ink): string[] {
  if (kinds.length === 0) return [];
  const width = Math.max(...kinds.map(({ count }) => String(count).length));
  const shown = kinds.flatMap(({ kind, count, examples }) => [
    `  ${String(count).padStart(width)}  ${clean(kind)}`,
    ...examples.map((text) => `  ${" ".repeat(width)}    ${ink.dim(oneLine(text, 80))}`),
  ]);
  return ["", ink.bold("kinds"), ...shown, ...more(distinct.kinds - kinds.length, ink)];
}

/** A heading and its names, and how many names are not shown; nothing where there are none. */
function section(title: string, named: readonly Line[], ink: Ink, distinct = 0): string[] {
  if (named.length === 0) return [];
  return ["", ink.bold(title), ...lines(named, ink, "  "), ...more(distinct - named.length, ink)];
}

function lines(named: readonly Line[], ink: Ink, indent = ""): string[] {
  const width = Math.max(...named.map(([, count]) => String(count).length));
  return named.map(
    ([name, count]) => `${indent}${ink.dim(String(count).padStart(width))}  ${clean(name)}`,
  );
}

function more(left: number, ink: Ink): string[] {
  return left > 0 ? [ink.dim(`  and ${left} more`)] : [];
}
