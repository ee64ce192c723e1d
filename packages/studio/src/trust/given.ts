/**
 * What somebody was given to verify: a proof, a slice, a checkpoint or a scope, in any of the forms in
 * which they are handed around. Pure.
 */
import {
  type VerifyCheckpointResult,
  type VerifyResult,
  verify,
  verifyCheckpoint,
  verifySlice,
} from "@cortex-memory/core/verify";

/** What a text is. */
export type Given =
  | { readonly kind: "nothing" }
  | { readonly kind: "proof" | "slice"; readonly text: string }
  | { readonly kind: "checkpoint"; readonly text: string }
  | { readonly kind: "scope"; readonly text: string }
  | { readonly kind: "unknown" };

/** Says what a text is, without believing any of it. */
export function readGiven(typed: string): Given {
  const text = typed.replaceAll("\r\n", "\n").trim();
  if (text === "") return { kind: "nothing" };
  if (/^cortex-(scope|handle)-/.test(text)) return { kind: "scope", text };
  if (text.startsWith("cortex/")) return { kind: "checkpoint", text: `${text}\n` };
  if (text.startsWith("{")) return readJson(text);
  return /^[A-Za-z0-9+/=\s]{40,}$/.test(text) ? { kind: "proof", text } : { kind: "unknown" };
}

/** A document; what a snapshot answers has its checkpoint inside. */
function readJson(text: string): Given {
  try {
    const members = JSON.parse(text) as { readonly [name: string]: unknown };
    if (members.cortex === "proof/1") return { kind: "proof", text };
    if (Array.isArray(members.memories) && members.proof !== undefined) {
      return { kind: "slice", text };
    }
    if (typeof members.checkpoint === "string") {
      return { kind: "checkpoint", text: members.checkpoint };
    }
  } catch {
    // Broken JSON is as unknown as any other text.
  }
  return { kind: "unknown" };
}

/** Checks a proof, a slice or a checkpoint against the pinned checkpoint, if there is one. */
export function verifyGiven(
  given: Extract<Given, { readonly kind: "proof" | "slice" | "checkpoint" }>,
  pinned: string | undefined,
): VerifyResult | VerifyCheckpointResult {
  switch (given.kind) {
    case "proof":
      return verify(given.text, pinned);
    case "slice":
      return verifySlice(given.text, pinned);
    case "checkpoint":
      return verifyCheckpoint(given.text, pinned);
  }
}
