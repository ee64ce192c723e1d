/**
 * Settings: from flags, environment and folders to the store that a command works on. Pure: the
 * environment, the working folder and the look at the disk are arguments.
 */
import { posix, win32 } from "node:path";
import { LIMITS } from "@cortex-memory/core";

/** One setting in force, and where it came from. */
export interface Setting {
  readonly name: string;
  /** As it was given; a secret is only said to be there. */
  readonly value: string;
  /** What decided: a flag, a variable, a folder that was found, or the default. */
  readonly from: string;
  /** Empty where no flag sets it. */
  readonly flag: string;
  readonly variable: string;
}

/** The settings of every command: documentation and `cortex config` read this. */
export const SETTINGS = {
  data: {
    flag: "--data",
    variable: "CORTEX_DATA",
    otherwise: "`./.cortex` if it exists, else your data folder",
    meaning:
      "the store: a folder, the address of a server such as `http://127.0.0.1:7777`, a database such as `postgres://cortex@db:5432/cortex`, or `memory:` for one that is not kept",
  },
  actor: {
    flag: "--actor",
    variable: "CORTEX_ACTOR",
    otherwise: "`default`",
    meaning: "whose memory",
  },
} as const;

/** What an MCP client is shown: `standard` is what an agent needs; `full` adds every other operation. */
export const PROFILES = ["standard", "full", "memgraph"] as const;

/** Which tools an MCP client is shown. */
export type Profile = (typeof PROFILES)[number];

/** A setting of `cortex serve`. */
export interface ServeSettingSpec {
  /** Empty for what must not stand on a command line, which others on the machine can read. */
  readonly flag: string;
  /** Empty where only a flag sets it. */
  readonly variable: string;
  /** The value when nobody says otherwise; empty for none. */
  readonly standard: string;
  readonly meaning: string;
  readonly secret?: true;
  /** What is otherwise under `--compat memgraph`: a value of its own, or a second variable. */
  readonly compat?: { readonly standard?: string; readonly variable?: string };
  /** A flag of memgraph's, taken under `--compat memgraph` alone. */
  readonly isMemgraphs?: true;
  /** The flag may be repeated; what is given is joined by commas. */
  readonly isMany?: true;
}

/** The program whose configuration `cortex serve` may be told to take. */
export const COMPAT = "memgraph";

/** The settings of `cortex serve`: its flags, documentation and `cortex config` read this. */
export const SERVE_SETTINGS = {
  host: {
    flag: "--host",
    variable: "CORTEX_HOST",
    standard: "127.0.0.1",
    meaning: "the address to listen on; one that others can reach needs a token",
  },
  port: {
    flag: "--port",
    variable: "CORTEX_PORT",
    standard: "7777",
    meaning: "the port to listen on; 0 takes a free one",
    compat: { standard: "8080" },
  },
  token: {
    flag: "",
    variable: "CORTEX_TOKEN",
    standard: "",
    meaning: "the admin token that every request has to bear; 16 characters or more",
    secret: true,
    compat: { variable: "MEMGRAPH_HTTP_TOKEN" },
  },
  tokenFile: {
    flag: "--token-file",
    variable: "CORTEX_TOKEN_FILE",
    standard: "",
    meaning: "a file with the admin token, of mode 0600",
  },
  hostToken: {
    flag: "",
    variable: "CORTEX_HOST_TOKEN",
    standard: "",
    meaning:
      "the token of a host that speaks for the user, over MCP as well; 16 characters or more",
    secret: true,
  },
  hostTokenFile: {
    flag: "--host-token-file",
    variable: "CORTEX_HOST_TOKEN_FILE",
    standard: "",
    meaning: "a file with the token of a host that speaks for the user, of mode 0600",
  },
  corsOrigins: {
    flag: "--cors-origins",
    variable: "CORTEX_CORS_ORIGINS",
    standard: "",
    meaning: "origins whose pages may call, separated by commas; none when empty",
  },
  bodyLimitBytes: {
    flag: "--body-limit-bytes",
    variable: "CORTEX_BODY_LIMIT_BYTES",
    standard: String(LIMITS.batchBytes + 1024 * 1024),
    meaning: "the largest body of a request, in bytes",
  },
  requestTimeoutMs: {
    flag: "--request-timeout-ms",
    variable: "CORTEX_REQUEST_TIMEOUT_MS",
    standard: "30000",
    meaning: "how long a request may take to arrive, and an answer to be taken, in milliseconds",
  },
  slowMs: {
    flag: "--slow-ms",
    variable: "CORTEX_SLOW_MS",
    standard: "1000",
    meaning: "requests that take longer are logged as slow, in milliseconds",
  },
  ratePerSecond: {
    flag: "--rate-per-second",
    variable: "CORTEX_RATE_PER_SECOND",
    standard: "0",
    meaning: "requests a second that one address may make in the long run; 0 for any number",
  },
  rateBurst: {
    flag: "--rate-burst",
    variable: "CORTEX_RATE_BURST",
    standard: "100",
    meaning: "requests that one address may make at once, where there is a rate",
  },
  compat: {
    flag: "--compat",
    variable: "CORTEX_COMPAT",
    standard: "",
    meaning: "memgraph takes the configuration of memgraph-rest: its port, its variable, its flags",
  },
  sqlite: {
    flag: "--sqlite",
    variable: "",
    standard: "",
    meaning: "under --compat memgraph: its file, imported once into the data folder",
    isMemgraphs: true,
  },
  postgres: {
    flag: "--postgres",
    variable: "",
    standard: "",
    meaning: "under --compat memgraph: its database, imported once instead of the file",
    isMemgraphs: true,
  },
  addr: {
    flag: "--addr",
    variable: "",
    standard: "",
    meaning: "under --compat memgraph: HOST:PORT to listen on; :PORT is every address",
    isMemgraphs: true,
  },
  corsOrigin: {
    flag: "--cors-origin",
    variable: "",
    standard: "",
    meaning: "under --compat memgraph: an origin whose pages may call; may be repeated",
    isMemgraphs: true,
    isMany: true,
  },
} as const satisfies { readonly [name: string]: ServeSettingSpec };

