/**
 * Routes about the server itself: what is here, is it alive, can it read, what has it done, what does it
 * offer, and what do its errors mean.
 */
import { ERROR_CODES, type ErrorCode } from "@cortex-memory/core";
import type { Hono } from "hono";
import { ERROR_STATUS, INTERNAL_CODE } from "../error-status.js";
import type { AppOptions, Env } from "./app.js";
import { HOME_HEADERS, homePage, homeText } from "./home-page.js";
import { memgraphPart } from "./memgraph-openapi.js";
import { openApiDocument } from "./openapi.js";
import { HttpFailure, INTERNAL_TITLE } from "./problem.js";
import { commonHeaders, jsonResponse, type Seen } from "./respond.js";
import { routesOf } from "./routes.js";

/** Adds the routes; `metrics` renders what was counted. */
export function addOwnRoutes(
  hono: Hono<Env>,
  made: AppOptions,
  metrics: () => Promise<string>,
): void {
  const text = (seen: Seen, body: string, type: string): Response =>
    new Response(body, { headers: commonHeaders(seen, { "Content-Type": type }) });
  const facts = { version: made.version, hasToken: made.options.token !== undefined };
  const page = homePage(facts);
  hono.get("/", ({ env }) => {
    env.seen.operation = "home";
    return new Response(page, { headers: commonHeaders(env.seen, HOME_HEADERS) });
  });
  const plain = homeText(facts);
  hono.get("/llms.txt", ({ env }) => {
    env.seen.operation = "home";
    return text(env.seen, plain, "text/plain; charset=utf-8");
  });
  hono.get("/healthz", ({ env }) => {
    env.seen.operation = "healthz";
    return text(env.seen, "ok", "text/plain; charset=utf-8");
  });
  hono.get("/readyz", async ({ env }) => {
    env.seen.operation = "readyz";
    await made.stores.checkReadable(made.actor);
    return text(env.seen, "ok", "text/plain; charset=utf-8");
  });
  hono.get("/metrics", async ({ env }) => {
    env.seen.operation = "metrics";
    return text(env.seen, await metrics(), "text/plain; version=0.0.4; charset=utf-8");
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
