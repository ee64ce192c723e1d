/**
 * What searches found, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import { counted, type Ink, row } from "./ink.js";

/** Hits of one search, each with the words that answer. */
export function showSearch(answer: Output<"search">, ink: Ink): string {
  if (answer.hits.length === 0) return ink.dim("nothing found");
  return answer.hits
    .map(({ id, type, text, snippet, score, lifecycle }) => {
      const state = lifecycle === "active" ? "" : ` ${ink.yellow(`[${lifecycle}]`)}`;
      const before = `${ink.dim(score.toFixed(2).padStart(6))}  ${id}  ${ink.cyan(type.padEnd(10))}  `;
      return row(before, snippet ?? text, state);
    })
    .join("\n");
}

/** Hits of several searches, fused. */
export function showSearchBatch(answer: Output<"searchBatch">, ink: Ink): string {
  if (answer.hits.length === 0) return ink.dim("nothing found");
  const lines = answer.hits.map(({ id, type, text, score, queriesMatched }) => {
    const by = ink.dim(`by ${queriesMatched.join(", ")}`);
    return row(
      `${ink.dim(score.toFixed(4))}  ${id}  ${ink.cyan(type.padEnd(10))}  `,
      text,
      `  ${by}`,
    );
  });
  const { uniqueHits, queryCount } = answer;
  const more = uniqueHits - answer.hits.length;
  const rest = more > 0 ? `, ${more} more` : "";
  return [...lines, ink.dim(`${counted(queryCount, "search", "searches")}${rest}`)].join("\n");
}
