/**
 * The studio as files: the page that a browser opens at the server's address, and what that page loads.
 *
 * Promise: only files that were built are served, by name from a list made at start, so no path leads
 * anywhere else. They need no token, because a browser cannot bear one when it opens an address, and they
 * hold nothing of any store: what a store holds, the page asks for with the key that the person gives it.
 * The policy lets the page load and call its own server and nothing else.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import { packageFile } from "../version.js";
import { type PlainHeaders, takesGzip } from "./respond.js";

/** Where the build is. */
const FOLDER = packageFile("dist/studio/");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What the page may do: nothing but its own files, and calls to its own server. */
export const STUDIO_POLICY = [
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
export interface StudioFiles {
  /** The page; absent where the studio was not built. */
  readonly page?: StudioAnswer;
  /** What the page loads, by its name. */
  readonly files: ReadonlyMap<string, StudioAnswer>;
}

/** Reads the build; without one, there is nothing to serve. */
export function readStudioFiles(): StudioFiles {
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
