/**
 * Who is asking: the token or the scope that the person gave, kept by this tab alone and until it is
 * closed. It goes into the header of requests and nowhere else: not into addresses, not into what the
 * browser keeps for good, not into messages.
 */
import { useSyncExternalStore } from "react";

const NAME = "cortex.key";

const listeners = new Set<() => void>();

/** What was given; `undefined` before anybody signed in. */
export function currentKey(): string | undefined {
  return window.sessionStorage.getItem(NAME) ?? undefined;
}

/** Keeps what was given; `undefined` signs out. */
export function setKey(key: string | undefined): void {
  if (key === undefined) window.sessionStorage.removeItem(NAME);
  else window.sessionStorage.setItem(NAME, key);
  for (const listener of [...listeners]) listener();
}

/** Whether a key is a scope or the handle of one, and not the owner's token. */
export function isScopeKey(key: string | undefined): boolean {
  return key !== undefined && /^cortex-(scope|handle)-/.test(key);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The key, for components. */
export function useKey(): string | undefined {
  return useSyncExternalStore(subscribe, currentKey);
}
