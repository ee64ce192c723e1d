/**
 * The journal as it grows: hears each entry, empties what may be stale, and comes back after a break.
 * Only the owner may follow the journal; others see the present when they ask again.
 */
import { isCortexError } from "@cortex-memory/core/remote";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { onStreamState, type StreamState, streamState } from "./stream-state.ts";
import { useStudio } from "./studio.tsx";

/** How the stream is doing; `off` where there is none. */
export type LiveState = "off" | StreamState;

/** Entries that come close together are one reason to ask again. */
const GATHER_MS = 250;

/** The first pause before coming back; it doubles up to the last. */
const PAUSE_MS = { first: 500, last: 15_000 };

/** Follows the open memory for as long as the component is there. */
export function useLive(): LiveState {
  const { memory, graph, isOwner } = useStudio();
  const queries = useQueryClient();
  const state = useSyncExternalStore(onStreamState, streamState);
  const [isOff, setOff] = useState(false);
  useEffect(() => {
    setOff(!isOwner);
    if (!isOwner) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: [graph, "now"] });
      }, GATHER_MS);
    };
    void follow(memory, { signal: stop.signal, onEntry: refresh, onDenied: () => setOff(true) });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [memory, graph, isOwner, queries]);
  return isOff ? "off" : state;
}

interface Followed {
  readonly signal: AbortSignal;
  readonly onEntry: () => void;
  readonly onDenied: () => void;
}

/** Follows until told to stop; what was missed meanwhile is asked for by its number. */
async function follow(
  memory: ReturnType<typeof useStudio>["memory"],
  { signal, onEntry, onDenied }: Followed,
): Promise<void> {
  let from: number | undefined;
  let pauseMs = PAUSE_MS.first;
  while (!signal.aborted) {
    try {
      from ??= (await memory.root()).seq + 1;
      if (signal.aborted) return;
      for await (const { seq } of memory.subscribe({ from, signal })) {
        from = seq + 1;
        pauseMs = PAUSE_MS.first;
        onEntry();
      }
    } catch (error) {
      if (isCortexError(error, "ERR_DENIED")) return onDenied();
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.last);
    // Something may have been written that nobody told of.
    onEntry();
  }
}