/** The name of a setting of `cortex serve`. */
export type ServeSettingName = keyof typeof SERVE_SETTINGS;

/** A setting of a service: set by a variable alone, because every command may need it. */
interface ServiceSettingSpec {
  readonly variable: string;
  /** The value when nobody says otherwise; none when absent. */
  readonly standard?: string;
  readonly meaning: string;
}

/** The settings of the embedder and of the model: documentation and `cortex config` read this. */
export const SERVICE_SETTINGS = {
  "embedder.endpoint": {
    variable: "CORTEX_EMBEDDER_ENDPOINT",
    standard: "local",
    meaning:
      "local for the small model that comes along, none for no embedder, or the address of an embeddings service that speaks OpenAI's form",
  },
  "embedder.model": {
    variable: "CORTEX_EMBEDDER_MODEL",
    meaning: "the model's name, as the service knows it",
  },
  "embedder.dimensions": {
    variable: "CORTEX_EMBEDDER_DIMENSIONS",
    meaning: "how many numbers its vectors have",
  },
  "embedder.keyVariable": {
    variable: "CORTEX_EMBEDDER_KEY_VARIABLE",
    meaning: "the name of the variable that holds the key of the service, if it needs one",
  },
  "model.endpoint": {
    variable: "CORTEX_MODEL_ENDPOINT",
    meaning: "the address of a chat service that speaks OpenAI's form; empty for no model",
  },
  "model.name": {
    variable: "CORTEX_MODEL_NAME",
    meaning: "the model's name, as the service knows it",
  },
  "model.keyVariable": {
    variable: "CORTEX_MODEL_KEY_VARIABLE",
    meaning: "the name of the variable that holds the key of the service, if it needs one",
  },
} as const satisfies { readonly [name: string]: ServiceSettingSpec };

/** The settings of background jobs: documentation and `cortex config` read this. */
export const JOBS_SETTINGS = {
  "jobs.maintainEveryMs": {
    variable: "CORTEX_JOBS_MAINTAIN_EVERY_MS",
    standard: "3600000",
    meaning: "how often the upkeep is done where anything was written; 0 for never",
  },
  "jobs.snapshotEveryMs": {
    variable: "CORTEX_JOBS_SNAPSHOT_EVERY_MS",
    standard: "0",
    meaning: "how often a snapshot is sealed where anything was written; 0 for never",
  },
  "jobs.extractAfterMs": {
    variable: "CORTEX_JOBS_EXTRACT_AFTER_MS",
    standard: "45000",
    meaning: "how long a session is silent before the model reads it, if there is a model",
  },
} as const satisfies { readonly [name: string]: ServiceSettingSpec };

/** The name of a setting of a service or of the jobs. */
type ServiceSettingName = keyof typeof SERVICE_SETTINGS | keyof typeof JOBS_SETTINGS;

/** The actor when nobody says otherwise. */
const DEFAULT_ACTOR = "default";

/** The machine as far as settings depend on it. */
export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly home: string;
  readonly platform: string;
  readonly isFolder: (path: string) => boolean;
}

/** The settings of one command. */
export interface Settings {
  readonly data: Setting;
  readonly actor: Setting;
}

/** The settings that flags and surroundings give. */
export function settingsFor(
  flags: { readonly data?: string; readonly actor?: string },
  around: Surroundings,
): Settings {
  return { data: dataSetting(flags.data, around), actor: actorSetting(flags.actor, around) };
}

/** The settings of `cortex serve` that flags and surroundings give, as they were written. */
export function serveSettingsFor(
  flags: { readonly [name in ServeSettingName]?: string },
  around: Pick<Surroundings, "env">,
): { readonly [name in ServeSettingName]: Setting } {
  const isCompat = (flags.compat ?? around.env[SERVE_SETTINGS.compat.variable]) === COMPAT;
  const found = Object.entries<ServeSettingSpec>(SERVE_SETTINGS).map(([name, spec]) => {
    const base = { name, flag: spec.flag, variable: spec.variable };
    const flag = flags[name as ServeSettingName];
    if (flag !== undefined) return [name, { ...base, value: flag, from: spec.flag }];
    const compat = isCompat ? spec.compat : undefined;
    for (const variable of [spec.variable, compat?.variable ?? ""]) {
      const value = given(around.env[variable]);
      if (value !== undefined) return [name, { ...base, variable, value, from: variable }];
    }
    return [name, { ...base, value: compat?.standard ?? spec.standard, from: "default" }];
  });
  return Object.fromEntries(found) as { readonly [name in ServeSettingName]: Setting };
}

