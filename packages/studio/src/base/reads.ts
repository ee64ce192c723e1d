/**
 * Reading and changing the open memory and its server: every answer goes through one cache, by graph, moment
 * and question, and every change empties what may be stale.
 *
 * What is read at a moment of the past cannot change and is kept. What is read now is asked for again
 * when the journal grew, which `useLive` hears. Routes of the server itself (which graphs there are, what it
 * counts, what was slow) are documented in `docs/rest.md` and `docs/operating.md`, and for the owner alone.
 */
import { CortexError, isCortexError, type RemoteCortex } from "@cortex-memory/core/remote";
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { count } from "./format.tsx";
import { notify } from "./notice.tsx";
import { go, hashOf } from "./route.ts";
import { currentKey } from "./session.tsx";
import { type Past, useStudio } from "./studio.tsx";

/** How a read differs from the usual. */
interface ReadOptions {
  /** False asks for nothing. */
  readonly enabled?: boolean;
  /** Shows the answer before while the next one is on its way. */
  readonly keep?: boolean;
}

/**
 * Asks the memory. `question` names what is asked and with what; two components that ask the same share
 * one answer.
 */
export function useRead<T>(
  question: readonly unknown[],
  ask: (memory: RemoteCortex, past: Past) => Promise<T>,
  { enabled = true, keep = false }: ReadOptions = {},
): UseQueryResult<T> {
  const { memory, graph, at, past } = useStudio();
  return useQuery<T>({
    queryKey: [graph, at ?? "now", ...question],
    queryFn: () => ask(memory, past),
    enabled,
    staleTime: at === undefined ? 30_000 : Number.POSITIVE_INFINITY,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  });
}

/** What a change says when it is done. */
interface Done {
  readonly text: string;
  /** The entry that can be taken back. */
  readonly undo?: number;
}

/** Changes the memory; `said` tells the person what was done, and which entry would undo it. */
export function useWrite<I, T>(
  act: (memory: RemoteCortex, input: I) => Promise<T>,
  said: (result: T, input: I) => Done | undefined,
): UseMutationResult<T, Error, I> {
  const { memory, graph, isOwner } = useStudio();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: [graph, "now"] });
  const wayBack = (seq: number | undefined) =>
    seq === undefined || !isOwner
      ? {}
      : {
          undo: async () => {
            await memory.revert(seq);
            void refresh();
          },
        };
  return useMutation<T, Error, I>({
    mutationFn: (input) => act(memory, input),
    // The way back of an earlier change must not stand there as if it were that of this one.
    onMutate: () => notify(undefined),
    // Said at once and read again after: said after the reading, it could stand over what the person did meanwhile.
    onSuccess: (result, input) => {
      const done = said(result, input);
      if (done !== undefined) notify({ text: done.text, ...wayBack(done.undo) });
      return refresh();
    },
  });
}

/** Everything about one memory, as `inspect` answers: what the panel shows and what dialogs start from. */
export type Inspected = NonNullable<Awaited<ReturnType<RemoteCortex["inspect"]>>>;

/** Links of one memory that are looked through. */
const LINKS_LOOKED_AT = 500;

/** The links from a memory into other graphs, which no walk inside one graph follows. */
export async function linksOutside(memory: RemoteCortex, id: string, past: Past) {
  const { edges } = await memory.edgesOut(id, { limit: LINKS_LOOKED_AT, ...past });
  return edges.filter(({ toGraph }) => toGraph !== undefined);
}

/** One page of what waits for a decision. */
export type Waiting = Awaited<ReturnType<RemoteCortex["review"]>>;

/** One thing that waits. */
export type WaitingItem = Waiting["items"][number];

/** Things that are listed at once. */
const WAITING_AT_ONCE = 100;

/** What waits for a decision now; the past has no questions. */
export function useWaiting(isDuplicates = false): UseQueryResult<Waiting> {
  const { at } = useStudio();
  return useRead(
    ["review", isDuplicates ? "duplicates" : "open"],
    (memory) =>
      memory.review({ limit: WAITING_AT_ONCE, ...(isDuplicates ? { kinds: ["duplicate"] } : {}) }),
    { enabled: at === undefined, keep: true },
  );
}

/** How many wait, as a number for a small mark; empty for none. */
export function waitingCount(found: Waiting | undefined): string {
  if (found === undefined || found.items.length === 0) return "";
  return `${count(found.items.length)}${found.cursor === undefined ? "" : "+"}`;
}

/** How often what a server counts is read again while somebody looks at it. */
const AGAIN_MS = 10_000;

/** Asks for one path of the server; a refusal is thrown as the client of a memory throws it. */
export async function askServer(
  path: string,
  init: { readonly method?: string; readonly body?: object } = {},
): Promise<Response> {
  const key = currentKey();
  const { method = "GET", body } = init;
  const response = await fetch(path, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new CortexError("ERR_STORAGE", "the server cannot be reached");
  });
  if (response.ok) return response;
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<CortexError> {
  try {
    const { code, detail } = (await response.json()) as { code?: string; detail?: string };
    const error = new CortexError(code as "ERR_STORAGE", detail ?? response.statusText);
    if (isCortexError(error)) return error;
  } catch {
    // An answer that is no problem document says nothing more than its status.
  }
  return new CortexError("ERR_STORAGE", `the server answered ${response.status}`);
}

/** Reads something of the server; two components that ask the same share one answer. */
export function useServer<T>(
  path: string,
  read: (response: Response) => Promise<T>,
  { isLive = false }: { readonly isLive?: boolean } = {},
): UseQueryResult<T> {
  const { isOwner } = useStudio();
  return useQuery<T>({
    queryKey: ["server", path],
    queryFn: async () => read(await askServer(path)),
    enabled: isOwner,
    staleTime: isLive ? 0 : 30_000,
    ...(isLive ? { refetchInterval: AGAIN_MS } : {}),
  });
}

/** Which graph, and why. */
interface Removal {
  readonly id: string;
  readonly reason: string;
}

/**
 * Removes a graph with everything in it, for good; if it was the open one, goes to the graph of the server. What
 * this page held of it is dropped, so that nothing of it is shown or asked for again.
 */
export function useRemoveGraph(said: string): UseMutationResult<void, Error, Removal> {
  const { graph } = useStudio();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (removal: Removal) => {
      await askServer("/v1/remove-graph", { method: "POST", body: { ...removal } });
    },
    onSuccess: async (_, { id }) => {
      if (id === graph) go(hashOf({ page: "", params: {} }), { replace: true });
      queries.removeQueries({ queryKey: ["open", id] });
      queries.removeQueries({ queryKey: [id] });
      await queries.invalidateQueries({ queryKey: ["server"] });
      notify({ text: said });
    },
  });
}
