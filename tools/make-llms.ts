/**
 * `docs/llms.txt`: the pages of the documentation for agents, one line each, rendered from the table of
 * `docs/README.md`, so that there is one list. Pages are plain Markdown and can be fetched as they are.
 */

/** A row of the list of pages. */
export interface PageRow {
  readonly title: string;
  /** Relative to `docs/`. */
  readonly link: string;
  /** Whom it is for. */
  readonly reader: string;
  readonly what: string;
}

/** The rows of the table of pages. */
export function pageRows(readme: string): readonly PageRow[] {
  const rows = readme.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) \| ([^|]+) \| ([^|]+) \|$/gm);
  return [...rows].map(([, title = "", link = "", reader = "", what = ""]) => ({
    title,
    link,
    reader: reader.trim(),
    what: what.trim(),
  }));
}

const HEAD = `# Cortex

> A verifiable memory graph for AI agents, as a TypeScript library with a command line, REST and MCP. It
> stores what was said, what is true now and what used to be true. The journal is the truth; everything else
> is built from it again at any time, and every answer can be proved.

How to install it stands at the head of the [list of pages](README.md). In a terminal: \`cortex demo\`. For an agent:
\`cortex mcp\`. A running server describes itself at \`/llms.txt\` and
\`/openapi.json\`.

## Pages
`;

/** The file. */
export function llmsText(readme: string): string {
  const lines = pageRows(readme).map(
    ({ title, link, reader, what }) => `- [${title}](${link}): ${what} (for ${reader})`,
  );
  return `${HEAD}\n${lines.join("\n")}\n`;
}
