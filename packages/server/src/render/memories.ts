/**
 * Memories and conversations, for people to read: what was done to them, found, searched and recalled, what waits
 * for a decision, and what a model made of them.
 */
import { DROP_RULES, type Output } from "@cortex-memory/core/contract";
import { showLinks } from "./edges.js";
import { clean, counted, folded, type Ink, oneLine, pairs, row, showTime } from "./ink.js";
import { showSalience } from "./upkeep.js";

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

/** The conversations there are. */
export function showSessions({ sessions, distinct }: Output<"sessions">, ink: Ink): string {
  if (sessions.length === 0) return ink.dim("no conversations");
  const lines = sessions.map(({ session, turns, lastAt, opening }) => {
    const about = `${counted(turns, "turn")}, last ${showTime(lastAt)}`;
    return `${ink.bold(clean(session))}  ${ink.dim(about)}\n    ${clean(opening).replaceAll("\n", " ")}`;
  });
  const rest = distinct - sessions.length;
  return [...lines, ...(rest > 0 ? [ink.dim(`${rest} more: --limit`)] : [])].join("\n");
}

/** What became of each item of a batch. */
export function showBatch(answer: Output<"batch">, ink: Ink): string {
  const lines = answer.results.map((result, at) => {
    if (result.ok) return `${ink.green("✓")} ${at} ${result.id}`;
    return `${ink.red("✗")} ${at} ${clean(result.error.message)} ${ink.dim(result.error.code)}`;
  });
  return [...lines, ink.dim(`seq ${answer.seq}`)].join("\n");
}

/** Hits of one search, each with the words that answer. */
export function showSearch(answer: Output<"search">, ink: Ink): string {
  if (answer.hits.length === 0) return ink.dim("nothing found");
  return answer.hits
    .map(({ id, type, text, snippet, score, lifecycle }) => {
      const state = lifecycle === "active" ? "" : ` ${ink.yellow(`[${lifecycle}]`)}`;
      const before = `${ink.dim(score.toFixed(2).padStart(6))}  ${id}  ${ink.cyan(type.padEnd(10))}  `;
      return row(before, snippet ?? text, state);
    })
    .join("\n");
}

/** Hits of several searches, fused. */
export function showSearchBatch(answer: Output<"searchBatch">, ink: Ink): string {
  if (answer.hits.length === 0) return ink.dim("nothing found");
  const lines = answer.hits.map(({ id, type, text, score, queriesMatched }) => {
    const by = ink.dim(`by ${queriesMatched.join(", ")}`);
    return row(
      `${ink.dim(score.toFixed(4))}  ${id}  ${ink.cyan(type.padEnd(10))}  `,
      text,
      `  ${by}`,
    );
  });
  const { uniqueHits, queryCount } = answer;
  const more = uniqueHits - answer.hits.length;
  const rest = more > 0 ? `, ${more} more` : "";
  return [...lines, ink.dim(`${counted(queryCount, "search", "searches")}${rest}`)].join("\n");
}

type Recalled = Output<"recall">;

/** An answer, best first; one to a question that asks for an order in that order. */
export function showRecalled(answer: Recalled, ink: Ink): string {
  const { weak, trimmed, tokens, leftOut, sessions, notEmbedded = 0 } = answer;
  const hits = inOrderOf(answer);
  const pending =
    notEmbedded === 0
      ? []
      : [ink.dim(`${counted(notEmbedded, "entry", "entries")} not embedded yet: cortex embed`)];
  if (hits.length === 0) return [ink.dim("nothing recalled"), ...pending].join("\n");
  const conversationOf = new Map<string, string>(
    (sessions ?? []).flatMap(({ session, turns }) => turns.map((id) => [id, session] as const)),
  );
  const headed = new Set<string>();
  return [
    ...(weak ? [ink.yellow("nothing reliable; the closest:")] : []),
    ...hits.flatMap((hit) => {
      const conversation = conversationOf.get(hit.id);
      const score = ink.dim(hit.score.toFixed(3));
      const lanes = lanesOf(hit.why.lanes);
      const before = `${hit.id}  ${ink.cyan(hit.type.padEnd(10))}  ${score}  `;
      const line = answerRow(before, hit.text, ink.dim(lanes));
      if (conversation === undefined || headed.has(conversation)) return [line];
      headed.add(conversation);
      return [ink.bold(conversation), line];
    }),
    ink.dim(`${counted(tokens, "token")}, ${trimmed} left out by the budget`),
    ...(leftOut.length === 0
      ? []
      : [ink.dim(`of the present only, left out: ${leftOut.join(", ")}`)]),
    ...pending,
  ].join("\n");
}

/** Columns of an answer's text: what is asked for may stand anywhere in it. */
const ANSWER_COLUMNS = 600;

/** A row whose text stands below it where it does not fit: what answers a question is read, not looked through. */
function answerRow(before: string, text: string, after: string): string {
  const line = row(before, text, ` ${after}`);
  const whole = oneLine(text, ANSWER_COLUMNS);
  if (line.includes(whole)) return line;
  return `${before}${after}\n${folded(`  ${whole}`, 2)}`;
}

function inOrderOf({ hits, inOrder }: Recalled): Recalled["hits"] {
  if (inOrder === undefined) return hits;
  const byId = new Map(hits.map((hit) => [hit.id, hit]));
  return inOrder.flatMap((id) => byId.get(id) ?? []);
}

/** The lane that found a hit; of several the strongest, so that a line keeps its width. --json has all. */
function lanesOf(shares: Readonly<Record<string, number>>): string {
  const [strongest = ""] = Object.keys(shares).sort((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0));
  return strongest;
}

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

/** A page of open items, each with its sides below it. */
export function showReview(page: Output<"review">, ink: Ink): string {
  if (page.items.length === 0 && page.cursor === undefined) return ink.dim("nothing to decide");
  const lines = page.items.flatMap(({ id, why, sides, proposal }) => [
    folded(`${ink.bold(id)}  ${clean(why)}`, 4),
    ...(proposal === undefined
      ? []
      : [
          `  ${ink.dim(`${showTime(proposal.at)} ${clean(proposal.by)}`)}`,
          row(`    ${proposal.verb} `, JSON.stringify(proposal.input)),
        ]),
    ...sides.map((side) => {
      const who = `${showTime(side.since)} ${side.status}, from ${side.source}`;
      const marks = side.flags === undefined ? "" : ` ${ink.yellow(`[${side.flags.join(", ")}]`)}`;
      return `${folded(`  ${ink.cyan(side.uri)}  ${ink.dim(who)}${marks}`, 4)}\n${row("    ", side.text)}`;
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
    return folded(`${mark} ${id}  ${ink.dim(`${span}, from ${source}`)}  ${oneLine(text, 80)}`, 4);
  });
  const more = history.more ? [ink.dim("there are older values: raise --limit")] : [];
  return [...lines, ...more].join("\n");
}

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
  return [`${head} ${about}`, ...lines.map((line) => folded(`  ${line}`, 4))].join("\n");
}

function factLine(
  { outcome, type, text, slot }: Output<"extract">["facts"][number],
  ink: Ink,
): string {
  const label = slot === undefined ? type : `${type} ${clean(slot)}`;
  return `${outcome.padEnd(8)} ${ink.dim(label)}  ${oneLine(text, 100)}`;
}
