/**
 * What a plan of a read says: which indexes, lanes or tiers it went through and how much it read, for
 * whoever keeps a log of what was slow.
 *
 * Promise: a plan holds names of the program's own and counts, and nothing of the question or of any
 * memory: no words, tags, slots, sessions or ids. It counts rows that the caller may not see as well, so
 * it goes to whoever runs the program, by a function, and never into an answer.
 */

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
