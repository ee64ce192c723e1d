/**
 * The routes of the server as one function from a request to a response.
 *
 * Around every request, in this order: it gets an id; pages of allowed origins are told so; the guard
 * decides who may call and the limiter how often; then the route answers. Whatever goes wrong on the
 * way is a problem document. At the end the request is counted and logged, once.
 */
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Operation } from "../operations/define.js";
import type { ServeOptions } from "../settings.js";
import { makeStreams, type Streams } from "./events.js";
import { type Gate, makeGate, POST_SCOPE, Replays, type ScopePaths, type State } from "./guard.js";
import { type McpRoute, mcpRoute } from "./mcp-route.js";
import { addMemgraphRoutes } from "./memgraph-routes.js";
import {
  type Metrics,
  makeMetrics,
  makeRequestIds,
  makeRequestLog,
  REQUEST_ID_HEADER,
} from "./metrics.js";
import { addOwnRoutes } from "./own-routes.js";
import { type Door, perform } from "./perform.js";
import { commonHeaders, HttpFailure, problemResponse, type Seen } from "./respond.js";
import { nearestPath, pathsOf, type Route, routesOf } from "./routes.js";

/** What a server is made of. */
export interface AppOptions extends Omit<Door, "streams" | "replays"> {
  readonly operations: readonly Operation[];
  readonly options: ServeOptions;
  /** Whose store is meant where a path names no actor. */
  readonly actor: string;
  readonly version: string;
  /** Where lines of the log go. */
  readonly writeLog: (text: string) => void;
  /** A clock that only goes forward. */
  readonly nowMs: () => number;
}

/** The server without its socket. */
export interface App {
  /** Answers one request; never rejects. */
  fetch(request: Request, bindings?: Partial<HttpBindings>): Promise<Response>;
  /** A failure that came before there was a request. */
  refuse(error: unknown): Response;
  /** No more requests: those that come are told so, streams end, what is being done is waited for. */
  stop(): Promise<void>;
}

/** What a route is given beside its request. */
interface Bound {
  readonly seen: Seen;
  readonly incoming?: HttpBindings["incoming"] | undefined;
  readonly outgoing?: HttpBindings["outgoing"] | undefined;
}

/** The same, as the router's types want it. */
export type Env = { readonly Bindings: Bound };

/** Makes the routes. */
export function makeApp(made: AppOptions): App {
  const { options, nowMs } = made;
  const state: State = { inFlight: 0, isStopping: false };
  const streams = makeStreams();
  const replays = new Replays();
  const metrics = makeMetrics();
  const { hub } = made.stores;
  const { write, clock, slowMs } = { write: made.writeLog, clock: made.clock, ...options };
  const { log, flush, slow } = makeRequestLog({ write, clock, slowMs });
  const mcp = mcpRoute(made, replays);
  const answerOperation = makeOperations({ ...made, streams, replays });
  const answer = makeAnswer(
    made,
    { gate: makeGate(options, state, { nowMs, paths: scopePaths(made) }), answerOperation },
    (hono) => {
      addRoutes(hono, made, answerOperation);
      addMcp(hono, made, mcp);
      addMemgraphRoutes(hono, made, { hub, streams });
      addOwnRoutes(hono, made, {
        metrics: metricsText(made, metrics, { state, streams }),
        slow,
      });
    },
  );
  const requestId = makeRequestIds();
  const finish = (seen: Seen, method: string, status: number, fromMs: number): void => {
    const ms = nowMs() - fromMs;
    const { requestId, operation, code, fault, plan } = seen;
    metrics.count(operation, status, ms);
    log({ requestId, method, operation, status, ms, code, fault, plan });
  };
  return {
    async fetch(request, { incoming, outgoing } = {}) {
      const fromMs = nowMs();
      const seen: Seen = {
        requestId: requestId(request.headers.get(REQUEST_ID_HEADER)),
        operation: "none",
      };
      state.inFlight += 1;
      try {
        const response = await answer(request, { seen, incoming, outgoing });
        const { status } = response;
        const method = methodName(request.method);
        if (seen.ends === undefined) finish(seen, method, status, fromMs);
        else void seen.ends.then(() => finish(seen, method, status, fromMs));
        return response;
      } finally {
        state.inFlight -= 1;
      }
    },
    refuse(error) {
      const seen: Seen = { requestId: requestId(null), operation: "none" };
      const response = problemResponse(seen, error);
      finish(seen, "none", response.status, nowMs());
      return response;
    },
    async stop() {
      state.isStopping = true;
      streams.end();
      await mcp.close();
      await made.stores.close();
      flush();
    },
  };
}

