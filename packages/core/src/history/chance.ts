/**
 * Randomness that can be drawn again. A group of operations whose rows are not loaded yet runs as often as rows
 * are missing, and only the last run counts. The next run gets the bytes that the others drew, so that the same
 * calls with the same randomness give the same result, however many rounds of reads a backend takes.
 */

/** A source of random bytes that takes back what was drawn last. */
export class Chance {
  readonly source: (bytes: number) => Uint8Array;
  #drawn: Uint8Array[] | undefined;
  /** What was taken back, in the order of drawing. */
  #again: Uint8Array[] = [];

  constructor(source: (bytes: number) => Uint8Array) {
    this.source = source;
  }

  /** Draws some bytes. */
  readonly draw = (bytes: number): Uint8Array => {
    const drawn = this.#again.length === 0 ? this.source(bytes) : this.#drawAgain(bytes);
    this.#drawn?.push(drawn);
    return drawn;
  };

  /** From here on, what is drawn may be taken back. */
  begin(): void {
    this.#drawn = [];
  }

  /** Ends what `begin` began; taken back, all that was drawn since is drawn again. */
  end(isTakenBack: boolean): void {
    if (isTakenBack && this.#drawn !== undefined) this.#again.unshift(...this.#drawn);
    this.#drawn = undefined;
  }

  /** Another run may draw other lengths: what was taken back is a stream of bytes. */
  #drawAgain(bytes: number): Uint8Array {
    const all = this.#again;
    const [first] = all;
    if (first?.length === bytes) {
      all.shift();
      return first;
    }
    const drawn = new Uint8Array(bytes);
    let filled = 0;
    while (filled < bytes) {
      const next = all.shift() ?? this.source(bytes - filled);
      const taken = next.subarray(0, bytes - filled);
      drawn.set(taken, filled);
      filled += taken.length;
      if (taken.length < next.length) all.unshift(next.subarray(taken.length));
    }
    return drawn;
  }
}