/** The settings of every service and of the jobs that the surroundings give, in the order in which they are shown. */
export function serviceSettingsFor({ env }: Pick<Surroundings, "env">): {
  readonly [name in ServiceSettingName]: Setting;
} {
  const specs = { ...SERVICE_SETTINGS, ...JOBS_SETTINGS };
  const found = Object.entries<ServiceSettingSpec>(specs).map(([name, spec]) => {
    const { variable, standard = "" } = spec;
    const value = given(env[variable]);
    const from = value === undefined ? "default" : variable;
    return [name, { name, flag: "", variable, value: value ?? standard, from }];
  });
  return Object.fromEntries(found) as { readonly [name in ServiceSettingName]: Setting };
}

/** Settings fit to be shown: whether a secret is set, never what it is. */
export function shownSettings(settings: readonly Setting[]): readonly Setting[] {
  return settings.map((one) => {
    if (one.name === "data" || one.name === "postgres") {
      return { ...one, value: shownLocation(one.value) };
    }
    const spec: Partial<ServeSettingSpec> | undefined =
      SERVE_SETTINGS[one.name as ServeSettingName];
    if (spec?.secret !== true) return one;
    return { ...one, value: one.value === "" ? "not set" : "set, not shown" };
  });
}

function actorSetting(flag: string | undefined, around: Surroundings): Setting {
  const { flag: name, variable } = SETTINGS.actor;
  const base = { name: "actor", flag: name, variable } as const;
  if (flag !== undefined) return { ...base, value: flag, from: name };
  const fromEnv = given(around.env[variable]);
  if (fromEnv !== undefined) return { ...base, value: fromEnv, from: variable };
  return { ...base, value: DEFAULT_ACTOR, from: "default" };
}

function dataSetting(flag: string | undefined, around: Surroundings): Setting {
  const { flag: name, variable } = SETTINGS.data;
  const base = { name: "data", flag: name, variable } as const;
  if (flag !== undefined) return { ...base, value: absolute(flag, around), from: name };
  const fromEnv = given(around.env[variable]);
  if (fromEnv !== undefined) {
    return { ...base, value: absolute(fromEnv, around), from: variable };
  }
  const here = pathsOf(around).join(around.cwd, ".cortex");
  if (around.isFolder(here)) return { ...base, value: here, from: "./.cortex" };
  return { ...base, value: userDataFolder(around), from: "your data folder" };
}

/** An empty variable counts as none. */
function given(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : value;
}

/** A folder as an absolute path; an address or `memory:` as it is. */
function absolute(location: string, around: Surroundings): string {
  if (location === "memory:" || location === "" || isAddress(location)) return location;
  return pathsOf(around).resolve(around.cwd, location);
}

/**
 * Whether a location is an address such as `postgres://…` and not a folder. One that begins as a database's does is meant
 * as one, and is refused where it lacks its slashes: nobody wants a folder of that name.
 */
export function isAddress(location: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(location) || isDatabaseAddress(location);
}

/** Whether a location is a database, which this machine opens itself. */
export function isDatabaseAddress(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}

/** A location as it may be shown: an address without its password, wherever that stands in it. */
export function shownLocation(location: string): string {
  if (!isAddress(location)) return location;
  // Of one that cannot be read nobody can say where it ends.
  if (!URL.canParse(location) || !location.includes("://")) return location.replace(/:.*/s, "://…");
  return location
    .replace(/^([^/]+\/\/[^/:@]*):[^/]*@/, "$1@")
    .replace(/([?&]password=)[^&#]*/gi, "$1…");
}

/** Whether a location is the address of a running server. */
export function isServerAddress(location: string): boolean {
  return /^https?:\/\//i.test(location);
}

/** The folder for a user's own data, by the custom of the platform. */
export function userDataFolder(around: Omit<Surroundings, "isFolder" | "cwd">): string {
  const { env, home, platform } = around;
  const paths = pathsOf(around);
  if (platform === "win32") {
    return paths.join(given(env.LOCALAPPDATA) ?? paths.join(home, "AppData", "Local"), "cortex");
  }
  if (platform === "darwin") return paths.join(home, "Library", "Application Support", "cortex");
  const xdg = given(env.XDG_DATA_HOME);
  // The specification of these folders says that a relative path is to be ignored.
  const base = xdg !== undefined && paths.isAbsolute(xdg) ? xdg : paths.join(home, ".local/share");
  return paths.join(base, "cortex");
}

function pathsOf(around: Pick<Surroundings, "platform">): typeof posix {
  return around.platform === "win32" ? win32 : posix;
}
