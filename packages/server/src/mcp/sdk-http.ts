/**
 * MCP over HTTP: one function from a request to a response, for the HTTP server to mount at a path of
 * its own. Who may call is decided before a request comes here, and so is the store: whatever mounts
 * this passes both on.
 *
 * Promises: requests are served one by one, without sessions, in the newest revision of the protocol
 * and in the older ones. A store is held open until the answer has been sent, and for as long as
 * somebody is subscribed to its resources. `close` ends subscriptions and waits for the rest.
 */
import type { Access, Cortex } from "@cortex-memory/core";
import type { OnPlan } from "@cortex-memory/core/contract";
import {
  createMcpHandler,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import type { Profile } from "../config.js";
import type { Door } from "./define.js";
import { followChanges } from "./resources.js";
import { buildServer } from "./sdk-server.js";

/** What the handler needs from the server that mounts it. */
export interface McpMount
  extends Pick<Door, "location" | "settings" | "hub" | "log" | "beforeRun"> {
  /** Opens the store of an actor, or makes it, for as long as the work takes; `none` is one that is not kept. */
  readonly withStore: <T>(
    whose: { readonly actor: string; readonly store: "create" | "none" },
    work: (memory: Cortex) => Promise<T>,
  ) => Promise<T>;
  /** The largest body of a request, in bytes. */
  readonly bodyBytesMax: number;
}

/** Who is asking for whose memory. */
export interface McpCaller {
  readonly actor: string;
  readonly access: Access;
  readonly profile: Profile;
  /** Told how a read was carried out. */
  readonly onPlan?: OnPlan;
  /** Told when all of the request is done, which is after the answer began. */
  readonly onDone?: () => void;
}

/** The MCP door of an HTTP server. */
export interface McpHandler {
  (request: Request, caller: McpCaller): Promise<Response>;
  /** Ends subscriptions, waits for what is being answered; later requests fail. */
  close(): Promise<void>;
}

/** A request that stays open for as long as its subscription does. */
const LISTEN = "subscriptions/listen";

/** Makes the handler. */
export function mcpHandler(mount: McpMount): McpHandler {
  const served = new Map<string, Served>();
  const running = new Set<Promise<unknown>>();
  const servedFor = (actor: string): Served => {
    const known = served.get(actor) ?? serveActor(mount, actor);
    served.set(actor, known);
    return known;
  };
  const answer = (request: Request, caller: McpCaller): Promise<Response> =>
    new Promise((resolve, reject) => {
      // memgraph's clients speak of graphs by name: the actor's own must not come to be for their sake.
      const store = caller.profile === "memgraph" ? "none" : "create";
      const held = mount.withStore({ actor: caller.actor, store }, async (memory) => {
        const runs: Promise<unknown>[] = [];
        const door = {
          ...mount,
          ...caller,
          memory,
          onRun: (run: Promise<unknown>) => runs.push(run),
        };
        const { response, sent } = watched(await servedFor(caller.actor).fetch(request, door));
        resolve(response);
        // A subscription holds the store by itself, and ends when the server does.
        if (request.headers.get("mcp-method") !== LISTEN) await sent;
        // A client may go away before its answer: the work goes on to its end.
        await Promise.allSettled(runs);
      });
      running.add(held);
      held.catch(reject).finally(() => {
        running.delete(held);
        caller.onDone?.();
      });
    });
  return Object.assign(answer, {
    async close() {
      await Promise.allSettled([...running]);
      await Promise.all([...served.values()].map((one) => one.close()));
    },
  });
}

/** The gate of the HTTP server has looked at tokens; the protocol need not. */
const NOBODY = { token: "", clientId: "", scopes: [] };

/** What is kept for an actor: the handler of the SDK, and who listens. */
interface Served {
  fetch(request: Request, door: Door): Promise<Response>;
  close(): Promise<void>;
}

function serveActor(mount: McpMount, actor: string): Served {
  const bus = changesOf(mount, actor);
  const handler: McpHttpHandler = createMcpHandler(
    // Without a connection that stays, older revisions cannot be told of changes.
    ({ authInfo, era }) =>
      buildServer(authInfo?.extra?.door as Door, {
        changes: era === "modern" ? "elsewhere" : "nobody",
      }),
    {
      bus,
      maxRequestBodySize: mount.bodyBytesMax,
      onerror: (error) => mount.log(`protocol: ${error.message}`),
    },
  );
  return {
    // What comes with a request reaches the server that is made for it by this member, untouched.
    fetch: (request, door) => handler.fetch(request, { authInfo: { ...NOBODY, extra: { door } } }),
    async close() {
      await handler.close();
      await bus.end();
    },
  };
}

/** The events of one actor's resources: its journal is followed while anybody listens. */
function changesOf(
  mount: McpMount,
  actor: string,
): ServerEventBus & { readonly end: () => Promise<void> } {
  const listeners = new Set<(event: ServerEvent) => void>();
  let stop: (() => void) | undefined;
  let following: Promise<void> = Promise.resolve();
  const publish = (event: ServerEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const start = (): void => {
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    following = mount
      .withStore({ actor, store: "create" }, async (memory) => {
        const tell = (uri: string): void => publish({ kind: "resource_updated", uri });
        const changes = followChanges(memory, tell, mount.log);
        await stopped;
        await changes.end();
      })
      .catch((error: unknown) => mount.log(`subscriptions of ${actor}: ${String(error)}`));
  };
  const end = (): void => {
    stop?.();
    stop = undefined;
  };
  return {
    publish,
    subscribe(listener) {
      listeners.add(listener);
      if (stop === undefined) start();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) end();
      };
    },
    async end() {
      end();
      await following;
    },
  };
}

/** A response, and when the last of it was taken or nobody takes it any more. */
function watched(response: Response): {
  readonly response: Response;
  readonly sent: Promise<void>;
} {
  const { body, status, statusText, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (body === null || !isStream) return { response, sent: Promise.resolve() };
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sent = body.pipeTo(writable).catch(() => {
    // The client went away in the middle.
  });
  return { response: new Response(readable, { status, statusText, headers }), sent };
}
