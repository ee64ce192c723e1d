/**
 * Everything about one memory, as `inspect` answers: what the panel shows and what dialogs start from; and its
 * links into other graphs, which no walk inside one graph follows.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import type { Past } from "./studio.tsx";

/** What `inspect` answers. */
export type Inspected = NonNullable<Awaited<ReturnType<RemoteCortex["inspect"]>>>;

/** Links of one memory that are looked through. */
const LOOKED_AT = 500;

/** The links from a memory into other graphs. */
export async function linksOutside(memory: RemoteCortex, id: string, past: Past) {
  const { edges } = await memory.edgesOut(id, { limit: LOOKED_AT, ...past });
  return edges.filter(({ toGraph }) => toGraph !== undefined);
}
