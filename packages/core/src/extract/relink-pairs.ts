/**
 * Which memories are shown together when links are looked for in a whole graph.
 *
 * A prompt holds some forty memories and a graph has many more, so most pairs are never seen together.
 * What decides is nearness, not the place in a list: every memory is shown with its own neighbours,
 * wherever in the graph those are, and a memory is shown again as often as it is somebody's neighbour.
 * So there is no border that a link could not cross.
 *
 * Promise: pure; every pair of a memory and one of its neighbours is shown together at least once, and
 * pairs that were shown already ask for no further prompt.
 */

/** A memory and those that may have to do with it, by id. */
export interface Neighbourhood {
  readonly focus: string;
  readonly near: readonly string[];
}

/** Packs neighbourhoods into prompts, in the order in which they come. */
export class Packer {
  readonly #size: number;
  readonly #shown = new Set<string>();
  #ids = new Set<string>();

  /** `size` is how many memories a prompt holds; a neighbourhood may not have more. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Adds a neighbourhood; what was packed before is given back when there is no room for it. */
  add({ focus, near }: Neighbourhood): readonly string[] | undefined {
    const open = near.filter((id) => !this.#shown.has(pairOf(focus, id)));
    if (open.length === 0) return undefined;
    const wanted = [focus, ...open];
    const size = this.#ids.size + wanted.filter((id) => !this.#ids.has(id)).length;
    const full = size > this.#size ? this.take() : undefined;
    for (const id of wanted) this.#ids.add(id);
    return full;
  }

  /** Gives back what is packed, and starts anew; `undefined` when there is nothing. */
  take(): readonly string[] | undefined {
    const ids = [...this.#ids];
    this.#ids = new Set();
    for (const [at, first] of ids.entries()) {
      for (const second of ids.slice(at + 1)) this.#shown.add(pairOf(first, second));
    }
    return ids.length < 2 ? undefined : ids;
  }
}

function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
