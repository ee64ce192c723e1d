/**
 * Keys and scopes for people to read. The text of a scope is printed as it is, so that it can be piped.
 */
import type { Output } from "@cortex-memory/core/contract";
import { clean, type Ink, pairs, showTime } from "./ink.js";

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
