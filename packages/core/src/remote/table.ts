/**
 * The table of the remote client: for every verb of the facade the operation of the server that does it,
 * its path, how arguments become its input, and how its answer becomes the verb's.
 *
 * It is complete by type. That it agrees with the server's own table is a test over there, because
 * core does not know the server.
 */

import { type ArgumentNames, gather } from "../contract/gather.js";
import type { VerbName as DeclaredVerb } from "../contract/index.js";
import { CortexError, ERROR_CODES, type ErrorCode, type ErrorDetails } from "../errors.js";
import type { CortexApi, VerbName } from "./api.js";
import { type Body, join } from "./body.js";
import type { RoutePlan } from "./route-plan.js";
import { ROUTE_PLANS } from "./routes.js";

/** What a verb answers, once it has. */
type Answer<V extends VerbName> = Awaited<ReturnType<CortexApi[V]>>;

/** How a verb is asked for. */
export interface RemoteRoute<V extends VerbName = VerbName> {
  /** The last part of the path. */
  readonly path: string;
  /** A read can be asked for again; a write may have been done although no answer came. */
  readonly kind: "read" | "write";
  readonly input: (...args: Parameters<CortexApi[V]>) => Body;
  /** What the verb answers, out of the operation's answer; the same when not given. */
  readonly answer?: (answer: Body) => Answer<V>;
  /** What comes back: JSON when not given. */
  readonly sends?: "file" | "events";
  /** The verb answers `undefined` where the operation says that there is no such thing. */
  readonly mayMiss?: true;
  /** It takes as long as it takes: only a limit that the caller set ends it. */
  readonly isLong?: true;
}

/** A member of the answer that is the whole answer of the verb. */
function member<A>(name: string): (answer: Body) => A {
  return (answer) => answer[name] as A;
}

const options = (...given: readonly unknown[]): Body => join({}, ...given);

/** Verbs that are not declared in `contract/`. */
const OTHERS: { readonly [V in Exclude<VerbName, DeclaredVerb>]: RemoteRoute<V> } = {
  config: { path: "config", kind: "read", input: options, answer: member("graph") },
  configure: {
    path: "configure",
    kind: "write",
    input: options,
    answer: ({ graph, seq }) => ({ ...(graph as object), seq }) as Answer<"configure">,
  },
  log: { path: "log", kind: "read", input: options },
  journalPage: { path: "journal-page", kind: "read", input: options, isLong: true },
  subscribe: { path: "subscribe", kind: "read", input: options, sends: "events" },
  stats: {
    path: "stats",
    kind: "read",
    input: options,
    // Where the store is on the server's machine is the operation's to say, not the verb's.
    answer: ({ data: _, ...stats }) => stats as unknown as Answer<"stats">,
  },
  changes: {
    path: "changes",
    kind: "read",
    input: (from, to, given) => join({ from, to }, given),
  },
  revert: { path: "revert", kind: "write", input: (seq, given) => join({ seq }, given) },
  root: { path: "root", kind: "read", input: options },
  checkpoint: { path: "checkpoint", kind: "read", input: options },
  snapshot: { path: "snapshot", kind: "write", input: (reason, given) => join({ reason }, given) },
  snapshots: { path: "snapshots", kind: "read", input: options, answer: member("snapshots") },
  prove: {
    path: "prove",
    kind: "read",
    input: (what, given) => options(Array.isArray(what) ? { memories: what } : what, given),
  },
  share: { path: "share", kind: "read", input: options },
  exportJournal: {
    path: "export",
    kind: "read",
    input: (_target, given) => options(given),
    sends: "file",
    isLong: true,
  },
  backup: {
    path: "backup",
    kind: "read",
    input: (_target, given) => options(given),
    sends: "file",
    isLong: true,
  },
  erasures: { path: "erasures", kind: "read", input: options, isLong: true },
  postScope: { path: "post-scope", kind: "write", input: (scope, given) => join({ scope }, given) },
  showScope: { path: "show-scope", kind: "read", input: (scope, given) => join({ scope }, given) },
  revokeScope: {
    path: "revoke-scope",
    kind: "write",
    input: (scope, given) => join({ scope }, given),
  },
};

/** Every verb. */
export const ROUTES = {
  ...OTHERS,
  ...Object.fromEntries(
    Object.entries(ROUTE_PLANS).map(([verb, plan]) => [verb, routeOf(plan)] as const),
  ),
} as { readonly [V in VerbName]: RemoteRoute<V> };

function routeOf({ names, objects = [], rest, member: one, sent, ...route }: RoutePlan) {
  const place: ArgumentNames = { names, objects: new Set(objects), rest: rest ?? "options" };
  return {
    ...route,
    input: (...args: readonly unknown[]): Body => ({ ...sent, ...gather(place, args) }),
    ...(one === undefined ? {} : { answer: member(one) }),
    ...(route.path === "batch" ? { answer: batchAnswer } : {}),
  };
}

/** Reads that leave an entry when asked to: those are not sent twice. */
export function isRepeatable({ kind }: Pick<RemoteRoute, "kind">, body: Body): boolean {
  return kind === "read" && body.audit !== true && body.lateBinding !== true;
}

interface FailedItem {
  readonly ok: false;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: ErrorDetails;
  };
}

/** Failed items hold errors again, as they do where the store is at hand. */
function batchAnswer({ results, seq }: Body): Answer<"batch"> {
  const items = results as readonly ({ readonly ok: true } | FailedItem)[];
  return {
    seq,
    results: items.map((item) => {
      if (item.ok) return item;
      const { code, message, details } = item.error;
      return { ok: false, error: new CortexError(knownCode(code), message, details) };
    }),
  } as Answer<"batch">;
}

/** A code of the list; a newer server may have others, which say that something is not known here. */
export function knownCode(code: unknown): ErrorCode {
  return isKnownCode(code) ? code : "ERR_UNSUPPORTED";
}

/** Whether a code is one of the list. */
export function isKnownCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}
