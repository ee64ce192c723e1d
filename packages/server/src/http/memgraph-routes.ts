/**
 * memgraph's own routes, for the clients it has: the same paths, parameters, statuses and JSON, rendered
 * from the table of its calls. A graph is an actor's store; what a node or an edge is, core says.
 *
 * Where memgraph is lenient, so are these: a number that cannot be read counts as not given, a list is
 * split at commas, and a member of a body that is null or empty counts as not there. Failures are problem
 * documents that also carry memgraph's `error` and `error_code`.
 *
 * `/v1/stream` reports what happens in all graphs, or in those that `graph` names. An id says where every
 * followed graph stood, so that a client that returns with it misses nothing: the seq where one graph is
 * followed, else all positions together. With so many graphs that an id would not fit a header, events have
 * none; name the graphs then. A stream without an id in its past begins now.
 */

import { CortexError, isCortexError } from "@cortex-memory/core";
import { describe, expectedOf, unwrapped } from "@cortex-memory/core/contract";
import {
  graphName,
  type MemgraphEvent,
  type MemgraphSubscription,
  memgraph,
  memgraphText,
} from "@cortex-memory/core/memgraph";
import type { Context, Hono } from "hono";
import * as z from "zod";
import { isDatabaseAddress } from "../config.js";
import {
  callDoor,
  fieldOf,
  hasBody,
  type Json,
  type MemgraphCall,
  type Route,
  takesKey,
} from "../memgraph/call.js";
import { edgeJson, graphJson, nodeJson, restGraphJson } from "../memgraph/shapes.js";
import { INFO, MEMGRAPH_CALLS, STREAM } from "../memgraph/table.js";
import type { AppOptions, Env } from "./app.js";
import { eventText, type Streams, sendStream } from "./events.js";
import { accessOf } from "./guard.js";
import { endOfTurn } from "./perform.js";
import { commonHeaders, HttpFailure, jsonResponse, problemResponse, type Seen } from "./respond.js";
import { BASE, keyIn, readJsonBody } from "./routes.js";
import type { HubDoor } from "./stores.js";

/** Adds the routes. */
export function addMemgraphRoutes(
  hono: Hono<Env>,
  made: AppOptions,
  { hub: door, streams }: { readonly hub: HubDoor; readonly streams: Streams },
): void {
  hono.get(BASE + INFO.route.path, (c) => {
    c.env.seen.operation = "memgraph.info";
    const time = new Date(made.clock()).toISOString();
    const kept = isDatabaseAddress(made.location) ? "postgres" : "lmdb";
    const store = made.location === "memory:" ? "memory" : kept;
    return respond(c, 200, { version: made.version, time, store });
  });
  hono.get(BASE + STREAM.route.path, (c) => {
    const { seen } = c.env;
    seen.operation = "stream";
    return sendGraphEvents(door, streams, { request: c.req.raw, seen });
  });
  for (const [name, call] of Object.entries<MemgraphCall>(MEMGRAPH_CALLS)) {
    const { route } = call;
    if (route === undefined) continue;
    hono.on(route.method, BASE + route.path, async (c) => {
      c.env.seen.operation = `memgraph.${name}`;
      try {
        return await door.use(async (hub) => {
          const input = await inputOf(c, call, route, made.bodyLimitBytes);
          const key = takesKey(route) ? keyIn(c.req.raw.headers) : undefined;
          const asked = callDoor(hub, accessOf(c.req.raw), key);
          const { json, error } = await call.run(asked, input);
          // The node was written beside its rivals, which memgraph tells as a failure that holds it.
          if (error !== undefined) {
            return respond(c, 409, { error, node: json, conflicts: json.conflicts });
          }
          const shown = route.shown?.of(json) ?? json;
          return respond(c, route.status ?? 200, route.status === 204 ? undefined : shown);
        });
      } catch (error) {
        return failed(c, error);
      }
    });
  }
}

async function respond(c: Context<Env>, status: number, json: Json | undefined): Promise<Response> {
  const { seen } = c.env;
  if (json === undefined) return new Response(null, { status, headers: commonHeaders(seen) });
  if (status === 200) return jsonResponse(seen, c.req.raw, JSON.stringify(json));
  const headers = commonHeaders(seen, { "Content-Type": "application/json" });
  return new Response(JSON.stringify(json), { status, headers });
}

/** A problem document in which memgraph's clients find what they look for. */
function failed(c: Context<Env>, error: unknown): Response {
  return problemResponse(c.env.seen, error, ({ detail, field }) => ({
    error: isCortexError(error) ? memgraphText(error) : detail,
    ...(field === "direction" ? { error_code: "invalid_direction" } : {}),
  }));
}

/** What a request asks for, as the call takes it. */
async function inputOf(
  c: Context<Env>,
  { input }: MemgraphCall,
  route: Route,
  limitBytes: number,
): Promise<Json> {
  const parts = Object.entries(c.req.param()).map(([part, text]) => [fieldOf(route, part), text]);
  if (hasBody(route)) {
    const body = await readJsonBody(c.req.raw, limitBytes);
    // Whoever sends a body is about to write: writers of one turn share a commit.
    await endOfTurn();
    refuseTwice(body, parts);
    return { ...route.otherwise, ...withoutNothing(route, body), ...Object.fromEntries(parts) };
  }
  const asked = Object.entries(route.query ?? {}).flatMap(([name, { field, isStrict }]) => {
    const schema = input.shape[field];
    const value = schema === undefined ? undefined : valueIn(c, name, schema, isStrict === true);
    return value === undefined ? [] : [[field, value]];
  });
  return { ...route.otherwise, ...Object.fromEntries([...asked, ...parts]) };
}

