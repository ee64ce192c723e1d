/**
 * Settings: from flags, environment and folders to the store that a command works on. Pure: the
 * environment, the working folder and the look at the disk are arguments.
 */
import { posix, win32 } from "node:path";

/** One setting in force, and where it came from. */
export interface Setting {
  readonly name: "data" | "actor";
  readonly value: string;
  /** What decided: a flag, a variable, a folder that was found, or the default. */
  readonly from: string;
  readonly flag: string;
  readonly variable: string;
}

/** Every setting there is: documentation and `cortex config` read this. */
export const SETTINGS = {
  data: {
    flag: "--data",
    variable: "CORTEX_DATA",
    otherwise: "`./.cortex` if it exists, else your data folder",
    meaning: "the store: a folder, or `memory:` for one that is not kept",
  },
  actor: {
    flag: "--actor",
    variable: "CORTEX_ACTOR",
    otherwise: "`default`",
    meaning: "whose memory",
  },
} as const;

/** The actor when nobody says otherwise. */
export const DEFAULT_ACTOR = "default";

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

/** Whether a location is an address such as `postgres://…` and not a folder. */
export function isAddress(location: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//.test(location);
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
