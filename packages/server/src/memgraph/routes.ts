/**
 * memgraph's routes as a list: those of the calls that have one, and the two that are no calls. The
 * router, the OpenAPI document and the reference page go through it.
 */
import { listOf } from "@cortex-memory/core/contract";
import * as z from "zod";
import type { MemgraphCall, Route } from "./call.js";
import { MEMGRAPH_CALLS } from "./table.js";

/** A route of memgraph's: that of a call, or one that is no call. */
export interface MemgraphRoute extends Pick<MemgraphCall, "summary" | "input" | "output"> {
  readonly name: string;
  readonly route: Route;
  /** The answer goes on, as events. */
  readonly isStream?: true;
}

/** What tells about the server itself. */
export const INFO: MemgraphRoute = {
  name: "info",
  summary: "Which version serves, and how it stores",
  input: z.strictObject({}),
  output: z.object({ version: z.string(), time: z.string(), store: z.string() }),
  route: { method: "GET", path: "/info" },
};

/** What happens in graphs. */
export const STREAM: MemgraphRoute = {
  name: "stream",
  summary: "What happens in graphs, as it happens",
  input: z.strictObject({ graphs: listOf(z.string()).exactOptional() }),
  output: z.object({}),
  route: {
    method: "GET",
    path: "/stream",
    query: {
      graph: { field: "graphs", help: "only this graph; repeated, or separated by commas" },
    },
  },
  isStream: true,
};

/** Every route of memgraph's. */
export const MEMGRAPH_ROUTES: readonly MemgraphRoute[] = [
  INFO,
  STREAM,
  ...Object.entries<MemgraphCall>(MEMGRAPH_CALLS).flatMap(([name, call]) =>
    call.route === undefined ? [] : [{ ...call, name, route: call.route }],
  ),
];

/** The field that a part of a path is. */
export function fieldOf({ parts }: Route, part: string): string {
  return parts?.[part] ?? "graph_id";
}

/** Whether it writes, and may be asked again under an idempotency key. */
export function takesKey({ method }: Route): boolean {
  return method !== "GET";
}

/** Whether what is asked comes in a body. */
export function hasBody({ method }: Route): boolean {
  return method === "POST" || method === "PATCH";
}
