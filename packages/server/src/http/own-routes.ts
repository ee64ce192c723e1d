/**
 * Routes about the server itself: what is here, is it alive, can it read, what has it done, what does it
 * offer, and what do its errors mean.
 */
import { ERROR_CODES, type ErrorCode, quarantinedStores } from "@cortex-memory/core";
import type { Hono } from "hono";
import { ERROR_STATUS, INTERNAL_CODE } from "../error-status.js";
import type { AppOptions, Env } from "./app.js";
import { doorsText } from "./doors-text.js";
import { memgraphPart } from "./memgraph-openapi.js";
import { openApiDocument } from "./openapi.js";
import { HttpFailure, INTERNAL_TITLE } from "./problem.js";
import type { SlowRequest } from "./request-log.js";
import { commonHeaders, jsonResponse, type Seen } from "./respond.js";
import { routesOf } from "./routes.js";
import { readStudioFiles, type StudioFiles } from "./studio-files.js";

/** What a server tells about what it did. */
export interface OwnCounts {
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
