/**
 * Events as they come, of a journal here or on a server, or of the graphs of a hub: one way to read them
 * and to end it.
 */

/** Events as they come: an async iterable that ends, and can be ended. */
export interface Following<E> extends AsyncIterableIterator<E>, AsyncDisposable {
  /** Ends it, also while `next` waits. */
  return(): Promise<IteratorResult<E>>;
}

/**
 * The events of a generator. `end` has to make it stop waiting: a generator takes `return` only after the
 * `next` before it.
 */
export function followingOf<E>(
  events: AsyncGenerator<E, undefined>,
  end: () => void,
): Following<E> {
  const following: Following<E> = {
    next: () => events.next(),
    return: () => {
      end();
      return events.return(undefined);
    },
    [Symbol.asyncIterator]: () => following,
    [Symbol.asyncDispose]: async () => void (await following.return()),
  };
  return following;
}
