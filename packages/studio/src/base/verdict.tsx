/**
 * Whether a history is the one that the person knows: its root as a picture, the checkpoint that this browser
 * pinned, and what the verifier found, in words. The verifier computes in this page; what a server claims
 * counts for nothing here.
 */

import type { VerifyCheckpointResult, VerifyResult } from "@cortex-memory/core/verify";
import { type ReactNode, useSyncExternalStore } from "react";
import { counted } from "./format.tsx";
import { useStudio } from "./studio.tsx";

/** The first signs of a hash, in groups of four. */
export function shortHash(hex: string, groups = 4): string {
  return (hex.slice(0, 4 * groups).match(/.{1,4}/g) ?? []).join(" ");
}

/** The hex of a hash that is written in base64, as checkpoints write it. */
export function hexOfBase64(text: string): string {
  return [...atob(text)].map((sign) => sign.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}

/** Columns of one half; the other half is its mirror, which is what makes it a picture. */
const HALF = 4;

/**
 * A hash as people notice it: a few signs in groups, and a picture made of all its bytes. Two roots that
 * differ in one bit are other hashes altogether, so their pictures differ at a glance.
 */
export function Fingerprint({ hex, size = 48 }: { readonly hex: string; readonly size?: number }) {
  const bytes = (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  const hue = ((bytes[0] ?? 0) * 256 + (bytes[1] ?? 0)) % 360;
  const rows = Math.ceil(bytes.length / HALF);
  return (
    <span className="fingerprint">
      <svg
        className="fingerprint-picture"
        width={size}
        height={size}
        viewBox={`0 0 ${2 * HALF} ${rows}`}
        aria-hidden="true"
      >
        {bytes.flatMap((byte, at) => {
          const [x, y] = [at % HALF, Math.floor(at / HALF)];
          // Three strengths are told apart at this size; more are not.
          const strength = Math.floor(byte / 86);
          return [x, 2 * HALF - 1 - x].map((column) => (
            <rect
              key={`${column}-${y}`}
              x={column}
              y={y}
              width={1}
              height={1}
              fill={`hsl(${(hue + (byte % 3) * 40) % 360} 60% ${[82, 55, 32][strength]}%)`}
            />
          ));
        })}
      </svg>
      <code title={hex}>{shortHash(hex)}</code>
    </span>
  );
}

/**
 * The checkpoint that the person pinned, one for each graph: kept by this browser, so that a server that
 * changed its past has to show that to somebody who remembers. It holds hashes and no content.
 */
export interface Pin {
  /** The text of the checkpoint. */
  readonly text: string;
  /** When it was pinned, by the clock of this browser. */
  readonly pinnedAt: number;
}

const pinListeners = new Set<() => void>();

function pinKey(graph: string): string {
  return `cortex.pin.${graph}`;
}

let seenPin: { readonly kept: string | null; readonly pin: Pin | undefined } = {
  kept: null,
  pin: undefined,
};

/** The pin of a graph; the same object as long as it is the same. */
function currentPin(graph: string): Pin | undefined {
  const kept = window.localStorage.getItem(pinKey(graph));
  if (kept !== seenPin.kept) seenPin = { kept, pin: kept === null ? undefined : readPin(kept) };
  return seenPin.pin;
}

function readPin(kept: string): Pin | undefined {
  try {
    const { text, pinnedAt } = JSON.parse(kept) as Partial<Pin>;
    return typeof text === "string" && typeof pinnedAt === "number"
      ? { text, pinnedAt }
      : undefined;
  } catch {
    // What cannot be read is no pin; the page then says that nothing is pinned.
    return undefined;
  }
}

function onPin(listener: () => void): () => void {
  pinListeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    pinListeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** The pin of the open graph, and how to set or take it away. */
export function usePin(): readonly [Pin | undefined, (text: string | undefined) => void] {
  const { graph } = useStudio();
  const pin = useSyncExternalStore(onPin, () => currentPin(graph));
  const set = (text: string | undefined) => {
    if (text === undefined) window.localStorage.removeItem(pinKey(graph));
    else {
      window.localStorage.setItem(pinKey(graph), JSON.stringify({ text, pinnedAt: Date.now() }));
    }
    for (const listener of [...pinListeners]) listener();
  };
  return [pin, set];
}

/** What the verifier said. */
export type Found = VerifyResult | VerifyCheckpointResult;

type Tone = "good" | "weak" | "bad";

interface Words {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

/**
 * The verdict: whether it holds, and whether it is anchored in the pinned checkpoint. The difference is the
 * point: a proof that only agrees with itself shows nothing. `children` say what else there is to know.
 */
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
