/**
 * Entity tags: what a client keeps to ask "has it changed?" and to say "only if it has not".
 *
 * The tag of a memory is `"<version>-<seq>"`: its version, which `If-Match` hands to an update, and the
 * entry that touched it last, so that a change of its head changes the tag as well. Any other answer
 * to a read has a hash of its bytes for a tag.
 */
import { createHash } from "node:crypto";

/** The tag of an answer. */
export function tagOf(answer: unknown, body: string): string {
  return memoryTag(answer) ?? `W/"${createHash("sha256").update(body).digest("base64url")}"`;
}

/** The tag of a memory, or of what a write made of it. */
export function memoryTag(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, version, seq } = answer as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof version !== "number") return undefined;
  return typeof seq === "number" ? `"${version}-${seq}"` : undefined;
}

/** Whether a client has the answer already; compared weakly, as reads are. */
export function isKnown(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === "*") return true;
  const bare = (text: string): string => text.trim().replace(/^W\//, "");
  return ifNoneMatch.split(",").some((one) => bare(one) === bare(tag));
}
