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

/** A state with its words taken apart, once for all questions. */
interface Heard extends OracleState {
  readonly length: number;
  /** How often each word stands in it. */
  readonly times: ReadonlyMap<string, number>;
}

function heard(state: OracleState): Heard {
  const words = `${state.text} ${state.tags.join(" ")}`.trim().split(/\s+/);
  const times = new Map<string, number>();
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
  return { ...state, length: words.length, times };
}

/** A memory as it stood at a position. */
interface Standing {
  readonly id: string;
  readonly state: Heard;
}

/** All states of all memories. */
export class Oracle {
  readonly #states = new Map<string, Heard[]>();
  /** What stood where, until something changes: many questions are asked about one position. */
  readonly #standing = new Map<string, readonly Standing[]>();

  /** A memory changed. */
  record(id: string, state: OracleState): void {
    const states = this.#states.get(id) ?? [];
    states.push(heard(state));
    this.#states.set(id, states);
    this.#standing.clear();
  }

  /** A memory is gone, and so is everything it ever was. */
  forget(id: string): void {
    this.#states.delete(id);
    this.#standing.clear();
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
    const ids: string[] = [];
    for (const [id, states] of this.#states) {
      if (states[states.length - 1]?.lifecycle === lifecycle) ids.push(id);
    }
    return ids;
  }

  /** All hits at a position, the best first; of equal ones the last written first. */
  search(
    query: readonly string[],
    options: { readonly seq: number; readonly lifecycles: readonly string[] },
  ): readonly OracleHit[] {
    const documents = this.#standingAt(options.seq, options.lifecycles);
    const words = [...new Set(query)];
    const average = documents.reduce((sum, one) => sum + one.state.length, 0) / documents.length;
    const weights = words.map((word) => {
      const holding = documents.filter(({ state }) => state.times.has(word)).length;
      return Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5));
    });
    const hits: (OracleHit & { readonly seq: number })[] = [];
    for (const { id, state } of documents) {
      let score = 0;
      let found = false;
      for (const [at, word] of words.entries()) {
        const times = state.times.get(word) ?? 0;
        if (times === 0) continue;
        found = true;
        const norm = 1 - B + (B * state.length) / average;
        score += ((weights[at] ?? 0) * times * (K1 + 1)) / (times + K1 * norm);
      }
      if (found) hits.push({ id, seq: state.seq, score });
    }
    return hits.sort((a, b) => b.score - a.score || b.seq - a.seq);
  }

  #standingAt(seq: number, lifecycles: readonly string[]): readonly Standing[] {
    const name = `${seq} ${lifecycles.join(" ")}`;
    const known = this.#standing.get(name);
    if (known !== undefined) return known;
    const standing: Standing[] = [];
    for (const [id, states] of this.#states) {
      const state = states.findLast((one) => one.seq <= seq);
      if (state !== undefined && lifecycles.includes(state.lifecycle)) standing.push({ id, state });
    }
    this.#standing.set(name, standing);
    return standing;
  }
}
