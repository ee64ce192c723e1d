/**
 * What was recalled, for people to read: the hits with their scores, and why.
 */
import type { Output } from "@cortex-memory/core/contract";
import { counted, type Ink, row } from "./ink.js";

type Recalled = Output<"recall">;

/** An answer, best first. */
export function showRecalled(answer: Recalled, ink: Ink): string {
  const { hits, weak, trimmed, tokens, leftOut } = answer;
  if (hits.length === 0) return ink.dim("nothing recalled");
  return [
    ...(weak ? [ink.yellow("nothing reliable; the closest:")] : []),
    ...hits.map((hit) => {
      const score = ink.dim(hit.score.toFixed(3));
      const lanes = Object.keys(hit.why.lanes).join("+");
      const before = `${hit.id}  ${ink.cyan(hit.type.padEnd(10))}  ${score}  `;
      return row(before, hit.text, ` ${ink.dim(lanes)}`);
    }),
    ink.dim(`${counted(tokens, "token")}, ${trimmed} left out by the budget`),
    ...(leftOut.length === 0
      ? []
      : [ink.dim(`of the present only, left out: ${leftOut.join(", ")}`)]),
  ].join("\n");
}
