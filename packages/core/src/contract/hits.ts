/**
 * What the verbs that look for memories share: the words asked for, filters, the fields of a hit, the forms
 * in which a memory is shown, and the plan by which a read was carried out.
 *
 * Promise of a plan: it holds names of the program's own and counts, and nothing of the question or of any
 * memory: no words, tags, slots, sessions or ids. It counts rows that the caller may not see as well, so it
 * goes to whoever runs the program, by a function, and never into an answer.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { MEMORY_TYPES } from "../records/types.js";
import { listUpTo, noted, textField, words } from "./fields.js";
import { kind, memoryType, tag } from "./memory.js";
import { memoryIdShape } from "./shapes.js";
import { type } from "./verb.js";

/** Renderings of a memory, the briefest first. */
export const FORMS = ["short", "medium", "full"] as const;

/** Which rendering of a memory is shown. */
export type Form = (typeof FORMS)[number];

/** How memories in an answer are rendered. */
export const form = z.enum(FORMS).describe("how hits are rendered").optional();

/** Words to look for; a text without words finds nothing. */
export const wordsAsked = noted(
  textField({ maxBytes: LIMITS.queryBytes, blank: true, control: true }),
  { prose: true },
);

/** Which memories `search` and `recall` show. */
export const filterFields = {
  types: listUpTo(memoryType).describe("only memories of this type; may be repeated").optional(),
  kinds: listUpTo(kind)
    .describe("only memories of this kind; may be repeated, any of them will do")
    .optional(),
  tags: listUpTo(tag)
    .describe("only memories with this tag; may be repeated, all must be there")
    .optional(),
};

/** What every hit of a find, a search or a recall has. */
export const hitFields = {
  id: memoryIdShape,
  uri: z.string(),
  type: words(MEMORY_TYPES),
  text: z.string(),
  score: z.number(),
};

/** What a read that tells its plan takes from whoever runs the program. */
export const planLocals = {
  local: ["onPlan"],
  locals: type<{
    /** Called with how the read was carried out; for logs, because it counts what the caller may not see. */
    readonly onPlan?: OnPlan | undefined;
  }>(),
} as const;

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
