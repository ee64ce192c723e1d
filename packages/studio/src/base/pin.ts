/**
 * The checkpoint that the person pinned, one for each graph: kept by this browser, so that a server that
 * changed its past has to show that to somebody who remembers. It holds hashes and no content.
 */
import { useSyncExternalStore } from "react";
import { useStudio } from "./studio.tsx";

/** What was pinned. */
export interface Pin {
  /** The text of the checkpoint. */
  readonly text: string;
  /** When it was pinned, by the clock of this browser. */
  readonly pinnedAt: number;
}

const listeners = new Set<() => void>();

function keyOf(graph: string): string {
  return `cortex.pin.${graph}`;
}

let seen: { readonly kept: string | null; readonly pin: Pin | undefined } = {
  kept: null,
  pin: undefined,
};

/** The pin of a graph; the same object as long as it is the same. */
function currentPin(graph: string): Pin | undefined {
  const kept = window.localStorage.getItem(keyOf(graph));
  if (kept !== seen.kept) seen = { kept, pin: kept === null ? undefined : readPin(kept) };
  return seen.pin;
}

function readPin(kept: string): Pin | undefined {
  try {
    const { text, pinnedAt } = JSON.parse(kept) as Partial<Pin>;
    return typeof text === "string" && typeof pinnedAt === "number"
      ? { text, pinnedAt }
      : undefined;
  } catch {
    // What cannot be read is no pin; the page then says that nothing is pinned.
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** The pin of the open graph, and how to set or take it away. */
export function usePin(): readonly [Pin | undefined, (text: string | undefined) => void] {
  const { graph } = useStudio();
  const pin = useSyncExternalStore(subscribe, () => currentPin(graph));
  const set = (text: string | undefined) => {
    if (text === undefined) window.localStorage.removeItem(keyOf(graph));
    else {
      window.localStorage.setItem(keyOf(graph), JSON.stringify({ text, pinnedAt: Date.now() }));
    }
    for (const listener of [...listeners]) listener();
  };
  return [pin, set];
}
