/**
 * What keeps a graph in order, for people to read: what it is made of, its tags, what upkeep, the embedder and learning
 * did, and why something ranks. A context is printed as the prompt it is.
 */
import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { repairShape } from "../operations/moves.js";
import { clean, counted, folded, type Ink, oneLine, pairs, row, showTime } from "./ink.js";

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
    return folded(`  ${step} ${memories.map(clean).join(" ")}: ${oneLine(reason, 80)}${entry}`, 4);
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
    ...examples.map((text) => row(`  ${" ".repeat(width)}    `, text)),
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

type Weights = Output<"weights">["weights"];

const FACTORS = ["recency", "access", "citations", "importance", "similarity"] as const;

/** The text of a prompt, word for word: it may be piped on. A line that is longer than a row goes on below. */
export function showContext(bundle: Output<"context">, ink: Ink): string {
  if (bundle.text === "") return ink.dim("nothing to say yet");
  return clean(bundle.text)
    .split("\n")
    .map((line) => folded(line, 2))
    .join("\n");
}

/** A salience, factor by factor: how large it is, how much it counts, what that makes. */
export function showSalience(found: NonNullable<Output<"inspect">["salience"]>, ink: Ink): string {
  const { factors, weights } = found;
  const counting = FACTORS.filter((name) => factors[name] !== undefined);
  const total = counting.reduce((sum, name) => sum + weights[name], 0);
  const rows = counting.map((name) => {
    const [factor, weight] = [factors[name] ?? 0, weights[name] / total];
    return [name, `${share(factor)} × ${share(weight)} = ${share(factor * weight)}`] as const;
  });
  const floor = found.pinned ? ink.dim(" (pinned: never below 0.700)") : "";
  const aged = found.decay < 1 ? ([["decay", `× ${share(found.decay)}`]] as const) : [];
  return pairs([["score", `${share(found.score)}${floor}`], ...rows, ...aged], ink);
}

/** The weights of salience. */
export function showWeights(found: Output<"weights">, ink: Ink): string {
  const from = found.learned ? "learned from attestations" : "nothing learned yet";
  return pairs(
    [...FACTORS.map((name) => [name, share(found.weights[name])] as const), ["state", from]],
    ink,
  );
}

/** What an attestation did. */
export function showAttested(answer: Output<"attest">, ink: Ink): string {
  const memories = counted(answer.affected.length, "memory", "memories");
  const delta = answer.citationsDelta;
  const citations = `citations ${delta < 0 ? "" : "+"}${delta}`;
  const lines = [
    `${ink.green("✓")} attested ${memories}, ${citations} ${ink.dim(`seq ${answer.seq}`)}`,
    ...answer.skipped.map((ref) => `${ink.yellow("skipped")} ${oneLine(ref)}`),
  ];
  const moved = movedWeights(answer.previousWeights, answer.weights);
  return [...lines, answer.weightsUpdated ? moved : ink.dim("weights unchanged")].join("\n");
}

function movedWeights(before: Weights, after: Weights): string {
  const moves = FACTORS.filter((name) => before[name] !== after[name]).map(
    (name) => `${name} ${share(before[name])} → ${share(after[name])}`,
  );
  return `weights: ${moves.join(", ")}`;
}

/** A compacted context. */
export function showCompacted(answer: Output<"compactContext">, ink: Ink): string {
  return [
    ...answer.kept.map(({ uri, text }) => `${ink.bold(oneLine(text, 1000))} ${ink.dim(uri)}`),
    ...answer.compacted.map(({ uri, text }) => `${oneLine(text, 1000)} ${ink.dim(uri)}`),
    ...answer.skipped.map((ref) => `${ink.yellow("skipped")} ${oneLine(ref)}`),
    ink.dim(`${counted(answer.tokens, "token")}, ${answer.recordUri}, seq ${answer.seq}`),
  ].join("\n");
}

/** What was in a context. */
export function showContextRecord(found: Output<"contextRecord">, ink: Ink): string {
  const line = ({ uri, text }: { uri: string; text?: string }): string =>
    `${text === undefined ? ink.yellow("[forgotten]") : oneLine(text, 1000)} ${ink.dim(uri)}`;
  const by = `${showTime(found.at)} by ${clean(found.by)}, entry ${found.recordSeq}`;
  return [
    ink.bold("in full"),
    ...found.kept.map(line),
    ink.bold("in brief"),
    ...found.compacted.map(line),
    ink.dim(by),
  ].join("\n");
}

function share(value: number): string {
  return value.toFixed(3);
}
