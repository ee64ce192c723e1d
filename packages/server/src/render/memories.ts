/**
 * Memories, conversations and what was done to them, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import { showLinks } from "./edges.js";
import { clean, counted, type Ink, pairs, row, showTime } from "./ink.js";
import { showSalience } from "./learning.js";

type Memory = Output<"get">;
type Written = Output<"write">;

/** What a write did; `did` is the word for it. */
export function showWritten(did: string): (written: Written, ink: Ink) => string {
  return (written, ink) => {
    const verb = written.reinforced ? "known already, reinforced" : did;
    const lines = [
      `${ink.green("✓")} ${verb} ${ink.bold(written.id)} version ${written.version} ${ink.dim(`seq ${written.seq}`)}`,
      `  ${ink.cyan(written.uri)}`,
      ...briefs("replaced", written.replaced, ink),
      ...briefs("in conflict with", written.conflicts, ink),
      ...briefs("similar", written.similar, ink),
    ];
    return lines.join("\n");
  };
}

function briefs(label: string, refs: Written["replaced"], ink: Ink): string[] {
  return refs.map(({ id, text }) => row(`  ${ink.yellow(label)} ${id} `, text));
}

/** A memory in full. */
export function showMemory(memory: Memory, ink: Ink): string {
  const { head, versionRecord } = memory;
  const rows = [
    ["uri", ink.cyan(memory.uri)],
    ["state", [head.lifecycle, head.status, head.visibility].join(", ")],
    ["slot", head.slot === undefined ? undefined : clean(head.slot)],
    ["kind", head.kind === undefined ? undefined : clean(head.kind)],
    ["external id", head.externalId === undefined ? undefined : clean(head.externalId)],
    ["tags", head.tags.length === 0 ? undefined : head.tags.map(clean).join(", ")],
    ["importance", String(head.importance)],
    ["source", head.source],
    ["written", `${showTime(versionRecord.createdAt)} by ${clean(versionRecord.createdBy)}`],
    ["valid", validity(versionRecord)],
    ["rivals", head.siblings.length === 0 ? undefined : `versions ${head.siblings.join(", ")}`],
    ["hidden", hidden(head.tombstone)],
    ["data", clean(JSON.stringify(memory.data))],
    ["seq", String(memory.seq)],
  ] as const;
  const title = `${ink.bold(memory.type)} ${memory.id} ${ink.dim(`version ${memory.version}`)}`;
  return `${title}\n\n  ${clean(memory.text).replaceAll("\n", "\n  ")}\n\n${pairs(rows, ink)}`;
}

function validity(version: Memory["versionRecord"]): string | undefined {
  const { validFrom, validTo } = version;
  if (validFrom === undefined && validTo === undefined) return undefined;
  const from = validFrom === undefined ? "" : `from ${showTime(validFrom)} `;
  return `${from}${validTo === undefined ? "" : `to ${showTime(validTo)}`}`.trim();
}

function hidden(tombstone: Memory["head"]["tombstone"]): string | undefined {
  if (tombstone === undefined) return undefined;
  return `${showTime(tombstone.at)} by ${clean(tombstone.by)}: ${clean(tombstone.reason)}`;
}

/** A memory on one line. */
export function memoryLine(memory: Memory, ink: Ink): string {
  const { lifecycle } = memory.head;
  const state = lifecycle === "active" ? "" : ` ${ink.yellow(`[${lifecycle}]`)}`;
  return row(`${memory.id}  ${ink.cyan(memory.type.padEnd(10))}  `, memory.text, state);
}

/** A page of memories. */
export function showPage(page: Output<"list">, ink: Ink): string {
  if (page.memories.length === 0) return ink.dim("no memories");
  const lines = page.memories.map((memory) => memoryLine(memory, ink));
  const more = page.cursor === undefined ? [] : [ink.dim(`more: --cursor ${page.cursor}`)];
  return [...lines, ...more].join("\n");
}

