/**
 * Parts of pages that are written for them, between two comments that name the part: how to install and start the
 * program, which turns over on release day, and the table of the library's verbs.
 */
import { readFileSync } from "node:fs";
import { FAMILIES } from "../packages/core/src/contract/index.js";
import { IS_PUBLISHED } from "../packages/server/src/version.js";

interface VerbRow {
  readonly name: string;
  readonly summary: string;
  readonly args: { readonly [name: string]: unknown };
}

/** How to install and start it: from a checkout, and from the registry once it is there. */
const WORDS = JSON.parse(
  readFileSync(new URL("release-words.json", import.meta.url), "utf8"),
) as Readonly<Record<string, Readonly<Record<"pages" | "checkout" | "registry", string[]>>>>;

/** The parts, and the pages that have each. */
export const PARTS: {
  readonly [name: string]: { readonly pages: readonly string[]; readonly text: string };
} = {
  ...Object.fromEntries(
    Object.entries(WORDS).map(([name, { pages, checkout, registry }]) => [
      name,
      { pages, text: (IS_PUBLISHED ? registry : checkout).join("\n") },
    ]),
  ),
  verbs: { pages: ["packages/core/README.md"], text: verbsTable() },
};

/** Every verb of the library, family by family. */
function verbsTable(): string {
  return Object.entries(FAMILIES)
    .map(([family, verbs]) => {
      const rows = Object.values<VerbRow>(verbs).map(({ name, summary, args }) => {
        const call = `${name}(${Object.keys(args).join(", ")})`;
        return `| \`${call}\` | ${summary.replaceAll("|", "\\|")} |`;
      });
      return [`### ${family}`, "", "| verb | does |", "|---|---|", ...rows].join("\n");
    })
    .join("\n\n");
}

/** A page with one of its parts written anew; a page without the part's comments fails. */
export function withPart(page: string, name: string): string {
  const [open, close] = [`<!-- ${name}: written by npm run generate -->`, `<!-- ${name}: end -->`];
  const [start, end] = [page.indexOf(open), page.indexOf(close)];
  if (start < 0 || end < start) throw new Error(`no place for ${name}`);
  const text = PARTS[name]?.text ?? "";
  return `${page.slice(0, start + open.length)}\n${text}\n${page.slice(end)}`;
}
