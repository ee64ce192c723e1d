/**
 * The store itself, for people to read: settings, counts, journal, roots and reports; what moved it, follows it or was
 * brought into it.
 */

import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { configShape, statsShape } from "../operations/fields.js";
import type { followedShape, promotedShape } from "../operations/journal.js";
import type {
  erasuresShape,
  foreignShape,
  importedShape,
  upgradeShape,
} from "../operations/moves.js";
import { clean, counted, folded, grouped, type Ink, pairs, row, showTime } from "./ink.js";

/** How much a store holds. */
export function showStats(stats: z.output<typeof statsShape>, ink: Ink): string {
  const { memories, edges, vectors } = stats;
  const rows = [
    ["data", clean(stats.data)],
    ["actor", stats.actor],
    ["backend", `${stats.backend}, ${stats.syncMode}`],
    ["size", `${grouped(stats.sizeBytes)} bytes`],
    ["journal", `${counted(stats.entries, "entry", "entries")}, last at ${showTime(stats.lastAt)}`],
    [
      "memories",
      `${memories.active} active, ${memories.archived} archived, ${memories.tombstoned} hidden, ${memories.erased} forgotten`,
    ],
    ...(stats.types.length === 0
      ? []
      : [["types", stats.types.map(({ type, count }) => `${count} ${type}`).join(", ")] as const]),
    ["edges", `${edges.live} live, ${edges.removed} removed, ${edges.openKinds} kinds of its own`],
    ["text", showText(stats.text, ink)],
    ...(vectors === undefined
      ? []
      : [
          [
            "vectors",
            `${counted(vectors.memories, "memory", "memories")} by ${clean(vectors.model)}, ${behind(vectors.lag)}`,
          ] as const,
        ]),
    ...(stats.database === undefined ? [] : [["database", showDatabase(stats.database)] as const]),
    ...(stats.replica === undefined ? [] : [["replica", showReplica(stats.replica, ink)] as const]),
    ...stats.jobs.map((job) => [`job ${clean(job.name)}`, showJob(job, ink)] as const),
    ["format", `${stats.format}, fold ${stats.foldVersion}, epoch ${stats.epoch}`],
  ] as const;
  return pairs(rows, ink);
}

function showText(text: z.output<typeof statsShape>["text"], ink: Ink): string {
  const { segments, documents, lag, failure } = text;
  const held = `${counted(documents, "text")} in ${counted(segments, "segment")}`;
  const waiting = lag === 0 ? "" : `, ${counted(lag, "entry", "entries")} not yet in one`;
  const failed = failure === undefined ? "" : `; ${ink.red(clean(failure))}`;
  return `${held}${waiting}${failed}`;
}

/** Counts are those of the process that answers: a command of its own has done next to nothing yet. */
function showDatabase(database: NonNullable<z.output<typeof statsShape>["database"]>): string {
  const { commits, commitMs, lostRaces, busy, most, lockWaits, lagSeconds } = database;
  const own = [
    ...(commits === 0 ? [] : [`${counted(commits, "commit")}, ${commitMs.toFixed(1)} ms each`]),
    ...(lostRaces === 0 ? [] : [counted(lostRaces, "lost race")]),
    `${busy} of ${counted(most, "connection")} in use`,
  ];
  const server = [
    ...(lockWaits === undefined ? [] : [counted(lockWaits, "lock wait")]),
    ...(lagSeconds === undefined ? [] : [`standby ${lagSeconds.toFixed(1)} s behind`]),
  ];
  const told = server.length === 0 ? "" : `; the database: ${server.join(", ")}`;
  return `the process that answers: ${own.join(", ")}${told}; servers tell their own counts at /metrics`;
}

function behind(lag: number): string {
  return lag === 0 ? "up to date" : `${counted(lag, "entry", "entries")} behind`;
}

function showReplica(
  { source, lag, heardAt, lastError }: NonNullable<z.output<typeof statsShape>["replica"]>,
  ink: Ink,
): string {
  const heard = heardAt === undefined ? "never heard" : `last heard at ${showTime(heardAt)}`;
  const failed =
    lastError === undefined ? "" : `; ${ink.red(lastError.code)} ${clean(lastError.message)}`;
  return `of ${clean(source)}, ${behind(lag)}, ${heard}${failed}`;
}

function showJob(job: z.output<typeof statsShape>["jobs"][number], ink: Ink): string {
  const { lastRunAt, lastError, leased, owner, lag } = job;
  const ran = lastRunAt === undefined ? "never ran" : `last ran at ${showTime(lastRunAt)}`;
  const by = leased ? `, at work by ${owner.slice(0, 8)}` : "";
  const failed =
    lastError === undefined
      ? ""
      : `; ${ink.red(`failed ${counted(lastError.count, "time")}`)}: ${clean(lastError.message)}`;
  return `${behind(lag)}, ${ran}${by}${failed}`;
}

