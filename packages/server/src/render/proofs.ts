/**
 * Checkpoints, snapshots and proofs, for people to read. Documents that are meant to be passed on are
 * printed as they are, so that a redirect makes a file that works.
 */
import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { verifiedShape } from "../operations/shapes.js";
import { clean, counted, type Ink, oneLine, showTime } from "./ink.js";

/** The text of a checkpoint, and nothing else. */
export function showCheckpoint({ checkpoint }: Output<"checkpoint">): string {
  return checkpoint.replace(/\n$/, "");
}

/** A document to pass on, as JSON. */
export function showDocument(document: unknown): string {
  return JSON.stringify(document);
}

type Snapshot = Output<"snapshot">;

function snapshotLine(one: Snapshot, ink: Ink): string {
  const when = ink.dim(`seq ${one.seq} ${showTime(one.at)}`);
  return `${ink.bold(String(one.number).padStart(3))}  ${one.root}  ${when}  ${oneLine(one.reason, 60)}`;
}

/** A snapshot that was just sealed. */
export function showSnapshot(sealed: Snapshot, ink: Ink): string {
  return `${ink.green("✓")} sealed\n${snapshotLine(sealed, ink)}\n\n${clean(sealed.checkpoint).trimEnd()}`;
}

/** Snapshots, one per line. */
export function showSnapshots(answer: Output<"snapshots">, ink: Ink): string {
  if (answer.snapshots.length === 0) return ink.dim("no snapshots");
  return answer.snapshots.map((one) => snapshotLine(one, ink)).join("\n");
}

/** What a proof or checkpoint shows, and how far it is backed. */
export function showVerified(answer: z.output<typeof verifiedShape>, ink: Ink): string {
  if (!answer.ok) {
    return `${ink.red("✗")} does not hold: ${clean(answer.message ?? "")} ${ink.dim(answer.code ?? "")}`;
  }
  const { checkpoint, memories = [], edges = [], entries = [] } = answer;
  const backed = answer.anchored
    ? `anchored by ${answer.anchoredBy ?? "a trusted checkpoint"}`
    : ink.yellow("not anchored: give the checkpoint you trust with --checkpoint");
  return [
    `${ink.green("✓")} holds, ${backed}`,
    ...(checkpoint === undefined
      ? []
      : [`  ${clean(checkpoint.origin)}, ${counted(checkpoint.size, "entry", "entries")}`]),
    ...(checkpoint === undefined ? [] : [`  root ${checkpoint.root}`]),
    ...memories.map(({ id, status, text }) => `  ${id} ${status} ${oneLine(text ?? "")}`.trimEnd()),
    ...edges.map(({ key, status }) => `  edge ${key} ${status}`),
    ...entries.map(({ seq, kind }) => `  entry ${seq} ${clean(kind)}`),
  ].join("\n");
}
