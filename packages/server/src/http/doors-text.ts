/**
 * What an agent or a program finds that opens the address of a server: what runs here and where its doors
 * are, as text. It holds nothing of any store and needs no token. People get the studio instead.
 */

/** A place of the server, and what is there. */
interface Place {
  readonly path: string;
  readonly title: string;
  readonly about: string;
  /** Whether it can be opened without a token. */
  readonly isOpen: boolean;
}

/** Where everything is. */
const PLACES: readonly Place[] = [
  {
    path: "/",
    title: "Studio",
    about: "for people: see, ask, prove and mend the memory in a browser",
    isOpen: true,
  },
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
];

/** Said about the server. */
export interface ServerFacts {
  readonly version: string;
  readonly hasToken: boolean;
}

/** The doors, in the form that agents look for. */
export function doorsText({ version, hasToken }: ServerFacts): string {
  const items = PLACES.map(({ path, title, about, isOpen }) => {
    const token = hasToken && !isOpen ? " (token)" : "";
    return `- [${title}](${path})${token}: ${about}`;
  });
  return `# Cortex ${version}

> A verifiable memory graph for AI agents is served here. ${accessNote(hasToken)}

## Doors

${items.join("\n")}

In a terminal, \`cortex --help\` lists the commands, and \`cortex mcp config claude\` prints what to paste into a client.
`;
}

/** What a caller without a token should know; nothing of which stores there are. */
function accessNote(hasToken: boolean): string {
  return hasToken
    ? "Whatever is marked needs the admin token, or a scope, as Authorization: Bearer."
    : "No token is set: programs on this machine may call, and nobody else.";
}
