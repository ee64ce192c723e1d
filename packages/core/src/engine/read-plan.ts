/**
 * How a read was carried out: which indexes, lanes or tiers it went through and how much it read, for
 * whoever keeps a log of what was slow.
 *
 * Promise: a plan holds names of the program's own and counts, and nothing of the question or of any
 * memory: no words, tags, slots, sessions or ids. It counts rows that the caller may not see as well, so
 * it goes to whoever runs the program, by a function, and never into an answer.
 */
import { invalid } from "../errors.js";
import type { Kv } from "../kv/kv.js";

/** What every plan says. */
interface Read {
  /** Rows of the store that were read. */
  readonly rowsRead: number;
  /** Memories in the answer. */
  readonly hits: number;
}

/** The ways in which a recall looks for memories. */
export type Lane = "lexical" | "vector" | "slot" | "names" | "graph" | "time";

/** How many memories each lane of a recall brought in. */
export type LaneCounts = { readonly [lane in Lane]?: number };

/** How one read was carried out, by verb. */
export type ReadPlan =
  | (Read & {
      readonly verb: "find";
      /** The index that was read. */
      readonly index: string;
      /** Every index there was, with about how many candidates it has where that was asked. */
      readonly indexes: readonly { readonly name: string; readonly estimate?: number }[];
      /** `index` reads no further than the page; `sorted` needs every candidate. */
      readonly order: "index" | "sorted";
      /** Memories that were tested. */
      readonly candidates: number;
    })
  | (Read & {
      readonly verb: "search" | "searchBatch";
      readonly index: "text";
      /** How many searches that was. */
      readonly queries: number;
      /** Words that were looked for, all searches together. */
      readonly words: number;
      /** Segments of the index that were looked through, and entries after the last of them. */
      readonly segments: number;
      readonly tail: number;
    })
  | (Read & {
      readonly verb: "recall";
      /** Ways of putting the question. */
      readonly questions: number;
      readonly lanes: LaneCounts;
      /** Memories that any lane brought in. */
      readonly candidates: number;
      readonly trimmed: number;
    })
  | (Read & {
      readonly verb: "context";
      /** How many memories of each tier are in the answer. */
      readonly tiers: { readonly [tier: string]: number };
      /** Tiers that have more memories than are looked at. */
      readonly capped: readonly string[];
      readonly trimmed: number;
    })
  | (Read & {
      readonly verb: "traverse";
      readonly index: "edges";
      /** The limit of hops that applied. */
      readonly hops: number;
      readonly edges: number;
      readonly truncated: boolean;
    });

/** Is told how a read was carried out, once, before the answer. */
export type OnPlan = (plan: ReadPlan) => void;

/** The option by which a caller is told. */
export interface PlanOption {
  /** Told how the read was carried out; for logs, because it counts what the caller may not see. */
  readonly onPlan?: OnPlan;
}

/** Checks the option. */
export function checkOnPlan(onPlan: unknown): void {
  if (onPlan !== undefined && typeof onPlan !== "function") {
    throw invalid("onPlan", "a function", onPlan);
  }
}

/** A store to read from, and how many rows were read so far. */
export interface Meter {
  readonly kv: Pick<Kv, "snapshot">;
  readonly rows: () => number;
}

/** A store that counts the rows read from it, where anybody wants to know. */
export function meterOf(kv: Kv, isWanted: boolean): Meter {
  if (!isWanted) return { kv, rows: () => 0 };
  let rows = 0;
  const snapshot: Kv["snapshot"] = async (options) => {
    const inner = await kv.snapshot(options);
    return {
      async getMany(keys) {
        const values = await inner.getMany(keys);
        for (const value of values) if (value !== undefined) rows += 1;
        return values;
      },
      async ranges(ranges) {
        const found = await inner.ranges(ranges);
        for (const one of found) rows += one.length;
        return found;
      },
      close: () => inner.close(),
    };
  };
  return { kv: { snapshot }, rows: () => rows };
}

/** The name of a path without what it was asked for: `tag`, not `tag travel`. */
export function indexName({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name: string;
}): string {
  return kind === "index" || kind === "session" ? (name.split(" ")[0] ?? name) : name;
}

/** How many memories each lane has something to say about. */
export function countLanes(all: Iterable<LaneCounts>): LaneCounts {
  const counts: { [lane in Lane]?: number } = {};
  for (const lanes of all) {
    for (const lane of Object.keys(lanes) as Lane[]) {
      counts[lane] = (counts[lane] ?? 0) + 1;
    }
  }
  return counts;
}
