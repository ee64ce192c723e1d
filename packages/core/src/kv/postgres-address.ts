/**
 * The address of a Postgres database: our own parameters behind the question mark, and what is left for
 * the package `pg`.
 *
 * Promises: a wrong parameter is `ERR_INVALID` and named; the address as it may be shown has no password.
 */
import { accessSync, constants } from "node:fs";
import { CortexError } from "../errors.js";

/** What the parameters of an address that are ours say; all others are `pg`'s. */
export interface PostgresAddress {
  /** The address without our parameters. */
  readonly url: string;
  /** The address as it may be shown: no password. */
  readonly shown: string;
  /** Which of several hubs in one database. */
  readonly hub: string;
  /** Most connections of this process. */
  readonly connections: number;
  /** Partitions of the table, where it has to be made. */
  readonly partitions: number;
  /** How long a call goes on trying to reach a server that went away. */
  readonly retryMs: number;
  /** How long a statement waits for a lock of somebody else. */
  readonly lockMs: number;
  /** Whether connections keep statements by name, so that the server need not read them each time. */
  readonly prepares: boolean;
}

const CONNECTIONS = 10;
const PARTITIONS = 16;
const RETRY_SECONDS = 15;
const LOCK_SECONDS = 20;
/** What `pg` knows; it would take any other word for the strictest of them. */
const TLS_MODES = [
  "disable",
  "allow",
  "prefer",
  "require",
  "verify-ca",
  "verify-full",
  "no-verify",
];

/** Reads an address; wrong parameters are `ERR_INVALID`. */
export function readAddress(location: string): PostgresAddress {
  // Without the slashes `pg` would take it for a database on this machine.
  if (!URL.canParse(location) || !/^[^:]+:\/\//.test(location)) {
    throw new CortexError(
      "ERR_INVALID",
      "location: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, got an address that cannot be read",
      { field: "location" },
    );
  }
  const url = new URL(location);
  const hub = take(url, "hub") ?? "main";
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(hub)) {
    throw new CortexError(
      "ERR_INVALID",
      `location: expected hub to be a name of a-z, 0-9, dot, underscore and hyphen, got "${hub}"`,
      { field: "location" },
    );
  }
  const connections = wholeNumber(url, "pool", CONNECTIONS, 2, 1000);
  const partitions = wholeNumber(url, "partitions", PARTITIONS, 1, 1024);
  const retryMs = wholeNumber(url, "retry", RETRY_SECONDS, 0, 3600) * 1000;
  const lockMs = wholeNumber(url, "lock", LOCK_SECONDS, 1, 3600) * 1000;
  const prepares = yesOrNo(url, "prepare");
  checkTlsMode(url.searchParams.get("sslmode"));
  const shown = new URL(url);
  shown.password = "";
  shown.searchParams.delete("password");
  const times = { retryMs, lockMs };
  return { url: url.href, shown: shown.href, hub, connections, partitions, ...times, prepares };
}

/** Refuses an address whose certificates cannot be read, before `pg` stumbles over them. */
export function checkCertificates(address: PostgresAddress): void {
  const { searchParams } = new URL(address.url);
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = searchParams.get(name);
    if (file === null) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      throw new CortexError(
        "ERR_INVALID",
        `location: expected ${name} to be a file that can be read, got "${file}"`,
        { field: "location" },
        error,
      );
    }
  }
}

function take(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name);
  url.searchParams.delete(name);
  return value ?? undefined;
}

function wholeNumber(url: URL, name: string, usual: number, least: number, most: number): number {
  const text = take(url, name);
  const value = text === undefined ? usual : Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new CortexError(
    "ERR_INVALID",
    `location: expected ${name} to be a whole number from ${least} to ${most}, got "${text}"`,
    { field: "location" },
  );
}

function checkTlsMode(mode: string | null): void {
  if (mode === null || TLS_MODES.includes(mode)) return;
  throw new CortexError(
    "ERR_INVALID",
    `location: expected sslmode to be one of ${TLS_MODES.join(", ")}, got "${mode}"`,
    { field: "location" },
  );
}

function yesOrNo(url: URL, name: string): boolean {
  const text = take(url, name) ?? "yes";
  if (text === "yes" || text === "no") return text === "yes";
  throw new CortexError(
    "ERR_INVALID",
    `location: expected ${name} to be yes or no, got "${text}"`,
    { field: "location" },
  );
}
