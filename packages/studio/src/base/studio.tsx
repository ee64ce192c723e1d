/**
 * The memory that is open: a client of the server that served this page, the moment that is looked at,
 * what the person may do, and the journal as it grows. Components get it by `useStudio`; they never open a
 * client of their own.
 *
 * A graph that is not there yet is no failure: it is made by the first write, not by looking. Only the owner
 * may follow the journal, and comes back to it after a break; others see the present when they ask again.
 */
import { isCortexError, openRemote, type RemoteCortex } from "@cortex-memory/core/remote";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { useRoute } from "./route.ts";
import { currentHolder, isScopeKey, signerFor, useHolderName, useKey } from "./session.tsx";

/** A moment to read at: nothing for the present. */
export type Past = { readonly asOf?: number | string };

/** What is open. */
export interface Studio {
  readonly memory: RemoteCortex;
  /** Whose memory it is. */
  readonly graph: string;
  /** Seq or ISO time of the moment that is shown; `undefined` is the present. */
  readonly at: number | string | undefined;
  readonly past: Past;
  /** Whether the person has everything, or the part that a scope grants. */
  readonly isOwner: boolean;
  /** Whether changes can be made: not in the past. */
  readonly canWrite: boolean;
}

/** What opening a graph found. */
export type Opening =
  | { readonly kind: "opening" }
  | { readonly kind: "refused" }
  | { readonly kind: "none"; readonly graph: string }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "open"; readonly studio: Studio };

/** How often a memory that cannot be opened is tried again. */
const AGAIN_MS = 3000;

const StudioContext = createContext<Studio | undefined>(undefined);

/** Hands what is open to everything below. */
export function StudioProvider({
  studio,
  children,
}: {
  readonly studio: Studio;
  readonly children: ReactNode;
}) {
  return <StudioContext value={studio}>{children}</StudioContext>;
}

/** What is open. */
export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (studio === undefined) throw new Error("no memory is open around this component");
  return studio;
}

/** The moment in an address. */
export function momentOf(at: string | undefined): number | string | undefined {
  if (at === undefined) return undefined;
  return /^\d{1,15}$/.test(at) ? Number(at) : at;
}

/** Opens the graph of the address with the key of this tab. */
export function useOpening(): Opening {
  const { params } = useRoute();
  const key = useKey();
  const holder = useHolderName();
  const { graph } = params;
  const opened = useQuery({
    queryKey: ["open", graph, key, holder],
    queryFn: () => openGraph(graph, key),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    // A server that is away may come back; one that refuses would refuse again.
    refetchInterval: ({ state: { status, error } }) =>
      status === "error" && !isRefusal(error) ? AGAIN_MS : false,
  });
  const at = momentOf(params.at);
  const memory = opened.data;
  const isOwner = !isScopeKey(key);
  const studio = useMemo((): Studio | undefined => {
    if (memory === undefined || memory === null) return undefined;
    return {
      memory,
      graph: memory.actor,
      at,
      past: at === undefined ? {} : { asOf: at },
      isOwner,
      canWrite: at === undefined,
    };
  }, [memory, at, isOwner]);
  if (studio !== undefined) return { kind: "open", studio };
  if (opened.isPending) return { kind: "opening" };
  if (opened.data === null) return { kind: "none", graph: graph ?? "default" };
  return isRefusal(opened.error) ? { kind: "refused" } : { kind: "failed", error: opened.error };
}

/** Opens a graph anew, and makes it if it is not there; for the first write of a newcomer. */
export function useMakeGraph(): (graph: string | undefined) => Promise<RemoteCortex> {
  const queries = useQueryClient();
  const key = useKey();
  const holder = useHolderName();
  return async (graph) => {
    const memory = await openRemote(window.location.origin, { ...optionsFor(graph, key) });
    queries.setQueryData(["open", graph, key, holder], memory);
    return memory;
  };
}

/** A client that asks with another key, for looking at what that key shows; whoever opens it closes it. */
export function openAs(graph: string, key: string): Promise<RemoteCortex> {
  return openRemote(window.location.origin, { ...optionsFor(graph, key), create: false });
}

/** A client of the server of this page; `null` where there is no such graph yet. */
async function openGraph(graph: string | undefined, key: string | undefined) {
  try {
    const memory = await openRemote(window.location.origin, {
      ...optionsFor(graph, key),
      create: false,
    });
    // A scope is looked at by the first call that bears it.
    if (isScopeKey(key)) await memory.list({ limit: 1 });
    return memory;
  } catch (error) {
    if (isCortexError(error, "ERR_NOT_FOUND") && error.details.field === "data") return null;
    throw error;
  }
}

function optionsFor(graph: string | undefined, key: string | undefined) {
  // The page itself came this way: its key would be heard by whoever listens in any case.
  const common = {
    plainHttp: true,
    fetch: watchingFetch,
    ...(graph === undefined ? {} : { actor: graph }),
  };
  if (key === undefined) return common;
  if (!isScopeKey(key)) return { ...common, token: key };
  const holder = currentHolder();
  return { ...common, scope: key, ...(holder === undefined ? {} : { signer: signerFor(holder) }) };
}

function isRefusal(error: unknown): boolean {
  if (!isCortexError(error)) return false;
  // A text that no header could carry is as wrong as any other.
  if (error.details.field === "token" || error.details.field === "scope") return true;
  return error.code === "ERR_DENIED" || error.code.startsWith("ERR_SCOPE");
}

/** How following is doing; `off` where nothing is followed. */
type LiveState = "off" | StreamState;

/** Entries that come close together are one reason to ask again. */
const GATHER_MS = 250;

/** The first pause before coming back; it doubles up to the last. */
const PAUSE_MS = { first: 500, last: 15_000 };

/** Follows the open memory for as long as the component is there: each entry empties what may be stale. */
export function useLive(): LiveState {
  const { memory, graph, isOwner } = useStudio();
  const queries = useQueryClient();
  const state = useSyncExternalStore(onStream, () => streamNow);
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
  memory: RemoteCortex,
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

/** How the stream of events is doing. */
type StreamState = "connecting" | "live" | "broken";

let streamNow: StreamState = "connecting";
const streamListeners = new Set<() => void>();

function tellStream(next: StreamState): void {
  if (next === streamNow) return;
  streamNow = next;
  for (const listener of [...streamListeners]) listener();
}

/** Calls back when that changes. */
function onStream(listener: () => void): () => void {
  streamListeners.add(listener);
  return () => streamListeners.delete(listener);
}

/**
 * `fetch`, with an eye on the stream. The client opens it again by itself when it breaks, and tells nobody; so
 * the page watches the one request that is the stream, and knows.
 */
const watchingFetch: typeof fetch = async (input, init) => {
  const address = typeof input === "string" || input instanceof URL ? String(input) : input.url;
  if (!/\/subscribe(\?|$)/.test(address)) return fetch(input, init);
  try {
    const response = await fetch(input, init);
    tellStream(response.ok ? "live" : "broken");
    if (!response.ok || response.body === null) return response;
    return new Response(watched(response.body), { status: 200, headers: response.headers });
  } catch (error) {
    tellStream("broken");
    throw error;
  }
};

/** The same bytes; that they end or break off is told. */
function watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(sink) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          tellStream("broken");
          sink.close();
        } else sink.enqueue(value);
      } catch (error) {
        tellStream("broken");
        sink.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
