/**
 * What of a row of memgraph's has a place here, judged once, column by column, under the names that the columns have
 * there. A row without what it needs is a bad record. What a row can do without is a piece: one that has no place is a
 * bad record of its own, and the row is kept without it.
 */
import { isCortexError, LIMITS } from "@cortex-memory/core";
import { checkInput, DATA_SCHEMAS, textField, writeFields } from "@cortex-memory/core/contract";
import * as z from "zod";
import { badRecord, type Unusable } from "./records.js";

const wholeText = (maxBytes: number) => textField({ maxBytes, blank: true, control: true });

type Rule =
  | "id"
  | "lineage"
  | "kind"
  | "content"
  | "summary"
  | "metadata"
  | "tag"
  | "author"
  | "graphName";

/** What each column may hold. */
const RULES: Readonly<Record<Rule, z.ZodType>> = {
  id: textField({ maxBytes: LIMITS.externalIdBytes }),
  // What is an id of nothing in every graph names nothing in this one.
  lineage: writeFields.externalId
    .unwrap()
    .refine((name) => !/^0{26}$/.test(name), { error: () => "expected an id other than zero" }),
  kind: textField({ maxBytes: LIMITS.kindBytes }),
  content: wholeText(LIMITS.importedContentBytes),
  summary: DATA_SCHEMAS.note.shape.summary,
  metadata: DATA_SCHEMAS.note.shape.metadata,
  tag: textField({ maxBytes: LIMITS.tagBytes }),
  author: wholeText(LIMITS.importedAuthorBytes),
  graphName: textField({ maxBytes: LIMITS.labelBytes }),
};

/** A value that a column may hold; what is wrong with it is said under the name of the column. */
export function fitting<T>(rule: Rule, value: T, column: string): T {
  checkInput(z.strictObject({ [column]: RULES[rule] }), { [column]: value });
  return value;
}

type Member = readonly [name: string, value: unknown];

/** The pieces of a row that have no place, as they are found. */
export class Pieces {
  readonly #at: string;
  readonly #left: Unusable[] = [];

  constructor(at: string) {
    this.#at = at;
  }

  /** A piece, or what stands for it where it has no place; `told` says what becomes of the row then. */
  take<T>(read: () => T, instead: T, told = "it is kept without"): T {
    try {
      return read();
    } catch (error) {
      if (!isCortexError(error)) throw error;
      this.#leave(error, told);
      return instead;
    }
  }

  /** Of a list, the items that have a place, up to so many. */
  list(
    items: readonly string[],
    how: { readonly rule: Rule; readonly column: string; readonly max: number },
  ): readonly string[] {
    const { rule, column, max } = how;
    const kept = items.flatMap((item, at) =>
      this.take(() => [fitting(rule, item, `${column}[${at}]`)], []),
    );
    if (kept.length <= max) return kept;
    const many = z.strictObject({ [column]: z.array(z.string()).max(max) });
    const told = `the first ${max} are kept`;
    this.take(() => void checkInput(many, { [column]: kept }), undefined, told);
    return kept.slice(0, max);
  }

  /** Of an object, the members that have a place, as far as there is room for all of them. */
  members(
    rule: Rule,
    given: { readonly [name: string]: unknown },
    column: string,
  ): { readonly [name: string]: unknown } {
    const schema = z.strictObject({ [column]: RULES[rule] });
    // `fromEntries` makes members of their own, also of one that is called `__proto__`.
    const fits = (some: readonly Member[]): boolean =>
      schema.safeParse({ [column]: Object.fromEntries(some) }).success;
    const all = Object.entries(given);
    if (fits(all)) return given;
    const kept = all.filter((member) =>
      this.take(() => fitting(rule, Object.fromEntries([member]), column) !== undefined, false),
    );
    if (fits(kept)) return Object.fromEntries(kept);
    const whole = Object.fromEntries(kept);
    this.take(() => fitting(rule, whole, column), whole, "the members before it are kept");
    let [most, tooMany] = [0, kept.length];
    while (tooMany - most > 1) {
      const middle = Math.floor((most + tooMany) / 2);
      if (fits(kept.slice(0, middle))) most = middle;
      else tooMany = middle;
    }
    return Object.fromEntries(kept.slice(0, most));
  }

  /** What was left; a member of the record, where there is any. */
  get lacking(): { readonly lacking?: readonly Unusable[] } {
    return this.#left.length === 0 ? {} : { lacking: this.#left };
  }

  #leave(error: unknown, told: string): void {
    const bad = badRecord(this.#at, error);
    this.#left.push({ ...bad, message: `${bad.message}; ${told}` });
  }
}
