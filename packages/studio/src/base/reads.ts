/**
 * Reading and changing the open memory: every answer goes through one cache, by graph, moment and
 * question, and every change empties what may be stale.
 *
 * What is read at a moment of the past cannot change and is kept. What is read now is asked for again
 * when the journal grew, which `live.ts` hears.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { notify } from "./notice.tsx";
import { type Past, useStudio } from "./studio.tsx";

/** How a read differs from the usual. */
export interface ReadOptions {
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
export interface Done {
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
