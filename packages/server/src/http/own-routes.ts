/**
 * Routes about the server itself: what runs here, whether it is alive and can read, what it has done, and what
 * its errors mean.
 *
 * Whoever opens the address of the server finds what is for them: a person the studio, a page with the files
 * that it loads; an agent or a program a text that names the doors, at `/llms.txt`.
 *
 * Promise: of the studio only files that were built are served, by name from a list made at start, so no path
 * leads anywhere else. Neither they nor the text need a token, because a browser cannot send one when it opens
 * an address, and neither holds anything of a store: the page asks for that with the token that the person gives
 * it. The policy lets the page load from its own server and call it, and nothing else.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import { ERROR_CODES, type ErrorCode } from "@cortex-memory/core";
import { quarantinedStores } from "@cortex-memory/core/doors";
import type { Hono } from "hono";
import { ERROR_STATUS, INTERNAL_CODE } from "../error-status.js";
import { packageFile } from "../version.js";
import type { AppOptions, Env } from "./app.js";
import type { SlowRequest } from "./metrics.js";
import { openApiDocument } from "./openapi.js";
import { memgraphPart } from "./openapi-memgraph.js";
import {
  commonHeaders,
  HttpFailure,
  INTERNAL_TITLE,
  jsonResponse,
  type PlainHeaders,
  type Seen,
  takesGzip,
} from "./respond.js";
import { routesOf } from "./routes.js";

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
interface ServerFacts {
  readonly version: string;
  readonly hasToken: boolean;
}

/** The doors, in the form that agents look for. */
function doorsText({ version, hasToken }: ServerFacts): string {
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

/** Where the build is. */
const FOLDER = packageFile("dist/studio/");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What the page may do: nothing but its own files, and calls to its own server. */
const STUDIO_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Makes the response to a request. */
type StudioAnswer = (request: Request, common: PlainHeaders) => Response;

/** The files of the studio. */
interface StudioFiles {
  /** The page; absent where the studio was not built. */
  readonly page?: StudioAnswer;
  /** What the page loads, by its name. */
  readonly files: ReadonlyMap<string, StudioAnswer>;
}

/** Reads the build; without one, there is nothing to serve. */
function readStudioFiles(): StudioFiles {
  if (!existsSync(`${FOLDER}index.html`)) return { files: new Map() };
  const page = answerOf(`${FOLDER}index.html`, {
    "Content-Security-Policy": STUDIO_POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
  const names = readdirSync(`${FOLDER}studio`);
  const files = names.map((name) => {
    // Names of scripts and styles hold a hash of their content, so what a name means never changes.
    const isHashed = /-[\w-]{8}\.(js|css)$/.test(name);
    return [name, answerOf(`${FOLDER}studio/${name}`, isHashed ? KEPT : {})] as const;
  });
  return { page, files: new Map(files) };
}

const KEPT: PlainHeaders = { "Cache-Control": "public, max-age=31536000, immutable" };

/** Reads a file and makes the responses that hand it out. */
function answerOf(path: string, headers: PlainHeaders): StudioAnswer {
  const bytes = readFileSync(path);
  let packed: Buffer | undefined;
  const type = TYPES[extname(path)] ?? "application/octet-stream";
  const own = { "Content-Type": type, Vary: "Accept-Encoding", ...headers };
  return (request, common) => {
    const all = { ...common, ...own };
    if (!takesGzip(request.headers.get("accept-encoding"))) {
      return new Response(bytes, { headers: all });
    }
    packed ??= gzipSync(bytes);
    return new Response(packed, { headers: { ...all, "Content-Encoding": "gzip" } });
  };
}

/** What a server tells about what it did. */
interface OwnCounts {
  /** Renders what was counted. */
  readonly metrics: () => Promise<string>;
  /** The last slow requests, without content. */
  readonly slow: () => readonly SlowRequest[];
}

/** Adds the routes. */
export function addOwnRoutes(
  hono: Hono<Env>,
  made: AppOptions,
  { metrics, slow }: OwnCounts,
): void {
  addFrontDoor(hono, made);
  hono.get("/healthz", ({ env }) => {
    env.seen.operation = "healthz";
    return text(env.seen, "ok", PLAIN);
  });
  hono.get("/readyz", async ({ env }) => {
    env.seen.operation = "readyz";
    await made.stores.checkReadable(made.actor);
    const { length } = await quarantinedStores(made.location);
    // Names of stores are for the log and for whoever may read them.
    const apart = length === 0 ? "" : `, ${length} under quarantine: see the log`;
    return text(env.seen, `ok${apart}`, PLAIN);
  });
  hono.get("/metrics", async ({ env }) => {
    env.seen.operation = "metrics";
    return text(env.seen, await metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  hono.get("/slow", ({ env, req }) => {
    env.seen.operation = "slow";
    const { slowMs } = made.options;
    return jsonResponse(env.seen, req.raw, JSON.stringify({ slowMs, requests: slow() }));
  });
  let document: string | undefined;
  hono.get("/openapi.json", ({ env, req }) => {
    env.seen.operation = "openapi";
    document ??= JSON.stringify(
      openApiDocument(routesOf(made.operations), made.version, memgraphPart()),
    );
    return jsonResponse(env.seen, req.raw, document);
  });
  const codes = errorList();
  hono.get("/errors", ({ env, req }) => {
    env.seen.operation = "errors";
    return jsonResponse(env.seen, req.raw, JSON.stringify({ errors: codes }));
  });
  hono.get("/errors/:code", ({ env, req }) => {
    env.seen.operation = "errors";
    const found = codes.find(({ code }) => code === req.param("code"));
    if (found === undefined) throw new HttpFailure("noRoute", "code: there is no such code");
    return jsonResponse(env.seen, req.raw, JSON.stringify(found));
  });
}

/** What a person and what an agent finds at the address of the server. */
function addFrontDoor(hono: Hono<Env>, { version, options }: AppOptions): void {
  const doors = doorsText({ version, hasToken: options.token !== undefined });
  let files: StudioFiles | undefined;
  const studio = (): StudioFiles => {
    files ??= readStudioFiles();
    return files;
  };
  hono.get("/", ({ env, req }) => {
    env.seen.operation = "studio";
    // Sources that were compiled without the page still say what is served.
    return (
      studio().page?.(req.raw, commonHeaders(env.seen)) ??
      text(env.seen, `${doors}\nThe studio was not built: npm run build\n`, PLAIN)
    );
  });
  hono.get("/studio/:file", ({ env, req }) => {
    env.seen.operation = "studio";
    const answer = studio().files.get(req.param("file"));
    if (answer === undefined) throw new HttpFailure("noRoute", "path: nothing is served here");
    return answer(req.raw, commonHeaders(env.seen));
  });
  hono.get("/llms.txt", ({ env }) => {
    env.seen.operation = "doors";
    return text(env.seen, doors, PLAIN);
  });
}

const PLAIN = "text/plain; charset=utf-8";

function text(seen: Seen, body: string, type: string): Response {
  return new Response(body, { headers: commonHeaders(seen, { "Content-Type": type }) });
}

/** Every code and what it means: where the `type` of a problem points. */
function errorList() {
  const known = (Object.keys(ERROR_CODES) as ErrorCode[]).map((code) => ({
    code,
    title: ERROR_CODES[code],
    family: ERROR_STATUS[code].family,
    status: ERROR_STATUS[code].http,
  }));
  return [
    ...known,
    { code: INTERNAL_CODE, title: INTERNAL_TITLE, family: "integrity", status: 500 },
  ];
}
