/**
 * What waits for a decision: asked for once, and counted on every page.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import type { UseQueryResult } from "@tanstack/react-query";
import { count } from "./format.tsx";
import { useRead } from "./reads.ts";
import { useStudio } from "./studio.tsx";

/** One page of what waits. */
export type Waiting = Awaited<ReturnType<RemoteCortex["review"]>>;

/** One thing that waits. */
export type WaitingItem = Waiting["items"][number];

/** Things that are listed at once. */
const AT_ONCE = 100;

/** What waits now; the past has no questions. */
export function useWaiting(isDuplicates = false): UseQueryResult<Waiting> {
  const { at } = useStudio();
  return useRead(
    ["review", isDuplicates ? "duplicates" : "open"],
    (memory) =>
      memory.review({ limit: AT_ONCE, ...(isDuplicates ? { kinds: ["duplicate"] } : {}) }),
    { enabled: at === undefined, keep: true },
  );
}

/** How many wait, as a number for a small mark; empty for none. */
export function waitingCount(found: Waiting | undefined): string {
  if (found === undefined || found.items.length === 0) return "";
  return `${count(found.items.length)}${found.cursor === undefined ? "" : "+"}`;
}
