/**
 * What a person or an agent sees who opens the address of a server: what runs here and where its doors
 * are. The page holds nothing of any store and needs no token; it loads nothing, runs no script, and its
 * policy forbids both, whatever may be injected on the way.
 */
import { createHash } from "node:crypto";
import type { PlainHeaders } from "./respond.js";

/** A place of the server, and what is there. */
interface Place {
  readonly path: string;
  readonly title: string;
  readonly about: string;
  /** Whether a browser can open it without a token. */
  readonly isOpen: boolean;
}

/** Where everything is. */
const PLACES: readonly Place[] = [
  {
    path: "/mcp",
    title: "MCP",
    about:
      "for agents: the Model Context Protocol over HTTP; ?profile=full has every operation as a tool, ?profile=memgraph those of memgraph",
    isOpen: false,
  },
  {
    path: "/v1",
    title: "REST",
    about: "for programs: POST /v1/<operation> with a JSON body; GET as well where it only reads",
    isOpen: false,
  },
  {
    path: "/openapi.json",
    title: "OpenAPI",
    about: "every path of REST with its members and answers",
    isOpen: true,
  },
  {
    path: "/errors",
    title: "Errors",
    about: "every error code and what it means",
    isOpen: true,
  },
  {
    path: "/healthz",
    title: "Health",
    about: "whether the process lives; /readyz whether its store can be read",
    isOpen: true,
  },
  {
    path: "/metrics",
    title: "Metrics",
    about: "counts and durations, in the text format of Prometheus",
    isOpen: false,
  },
  {
    path: "/llms.txt",
    title: "llms.txt",
    about: "this page as plain text, for agents",
    isOpen: true,
  },
];

const ABOUT = "A verifiable memory graph for AI agents is served here.";

/** What a caller without a token should know; nothing of which stores there are. */
function accessNote(hasToken: boolean): string {
  return hasToken
    ? "Whatever is marked needs the admin token, or a scope, as Authorization: Bearer."
    : "No token is set: programs on this machine may call, and nobody else.";
}

/** Said in every rendering. */
export interface HomeFacts {
  readonly version: string;
  readonly hasToken: boolean;
}

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
dt { font-weight: 600; margin-top: 0.75rem; }
dd { margin-left: 0; }
code { font-family: ui-monospace, monospace; }
@media (prefers-color-scheme: dark) { html { color-scheme: dark; } }
`;

/** Nothing may be loaded, framed or sent from the page; its one style is known by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of the page. */
export const HOME_HEADERS: PlainHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": POLICY,
  "Referrer-Policy": "no-referrer",
};

/** The page. */
export function homePage({ version, hasToken }: HomeFacts): string {
  const items = PLACES.map(({ path, title, about, isOpen }) => {
    const shown = `<code>${escaped(path)}</code>`;
    // What a browser would only be refused at is no link.
    const place = isOpen ? `<a href="${escaped(path)}">${shown}</a>` : shown;
    return `<dt>${escaped(title)} ${place}${needsToken(isOpen, hasToken)}</dt>\n<dd>${escaped(about)}</dd>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cortex</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Cortex ${escaped(version)}</h1>
<p>${escaped(ABOUT)} ${escaped(accessNote(hasToken))}</p>
<dl>
${items.join("\n")}
</dl>
<p>In a terminal, <code>npx -y @cortex-memory/server --help</code> lists the commands, and
<code>npx -y @cortex-memory/server mcp config claude</code> prints what to paste into a client.</p>
</main>
</body>
</html>
`;
}

/** The same as text, in the form that agents look for. */
export function homeText({ version, hasToken }: HomeFacts): string {
  const items = PLACES.map(
    ({ path, title, about, isOpen }) =>
      `- [${title}](${path})${needsToken(isOpen, hasToken)}: ${about}`,
  );
  return `# Cortex ${version}

> ${ABOUT} ${accessNote(hasToken)}

## Doors

${items.join("\n")}
`;
}

function needsToken(isOpen: boolean, hasToken: boolean): string {
  return hasToken && !isOpen ? " (token)" : "";
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
