/**
 * Removing a graph with everything in it: for good, over the server's own route. What this page held of it
 * is dropped, so that nothing of it is shown or asked for again.
 */
import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { notify } from "./notice.tsx";
import { go, hashOf } from "./route.ts";
import { askServer } from "./server.ts";
import { useStudio } from "./studio.tsx";

/** Which graph, and why. */
export interface Removal {
  readonly id: string;
  readonly reason: string;
}

/** Removes a graph; if it was the open one, goes to the graph of the server. */
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
