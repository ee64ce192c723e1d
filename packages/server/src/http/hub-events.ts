/**
 * `/v1/stream`: what happens in all graphs, or in those that `graph` names, with memgraph's events.
 *
 * An id says where every followed graph stood, so that a client that returns with it misses nothing: the
 * seq where one graph is followed, else all positions together. With so many graphs that an id would not
 * fit a header, events have none; name the graphs then. A stream without an id in its past begins now.
 */
import { describe } from "@cortex-memory/core/contract";
import {
  graphName,
  type MemgraphEvent,
  type MemgraphSubscription,
  memgraph,
} from "@cortex-memory/core/memgraph";
import { edgeJson, graphJson, nodeJson, restGraphJson } from "../memgraph/shapes.js";
import { eventText, type Streams, sendStream } from "./events.js";
import { HttpFailure } from "./problem.js";
import type { Seen } from "./respond.js";
import type { HubDoor } from "./stores.js";

/** What memgraph sends when there is nothing to tell. */
const PING = "event: ping\ndata: {}\n\n";

/** An id has to come back in a header, beside all others. */
const ID_CHARS_MAX = 4096;

/** Answers with events of graphs. */
export function sendGraphEvents(
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
