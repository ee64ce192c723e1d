/**
 * The table of the remote client: how each verb is asked for, from the generated plans of `routes.ts`. How
 * the answer of an operation becomes the verb's is in `answers.ts`.
 *
 * That it agrees with the server's own table is a test over there, because core does not know the server.
 */

import { type ArgumentNames, gather } from "../contract/gather.js";
import type { VerbName } from "../contract/index.js";
import type { Body } from "./body.js";
import type { RoutePlan } from "./route-plan.js";
import { ROUTE_PLANS } from "./routes.js";

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
