/**
 * How the rest of the process learns that the journal grew: whoever follows it listens here instead
 * of asking the store again and again. Commits of other processes are not heard; followers that must
 * see those look at the head row as well.
 */

/**
 * Called after a commit, with the number of entries the journal then has, and had before it. A promise
 * that it gives back is one that the next commit of this process waits for.
 */
export type CommitListener = (size: number, before: number) => Promise<void> | undefined | void;

/** See the file header. */
export class CommitSignal {
  readonly #listeners = new Set<CommitListener>();

  /** Tells everybody who listens, and gives what the next commit has to wait for. A listener must not throw. */
  fire(size: number, before: number): Promise<unknown> | undefined {
    const waits = [...this.#listeners].flatMap((listener) => listener(size, before) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** Listens until the returned function is called. */
  listen(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
