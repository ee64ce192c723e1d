/**
 * What an import did so far: counts, what was passed over and why, and the bad record it stopped at.
 * Lists are cut at a hundred lines, counts are not.
 *
 * Going through the items of a file, group by group: memories and links alike.
 *
 * Promise: what stands before a record that cannot be used is kept, whatever becomes of it; so is what
 * could be read before a damaged page deep in a database.
 */
import { type ErrorCode, isCortexError } from "@cortex-memory/core";
import { type GraphPlan, isUnusable, type Lacking, type Step, type Unusable } from "./records.js";

/** Lines of each list that a report shows. */
const SHOWN = 100;

/** What became of memories. */
interface MemoryCounts {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
}

/** Something that was passed over. */
interface Passed {
  /** Where it stands in the file. */
  readonly at: string;
  readonly reason: string;
}

/** A bad record. */
interface Trouble {
  readonly at: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** One graph of a file that has several. */
interface GraphReport extends MemoryCounts {
  readonly id: string;
  readonly name: string;
  /** It was there before. */
  readonly reused: boolean;
}

/** What an import did, or with `dryRun` would do. */
export interface ForeignReport {
  /** False when it stopped at a bad record. */
  readonly ok: boolean;
  readonly dryRun: boolean;
  readonly memories: MemoryCounts;
  readonly links: { readonly added: number; readonly unchanged: number };
  /** Memories and links that were passed over: how many, and the first hundred. */
  readonly skipped: { readonly count: number; readonly first: readonly Passed[] };
  /** Bad records that were passed over because that was asked for. */
  readonly errors: { readonly count: number; readonly first: readonly Trouble[] };
  /** True when bad records of the file were left out. */
  readonly partial: boolean;
  /** The file that names everything that was left out. */
  readonly report?: string;
  /** The bad record it stopped at; of a dry run the first at which an import would. */
  readonly stopped?: Trouble;
  readonly graphs?: readonly GraphReport[];
}

/** A line of the file that names what was left out. */
export interface LeftOut {
  readonly what: "bad" | "passed over";
  readonly at: string;
  readonly code?: ErrorCode;
  readonly reason: string;
}

/** How an import counts. */
interface TallyHow {
  /** Bad records are reported, and the import goes on behind them. */
  readonly skipBad: boolean;
  /** Nothing is written, so every bad record can be named. */
  readonly dryRun: boolean;
  /** Told of everything that is left out, as it is. */
  readonly tell: (line: LeftOut) => void;
}

type Outcome = keyof MemoryCounts;

/** Counts while an import runs. */
export class Tally {
  readonly #how: TallyHow;
  readonly #memories = { added: 0, updated: 0, unchanged: 0 };
  readonly #links = { added: 0, unchanged: 0 };
  readonly #skipped: Passed[] = [];
  readonly #errors: Trouble[] = [];
  readonly #graphs = new Map<
    string,
    { plan: GraphPlan; reused: boolean } & Record<Outcome, number>
  >();
  #skippedCount = 0;
  #errorCount = 0;
  #stopped: Trouble | undefined;
  #isCorrupt = false;

  constructor(how: TallyHow) {
    this.#how = how;
  }

  /** Whether bad records are passed over, so that what stands behind them comes in. */
  get passesBad(): boolean {
    return this.#how.skipBad || this.#how.dryRun;
  }

  /** Whether a bad record ended the import; a dry run goes on, to name them all. */
  get hasStopped(): boolean {
    return this.#isCorrupt || (this.#stopped !== undefined && !this.#how.dryRun);
  }

  /** Begins to count for a graph. */
  graph(plan: GraphPlan, reused: boolean): void {
    this.#graphs.set(plan.id, { plan, reused, added: 0, updated: 0, unchanged: 0 });
    for (const note of plan.notes ?? []) this.skip(`graph ${plan.origin?.id ?? plan.id}`, note);
  }

  memory(graph: string | undefined, outcome: Outcome): void {
    this.#memories[outcome] += 1;
    const own = graph === undefined ? undefined : this.#graphs.get(graph);
    if (own !== undefined) own[outcome] += 1;
  }

  link(outcome: "added" | "unchanged"): void {
    this.#links[outcome] += 1;
  }

