/**
 * What an import of another program's file did, for people to read.
 */
import type * as z from "zod";
import type { foreignShape } from "../operations/imports.js";
import { clean, counted, type Ink } from "./ink.js";

type Report = z.output<typeof foreignShape>;

/** Lines of each list that are printed; all that the report has are in the JSON answer. */
const SHOWN = 20;

/** What an import did, or would do. */
export function showForeign(report: Report, ink: Ink): string {
  const { stopped, dryRun } = report;
  const mark = stopped === undefined ? ink.green("✓") : ink.red("✗");
  const did = dryRun ? "would import" : "imported";
  return [
    `${mark} ${did} ${counted(report.memories.added, "memory", "memories")}${rest(report)}`,
    `  ${counted(report.links.added, "link")} added, ${report.links.unchanged} unchanged`,
    ...graphLines(report, ink),
    ...list("passed over", report.skipped, ({ at, reason }) => `${at}: ${reason}`, ink),
    ...list("bad", report.errors, ({ at, message }) => `${at}: ${message}`, ink),
    ...(report.report === undefined ? [] : [`  all of it is named in ${clean(report.report)}`]),
    ...(stopped === undefined ? [] : stopLines(stopped, dryRun, ink)),
  ].join("\n");
}

function rest({ memories }: Report): string {
  const updated = memories.updated === 0 ? "" : `, ${memories.updated} updated`;
  return `${updated}, ${memories.unchanged} unchanged`;
}

function graphLines({ graphs = [] }: Report, ink: Ink): readonly string[] {
  return graphs.map(({ id, name, reused, added, updated, unchanged }) => {
    const counts = `${added} added, ${updated} updated, ${unchanged} unchanged`;
    return `  ${clean(name)}: ${counts} ${ink.dim(`graph ${id}${reused ? "" : ", new"}`)}`;
  });
}

function list<T>(
  what: string,
  { count, first }: { readonly count: number; readonly first: readonly T[] },
  line: (one: T) => string,
  ink: Ink,
): readonly string[] {
  if (count === 0) return [];
  const shown = first.slice(0, SHOWN);
  const more = count - shown.length;
  return [
    ink.yellow(`  ${count} ${what}:`),
    ...shown.map((one) => `    ${clean(line(one))}`),
    ...(more === 0 ? [] : [`    and ${more} more`]),
  ];
}

function stopLines(
  { at, code, message }: NonNullable<Report["stopped"]>,
  dryRun: boolean,
  ink: Ink,
): readonly string[] {
  const next = dryRun
    ? "  an import would stop there"
    : "  what came before is kept; repair the record and run it again, or use --skip-bad";
  return [`  ${ink.red("stopped at")} ${clean(at)}: ${clean(message)} ${ink.dim(code)}`, next];
}