/** Settings and configuration. */
export function showConfig(config: z.output<typeof configShape>, ink: Ink): string {
  const settings = config.settings.map(
    ({ name, value, from }) => [name, `${clean(value)} ${ink.dim(`(${from})`)}`] as const,
  );
  const { conflictPolicy, kindWhitelist, language = "english" } = config.graph;
  const { trustedIssuers = [], ttlDays = {} } = config.graph;
  const kept = Object.entries(ttlDays).map(([kind, days]) => `${clean(kind)} ${days}`);
  const graph = [
    ["conflictPolicy", conflictPolicy],
    ["kindWhitelist", kindWhitelist.length === 0 ? "every kind" : kindWhitelist.join(", ")],
    ["language", language],
    ["trustedIssuers", trustedIssuers.length === 0 ? "nobody" : trustedIssuers.join(", ")],
    ["ttlDays", kept.length === 0 ? "nothing expires by its kind" : kept.join(", ")],
  ] as const;
  return `${ink.bold("settings")}\n${pairs(settings, ink)}\n\n${ink.bold("graph")}\n${pairs(graph, ink)}`;
}

/** Entries of the journal. */
export function showLog(page: Output<"log">, ink: Ink): string {
  const lines = page.entries.map((entry) => showEntry(entry, ink));
  const more = page.next === undefined ? [] : [ink.dim(`more: --from ${page.next}`)];
  return lines.length === 0 ? ink.dim("no entries from there on") : [...lines, ...more].join("\n");
}

/** A stretch of the journal; its bytes are for programs. */
export function showJournalPage(page: Output<"journalPage">, ink: Ink): string {
  const { length } = page.entries;
  const entries = counted(length, "entry", "entries");
  const bytes = page.entries.reduce((sum, one) => sum + Buffer.byteLength(one, "base64"), 0);
  const span = length === 0 ? "" : ` ${page.from} to ${page.from + length - 1}`;
  return `${entries}${span}, ${grouped(bytes)} bytes ${at(page, ink)}`;
}

/** An entry as it comes. */
export function showEvent(event: Output<"subscribe">, ink: Ink): string {
  return showEntry(event, ink);
}

function showEntry(
  { seq, kind, at, by, parts, batch }: Output<"log">["entries"][number],
  ink: Ink,
): string {
  const span = batch === undefined ? "" : ink.dim(` batch ${batch.first}+${batch.length}`);
  const subjects = parts
    .map(({ subject, erased }) => (erased ? `${subject} ${ink.yellow("[erased]")}` : subject))
    .join(" ");
  const head = `${String(seq).padStart(6)}  ${ink.dim(showTime(at))}  ${ink.cyan(kind)}  ${clean(by)}`;
  return folded(`${head}  ${subjects}${span}`, 8);
}

/** What happened between two positions. */
export function showChanges(page: Output<"changes">, ink: Ink): string {
  const lines = page.changes.flatMap(({ seq, kind, at: time, memories, edges }) => [
    `${String(seq).padStart(6)}  ${ink.dim(showTime(time))}  ${ink.cyan(kind)}`,
    ...memories.map(({ id, erased, type, text }) => {
      const head = `        ${id} ${type ?? ""} `;
      return (erased ? `${head}${ink.yellow("[forgotten]")}` : row(head, text ?? "")).trimEnd();
    }),
    ...edges.map(({ from, kind: link, to }) =>
      folded(`        ${from} ─${clean(link)}→ ${clean(to)}`, 10),
    ),
  ]);
  const more = page.next === undefined ? [] : [ink.dim(`more: from ${page.next}`)];
  return lines.length === 0 ? ink.dim("nothing happened") : [...lines, ...more].join("\n");
}

/** What undoing an entry did. */
export function showReverted(answer: Output<"revert">, ink: Ink): string {
  const what = `${counted(answer.memories.length, "memory", "memories")}, ${counted(answer.edges, "edge")}`;
  return `${ink.green("✓")} undid entry ${answer.reverted}: ${what} ${at(answer, ink)}`;
}

/** The root over everything. */
export function showRoot({ root, seq }: Output<"root">, ink: Ink): string {
  return `${ink.bold(root)}  ${ink.dim(`seq ${seq}`)}`;
}

/** The outcome of a check. */
export function showCheck(report: Output<"check">, ink: Ink): string {
  const entries = counted(report.entries, "entry", "entries");
  if (report.ok) return `${ink.green("✓")} ${entries} checked, all in order ${at(report, ink)}`;
  const lines = report.problems.map(
    ({ code, message, seq }) =>
      `  ${ink.red(code)} ${clean(message)}${seq === undefined ? "" : ink.dim(` seq ${seq}`)}`,
  );
  const count = counted(report.problems.length, "problem");
  return [`${ink.red("✗")} ${entries} checked, ${count} ${at(report, ink)}`, ...lines].join("\n");
}

