/**
 * The settings of `cortex serve`, from text to values, and the refusals that come before a port is
 * opened: a value that is not of its kind, a token that others could read or guess, and an address
 * that others can reach without any token.
 */
import { isIP } from "node:net";
import {
  COMPAT,
  isDatabaseAddress,
  SERVE_SETTINGS,
  type ServeSettingName,
  type ServeSettingSpec,
  type Setting,
} from "./config.js";
import { UsageError } from "./error-status.js";

/** What `cortex serve` works with. */
export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Without one, only this machine may call. */
  readonly token?: string;
  /** Whoever sends it speaks for the user, over MCP as well. */
  readonly hostToken?: string;
  readonly corsOrigins: readonly string[];
  readonly bodyLimitBytes: number;
  readonly requestTimeoutMs: number;
  readonly slowMs: number;
  /** 0 for any number. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  /** The store of memgraph that is to be imported once: a file, or the address of a database. */
  readonly moveIn?: Setting;
}

type ServeSettings = { readonly [name in ServeSettingName]: Setting };

/** A file as far as secrets are concerned. */
export interface SecretFile {
  readonly text: string;
  /** Permission bits; `undefined` where the platform has none. */
  readonly mode: number | undefined;
}

/** A token shorter than this can be guessed. */
const TOKEN_CHARS_MIN = 16;

/** Reads the settings; `readSecret` gives the file that a setting names. */
export function readServeOptions(
  said: ServeSettings,
  readSecret: (path: string) => SecretFile,
): ServeOptions {
  checkCompat(said);
  const settings = { ...said, ...placeIn(said) };
  const host = settings.host.value;
  if (host !== "localhost" && isIP(host) === 0) throw refused(settings.host, "an IP address");
  const token = readToken(settings, readSecret);
  const { hostToken: given, hostTokenFile } = settings;
  const hostToken = readToken({ token: given, tokenFile: hostTokenFile }, readSecret);
  if (hostToken !== undefined && hostToken === token) {
    throw new UsageError("CORTEX_HOST_TOKEN: expected another token than the admin token");
  }
  if (token === undefined && !isLoopback(host)) {
    throw new UsageError(
      `${shown(settings.host)}: ${host} can be reached by others, which needs an admin token: set ` +
        `${settings.compat.value === COMPAT ? "MEMGRAPH_HTTP_TOKEN" : "CORTEX_TOKEN"}, or --token-file; ` +
        "without one the server listens on a loopback address only",
    );
  }
  return {
    host,
    port: numberFrom(settings.port, 0, 65_535),
    ...(token === undefined ? {} : { token }),
    ...(hostToken === undefined ? {} : { hostToken }),
    corsOrigins: [...originsFrom(settings.corsOrigins), ...originsFrom(settings.corsOrigin)],
    bodyLimitBytes: numberFrom(settings.bodyLimitBytes, 1024),
    requestTimeoutMs: numberFrom(settings.requestTimeoutMs, 100, 3_600_000),
    slowMs: numberFrom(settings.slowMs, 0),
    ratePerSecond: numberFrom(settings.ratePerSecond, 0),
    rateBurst: numberFrom(settings.rateBurst, 1),
    ...moveInFrom(settings),
  };
}

/** What is memgraph's is taken where its configuration is, and nowhere else. */
function checkCompat(settings: ServeSettings): void {
  const { compat } = settings;
  if (compat.value !== "" && compat.value !== COMPAT) throw refused(compat, COMPAT);
  const given = Object.values(settings).find(
    ({ name, from }) => from !== "default" && specOf(name).isMemgraphs === true,
  );
  if (given === undefined || compat.value === COMPAT) return;
  throw new UsageError(`${given.flag}: expected --compat ${COMPAT} beside it, whose flag it is`);
}

function specOf(name: string): ServeSettingSpec {
  return SERVE_SETTINGS[name as ServeSettingName];
}

