/**
 * Checkpoints, snapshots, proofs, keys and scopes, for people to read. Documents that are meant to be passed on are
 * printed as they are, so that a redirect or a pipe makes a file that works.
 */

import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { verifiedShape } from "../operations/fields.js";
import { clean, counted, folded, type Ink, oneLine, pairs, row, showTime } from "./ink.js";

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
  const number = ink.bold(String(one.number).padStart(3));
  return folded(`${number}  ${one.root}  ${when}  ${oneLine(one.reason, 60)}`, 5);
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
    ...memories.map(({ id, status, text }) => row(`  ${id} ${status} `, text ?? "").trimEnd()),
    ...edges.map(({ key, status }) => `  edge ${key} ${status}`),
    ...entries.map(({ seq, kind }) => `  entry ${seq} ${clean(kind)}`),
  ].join("\n");
}

/** A key that was made. */
export function showKey(
  { file, publicKey }: { readonly file: string; readonly publicKey: string },
  ink: Ink,
): string {
  return pairs(
    [
      ["file", clean(file)],
      ["public key", publicKey],
    ],
    ink,
  );
}

/** A scope that was signed: the text alone. */
export function showIssued({ scope }: { readonly scope: string }): string {
  return scope;
}

/** What a scope grants. */
export function showScope(scope: Output<"showScope">, ink: Ink): string {
  const { because } = scope;
  const holds = because === undefined ? "yes" : ink.red(`no: ${clean(because.message)}`);
  const to = scope.bearer ? `${clean(scope.grantedTo)}, whoever has it` : scope.grantedTo;
  const rows: readonly (readonly [string, string])[] = [
    ["holds", holds],
    ["actor", scope.actor],
    ["include", showSelector(scope.include)],
    ["exclude", showSelector(scope.exclude)],
    ["may write", scope.writable ? `yes, as ${scope.maxSource} at most` : "no"],
    ["may have proofs", scope.proofs ? "yes" : "no"],
    ["budget", scope.budgetTokens === undefined ? "none" : `${scope.budgetTokens} tokens`],
    ["issued", showTime(scope.issuedAt)],
    ["expires", showTime(scope.expiresAt)],
    ["granted by", scope.grantedBy],
    ["granted to", to],
    ["hash", scope.hash],
  ];
  return pairs(rows, ink);
}

function showSelector(selector: Output<"showScope">["include"]): string {
  const lists = Object.entries(selector).map(([name, items]) => {
    const said = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
    return `${name} ${clean(said.join(", "))}`;
  });
  return lists.length === 0 ? "nothing" : lists.join("; or ");
}

/** A scope that was taken in. */
export function showPosted(posted: Output<"postScope">, ink: Ink): string {
  return `${posted.handle}\n${ink.dim(`good until ${showTime(posted.expiresAt)}`)}`;
}

/** A scope that was taken back. */
export function showRevoked({ hash, revoked }: Output<"revokeScope">, ink: Ink): string {
  return `${revoked ? "revoked" : "was revoked before"} ${ink.dim(hash)}`;
}
