/**
 * From the journal to the URIs of what changed: what subscribers of resources are told. Entries of
 * other processes are heard as well. Only the owner may follow a journal, so only the owner's
 * connections announce that resources can be subscribed to.
 */
import type { Cortex } from "@cortex-memory/core";
import { currentUri, graphResource } from "./resources.js";

/** Following that can be ended. */
export interface Following {
  end(): Promise<void>;
}

/** Tells the URI of every memory that a commit touched, and the graph's, until ended or until the store closes. */
export function followChanges(
  memory: Cortex,
  onChanged: (uri: string) => void,
  log: (line: string) => void,
): Following {
  const events = memory.subscribe();
  const done = (async () => {
    for await (const { memories } of events) {
      for (const { id, type } of memories) {
        if (type !== undefined) onChanged(currentUri(memory.actor, type, id));
      }
      if (memories.length > 0) onChanged(graphResource(memory).uri);
    }
  })().catch((error: unknown) => {
    log(`following the journal ended: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    async end() {
      await events.return();
      await done;
    },
  };
}
