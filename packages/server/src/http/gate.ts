/**
 * The gate: everything that is decided about a request before its route is asked. Who may call is the
 * guard's to say, how often the limiter's; a server that is stopping takes nothing more.
 */
import type { HttpBindings } from "@hono/node-server";
import type { ServeOptions } from "../settings.js";
import { makeGuard, type ScopePaths } from "./guard.js";
import { HttpFailure } from "./problem.js";
import { makeLimiter } from "./rate-limit.js";

/**
 * Paths that browsers, probes and readers of the interface may ask for without a token. A browser cannot
 * bear one when it opens an address, so what it loads there is open, and holds nothing of any store.
 */
const OPEN_PATHS = /^\/(healthz|readyz|openapi\.json|llms\.txt|errors(\/[A-Z_]*)?)?$/;

/** A part of a path that stands for this folder or the one above, also where its dots are encoded. */
const DOTTED = /^[^?]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** What changes while the server runs. */
export interface State {
  inFlight: number;
  isStopping: boolean;
}

/** Decides whether a request reaches its route; throws the refusal when not. */
export type Gate = (request: Request, bindings: Partial<HttpBindings>) => void;

/** Everything that is decided before a route is asked. */
export function makeGate(
  options: ServeOptions,
  state: State,
  made: { readonly nowMs: () => number; readonly paths: ScopePaths },
): Gate {
  const guard = makeGuard(options, made.paths);
  const wait = makeLimiter(options, made.nowMs);
  return (request, { incoming }) => {
    // Addresses are tidied before they come here; what was sent may have meant another path to a proxy.
    if (incoming !== undefined && DOTTED.test(incoming.url ?? "")) {
      throw new HttpFailure("malformed", "path: expected no . or .. between slashes");
    }
    const path = pathOf(request.url);
    const isOpen = OPEN_PATHS.test(path);
    if (!isOpen || options.token === undefined) guard(request, path);
    if (state.isStopping) {
      throw new HttpFailure("stopping", "the server is stopping", {
        Connection: "close",
        "Retry-After": "1",
      });
    }
    const seconds = isOpen ? 0 : wait(incoming?.socket.remoteAddress ?? "");
    if (seconds > 0) {
      const message = `expected at most ${options.ratePerSecond} requests a second`;
      throw new HttpFailure("tooMany", message, { "Retry-After": String(seconds) });
    }
  };
}

/** The path in an address. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}
