/**
 * `cortex serve`: the HTTP door as a process. It says where everything is and what to paste, serves until
 * it is told to stop, and then finishes what it accepted. A second signal ends it at once.
 *
 * Promise: stdout holds the addresses, under `--json` one document; stderr holds the log, one JSON line
 * per request.
 */
import { CortexError } from "@cortex-memory/core";
import { checkActorName, quarantinedStores } from "@cortex-memory/core/doors";
import {
  isAddress,
  isDatabaseAddress,
  type ServeSettingName,
  type Setting,
  type Settings,
  serveSettingsFor,
  serviceSettingsFor,
  settingsFor,
  shownLocation,
  shownSettings,
} from "../config.js";
import { UsageError } from "../error-status.js";
import type { AppOptions } from "../http/app.js";
import { type RunningServer, startServer } from "../http/server.js";
import { Stores } from "../http/stores.js";
import type { Operation } from "../operations/define.js";
import { clean, makeInk, wantsColour } from "../render/ink.js";
import { backgroundIn } from "../services.js";
import { readServeOptions, type ServeOptions } from "../settings.js";
import { commandWords, packageVersion } from "../version.js";
import type { Host } from "./host.js";
import { secretAt } from "./open-store.js";
import type { GlobalFlags } from "./program.js";

/** The flags of `cortex serve`. */
type ServeFlags = { readonly [name in ServeSettingName]?: string };

/** Serves until told to stop; the result is the exit code. */
export async function runServe(
  host: Host,
  globals: GlobalFlags,
  flags: ServeFlags,
  operations: readonly Operation[],
): Promise<number> {
  const settings = settingsFor(globals, host);
  const serve = serveSettingsFor(flags, host);
  const options = readServeOptions(serve, (path) => secretAt(path, serve.tokenFile));
  if (options.moveIn !== undefined) {
    const { moveIn } = await import("./move-in.js");
    await moveIn(host, { settings, from: options.moveIn.value, flag: options.moveIn.flag });
  }
  const stopped = stopSignal(host);
  const made = serverOf(host, { settings, serve, options, operations });
  let server: RunningServer;
  try {
    // A database that cannot be opened is told of at once, not to every caller.
    if (isDatabaseAddress(made.location)) await made.stores.hub.use(async () => {});
    server = await startServer(made);
  } catch (error) {
    await made.stores.close();
    throw listenFailure(error, options);
  }
  const { variable } = serve.token;
  announce(host, server, { settings, options, variable, json: globals.json === true });
  await tellOfQuarantine(host, made);
  await stopped;
  await server.close();
  return 0;
}

interface Served {
  readonly settings: Settings;
  readonly serve: { readonly [name in ServeSettingName]: Setting };
  readonly options: ServeOptions;
  readonly operations: readonly Operation[];
}

function serverOf(host: Host, { settings, serve, options, operations }: Served): AppOptions {
  const location = settings.data.value;
  if (location === "" || (isAddress(location) && !isDatabaseAddress(location))) {
    const got = location === "" ? "nothing" : "an address";
    throw new UsageError(
      `--data: expected a folder, memory: or postgres://…, which this server would serve, got ${got}`,
    );
  }
  return {
    operations,
    options,
    actor: checkActorName(settings.actor.value),
    version: packageVersion(),
    stores: new Stores({ location, isFolder: host.isFolder, ...backgroundIn(host.env) }),
    bodyLimitBytes: options.bodyLimitBytes,
    location,
    settings: shownSettings([
      settings.data,
      settings.actor,
      ...Object.values(serviceSettingsFor(host)),
      ...Object.values(serve),
    ]),
    writeLog: host.err.write,
    clock: Date.now,
    nowMs: host.nowMs,
  };
}

/** Looks at what ended the server before, and says in the log which stores are kept apart. */
async function tellOfQuarantine(host: Host, { stores, location }: AppOptions): Promise<void> {
  // Opening the hub looks; where it cannot be opened, the first request says so.
  await stores.hub.use(async () => {}).catch(() => undefined);
  for (const { store, problem } of await quarantinedStores(location)) {
    const time = new Date().toISOString();
    const line = { time, level: "error", event: "quarantined", store, problem };
    host.err.write(`${JSON.stringify(line)}\n`);
  }
}

/** Resolves when the process is asked to end; asked again, it ends at once. */
function stopSignal(host: Host): Promise<void> {
  return new Promise((resolve) => {
    let isAsked = false;
    host.onInterrupt(() => {
      if (isAsked) process.exit(130);
      isAsked = true;
      resolve();
    });
  });
}

/** A port that is taken, or not ours to take, in words. */
function listenFailure(error: unknown, { host, port }: ServeOptions): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!/^E[A-Z]+$/.test(code)) return error;
  const why = code === "EADDRINUSE" ? "something else listens there" : code;
  const message = `--port: cannot listen on ${host} port ${port}: ${why}; try another --port`;
  return new CortexError("ERR_INVALID", message, { field: "port", got: String(port) }, error);
}

interface Said {
  readonly settings: Settings;
  readonly options: ServeOptions;
  /** The one that holds the token. */
  readonly variable: string;
  readonly json: boolean;
}

function announce(host: Host, { url }: RunningServer, said: Said): void {
  const { settings, options, variable, json } = said;
  const [data, actor] = [shownLocation(settings.data.value), settings.actor.value];
  const rest = `${url}/v1`;
  const mcp = `${url}/mcp`;
  const openapi = `${url}/openapi.json`;
  if (json) {
    const { token } = options;
    const document = { url, rest, mcp, openapi, data, actor, token: token !== undefined };
    host.out.write(`${JSON.stringify(document, null, 2)}\n`);
    return;
  }
  const ink = makeInk(wantsColour(host.out, host.env));
  const bearer = options.token === undefined ? "" : ` -H "Authorization: Bearer $${variable}"`;
  const who =
    options.token === undefined
      ? "Anybody on this machine may call; nobody else can."
      : "Every call has to bear the admin token.";
  host.out.write(
    [
      `${ink.bold("cortex")} serves ${clean(data)}, actor ${clean(actor)}. ${who}`,
      "",
      `  page      ${ink.cyan(`${url}/`)}`,
      `  REST      ${ink.cyan(rest)}`,
      `  MCP       ${ink.cyan(mcp)}`,
      `  OpenAPI   ${ink.cyan(openapi)}`,
      `  health    ${ink.cyan(`${url}/healthz`)}, /readyz, /metrics`,
      "",
      "Try, in another terminal:",
      "",
      `  curl${bearer} ${rest}/write -H "Content-Type: application/json" \\`,
      `    -d '{"type": "fact", "text": "Ada lives in Porto", "externalId": "home"}'`,
      `  curl${bearer} "${rest}/get?id=home"`,
      "",
      "Into the configuration of an agent that takes MCP over HTTP, paste:",
      "",
      `  ${JSON.stringify(mcpBlock(mcp, options.token !== undefined))}`,
      "",
      `For one that starts its servers itself: ${commandWords()} mcp config claude`,
      "",
      `${ink.dim("The log follows on stderr. Ctrl-C ends it.")}`,
      "",
    ].join("\n"),
  );
}

/** What clients call a server over HTTP; the token itself is never printed. */
function mcpBlock(url: string, hasToken: boolean): object {
  const headers = hasToken ? { headers: { Authorization: "Bearer <the admin token>" } } : {};
  return { mcpServers: { cortex: { type: "http", url, ...headers } } };
}
