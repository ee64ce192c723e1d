/**
 * How the rest of the process learns that the journal grew: whoever follows it listens here instead
 * of asking the store again and again. Commits of other processes are not heard; followers that must
 * see those look at the head row as well.
 */

/** Called after a commit, with the number of entries the journal then has, and had before it. */
export type CommitListener = (size: number, before: number) => void;

/** See the file header. */
export class CommitSignal {
  readonly #listeners = new Set<CommitListener>();

  /** Tells everybody who listens. A listener must not throw. */
  fire(size: number, before: number): void {
    for (const listener of [...this.#listeners]) listener(size, before);
  }

  /** Listens until the returned function is called. */
  listen(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