/** What stands in the path is no member of the body. */
function refuseTwice(body: Json, parts: readonly (readonly string[])[]): void {
  const [field] = parts.flatMap(([name = ""]) => (name in body ? [name] : []));
  if (field === undefined) return;
  const message = `${field}: expected none in the body, as the path says it`;
  throw new CortexError("ERR_UNKNOWN_FIELD", message, { field });
}

/** A body without what is not said: null, and an empty text where the route knows what is meant then. */
function withoutNothing({ otherwise = {} }: Route, body: Json): Json {
  const said = Object.entries(body).filter(
    ([name, value]) => !(value === null || value === "") || !Object.hasOwn(otherwise, name),
  );
  return Object.fromEntries(said);
}

/** A parameter, read as its field wants it; `undefined` counts as not given. */
function valueIn(
  c: Context<Env>,
  name: string,
  schema: z.core.$ZodType,
  isStrict: boolean,
): unknown {
  const text = c.req.query(name) ?? "";
  const { type } = unwrapped(schema)._zod.def;
  if (type === "array") {
    const items = (c.req.queries(name) ?? []).flatMap((list) => list.split(","));
    return items.map((item) => item.trim()).filter((item) => item !== "");
  }
  if (text.trim() === "") return undefined;
  if (type === "boolean") return /^(1|true|yes|y)$/i.test(text) ? true : undefined;
  const value = type === "number" && /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  const parsed = z.safeParse(schema, value);
  if (parsed.success || type === "enum") return value;
  if (!isStrict) return undefined;
  const [issue] = parsed.error.issues;
  const expected = issue === undefined ? "another value" : expectedOf(issue);
  const details = { field: name, expected };
  throw new CortexError("ERR_INVALID", `${name}: expected ${expected}`, details);
}

/** What memgraph sends when there is nothing to tell. */
const PING = "event: ping\ndata: {}\n\n";

/** An id has to come back in a header, beside all others. */
const ID_CHARS_MAX = 4096;

/** Answers with events of graphs. */
function sendGraphEvents(
  door: HubDoor,
  streams: Streams,
  { request, seen }: { readonly request: Request; readonly seen: Seen },
): Promise<Response> {
  const named = new URL(request.url).searchParams.getAll("graph");
  const given = named.flatMap((text) => text.split(",")).filter((one) => one !== "");
  const graphs = [...new Set(given.map(graphName))];
  const from = positionsIn(request.headers.get("last-event-id"), graphs);
  return sendStream(seen, streams, (signal, serve) =>
    door.use(async (hub) => {
      const events = await memgraph(hub).subscribe({
        signal,
        ...(graphs.length === 0 ? {} : { graphs }),
        ...(from === undefined ? {} : { from }),
      });
      await serve(events, {
        begun: Promise.resolve(),
        eventOf: (item) => graphEvent(item as MemgraphEvent, idOf(events, graphs)),
        pulse: PING,
      });
    }),
  );
}

/** memgraph shows no ties in events. */
const NO_TIES = { outbound: [], inbound: [] };

function graphEvent(event: MemgraphEvent, id: string | undefined): string {
  switch (event.type) {
    case "node":
      return eventText("node.written", nodeJson(event.node), id);
    case "edge":
      return eventText("edge.written", edgeJson(event.edge), id);
    case "edgeRemoved":
      return eventText("edge.removed", edgeJson(event.edge), id);
    case "graph":
      return eventText("graph.created", restGraphJson(graphJson(event.graph, NO_TIES)), id);
  }
}

/** Where the followed graphs stand. */
function idOf(events: MemgraphSubscription, graphs: readonly string[]): string | undefined {
  const positions = events.positions();
  const [only, ...others] = graphs;
  if (only !== undefined && others.length === 0) return String((positions[only] ?? 0) - 1);
  const followed = Object.entries(positions).filter(
    ([graph]) => graphs.length === 0 || graphs.includes(graph),
  );
  const text = Buffer.from(JSON.stringify(Object.fromEntries(followed))).toString("base64url");
  return text.length > ID_CHARS_MAX ? undefined : text;
}

/** The positions that an id names. */
function positionsIn(
  id: string | null,
  graphs: readonly string[],
): Record<string, number> | undefined {
  if (id === null || id === "") return undefined;
  const [only, ...others] = graphs;
  if (only !== undefined && others.length === 0 && /^\d{1,15}$/.test(id)) {
    return { [only]: Number(id) + 1 };
  }
  const positions = decoded(id);
  if (positions !== undefined) return positions;
  throw new HttpFailure(
    "malformed",
    `last-event-id: expected the id of an event of this stream, got ${describe(id)}`,
  );
}

function decoded(id: string): Record<string, number> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(id, "base64url").toString("utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const isFit = Object.values(value).every((one) => Number.isSafeInteger(one) && one >= 0);
    return isFit ? (value as Record<string, number>) : undefined;
  } catch {
    return undefined;
  }
}