/** The paths of the operations, for callers with a scope. */
function scopePaths({ operations }: AppOptions): ScopePaths {
  const routes = routesOf(operations);
  const names = new Set([...routes.map(({ name }) => name), "mcp"]);
  const posting = routes.find(({ operation }) => operation.name === POST_SCOPE)?.name;
  const nameIn = (path: string): string | undefined =>
    /^\/v1\/(?:actors\/[^/]+\/)?([^/]+)$/.exec(path)?.[1];
  return {
    isOperation: (path) => path === "/mcp" || names.has(nameIn(path) ?? ""),
    isPosting: (path) => posting !== undefined && nameIn(path) === posting,
  };
}

type Answer = (request: Request, bound: Bound) => Response | Promise<Response>;

/**
 * The router with the gate before it. An operation of the server's own actor is found by its path alone, without the
 * router: most requests are for one of those.
 */
function makeAnswer(
  { options, operations, actor }: AppOptions,
  { gate, answerOperation }: { readonly gate: Gate; readonly answerOperation: OperationAnswer },
  addAll: (hono: Hono<Env>) => void,
): Answer {
  const direct = new Map(routesOf(operations).map((route) => [pathsOf(route)[0], route]));
  const hono = new Hono<Env>();
  addFailures(hono);
  const isShared = options.corsOrigins.length > 0;
  if (isShared) addOrigins(hono, options, gate);
  addAll(hono);
  return (request, bound) => {
    try {
      if (isShared) return hono.fetch(request, bound);
      const route = direct.get(gate(request, bound));
      const isDirect = route?.methods.some((method) => method === request.method) === true;
      if (!isDirect || route === undefined) return hono.fetch(request, bound);
      return answerOperation(route, actor, { request, bound }).catch((error: unknown) =>
        problemResponse(bound.seen, error),
      );
    } catch (error) {
      return problemResponse(bound.seen, error);
    }
  };
}

/** What was counted, with what can be seen at the time of asking. */
function metricsText(
  { stores, nowMs }: AppOptions,
  metrics: Metrics,
  { state, streams }: { readonly state: State; readonly streams: Streams },
): () => Promise<string> {
  const startedMs = nowMs();
  return async () => {
    const open = await stores.hub.eachOpen((memory) => memory.stats().catch(() => undefined));
    const told = open.flatMap((stats) => stats?.database ?? []);
    const most = (found: readonly (number | undefined)[]): number | undefined => {
      const known = found.filter((value) => value !== undefined);
      return known.length === 0 ? undefined : Math.max(...known);
    };
    return metrics.render({
      openStores: open.length,
      entries: open.reduce((sum, stats) => sum + (stats?.entries ?? 0), 0),
      // All stores are in one database: each was told the same, a moment apart.
      lockWaits: most(told.map(({ lockWaits }) => lockWaits)),
      lagSeconds: most(told.map(({ lagSeconds }) => lagSeconds)),
      streamClients: streams.clients(),
      inFlight: state.inFlight,
      uptimeSeconds: Math.round((nowMs() - startedMs) / 1000),
    });
  };
}

/** Methods that routes have of their own; the router makes HEAD of GET. */
const METHODS = ["GET", "POST", "PATCH", "DELETE"];

/** Methods that the log shows; a caller can send any word. */
const SHOWN_METHODS = [...METHODS, "HEAD", "OPTIONS", "PUT"];