/** Where to listen: as memgraph's one flag says it, or by host and port. */
function placeIn({ addr, host, port }: ServeSettings): Pick<ServeSettings, "host" | "port"> {
  if (addr.from === "default") return { host, port };
  const other = [host, port].find(({ from, flag }) => from === flag);
  if (other !== undefined) {
    throw new UsageError(`${addr.flag}, ${other.flag}: expected one of them, got both`);
  }
  const [, bracketed, bare = "", number] =
    /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(addr.value) ?? [];
  if (number === undefined) throw refused(addr, "HOST:PORT or :PORT");
  const name = bracketed ?? bare;
  return {
    // No host means every one of this machine, as it does there.
    host: { ...host, value: name === "" ? "0.0.0.0" : name, from: addr.from },
    port: { ...port, value: number, from: addr.from },
  };
}

/** The database wins over the file, as it does there. */
function moveInFrom({ sqlite, postgres }: ServeSettings): { readonly moveIn?: Setting } {
  for (const setting of [sqlite, postgres]) {
    if (setting.from !== "default" && setting.value === "") throw refused(setting, "a name");
  }
  if (postgres.value === "") return sqlite.value === "" ? {} : { moveIn: sqlite };
  if (!isDatabaseAddress(postgres.value)) {
    // The address may hold a password, so it is not shown.
    throw new UsageError(`${postgres.flag}: expected an address such as postgres://host/name`);
  }
  return { moveIn: postgres };
}

/** Whether an address, or a name as it stands in a URL, can only be this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (bare === "localhost" || bare === "::1") return true;
  return isIP(bare) === 4 && bare.startsWith("127.");
}

/** The token that a setting gives, or the file it names, if any. */
export function readToken(
  settings: { readonly token: Setting; readonly tokenFile: Setting },
  readSecret: (path: string) => SecretFile,
): string | undefined {
  const { token, tokenFile } = settings;
  if (token.value !== "" && tokenFile.value !== "") {
    throw new UsageError(`${token.variable}, ${shown(tokenFile)}: expected one of them, got both`);
  }
  if (token.value !== "") return checkToken(token.value, token.variable);
  if (tokenFile.value === "") return undefined;
  const { text, mode } = readSecret(tokenFile.value);
  if (mode !== undefined && (mode & 0o077) !== 0) {
    const got = `0${(mode & 0o777).toString(8)}`;
    throw new UsageError(
      `${shown(tokenFile)}: expected a file of mode 0600, got ${got}; try chmod 600`,
    );
  }
  return checkToken(text.trim(), shown(tokenFile));
}

/** A token has to survive a header and a guess. The message never shows it. */
function checkToken(token: string, from: string): string {
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new UsageError(`${from}: expected a token of visible ASCII characters without spaces`);
  }
  if (token.length >= TOKEN_CHARS_MIN) return token;
  throw new UsageError(
    `${from}: expected a token of ${TOKEN_CHARS_MIN} characters or more, got ${token.length}`,
  );
}

function originsFrom(setting: Setting): readonly string[] {
  const origins = setting.value.split(",").map((text) => text.trim());
  return origins.flatMap((text) => {
    if (text === "") return [];
    const { protocol, origin } = URL.canParse(text) ? new URL(text) : { protocol: "", origin: "" };
    if (/^https?:$/.test(protocol) && origin === text) return [text];
    throw refused(setting, "origins such as https://app.example, separated by commas");
  });
}

/** The whole number that a setting gives; anything else is refused in the name of whoever gave it. */
export function numberFrom(setting: Setting, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = /^\d+$/.test(setting.value) ? Number(setting.value) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
  throw refused(setting, `a whole number, ${range}`);
}

function refused(setting: Setting, expected: string): UsageError {
  return new UsageError(
    `${shown(setting)}: expected ${expected}, got ${JSON.stringify(setting.value)}`,
  );
}

/** A setting as whoever gave it knows it. */
function shown({ from, flag }: Setting): string {
  return from === "default" ? flag : from;
}
