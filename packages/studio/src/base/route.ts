/**
 * Where the person is: the address after `#`, as a page and its parameters. Everything the studio shows
 * follows from it, so that a link survives a reload and can be handed on.
 *
 * It is the part of an address that browsers do not send: questions and ids stay out of the server's
 * log. Nothing secret is ever put here; who is asking is in `session.tsx`.
 */
import { useSyncExternalStore } from "react";

/** A place: `#/ask?q=home&at=12`. */
export interface Route {
  readonly page: string;
  readonly params: Params;
}

/** Parameters by name; an empty one is not there. */
export type Params = { readonly [name: string]: string | undefined };

/** What goes along from page to page: whose memory, which moment, what the panel shows. */
const STICKY = ["graph", "at", "m"] as const;

/** The place that an address names. */
export function parseRoute(hash: string): Route {
  const place = hash.replace(/^#?\/?/, "");
  // Only the first mark divides: a question that somebody typed into an address may end with one.
  const [path = ""] = place.split("?", 1);
  const query = place.slice(path.length + 1);
  const params: { [name: string]: string } = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (value !== "") params[name] = value;
  }
  return { page: path.split("/")[0] ?? "", params };
}

/** The address of a place. */
export function hashOf({ page, params }: Route): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `#/${page}${text === "" ? "" : `?${text}`}`;
}

let seen = { hash: "\0", route: parseRoute("") };

/** The place that is shown now; the same object as long as it is the same place. */
export function currentRoute(): Route {
  const { hash } = window.location;
  if (hash !== seen.hash) seen = { hash, route: parseRoute(hash) };
  return seen.route;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("hashchange", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("hashchange", listener);
  };
}

/** The place, for components: they are drawn again when it changes. */
export function useRoute(): Route {
  return useSyncExternalStore(subscribe, currentRoute);
}

/** The address of another page, at the same moment of the same memory. */
export function hrefOf(page: string, params: Params = {}): string {
  const kept: { [name: string]: string | undefined } = {};
  for (const name of STICKY) kept[name] = currentRoute().params[name];
  return hashOf({ page, params: { ...kept, ...params } });
}

/** The address of this page with some parameters changed; `undefined` takes one away. */
export function hrefWith(params: Params): string {
  const { page, params: before } = currentRoute();
  return hashOf({ page, params: { ...before, ...params } });
}

/** Goes to an address; with `replace`, the place before is not kept for the back button. */
export function go(hash: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, "", hash);
  else window.history.pushState(null, "", hash);
  for (const listener of [...listeners]) listener();
}
