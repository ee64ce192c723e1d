/**
 * The table of the remote client: for every verb of the facade the operation of the server that does it,
 * its path, and how arguments become its input. How its answer becomes the verb's is in `answers.ts`.
 *
 * It is complete by type. That it agrees with the server's own table is a test over there, because
 * core does not know the server.
 */

import { type ArgumentNames, gather } from "../contract/gather.js";
import type { VerbName as DeclaredVerb } from "../contract/index.js";
import type { CortexApi, VerbName } from "./api.js";
import { type Body, join } from "./body.js";
import type { RoutePlan } from "./route-plan.js";
import { ROUTE_PLANS } from "./routes.js";

/** How a verb is asked for. */
export interface RemoteRoute<V extends VerbName = VerbName> {
  /** The last part of the path. */
  readonly path: string;
  /** A read can be asked for again; a write may have been done although no answer came. */
  readonly kind: "read" | "write";
  readonly input: (...args: Parameters<CortexApi[V]>) => Body;
  /** The verb answers with this member of what comes back; see `answers.ts` for what takes more. */
  readonly member?: string;
  /** What comes back: JSON when not given. */
  readonly sends?: "file" | "events";
  /** The verb answers `undefined` where the operation says that there is no such thing. */
  readonly mayMiss?: true;
  /** It takes as long as it takes: only a limit that the caller set ends it. */
  readonly isLong?: true;
}

const options = (...given: readonly unknown[]): Body => join({}, ...given);

/** Verbs that are not declared in `contract/`. */
const OTHERS: { readonly [V in Exclude<VerbName, DeclaredVerb>]: RemoteRoute<V> } = {};

/** Every verb. */
export const ROUTES = {
  ...OTHERS,
  ...Object.fromEntries(
    Object.entries(ROUTE_PLANS).map(([verb, plan]) => [verb, routeOf(plan)] as const),
  ),
} as { readonly [V in VerbName]: RemoteRoute<V> };

function routeOf({ names, objects = [], rest, sent, ...route }: RoutePlan) {
  const place: ArgumentNames = { names, objects: new Set(objects), rest: rest ?? "options" };
  return {
    ...route,
    input: (...args: readonly unknown[]): Body => ({ ...sent, ...gather(place, args) }),
  };
}

/** Reads that leave an entry when asked to: those are not sent twice. */
export function isRepeatable({ kind }: Pick<RemoteRoute, "kind">, body: Body): boolean {
  return kind === "read" && body.audit !== true && body.lateBinding !== true;
}
