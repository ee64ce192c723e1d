/**
 * What was recalled, for people to read: the hits with their scores, and why.
 */
import type { Output } from "@cortex-memory/core/contract";
import { counted, type Ink, row } from "./ink.js";

type Recalled = Output<"recall">;

/** An answer, best first. */
export function showRecalled(answer: Recalled, ink: Ink): string {
  const { hits, weak, trimmed, tokens, leftOut, sessions, notEmbedded = 0 } = answer;
  const pending =
    notEmbedded === 0
      ? []
      : [ink.dim(`${counted(notEmbedded, "entry", "entries")} not embedded yet: cortex embed`)];
  if (hits.length === 0) return [ink.dim("nothing recalled"), ...pending].join("\n");
  const conversationOf = new Map(
    (sessions ?? []).flatMap(({ session, turns: [first] }) => (first ? [[first, session]] : [])),
  );
  return [
    ...(weak ? [ink.yellow("nothing reliable; the closest:")] : []),
    ...hits.flatMap((hit) => {
      const conversation = conversationOf.get(hit.id);
      const score = ink.dim(hit.score.toFixed(3));
      const lanes = Object.keys(hit.why.lanes).join("+");
      const before = `${hit.id}  ${ink.cyan(hit.type.padEnd(10))}  ${score}  `;
      const line = row(before, hit.text, ` ${ink.dim(lanes)}`);
      return conversation === undefined ? [line] : [ink.bold(conversation), line];
    }),
    ink.dim(`${counted(tokens, "token")}, ${trimmed} left out by the budget`),
    ...(leftOut.length === 0
      ? []
      : [ink.dim(`of the present only, left out: ${leftOut.join(", ")}`)]),
    ...pending,
  ].join("\n");
}
