/**
 * How a client of a server is opened: the options, checked once, before anything is sent.
 */
import { CortexError, invalid } from "../errors.js";
import { checkActorName } from "../records/uri.js";

/** Whoever signs requests for a scope that is granted to a key. */
export interface RequestSigner {
  /** 32 bytes of Ed25519. */
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/** How a client of a server is opened. */
export interface RemoteOptions {
  /** Whose memory is meant; the server's own actor when not given. */
  readonly actor?: string;
  /** False refuses to make a store that the server does not have. */
  readonly create?: boolean;
  /** The server's token. */
  readonly token?: string;
  /** A scope, or the handle of one, instead of a token. */
  readonly scope?: string;
  /** Signs requests, where the scope is granted to a key. */
  readonly signer?: RequestSigner;
  /** A checkpoint that was seen before: the server's history has to go on from it. */
  readonly checkpoint?: string;
  /** How old the last look at the server's history may be when a call is made; 60,000 by default. */
  readonly confirmEveryMs?: number;
  /** How long an answer may take; 30,000 by default, for long operations no limit; 0 is none. */
  readonly timeoutMs?: number;
  /** How often a read is asked for again after a failure that may pass; 3 by default. */
  readonly retries?: number;
  /** Allows `http:` to other machines, where whoever listens on the way reads everything. */
  readonly plainHttp?: boolean;
  /** Sends requests; the runtime's own `fetch` by default. */
  readonly fetch?: typeof fetch;
}

/** Options as the client uses them. */
export interface RemoteSettings {
  /** Where the operations are, with its slash. */
  readonly base: string;
  readonly authorization?: string;
  readonly signer?: RequestSigner;
  readonly actor?: string;
  readonly isScope: boolean;
  readonly mayCreate: boolean;
  readonly checkpoint?: string;
  readonly confirmEveryMs: number;
  readonly timeoutMs?: number;
  readonly retries: number;
  readonly fetch: typeof fetch;
}

/** An address that a client opens, as a type. */
export type RemoteLocation = `https://${string}` | `http://${string}`;

/** Whether a location is the address of a server. */
export function isRemoteLocation(location: unknown): location is RemoteLocation {
  return typeof location === "string" && /^https?:\/\//i.test(location);
}

const CONFIRM_EVERY_MS = 60_000;
const RETRIES = 3;
const RETRIES_MAX = 20;
/** What timers can count. */
const MS_MAX = 2_147_483_647;

const OPTIONS: ReadonlySet<string> = new Set<keyof RemoteOptions>([
  "actor",
  "create",
  "token",
  "scope",
  "signer",
  "checkpoint",
  "confirmEveryMs",
  "timeoutMs",
  "retries",
  "plainHttp",
  "fetch",
]);

/** Checks an address and its options. */
export function readSettings(url: string, options: RemoteOptions): RemoteSettings {
  checkNames(options);
  const { checkpoint, signer, timeoutMs } = options;
  const isScope = options.scope !== undefined;
  if (signer !== undefined && !isScope) throw invalid("signer", "a scope beside it", "none");
  const send = options.fetch ?? globalThis.fetch;
  if (typeof send !== "function") throw invalid("fetch", "a function", send);
  const authorization = authorizationOf(options);
  const actor = options.actor === undefined ? undefined : checkActorName(options.actor);
  const actorPath = actor === undefined ? "" : `actors/${encodeURIComponent(actor)}/`;
  return {
    base: `${addressOf(url, options.plainHttp === true)}/v1/${actorPath}`,
    isScope,
    mayCreate: options.create !== false,
    confirmEveryMs: wholeMs("confirmEveryMs", options.confirmEveryMs) ?? CONFIRM_EVERY_MS,
    retries: wholeNumber("retries", options.retries, RETRIES_MAX) ?? RETRIES,
    // A method that is taken off its object, as `fetch` is here, wants no other `this`.
    fetch: (input, init) => send(input, init),
    ...(authorization === undefined ? {} : { authorization }),
    ...(signer === undefined ? {} : { signer: checkSigner(signer) }),
    ...(actor === undefined ? {} : { actor }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(timeoutMs === undefined ? {} : { timeoutMs: wholeMs("timeoutMs", timeoutMs) ?? 0 }),
  };
}

function checkNames(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw invalid("options", "an object", options);
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown === undefined) return;
  const expected = `one of ${[...OPTIONS].join(", ")} for a server`;
  throw new CortexError("ERR_UNKNOWN_FIELD", `${unknown}: expected ${expected}`, {
    field: unknown,
    expected,
  });
}

/** The address without a slash at its end. */
function addressOf(text: string, mayBePlain: boolean): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new CortexError("ERR_INVALID", "location: expected an address", {}, error);
  }
  const isBare = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isBare || !isRemoteLocation(url.href)) {
    // The address may hold a password, so it is not shown.
    const expected = "an address of http or https without user, parameters or fragment";
    throw new CortexError("ERR_INVALID", `location: expected ${expected}, got another`, {
      field: "location",
      expected,
    });
  }
  if (url.protocol === "http:" && !mayBePlain && !isLoopback(url.hostname)) {
    throw new CortexError(
      "ERR_INVALID",
      "location: expected https, or http to this machine; plainHttp allows it elsewhere",
      { field: "location", expected: "https", got: "http" },
    );
  }
  return url.href.replace(/\/+$/, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

function authorizationOf({ token, scope }: RemoteOptions): string | undefined {
  if (token !== undefined && scope !== undefined) {
    throw new CortexError("ERR_INVALID", "scope: expected a token or a scope, got both", {
      field: "scope",
    });
  }
  const presented = token ?? scope;
  if (presented === undefined) return undefined;
  if (typeof presented !== "string" || !/^[\x21-\x7e]+$/.test(presented)) {
    const field = token === undefined ? "scope" : "token";
    // Whatever it is, it is a secret.
    const expected = "printable characters without spaces";
    throw new CortexError("ERR_INVALID", `${field}: expected ${expected}`, { field, expected });
  }
  return `Bearer ${presented}`;
}

function checkSigner(signer: RequestSigner): RequestSigner {
  const isSigner =
    typeof signer === "object" &&
    signer?.publicKey instanceof Uint8Array &&
    typeof signer.sign === "function";
  if (isSigner) return signer;
  throw invalid("signer", "a public key, and a function that signs", signer);
}

function wholeMs(field: string, given: unknown): number | undefined {
  return wholeNumber(field, given, MS_MAX);
}

function wholeNumber(field: string, given: unknown, most: number): number | undefined {
  if (given === undefined) return undefined;
  if (Number.isInteger(given) && Number(given) >= 0 && Number(given) <= most) return Number(given);
  throw invalid(field, `an integer from 0 to ${most}`, given);
}
