/**
 * How a page of hits is shown: in which form, and what a token budget leaves of it.
 */
import type { Form } from "../engine/prompt-text.js";
import { invalid } from "../errors.js";

const FORMS: readonly Form[] = ["short", "medium", "full"];

/** Checks the name of a form. */
export function checkForm(form: unknown): Form {
  const known = FORMS.find((one) => one === form);
  if (known === undefined) throw invalid("form", `one of ${FORMS.join(", ")}`, form);
  return known;
}

/** What a budget looks at. */
export interface Weighed {
  readonly tokens: number;
  readonly score: number;
}

/**
 * The items that fit a budget, in their order: as long as all of them together are too many, the one of
 * the lowest score goes, of equal ones the last. One item is always kept.
 */
export function trimToBudget<T extends Weighed>(items: readonly T[], budgetTokens: number): T[] {
  let tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  const goes = items
    .map((item, at) => ({ item, at }))
    .sort((a, b) => a.item.score - b.item.score || b.at - a.at);
  const gone = new Set<number>();
  for (const { item, at } of goes.slice(0, -1)) {
    if (tokens <= budgetTokens) break;
    tokens -= item.tokens;
    gone.add(at);
  }
  return items.filter((_, at) => !gone.has(at));
}
