/**
 * What the verifier found, in words: whether it holds, and whether it is anchored in a checkpoint that
 * the person pinned. The difference is the point: a proof that only agrees with itself shows nothing.
 */
import type { VerifyCheckpointResult, VerifyResult } from "@cortex-memory/core/verify";
import type { ReactNode } from "react";
import { counted } from "../base/format.tsx";

/** What the verifier said. */
export type Found = VerifyResult | VerifyCheckpointResult;

type Tone = "good" | "weak" | "bad";

interface Words {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

/** The verdict; `children` say what else there is to know. */
export function Verdict({
  found,
  isNewer = false,
  children,
}: {
  readonly found: Found;
  /** Whether what is shown came after the pin: then only what was before it is anchored. */
  readonly isNewer?: boolean;
  readonly children?: ReactNode;
}) {
  const { tone, title, text } = wordsOf(found, isNewer);
  return (
    <section className={`verdict verdict-${tone}`} aria-label="Verdict">
      <p className="verdict-title">
        <span aria-hidden="true">{MARKS[tone]}</span> {title}
      </p>
      <p>{text}</p>
      {children}
    </section>
  );
}

const MARKS: { readonly [T in Tone]: string } = { good: "✓", weak: "?", bad: "✗" };

function wordsOf(found: Found, isNewer: boolean): Words {
  if (!found.ok) {
    return found.code === "ERR_CHECKPOINT_STALE"
      ? {
          tone: "bad",
          title: "It does not fit what you pinned",
          text: `Somebody shows another history, or an older one: ${found.message}.`,
        }
      : { tone: "bad", title: "This does not hold", text: `Do not believe it: ${found.message}.` };
  }
  switch (found.anchoredBy) {
    case "checkpoint":
      return {
        tone: "good",
        title: "It holds, and it is anchored",
        text: "It is exactly what the checkpoint you pinned commits to.",
      };
    case "consistency":
      return {
        tone: isNewer ? "weak" : "good",
        title: isNewer ? "It holds, and is newer than your pin" : "It holds, and it is anchored",
        text: `${sinceWords(found)} Nothing before your pinned checkpoint was changed, and the history goes on from there.`,
      };
    default:
      return {
        tone: "weak",
        title: "It holds, but it is not anchored",
        text: "It agrees with itself. Whoever made it could have made up all of it. Pin a checkpoint that you got earlier or from somebody else, and verify again.",
      };
  }
}

/** How far the proved history is beyond the pinned one, where the answer says it. */
function sinceWords(found: Extract<Found, { readonly ok: true }>): string {
  const since = "since" in found ? found.since : undefined;
  if (since === undefined) return "";
  const more = found.checkpoint.size - since.size;
  return `${counted(more, "entry", "entries")} came since you pinned.`;
}