  /** Something that is left out and needs no repair of the file. */
  skip(at: string, reason: string): void {
    this.#skippedCount += 1;
    if (this.#skipped.length < SHOWN) this.#skipped.push({ at, reason });
    this.#how.tell({ what: "passed over", at, reason });
  }

  /** An item of the file that cannot be used: it ends the import, or is counted. */
  unusable({ at, unusable, code, message }: Unusable): void {
    if (unusable === "skip") {
      this.skip(at, message);
      return;
    }
    if (this.passesBad) {
      this.#errorCount += 1;
      if (this.#errors.length < SHOWN) this.#errors.push({ at, code, message });
    }
    this.#how.tell({ what: "bad", at, code, reason: message });
    if (!this.#how.skipBad) this.#stopped ??= { at, code, message };
  }

  /** What a record is kept without; where bad records end the import, so does the first of these. */
  lacking(pieces: Lacking = []): void {
    for (const piece of pieces) if (!this.hasStopped) this.unusable(piece);
  }

  /** Ends the import, whatever was asked for: nothing more can be read. */
  stop(trouble: Trouble): void {
    this.#stopped ??= trouble;
    this.#isCorrupt = true;
    this.#how.tell({ what: "bad", at: trouble.at, code: trouble.code, reason: trouble.message });
  }

  report(file: string | undefined): ForeignReport {
    const { dryRun } = this.#how;
    const graphs = [...this.#graphs.values()].map(({ plan, ...counts }) => ({
      id: plan.id,
      name: plan.name,
      ...counts,
    }));
    return {
      ok: this.#stopped === undefined,
      dryRun,
      memories: { ...this.#memories },
      links: { ...this.#links },
      skipped: { count: this.#skippedCount, first: this.#skipped },
      errors: { count: this.#errorCount, first: this.#errors },
      partial: this.#errorCount > 0,
      ...(file === undefined ? {} : { report: file }),
      ...(this.#stopped === undefined ? {} : { stopped: this.#stopped }),
      ...(graphs.length === 0 ? {} : { graphs }),
    };
  }
}

/** Items of one commit. */
export const BATCH_ITEMS = 1000;
/** Characters that a commit has at the most, unless one item has more: well below the bytes that it may have. */
const BATCH_CHARS = 4 * 1024 * 1024;

/** How items are brought in together: of one graph, and as many as one commit takes. */
interface Grouping<Item> {
  bringIn(items: readonly Item[]): Promise<void>;
  /** About how much an item holds. */
  charsOf(item: Item): number;
  /** What an item is known by, where no two items of a commit may be the same. */
  nameOf?(item: Item): string;
}

/** Brings in every item, until the tally says to stop. */
export async function drain<
  Item extends {
    readonly at: string;
    readonly graph?: string;
    readonly lacking?: Lacking;
    readonly notes?: readonly string[];
  },
>(
  items: AsyncIterable<Step<Item>>,
  { bringIn, charsOf, nameOf }: Grouping<Item>,
  { tally, onProgress }: { readonly tally: Tally; readonly onProgress: (done: number) => void },
): Promise<void> {
  let group: Item[] = [];
  let names = new Set<string>();
  let chars = 0;
  let last = "the start";
  const flush = async (): Promise<void> => {
    const together = group;
    [group, names, chars] = [[], new Set(), 0];
    if (together.length > 0) await bringIn(together);
  };
  const add = async (item: Item): Promise<void> => {
    const [name, more] = [nameOf?.(item), charsOf(item)];
    const isFull = group.length === BATCH_ITEMS || chars + more > BATCH_CHARS;
    const isApart = group[0]?.graph !== item.graph || (name !== undefined && names.has(name));
    if (isFull || isApart) await flush();
    group.push(item);
    if (name !== undefined) names.add(name);
    chars += more;
  };
  try {
    for await (const { item, done } of items) {
      if (isUnusable(item)) {
        await flush();
        if (!tally.hasStopped) tally.unusable(item);
      } else {
        // What stands before what ends the import is kept.
        if (item.lacking !== undefined && !tally.passesBad) await flush();
        tally.lacking(item.lacking);
        for (const note of tally.hasStopped ? [] : (item.notes ?? [])) tally.skip(item.at, note);
        if (!tally.hasStopped) await add(item);
      }
      if (tally.hasStopped) return;
      last = item.at;
      onProgress(done);
    }
    await flush();
  } catch (error) {
    if (!isCortexError(error, "ERR_CORRUPT")) throw error;
    await flush();
    tally.stop({ at: `after ${last}`, code: error.code, message: error.message });
  }
}
