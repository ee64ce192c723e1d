/**
 * From the tables of this folder to a server of the protocol's SDK. The `sdk-*.ts` files are the only
 * ones that know the SDK; everything that is said and done stands in the tables.
 *
 * Promise: arguments are checked by the tool, not by the SDK, so that a bad argument fails with the
 * code it has at every door. A failing tool answers with a result that says so; misuse of the protocol,
 * an unknown tool, a resource that is not there, is a JSON-RPC error. Lists do not change while a
 * server runs, and it does not claim otherwise; only that of graphs does, and it tells.
 */

import { isCortexError } from "@cortex-memory/core";
import { expectedOf } from "@cortex-memory/core/contract";
import {
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { Profile } from "../config.js";
import { ERROR_STATUS } from "../error-status.js";
import { packageVersion } from "../version.js";
import type { JsonSchema } from "./define.js";
import { type Door, namedAccess, type Tool, type ToolAnswer, type ToolContext } from "./define.js";
import { instructionsFor } from "./instructions.js";
import {
  completions,
  type Following,
  followChanges,
  followGraphs,
  GRAPH_TEMPLATE,
  graphResource,
  LINEAGE_TEMPLATE,
  listGraphResources,
  MEMORY_TEMPLATE,
  promptsFor,
  type ResourceContent,
  readGraph,
  readGraphResource,
  readLineageResource,
  readMemory,
} from "./resources.js";
import { STANDARD_TOOLS } from "./tools-standard.js";

/** What a server of one connection or request is made with. */
interface ServerOptions {
  /**
   * Who tells subscribers of resources about changes: this server, from the first subscription on
   * (`asked`) or from its start (`always`), somebody else (`elsewhere`), or `nobody`.
   */
  readonly changes: "asked" | "always" | "elsewhere" | "nobody";
}

/** Builds the server behind one connection or request. */
export async function buildServer(door: Door, { changes }: ServerOptions): Promise<McpServer> {
  const hub = door.profile === "standard" ? undefined : door.hub;
  const tools = await shownTools(door);
  const subscribe = door.access.kind === "owner" && changes !== "nobody";
  // Only a connection that stays can be told that a graph was made.
  const followed = subscribe && changes !== "elsewhere" ? hub : undefined;
  const server = new McpServer(
    { name: "cortex", title: "Cortex memory", version: VERSION },
    {
      instructions: instructionsFor(tools),
      capabilities: {
        tools: { listChanged: false },
        resources: {
          listChanged: followed !== undefined,
          subscribe: subscribe && door.profile !== "memgraph",
        },
        prompts: { listChanged: false },
      },
    },
  );
  for (const tool of tools) addTool(server, door, tool);
  // memgraph has graphs and lineages as resources, and no memory that is there before anything was written.
  if (door.profile !== "memgraph") addResources(server, door);
  addPrompts(server, tools);
  if (hub !== undefined) addGraphs(server, { ...door, hub });
  const followings: Following[] = [];
  const follows = subscribe && changes !== "elsewhere" && door.profile !== "memgraph";
  if (follows) addSubscriptions(server, door, changes, followings);
  if (followed !== undefined) {
    const tell = (): void => server.sendResourceListChanged();
    followings.push(followGraphs({ ...door, hub: followed }, tell, door.log));
  }
  blameTheCaller(server);
  server.server.onclose = () => {
    for (const following of followings) void following.end();
  };
  return server;
}

/** The tools of a profile; what the standard one does not need is loaded for whoever asks for another. */
async function toolsFor(profile: Profile, hasHub: boolean): Promise<readonly Tool[]> {
  if (profile === "standard") return STANDARD_TOOLS;
  const { toolsOf } = await import("./tools.js");
  return toolsOf(profile, hasHub);
}

/** A handler of the SDK, with its types aside. */
type Handler = (...args: readonly unknown[]) => unknown;

/**
 * The SDK takes a request of the wrong shape (an address that is no text, an argument that is a number)
 * for a fault of its own. Here every handler that was added says that it is the caller's.
 */
function blameTheCaller({ server }: McpServer): void {
  const { _requestHandlers: handlers } = server as unknown as {
    readonly _requestHandlers: Map<string, Handler>;
  };
  for (const [method, handler] of handlers) {
    handlers.set(method, async (request, ...rest) => {
      try {
        return await handler(method === "tools/call" ? withoutNull(request) : request, ...rest);
      } catch (error) {
        const issue = issueIn(error);
        if (issue === undefined) throw error;
        const message = `${issue.path.join(".")}: expected ${expectedOf(issue)}, got another value`;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
      }
    });
  }
}

/** A call whose arguments are null, as some clients say that there are none. */
function withoutNull(request: unknown): unknown {
  const { params } = request as { readonly params?: { readonly arguments?: unknown } };
  if (params?.arguments !== null) return request;
  const { arguments: _, ...others } = params;
  return { ...(request as object), params: others };
}

/** What a schema of the SDK found wrong, which it throws as a text. */
function issueIn(error: unknown): z.core.$ZodIssue | undefined {
  if (!(error instanceof Error) || error instanceof ProtocolError) return undefined;
  try {
    const [issue] = JSON.parse(error.message) as readonly z.core.$ZodIssue[];
    return issue?.path[0] === "params" ? issue : undefined;
  } catch {
    return undefined;
  }
}

/** Read once: a server is made for every request over HTTP. */
const VERSION = packageVersion();

/** A schema that is announced; values pass it as they are, because the tool checks them. */
function announcing(schema: () => JsonSchema): StandardSchemaWithJSON {
  const plain = (): Record<string, unknown> => ({ ...schema() });
  return {
    "~standard": {
      version: 1,
      vendor: "cortex",
      validate: (value) => ({ value }),
      jsonSchema: { input: plain, output: plain },
    },
  };
}

function addTool(server: McpServer, door: Door, tool: Tool): void {
  const { name, title, description } = tool;
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: announcing(tool.inputSchema),
      outputSchema: announcing(tool.outputSchema),
      annotations: annotationsOf(tool),
    },
    async (given: unknown, context: ServerContext) =>
      resultOf(await answered(door, tool, given, clientName(server, context))),
  );
}

