/**
 * Context and learning for people to read: the prompt as it is, and why something ranks.
 */
import type { Output } from "@cortex-memory/core/contract";
import { clean, counted, type Ink, oneLine, pairs, showTime } from "./ink.js";

type Weights = Output<"weights">["weights"];

const FACTORS = ["recency", "access", "citations", "importance", "similarity"] as const;

/** The text of a prompt, as it is: it may be piped on. */
export function showContext(bundle: Output<"context">, ink: Ink): string {
  return bundle.text === "" ? ink.dim("nothing to say yet") : clean(bundle.text);
}

/** A salience, factor by factor: how large it is, how much it counts, what that makes. */
export function showSalience(found: NonNullable<Output<"inspect">["salience"]>, ink: Ink): string {
  const { factors, weights } = found;
  const counting = FACTORS.filter((name) => factors[name] !== undefined);
  const total = counting.reduce((sum, name) => sum + weights[name], 0);
  const rows = counting.map((name) => {
    const [factor, weight] = [factors[name] ?? 0, weights[name] / total];
    return [name, `${share(factor)} × ${share(weight)} = ${share(factor * weight)}`] as const;
  });
  const floor = found.pinned ? ink.dim(" (pinned: never below 0.700)") : "";
  const aged = found.decay < 1 ? ([["decay", `× ${share(found.decay)}`]] as const) : [];
  return pairs([["score", `${share(found.score)}${floor}`], ...rows, ...aged], ink);
}

/** The weights of salience. */
export function showWeights(found: Output<"weights">, ink: Ink): string {
  const from = found.learned ? "learned from attestations" : "nothing learned yet";
  return pairs(
    [...FACTORS.map((name) => [name, share(found.weights[name])] as const), ["state", from]],
    ink,
  );
}

/** What an attestation did. */
export function showAttested(answer: Output<"attest">, ink: Ink): string {
  const memories = counted(answer.affected.length, "memory", "memories");
  const delta = answer.citationsDelta;
  const citations = `citations ${delta < 0 ? "" : "+"}${delta}`;
  const lines = [
    `${ink.green("✓")} attested ${memories}, ${citations} ${ink.dim(`seq ${answer.seq}`)}`,
    ...answer.skipped.map((ref) => `${ink.yellow("skipped")} ${oneLine(ref)}`),
  ];
  const moved = movedWeights(answer.previousWeights, answer.weights);
  return [...lines, answer.weightsUpdated ? moved : ink.dim("weights unchanged")].join("\n");
}

function movedWeights(before: Weights, after: Weights): string {
  const moves = FACTORS.filter((name) => before[name] !== after[name]).map(
    (name) => `${name} ${share(before[name])} → ${share(after[name])}`,
  );
  return `weights: ${moves.join(", ")}`;
}

/** A compacted context. */
export function showCompacted(answer: Output<"compactContext">, ink: Ink): string {
  return [
    ...answer.kept.map(({ uri, text }) => `${ink.bold(oneLine(text, 1000))} ${ink.dim(uri)}`),
    ...answer.compacted.map(({ uri, text }) => `${oneLine(text, 1000)} ${ink.dim(uri)}`),
    ...answer.skipped.map((ref) => `${ink.yellow("skipped")} ${oneLine(ref)}`),
    ink.dim(`${counted(answer.tokens, "token")}, ${answer.recordUri}, seq ${answer.seq}`),
  ].join("\n");
}

/** What was in a context. */
export function showContextRecord(found: Output<"contextRecord">, ink: Ink): string {
  const line = ({ uri, text }: { uri: string; text?: string }): string =>
    `${text === undefined ? ink.yellow("[forgotten]") : oneLine(text, 1000)} ${ink.dim(uri)}`;
  const by = `${showTime(found.at)} by ${clean(found.by)}, entry ${found.recordSeq}`;
  return [
    ink.bold("in full"),
    ...found.kept.map(line),
    ink.bold("in brief"),
    ...found.compacted.map(line),
    ink.dim(by),
  ].join("\n");
}

function share(value: number): string {
  return value.toFixed(3);
}