function methodName(method: string): string {
  return SHOWN_METHODS.includes(method) ? method : "other";
}

/**
 * Pages of the origins that were named may call and read, refusals included; so the gate comes after.
 * A server without such origins asks the gate outside the router, which then has one thing to do.
 */
function addOrigins(hono: Hono<Env>, { corsOrigins }: ServeOptions, gate: Gate): void {
  hono.use(
    cors({
      origin: [...corsOrigins],
      allowMethods: ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"],
      allowHeaders: [
        "Authorization",
        "Content-Type",
        "Accept",
        "If-Match",
        "If-None-Match",
        "Idempotency-Key",
        "Last-Event-ID",
        "Content-Digest",
        "Signature",
        "Signature-Input",
        REQUEST_ID_HEADER,
      ],
      exposeHeaders: ["ETag", "Link", "Retry-After", REQUEST_ID_HEADER],
      maxAge: 600,
    }),
    async (c, next) => {
      gate(c.req.raw, c.env);
      await next();
    },
  );
}

/** Failures are problem documents, those of the router included. */
function addFailures(hono: Hono<Env>): void {
  hono.onError((error, c) => problemResponse(c.env.seen, error));
  hono.notFound((c) => {
    const { seen } = c.env;
    const methods = METHODS.filter((method) => hasRoute(hono, method, c.req.path));
    if (methods.length === 0) {
      const hint = hintFor(
        c.req.path,
        hono.routes.map(({ path }) => path),
      );
      return problemResponse(
        seen,
        new HttpFailure("noRoute", `path: nothing is served here${hint}`),
      );
    }
    const head = methods.includes("GET") ? ["HEAD"] : [];
    const Allow = [...methods, ...head, "OPTIONS"].join(", ");
    if (c.req.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: commonHeaders(seen, { Allow }) });
    }
    const message = `method: expected one of ${Allow}`;
    return problemResponse(seen, new HttpFailure("method", message, { Allow }));
  });
}

/** Where to go instead of a path at which nothing is served. */
function hintFor(path: string, known: readonly string[]): string {
  // What the start of the server prints as the address of REST.
  if (/^\/v1\/?$/.test(path)) return "; operations are at /v1/NAME, and /openapi.json lists them";
  const near = nearestPath(path, known);
  return near === undefined ? "" : `; the nearest path is ${near}`;
}

function hasRoute(hono: Hono<Env>, method: string, path: string): boolean {
  const [handlers] = hono.router.match(method, path);
  // What stands before every route is registered for all methods.
  return handlers.some(([[, route]]) => route.method !== "ALL");
}

/** Answers a request for an operation; rejects with what went wrong. */
type OperationAnswer = (
  route: Route,
  actor: string,
  asked: { readonly request: Request; readonly bound: Bound },
) => Promise<Response>;

function makeOperations(door: Door): OperationAnswer {
  return (route, actor, { request, bound: { seen, outgoing } }) =>
    perform(door, { route, actor, request, seen, breakOff: () => outgoing?.destroy() });
}

/** The table of operations. */
function addRoutes(hono: Hono<Env>, made: AppOptions, answerOperation: OperationAnswer): void {
  for (const route of routesOf(made.operations)) {
    const answer = (c: Context<Env>, actor: string): Promise<Response> =>
      answerOperation(route, actor, { request: c.req.raw, bound: c.env });
    const [own, any] = pathsOf(route);
    hono.on([...route.methods], own, (c) => answer(c, made.actor));
    hono.on([...route.methods], any, (c) => answer(c, c.req.param("actor") ?? ""));
  }
}

/** The door for agents. */
function addMcp(hono: Hono<Env>, made: AppOptions, mcp: McpRoute): void {
  const [own, any] = mcp.paths;
  hono.on([...mcp.methods], own, (c) => mcp.answer(c.req.raw, made.actor, c.env.seen));
  hono.on([...mcp.methods], any, (c) =>
    mcp.answer(c.req.raw, c.req.param("actor") ?? "", c.env.seen),
  );
}
