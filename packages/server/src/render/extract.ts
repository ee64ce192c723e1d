/**
 * What a model made of conversations and memories, for people to read.
 */

import type { Output } from "@cortex-memory/core/contract";
import { DROP_RULES } from "@cortex-memory/core/contract";
import { clean, counted, type Ink, oneLine } from "./ink.js";

/** What distilling did. */
export function showExtracted(report: Output<"extract">, ink: Ink): string {
  const { turns, facts, known, links, dropped, failures, waiting } = report;
  const sum = `${counted(turns, "turn")} read, ${counted(facts.length, "fact")}, ${counted(links, "link")}`;
  const mark = failures.length > 0 ? ink.yellow("!") : ink.green("✓");
  const head = report.dryRun ? `a dry run, nothing was written: ${sum}` : `${mark} ${sum}`;
  const lines = [
    ...facts.map((fact) => factLine(fact, ink)),
    ...(known === 0 ? [] : [`${counted(known, "fact")} known already`]),
    ...dropped.map(({ rule, count }) => ink.dim(`${count} dropped: ${DROP_RULES[rule]}`)),
    ...failures.map(({ session, message }) => ink.yellow(`${clean(session)}: ${clean(message)}`)),
    ...(waiting === 0 ? [] : [`${counted(waiting, "turn")} still to be read`]),
  ];
  const about = ink.dim(`${clean(report.model)}, seq ${report.seq}`);
  return [`${head} ${about}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** What looking for links did. */
export function showRelinked(report: Output<"relink">, ink: Ink): string {
  const { calls, memories, links, dropped, failures, cursor } = report;
  const added = links.filter(({ outcome }) => outcome === "new" || outcome === "proposed");
  const sum = `${counted(memories, "memory", "memories")} looked at in ${counted(calls, "call")}, ${counted(added.length, "link")}`;
  const mark = failures.length > 0 ? ink.yellow("!") : ink.green("✓");
  const head = report.dryRun ? `a dry run, nothing was written: ${sum}` : `${mark} ${sum}`;
  const lines = [
    ...links.map(
      ({ outcome, from, kind, to, reason }) =>
        `${outcome.padEnd(8)} ${clean(from)} ${kind} ${clean(to)}  ${ink.dim(oneLine(reason, 80))}`,
    ),
    ...dropped.map(({ rule, count }) => ink.dim(`${count} dropped: ${DROP_RULES[rule]}`)),
    ...failures.map(({ message }) => ink.yellow(clean(message))),
    ...(cursor === undefined ? [] : [`go on with --cursor ${clean(cursor)}`]),
  ];
  const about = ink.dim(`${clean(report.model)}, seq ${report.seq}`);
  return [`${head} ${about}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

function factLine(
  { outcome, type, text, slot }: Output<"extract">["facts"][number],
  ink: Ink,
): string {
  const label = slot === undefined ? type : `${type} ${clean(slot)}`;
  return `${outcome.padEnd(8)} ${ink.dim(label)}  ${oneLine(text, 100)}`;
}