/** What a call of a tool answers. */
function answered(door: Door, tool: Tool, given: unknown, client: unknown): Promise<ToolAnswer> {
  const run = runTool(door, tool, given, {
    access: namedAccess(door.access, client),
    ...(door.onPlan === undefined ? {} : { onPlan: door.onPlan }),
    location: door.location,
    settings: door.settings,
    log: door.log,
    ...(door.hub === undefined ? {} : { hub: door.hub }),
  });
  door.onRun?.(run);
  return run;
}

/** An answer as the protocol writes it. */
function resultOf({ text, structured, isError }: ToolAnswer): CallToolResult {
  return {
    content: [{ type: "text", text }],
    ...(structured === undefined ? {} : { structuredContent: { ...structured } }),
    ...(isError === true ? { isError } : {}),
  };
}

/** The same as JSON; where the text is the JSON of the structured answer already, that is put in as it is. */
function resultJson(answer: ToolAnswer): string {
  const { text, isJson, isError } = answer;
  if (isJson !== true || isError === true) return JSON.stringify(resultOf(answer));
  return `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}`;
}

async function runTool(
  door: Door,
  tool: Tool,
  given: unknown,
  context: ToolContext,
): Promise<ToolAnswer> {
  if (door.beforeRun !== undefined) await door.beforeRun();
  return await tool.run(door.memory, given, context);
}

/** Calls a tool by its name without the SDK, for the JSON of its result; `undefined` where there is none of this name. */
export type DirectCalls = (name: string, given: unknown) => Promise<string> | undefined;

/** The tools of a server for whoever reads its requests, once a client of an older revision has introduced itself. */
export async function directCalls(server: McpServer, door: Door): Promise<DirectCalls> {
  const tools = new Map((await shownTools(door)).map((tool) => [tool.name, tool]));
  return (name, given) => {
    const tool = tools.get(name);
    if (tool === undefined) return undefined;
    return answered(door, tool, given, server.server.getClientVersion()?.name).then(resultJson);
  };
}

function shownTools(door: Door): Promise<readonly Tool[]> {
  return toolsFor(door.profile, door.profile !== "standard" && door.hub !== undefined);
}

/** What a client may do without asking a person follows from these. */
function annotationsOf({ title, effect, idempotent }: Tool): ToolAnnotations {
  return {
    title,
    readOnlyHint: effect === "read",
    destructiveHint: effect === "destroy",
    idempotentHint: idempotent,
    openWorldHint: false,
  };
}

