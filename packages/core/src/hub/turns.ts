/**
 * Turns at lineages, within one process: whoever writes a lineage that several graphs may hold does so alone, or
 * together with others that write it in the same place. So what one of them read of the other graphs still holds when it
 * writes. Promises: first come, first served; several lineages are taken in one order, so that nobody waits in a circle.
 * Between processes nothing is promised here: what two of them did at once, `memgraph/nodes.ts` puts right.
 */

/** Whose turn it is at a lineage, and who waits. */
interface Queue {
  /** Where those write whose turn it is; `undefined` when it is one alone. */
  place: string | undefined;
  running: number;
  readonly waiting: { readonly place: string | undefined; readonly begin: () => void }[];
}

/** See the file header. */
export class Turns {
  readonly #queues = new Map<string, Queue>();

  /** Does work that writes some lineages: together with others in the same place, or alone where no place is given. */
  async take<T>(
    lineages: readonly string[],
    place: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const names = lineages.length < 2 ? lineages : [...new Set(lineages)].sort();
    const taken: string[] = [];
    try {
      for (const name of names) {
        const turn = this.#begin(name, place);
        if (turn !== undefined) await turn;
        taken.push(name);
      }
      return await work();
    } finally {
      for (const name of taken) this.#end(name);
    }
  }

  #begin(name: string, place: string | undefined): Promise<void> | undefined {
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, { place, running: 1, waiting: [] });
      return undefined;
    }
    if (place !== undefined && queue.place === place && queue.waiting.length === 0) {
      queue.running += 1;
      return undefined;
    }
    return new Promise((begin) => {
      queue.waiting.push({ place, begin });
    });
  }

  #end(name: string): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    queue.running -= 1;
    if (queue.running > 0) return;
    const [first] = queue.waiting;
    if (first === undefined) {
      this.#queues.delete(name);
      return;
    }
    queue.place = first.place;
    do {
      queue.running += 1;
      queue.waiting.shift()?.begin();
    } while (queue.place !== undefined && queue.waiting[0]?.place === queue.place);
  }
}