/** What forgetting destroyed, or would. */
export function showForgotten(answer: Output<"forget">, ink: Ink): string {
  const { id, erased, edges, derived, dryRun, memories = [], more } = answer;
  const count = dryRun === true ? memories.length : erased.length;
  if (count === 0)
    return ink.dim(id === undefined ? "nothing to forget" : `${id} was forgotten before`);
  const what = `${counted(count, "memory", "memories")}, ${counted(edges, "edge")}`;
  const named = id === undefined ? what : `${id}: ${what}`;
  const first =
    dryRun === true
      ? `${ink.yellow("would forget")} ${named}`
      : `${ink.green("✓")} forgot ${named} ${ink.dim(`seq ${answer.seq}`)}`;
  return [
    first,
    ...memories.map((one) => row(`  ${one.id}  ${ink.cyan(one.type.padEnd(10))}  `, one.text)),
    ...derived.map((one) => `  ${ink.yellow("still there, derived from it")} ${one}`),
    ...(more === true ? [ink.yellow("there are more: run it again")] : []),
  ].join("\n");
}

type Versions = Output<"history">["versions"];

function versionLines(versions: Versions, ink: Ink): string[] {
  return versions.map(({ version, current, undone, text, versionRecord }) => {
    const mark = current ? ink.green("●") : ink.dim("○");
    const when = ink.dim(`${showTime(versionRecord.createdAt)} seq ${versionRecord.seq}`);
    const state = undone === true ? `${ink.yellow("undone")}  ` : "";
    return row(`${mark} ${version}  ${when}  ${state}`, text);
  });
}

/** The versions of a memory. */
export function showHistory(answer: Output<"history">, ink: Ink): string {
  return versionLines(answer.versions, ink).join("\n");
}

/** Everything about one memory. */
export function showInspection(found: Output<"inspect">, ink: Ink): string {
  const { counters, salience } = found;
  const why =
    salience === undefined ? [] : [`\n${ink.bold("salience")}\n${showSalience(salience, ink)}`];
  const use =
    counters === undefined
      ? []
      : [`reinforced ${counters.reinforced}, read ${counters.accessed}, cited ${counters.cited}`];
  return [
    showMemory(found.memory, ink),
    `\n${ink.bold("links")}\n${showLinks({ links: found.links }, ink)}`,
    `\n${ink.bold("linked from")}\n${showLinks({ links: found.backlinks }, ink)}`,
    `\n${ink.bold("versions")}\n${versionLines(found.versions, ink).join("\n")}`,
    ...why,
    ...use.map((line) => `\n${ink.dim(line)}`),
  ].join("\n");
}

/** What became of the turns given. */
export function showRemembered(answer: Output<"remember">, ink: Ink): string {
  const added = answer.turns.filter((turn) => turn.added).length;
  const known = answer.turns.length - added;
  const echoes = answer.dropped === 0 ? "" : `, ${answer.dropped} held recalled text only`;
  const repeat = `${known === 0 ? "" : `, ${known} known already`}${echoes}`;
  const place = ink.dim(`seq ${answer.seq}`);
  const made =
    answer.madeSession === true
      ? `\n${ink.dim("no session was named: this one was made for this run; go on with --session")}`
      : "";
  return `${ink.green("✓")} ${counted(added, "turn")} added to ${ink.bold(clean(answer.session))}${repeat} ${place}${made}`;
}

/** A conversation. */
export function showSession(page: Output<"session">, ink: Ink): string {
  if (page.turns.length === 0) return ink.dim("no turns");
  const lines = page.turns.map(({ index, role, speaker, toolName, content, at }) => {
    const who = [role, speaker, toolName].filter((part) => part !== undefined).join(" ");
    const when = at === undefined ? "" : ` ${ink.dim(showTime(at))}`;
    const body = clean(content).replaceAll("\n", "\n    ");
    return `${ink.dim(String(index).padStart(3))} ${ink.cyan(clean(who))}${when}\n    ${body}`;
  });
  const more =
    page.nextIndex === undefined ? [] : [ink.dim(`more: --from-index ${page.nextIndex}`)];
  return [...lines, ...more].join("\n");
}

/** What became of each item of a batch. */
export function showBatch(answer: Output<"batch">, ink: Ink): string {
  const lines = answer.results.map((result, at) => {
    if (result.ok) return `${ink.green("✓")} ${at} ${result.id}`;
    return `${ink.red("✗")} ${at} ${clean(result.error.message)} ${ink.dim(result.error.code)}`;
  });
  return [...lines, ink.dim(`seq ${answer.seq}`)].join("\n");
}
