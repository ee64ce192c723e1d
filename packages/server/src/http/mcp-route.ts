/**
 * `/mcp`: the MCP door of this server, for its own actor and, below the path of an actor, for any. The
 * gate in front of all routes has decided who may call; the protocol is loaded when a client first asks.
 */
import type { Access } from "@cortex-memory/core";
import { throughDoor } from "@cortex-memory/core/doors";
import { PROFILES, type Profile } from "../config.js";
import { AGENT_ACCESS } from "../mcp/define.js";
import type { McpCaller, McpHandler, McpMount } from "../mcp/sdk-http.js";
import { clean } from "../render/ink.js";
import type { AppOptions } from "./app.js";
import {
  accessAt,
  isHost,
  loweredBy,
  type Replays,
  readPresented,
  scopeOf,
  withStranger,
} from "./guard.js";
import { endOfTurn } from "./perform.js";
import { commonHeaders, HttpFailure, planInto, type Seen } from "./respond.js";
import { readBytes } from "./routes.js";

/** The MCP routes of a server. */
export interface McpRoute {
  /** The paths, with and without an actor. */
  readonly paths: readonly [string, string];
  readonly methods: readonly string[];
  answer(request: Request, actor: string, seen: Seen): Promise<Response>;
  /** Ends subscriptions and waits for what is being answered. */
  close(): Promise<void>;
}

/** Makes the routes. */
export function mcpRoute(made: AppOptions, replays: Replays): McpRoute {
  let loading: Promise<McpHandler> | undefined;
  const mount: McpMount = {
    location: made.location,
    settings: made.settings,
    log: (line) => made.writeLog(`${JSON.stringify({ level: "error", mcp: clean(line) })}\n`),
    bodyBytesMax: made.bodyLimitBytes,
    beforeRun: endOfTurn,
    hub: () => made.stores.hub.use(async (opened) => opened),
    withStore: ({ actor, store }, work) =>
      made.stores.use({ cli: { command: "", group: "store", store } }, actor, work),
  };
  const load = async (): Promise<McpHandler> => {
    const { mcpHandler } = await import("../mcp/sdk-http.js");
    return mcpHandler(mount);
  };
  return {
    paths: ["/mcp", "/v1/actors/:actor/mcp"],
    methods: ["POST", "GET", "DELETE"],
    async answer(request, actor, seen) {
      seen.operation = "mcp";
      loading ??= load();
      const handler = await loading;
      const profile = profileOf(request);
      const access = await mcpAccess(request, actor, made, replays);
      const response = await handler(request, { actor, access, profile, ...watching(seen) });
      for (const [name, value] of Object.entries(commonHeaders(seen))) {
        if (!response.headers.has(name)) response.headers.set(name, value);
      }
      return response;
    },
    async close() {
      await (await loading)?.close();
    },
  };
}

/** An answer may begin long before the tool is done: the line of the log waits for that. */
function watching(seen: Seen): Pick<McpCaller, "onPlan" | "onDone"> {
  let onDone = (): void => {};
  seen.ends = new Promise((resolve) => {
    onDone = resolve;
  });
  return { onPlan: planInto(seen), onDone };
}

/** Methods of the protocol that tell of changes, which are the owner's to follow. */
const FOLLOWS: readonly unknown[] = ["subscriptions/listen", "resources/subscribe"];

/** Whether a body asks to be told of changes; what is no JSON is refused by the protocol. */
function followsChanges(body: Uint8Array): boolean {
  try {
    const sent: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    const messages: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
    return messages.some((one) => {
      const isObject = typeof one === "object" && one !== null && "method" in one;
      return isObject && FOLLOWS.includes(one.method);
    });
  } catch {
    return false;
  }
}

/** What the caller may see, and in whose name it speaks: as its scope grants, as the user, or as an agent. */
async function mcpAccess(
  request: Request,
  actor: string,
  made: AppOptions,
  replays: Replays,
): Promise<Access> {
  if (scopeOf(request) === undefined) {
    const isUser = isHost(request, made.options.hostToken);
    return loweredBy(request, isUser ? throughDoor("host") : AGENT_ACCESS);
  }
  // Other methods open streams.
  const isPost = request.method === "POST";
  const nowMs = made.clock();
  const presented = readPresented(request, nowMs);
  if (presented === undefined || !isPost || FOLLOWS.includes(request.headers.get("mcp-method"))) {
    throw followsNothing();
  }
  const at = { stores: made.stores, actor, nowMs };
  const access = await withStranger(at, presented, (memory) =>
    accessAt(memory, presented, { nowMs, replays }),
  );
  // A copy is read, because the protocol reads the body itself.
  const body = await readBytes(request.clone(), made.bodyLimitBytes);
  presented.signed?.checkBody(body);
  if (followsChanges(body)) throw followsNothing();
  return access;
}

function followsNothing(): HttpFailure {
  return new HttpFailure("unauthenticated", "a scope does not open what follows changes");
}

function profileOf(request: Request): Profile {
  const asked = new URL(request.url).searchParams.get("profile") ?? PROFILES[0];
  const profile = PROFILES.find((one) => one === asked);
  if (profile !== undefined) return profile;
  throw new HttpFailure("malformed", `profile: expected one of ${PROFILES.join(", ")}`);
}
