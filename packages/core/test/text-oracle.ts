/**
 * The plainest search there is: every state of every memory in a list, scored one by one. It shares no
 * code with the index. Texts of its tests are made of words in lower case with spaces between, and the
 * graph is configured for no language, so that a word is what stands between spaces.
 */

/** What a memory was from a seq on. */
export interface OracleState {
  readonly seq: number;
  readonly lifecycle: string;
  readonly text: string;
  readonly tags: readonly string[];
}

/** A hit of the oracle. */
export interface OracleHit {
  readonly id: string;
  readonly score: number;
}

const K1 = 1.2;
const B = 0.75;

/** All states of all memories. */
export class Oracle {
  readonly #states = new Map<string, OracleState[]>();

  /** A memory changed. */
  record(id: string, state: OracleState): void {
    const states = this.#states.get(id) ?? [];
    states.push(state);
    this.#states.set(id, states);
  }

  /** A memory is gone, and so is everything it ever was. */
  forget(id: string): void {
    this.#states.delete(id);
  }

  /** What a memory was before it became what it is now. */
  before(id: string): OracleState | undefined {
    return this.#states.get(id)?.at(-2);
  }

  /** What a memory is now. */
  now(id: string): OracleState | undefined {
    return this.#states.get(id)?.at(-1);
  }

  /** Every memory in a lifecycle. */
  ids(lifecycle: string): readonly string[] {
    return [...this.#states.keys()].filter((id) => this.now(id)?.lifecycle === lifecycle);
  }

  /** All hits at a position, the best first; of equal ones the last written first. */
  search(
    query: readonly string[],
    options: { readonly seq: number; readonly lifecycles: readonly string[] },
  ): readonly OracleHit[] {
    const documents = [...this.#states].flatMap(([id, states]) => {
      const state = states.findLast(({ seq }) => seq <= options.seq);
      if (state === undefined || !options.lifecycles.includes(state.lifecycle)) return [];
      return [
        { id, seq: state.seq, words: `${state.text} ${state.tags.join(" ")}`.trim().split(/\s+/) },
      ];
    });
    const words = [...new Set(query)];
    const average = documents.reduce((sum, one) => sum + one.words.length, 0) / documents.length;
    const weights = words.map((word) => {
      const holding = documents.filter((one) => one.words.includes(word)).length;
      return Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5));
    });
    return documents
      .flatMap(({ id, seq, words: held }) => {
        let score = 0;
        let found = false;
        for (const [at, word] of words.entries()) {
          const times = held.filter((one) => one === word).length;
          if (times === 0) continue;
          found = true;
          const share = (times * (K1 + 1)) / (times + K1 * (1 - B + (B * held.length) / average));
          score += (weights[at] ?? 0) * share;
        }
        return found ? [{ id, seq, score }] : [];
      })
      .sort((a, b) => b.score - a.score || b.seq - a.seq);
  }
}
