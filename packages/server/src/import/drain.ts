/**
 * Going through the items of a file, group by group: memories and links alike.
 *
 * Promise: what stands before a record that cannot be used is kept, whatever becomes of it; so is what
 * could be read before a damaged page deep in a database.
 */
import { isCortexError } from "@cortex-memory/core";
import { isUnusable, type Step } from "./records.js";
import type { Tally } from "./tally.js";

/** Items that are brought in together. */
export interface ItemGroup<Item> {
  /** Whether an item may join those that are there. */
  takes(item: Item): boolean;
  add(item: Item): void;
  /** Brings in what is there, if anything, and begins anew. */
  flush(): Promise<void>;
}

/** Brings in every item, until the tally says to stop. */
export async function drain<Item extends { readonly at: string }>(
  items: AsyncIterable<Step<Item>>,
  group: ItemGroup<Item>,
  { tally, onProgress }: { readonly tally: Tally; readonly onProgress: (done: number) => void },
): Promise<void> {
  let last = "the start";
  try {
    for await (const { item, done } of items) {
      if (isUnusable(item)) {
        await group.flush();
        if (!tally.hasStopped) tally.unusable(item);
      } else {
        if (!group.takes(item)) await group.flush();
        group.add(item);
      }
      if (tally.hasStopped) return;
      last = item.at;
      onProgress(done);
    }
    await group.flush();
  } catch (error) {
    if (!isCortexError(error, "ERR_CORRUPT")) throw error;
    await group.flush();
    tally.stop({ at: `after ${last}`, code: error.code, message: error.message });
  }
}
