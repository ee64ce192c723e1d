/**
 * What waits for a decision, what was decided, and the values of a slot, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import { clean, type Ink, oneLine, showTime } from "./ink.js";

/** A page of open items, each with its sides below it. */
export function showReview(page: Output<"review">, ink: Ink): string {
  if (page.items.length === 0 && page.cursor === undefined) return ink.dim("nothing to decide");
  const lines = page.items.flatMap(({ id, why, sides, proposal }) => [
    `${ink.bold(id)}  ${clean(why)}`,
    ...(proposal === undefined
      ? []
      : [
          `  ${ink.dim(`${showTime(proposal.at)} ${clean(proposal.by)}`)}`,
          `    ${proposal.verb} ${oneLine(JSON.stringify(proposal.input))}`,
        ]),
    ...sides.map((side) => {
      const who = `${showTime(side.since)} ${side.status}, from ${side.source}`;
      const marks = side.flags === undefined ? "" : ` ${ink.yellow(`[${side.flags.join(", ")}]`)}`;
      return `  ${ink.cyan(side.uri)}  ${ink.dim(who)}${marks}\n    ${oneLine(side.text)}`;
    }),
  ]);
  const more = page.cursor === undefined ? [] : [ink.dim(`more: --cursor ${page.cursor}`)];
  return [...lines, ...more].join("\n");
}

/** What a settlement did. */
export function showSettled(settled: Output<"settle">, ink: Ink): string {
  const list = (label: string, ids: readonly string[]) =>
    ids.map((id) => `  ${label.padEnd(8)} ${id}`);
  return [
    `${ink.green("✓")} settled ${settled.item}: ${settled.decision} ${ink.dim(`seq ${settled.seq}`)}`,
    ...list("kept", settled.kept),
    ...list("archived", settled.archived),
  ].join("\n");
}

/** The values of a slot, newest first. */
export function showSlot(history: Output<"slotHistory">, ink: Ink): string {
  if (history.values.length === 0) return ink.dim(`slot ${history.slot} has no values`);
  const lines = history.values.map(({ id, current, from, to, text, source }) => {
    const mark = current ? ink.green("●") : ink.dim("○");
    const span = `${showTime(from)} to ${to === undefined ? "now" : showTime(to)}`;
    return `${mark} ${id}  ${ink.dim(`${span}, from ${source}`)}  ${oneLine(text, 80)}`;
  });
  const more = history.more ? [ink.dim("there are older values: raise --limit")] : [];
  return [...lines, ...more].join("\n");
}