/** The outcome of a rebuild. */
export function showRebuild(report: Output<"rebuild">, ink: Ink): string {
  const entries = counted(report.entries, "entry", "entries");
  const head = report.ok
    ? `${ink.green("✓")} ${entries} replayed, everything derived agrees`
    : `${ink.red("✗")} ${entries} replayed, ${counted(report.differences.length, "difference")}`;
  const lines = report.differences.map((line) => `  ${ink.yellow(clean(line))}`);
  return [`${head} ${at(report, ink)}`, ...lines, `  root ${report.root}`].join("\n");
}

function at({ seq }: { readonly seq: number }, ink: Ink): string {
  return ink.dim(`seq ${seq}`);
}

/** What a vacuum did. */
export function showVacuum(report: Output<"vacuum">, ink: Ink): string {
  const late = counted(report.forgottenMeanwhile, "memory", "memories");
  const left =
    report.forgottenMeanwhile === 0
      ? []
      : [ink.yellow(`  ${late} forgotten meanwhile: run vacuum once more`)];
  const size = `${bytes(report.bytesBefore)} before, ${bytes(report.bytesAfter)} now`;
  return [
    `${ink.green("✓")} ${entries(report)} written anew: ${size} ${ink.dim(`seq ${report.seq}`)}`,
    ...left,
    `  root ${report.root}`,
  ].join("\n");
}

/** What was written to a file; `did` is the word for it. */
export function showExported(did: string): (report: Output<"backup">, ink: Ink) => string {
  return (report, ink) => {
    const since = report.from === 0 ? "" : ` from seq ${report.from} on`;
    const erased = report.erased === 0 ? "" : `, ${counted(report.erased, "erased part")} listed`;
    return [
      `${ink.green("✓")} ${did} ${entries(report)}${since}${erased} ${ink.dim(`seq ${report.seq}`)}`,
      `  root ${report.root}`,
      ...(did === "backed up" ? [ink.dim(`  next time: --since ${report.seq}`)] : []),
    ].join("\n");
  };
}

/** What was read in; `did` is the word for it. */
export function showImported(
  did: string,
): (report: z.output<typeof importedShape>, ink: Ink) => string {
  return (report, ink) => {
    const again = counted(report.erasedAgain, "part");
    const erased = report.erasedAgain === 0 ? "" : `, ${again} erased again`;
    const place = ink.dim(`seq ${report.seq}, epoch ${report.epoch}`);
    return `${ink.green("✓")} ${did} ${entries(report)}${erased} ${place}\n  root ${report.root}`;
  };
}

/** How much a list of erasures names. */
export function showErasures(report: z.output<typeof erasuresShape>, ink: Ink): string {
  const erased = counted(report.erased, "erased part");
  return `${ink.green("✓")} ${erased} listed, of ${entries(report)} ${ink.dim(`seq ${report.seq}`)}`;
}

/** What an upgrade did, or would do. */
export function showUpgrade(report: z.output<typeof upgradeShape>, ink: Ink): string {
  const { from, to, upgraded } = report;
  const form = `format ${to.format}, fold ${to.foldVersion}`;
  if (!report.needed) return `${ink.green("✓")} nothing to do: the store has ${form} already`;
  const was = `format ${from.format}, fold ${from.foldVersion}`;
  const head =
    upgraded === undefined
      ? ink.yellow(`would upgrade from ${was} to ${form}:`)
      : `${ink.green("✓")} upgraded from ${was} to ${form} ${ink.dim(`seq ${upgraded.seq}`)}`;
  return [
    head,
    ...report.steps.map((step) => `  ${clean(step)}`),
    ...(upgraded === undefined ? [] : [`  root ${upgraded.root}`]),
  ].join("\n");
}

function entries(report: { readonly entries: number }): string {
  return counted(report.entries, "entry", "entries");
}

function bytes(count: number): string {
  return counted(count, "byte");
}

/** One event of following. */
export function showFollowed(event: z.output<typeof followedShape>, ink: Ink): string {
  const { state, seq, root = "", entries = 0, code = "", message = "", retryMs = 0 } = event;
  const place = ink.dim(`seq ${seq}`);
  switch (state) {
    case "level": {
      const came = counted(entries, "entry", "entries");
      return `${ink.green("✓")} level, ${came} came ${place}  ${ink.dim(root)}`;
    }
    case "trouble": {
      const again = `trying again in ${(retryMs / 1000).toFixed(1)} s`;
      return `${ink.yellow("…")} ${clean(message)} ${ink.dim(code)}, ${again} ${place}`;
    }
  }
}

/** What promoting did. */
export function showPromoted(report: z.output<typeof promotedShape>, ink: Ink): string {
  const place = ink.dim(`seq ${report.seq}, epoch ${report.epoch}`);
  return `${ink.green("✓")} follows ${clean(report.source)} no more, and takes writes ${place}\n  root ${report.root}`;
}

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
