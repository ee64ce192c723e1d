/**
 * The tables of `docs/edges.md`, rendered from the registry of kinds and from the list of kinds that a
 * model may propose, so that the page cannot say anything else. Pure; the test of the page compares
 * them, and rewrites them on request.
 */
import { EDGE_KINDS, type EdgeKind, LINK_KINDS } from "@cortex-memory/core/contract";

/** A part of the page: the name of the comments around it, and its text. */
export interface PagePart {
  readonly name: string;
  readonly text: string;
}

/** Every generated part of the page. */
export function edgeParts(): readonly PagePart[] {
  return [
    { name: "kinds", text: kindTable() },
    { name: "proposed", text: proposedLine() },
  ];
}

/** The page with its generated parts written anew; a part that the page lacks is an error. */
export function withEdgeParts(page: string): string {
  return edgeParts().reduce((text, part) => {
    const [open, close] = [`<!-- ${part.name} -->`, `<!-- /${part.name} -->`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`the page has no place for ${part.name}`);
    return `${text.slice(0, from + open.length)}\n\n${part.text}\n\n${text.slice(to)}`;
  }, page);
}

/** The groups in the order in which the page explains them. */
const GROUPS = ["factual", "thematic", "lifecycle", "provenance", "legacy"] as const;

function kindTable(): string {
  const kinds: readonly EdgeKind[] = EDGE_KINDS;
  const rows = GROUPS.flatMap((group) => kinds.filter((kind) => kind.group === group)).map(kindRow);
  if (rows.length !== kinds.length) throw new Error("a kind is of a group that the page lacks");
  const head = [
    "| kind | group | an edge A → B says | the other way round | written by | walk |",
    "|---|---|---|---|---|---|",
  ];
  return [...head, ...rows].join("\n");
}

function kindRow({ name, group, symmetric, inverse, mint, walkTrust, meaning }: EdgeKind) {
  const back = symmetric ? "the same" : inverse === undefined ? "" : `\`${inverse}\``;
  const by = mint === "store" ? "the store" : "anyone";
  return `| \`${name}\` | ${group} | ${meaning} | ${back} | ${by} | ${walkTrust} |`;
}

function proposedLine(): string {
  const names = LINK_KINDS.map((name) => `\`${name}\``);
  const last = names.at(-1) ?? "";
  return `A model may propose ${names.slice(0, -1).join(", ")} and ${last}.`;
}