/** What the client calls itself: with every request, or once at the handshake of older revisions. */
function clientName(server: McpServer, { mcpReq }: ServerContext): unknown {
  const envelope = mcpReq.envelope as { readonly [key: string]: unknown } | undefined;
  const told = envelope?.[CLIENT_INFO_META_KEY] as { readonly name?: unknown } | undefined;
  return (told ?? server.server.getClientVersion())?.name;
}

function addResources(server: McpServer, door: Door): void {
  const { name: graph, uri: graphUri, ...aboutGraph } = graphResource(door.memory);
  server.registerResource(graph, graphUri, aboutGraph, async () => ({
    contents: [...(await asProtocol(() => readGraph(door), door))],
  }));
  const { name, uriTemplate, ...about } = MEMORY_TEMPLATE;
  const template = new ResourceTemplate(uriTemplate, {
    list: undefined,
    complete: {
      actor: (start) => completions(door.memory, "actor", start),
      type: (start) => completions(door.memory, "type", start),
    },
  });
  server.registerResource(name, template, about, async ({ href }) => {
    return contentsAt(href, await asProtocol(() => readMemory(door, href), door));
  });
}

/** Runs something whose failure no tool result can carry. */
async function asProtocol<T>(run: () => Promise<T>, door: Door): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isCortexError(error)) {
      const { code, message } = error;
      throw new ProtocolError(ERROR_STATUS[code].mcp, message, { code });
    }
    door.log(
      `resource: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    throw new ProtocolError(ProtocolErrorCode.InternalError, "a fault of cortex itself");
  }
}

function addGraphs(server: McpServer, door: Door & Required<Pick<Door, "hub">>): void {
  const { name: graph, uriTemplate: graphUri, ...aboutGraph } = GRAPH_TEMPLATE;
  const list = async () => ({ resources: await asProtocol(() => listGraphResources(door), door) });
  const graphs = new ResourceTemplate(graphUri, { list });
  server.registerResource(graph, graphs, aboutGraph, async ({ href }, { graph_id: id }) =>
    contentsAt(href, await asProtocol(() => readGraphResource(door, href, String(id)), door)),
  );
  const { name: lineage, uriTemplate: lineageUri, ...aboutLineage } = LINEAGE_TEMPLATE;
  const lineages = new ResourceTemplate(lineageUri, { list: undefined });
  server.registerResource(lineage, lineages, aboutLineage, async ({ href }, { lineage_id: id }) =>
    contentsAt(href, await asProtocol(() => readLineageResource(door, href, String(id)), door)),
  );
}

/** What was read, or the failure that says that nothing is there. */
function contentsAt(uri: string, contents: readonly ResourceContent[] | undefined) {
  if (contents === undefined) throw new ResourceNotFoundError(uri);
  return { contents: [...contents] };
}

function addPrompts(server: McpServer, tools: readonly Tool[]): void {
  for (const { name, title, description, args, text } of promptsFor(tools)) {
    server.registerPrompt(name, { title, description, argsSchema: args }, (given) => ({
      messages: [{ role: "user", content: { type: "text", text: text(given) } }],
    }));
  }
}

/** Most URIs that one connection of an older revision may subscribe to. */
const SUBSCRIBED_MAX = 1024;

function addSubscriptions(
  server: McpServer,
  door: Door,
  changes: "asked" | "always",
  followings: Following[],
): void {
  const { server: protocol } = server;
  const { uri: graphUri } = graphResource(door.memory);
  const subscribed = new Set<string>();
  let isFollowing = false;
  const follow = (): void => {
    if (isFollowing) return;
    isFollowing = true;
    const following = followChanges(
      door.memory,
      (uri) => {
        // A connection of the newest revision filters by itself what its subscriptions ask for.
        if (changes === "asked" && !subscribed.has(uri)) return;
        protocol.sendResourceUpdated({ uri }).catch(() => {
          // The connection is gone; so is whoever wanted to know.
        });
      },
      door.log,
    );
    followings.push(following);
  };
  if (changes === "always") {
    follow();
    return;
  }
  protocol.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    const isThere = uri === graphUri || (await asProtocol(() => readMemory(door, uri), door));
    if (isThere === undefined) throw new ResourceNotFoundError(uri);
    if (subscribed.size >= SUBSCRIBED_MAX && !subscribed.has(uri)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "too many subscriptions");
    }
    subscribed.add(uri);
    follow();
    return {};
  });
  protocol.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
}
