/**
 * Letting writes that arrived together share a commit.
 *
 * The store commits whatever waits at the moment it begins, and waits for the disk with the whole
 * process. Requests that came in meanwhile are read from their sockets one by one in the next turn of
 * the event loop; without a word the first of them would begin a commit of its own before the second
 * is read. So writes go on together, at the end of the turn in which they were read.
 */

let next: Promise<void> | undefined;

/** Resolves at the end of this turn, for all who ask in it at the same moment. */
export function endOfTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined;
      resolve();
    });
  });
  return next;
}
