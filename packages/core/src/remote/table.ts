/**
 * The table of the remote client: how each verb is asked for, from the generated plans of `routes.ts`. How
 * the answer of an operation becomes the verb's is in `transport.ts`.
 *
 * That it agrees with the server's own table is a test over there, because core does not know the server.
 */

import { type ArgumentNames, gather } from "../contract/gather.js";
import type { VerbName } from "../contract/index.js";
import { ROUTE_PLANS } from "./routes.js";
import type { Body } from "./transport.js";

/** What the client has to know to ask for a verb. */
export interface RoutePlan {
  /** The last part of the path. */
  readonly path: string;
  /** A read can be asked for again; a write may have been done although no answer came. */
  readonly kind: "read" | "write";
  /** The arguments that stand by themselves, in their order. */
  readonly names: readonly string[];
  /** Those of them that are objects. */
  readonly objects?: readonly string[];
  /** What messages call the object after the arguments; options when not given. */
  readonly rest?: "input";
  /** What comes back: JSON when not given. */
  readonly sends?: "file" | "events";
  /** The verb answers with this member of what comes back. */
  readonly member?: string;
  /** The verb answers `undefined` where the operation says that there is no such thing. */
  readonly mayMiss?: true;
  /** It takes as long as it takes: only a limit that the caller set ends it. */
  readonly isLong?: true;
  /** What the call says as well, where several verbs share a path. */
  readonly sent?: { readonly [field: string]: string };
}

/** How a verb is asked for. */
export interface RemoteRoute extends Omit<RoutePlan, "names" | "objects" | "rest" | "sent"> {
  /** The input of the operation, from the arguments of the verb. */
  readonly input: (...args: readonly unknown[]) => Body;
}

/** Every verb. */
export const ROUTES = Object.fromEntries(
  Object.entries(ROUTE_PLANS).map(([verb, plan]) => [verb, routeOf(plan)] as const),
) as { readonly [V in VerbName]: RemoteRoute };

function routeOf({ names, objects = [], rest, sent, ...route }: RoutePlan): RemoteRoute {
  const place: ArgumentNames = { names, objects: new Set(objects), rest: rest ?? "options" };
  return { ...route, input: (...args) => ({ ...sent, ...gather(place, args) }) };
}

/** Reads that leave an entry when asked to: those are not sent twice. */
export function isRepeatable({ kind }: Pick<RemoteRoute, "kind">, body: Body): boolean {
  return kind === "read" && body.audit !== true && body.lateBinding !== true;
}
