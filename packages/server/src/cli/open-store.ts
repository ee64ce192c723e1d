/**
 * From `--data` to an open store, for every command: a folder, `memory:`, or the address of a running
 * server, which has services of its own and may want its token.
 *
 * What works on files of the store's own machine cannot be done through an address; it says so before
 * anything is asked of the server.
 */
import { readFileSync, statSync } from "node:fs";
import {
  type Cortex,
  type CortexApi,
  CortexError,
  type Hub,
  isCortexError,
  open,
  openHub,
  type RemoteLocation,
} from "@cortex-memory/core";
import { kebab } from "@cortex-memory/core/contract";
import { checkActorName } from "@cortex-memory/core/doors";
import {
  isDatabaseAddress,
  isServerAddress,
  type Setting,
  type Settings,
  serveSettingsFor,
} from "../config.js";
import { UsageError } from "../error-status.js";
import type { Operation } from "../operations/define.js";
import { backgroundIn, servicesIn } from "../services.js";
import { readToken, type SecretFile } from "../settings.js";
import { chooseStore, noStore } from "../store-choice.js";
import type { Host } from "./host.js";

/** Opens the store of an operation, or makes one for an operation that may. */
export async function openFor(
  operation: Operation,
  settings: Settings,
  host: Host,
): Promise<Cortex> {
  const actor = checkActorName(settings.actor.value);
  const data = settings.data.value;
  if (operation.cli.store !== "none") checkData(data);
  if (isServerAddress(data)) refuseElsewhere(operation);
  const choice = chooseStore(operation, { data, actor, isFolder: host.isFolder });
  if (choice === "nothing") return open("memory:", { actor });
  const create = choice === "create";
  if (isServerAddress(data)) return openServer(data, { actor, create }, host);
  try {
    return await open(data, { actor, create, ...servicesIn(host.env) });
  } catch (error) {
    // A database is not looked into before it is opened.
    const isAbsent = isDatabaseAddress(data) && isCortexError(error, "ERR_FORMAT_UNKNOWN");
    if (!isAbsent || create) throw error;
    if (operation.cli.store === "optional") return open("memory:", { actor });
    throw noStore({ actor, data });
  }
}

/** What a process that stays serves: a store, and the hub that holds it open. */
interface ServedStore {
  readonly memory: Cortex;
  /** Absent for the address of a server, whose graphs are behind its own doors. */
  readonly hub?: Hub;
}

/**
 * Runs work on the store of a process that stays, made if there is none, and closes it at the end. With
 * `graphsAlone` the actor has none: the memory is one that is not kept, beside the hub.
 */
export async function whileServed<T>(
  { graphsAlone, ...settings }: Settings & { readonly graphsAlone: boolean },
  host: Host,
  work: (served: ServedStore) => Promise<T>,
): Promise<T> {
  const actor = checkActorName(settings.actor.value);
  const data = settings.data.value;
  checkData(data);
  if (isServerAddress(data)) {
    await using memory = await openServer(data, { actor, create: true }, host);
    return await work({ memory });
  }
  await using hub = await openHub(data, backgroundIn(host.env));
  if (graphsAlone) {
    await using memory = await open("memory:", { actor });
    return await work({ memory, hub });
  }
  return await hub.use(actor, (memory) => work({ memory, hub }), { create: true });
}

function checkData(data: string): void {
  if (data === "") throw new UsageError("--data: expected a folder or an address, got nothing");
}

/** What goes by a location and not by a store is for the machine where the store is. */
function refuseElsewhere({ place, http, cli }: Operation): void {
  if (place === undefined || place === "openHub") return;
  const why = http !== undefined && "unavailable" in http ? http.unavailable : "it needs a folder";
  const message = `data: ${cli.command} cannot be done through the address of a server: ${why}`;
  throw new CortexError("ERR_UNSUPPORTED", message, { field: "data", expected: "a folder" });
}

async function openServer(
  address: string,
  options: { readonly actor: string; readonly create: boolean },
  host: Host,
): Promise<Cortex> {
  const token = tokenFor(host);
  const remote = await open(address as RemoteLocation, {
    ...options,
    ...(token === undefined ? {} : { token }),
  });
  // Commands call verbs and nothing else, and a client has every one of them.
  return remote as CortexApi as Cortex;
}

/** Asks a server for what it does with its graphs as a whole, which is no verb of any of them. */
export async function askElsewhere(
  operation: Operation,
  data: string,
  input: object,
  host: Host,
): Promise<unknown> {
  const { askServer } = await import("@cortex-memory/core/remote");
  const token = tokenFor(host);
  const path = kebab(operation.name);
  return askServer(data, token === undefined ? {} : { token }, { path, input });
}

/** The token that a server is called with, as the settings give it. */
export function tokenFor(host: Pick<Host, "env">): string | undefined {
  const serve = serveSettingsFor({}, host);
  return readToken(serve, (path) => secretAt(path, serve.tokenFile));
}

/** A file with a secret, and who may read it. */
export function secretAt(path: string, setting: Setting): SecretFile {
  try {
    const { mode } = statSync(path);
    const isPosix = process.platform !== "win32";
    return { text: readFileSync(path, "utf8"), mode: isPosix ? mode : undefined };
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new UsageError(`${setting.from}: cannot read the file with the token: ${why}`);
  }
}
