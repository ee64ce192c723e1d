/**
 * What a commit meets inside its write transaction: the head it expects, one that moved on, or a
 * construction that makes writers wait (`hold`). Used by `lmdb-backend.ts`, which follows and waits.
 */
import { type Bytes, HEAD_KEY, isMovedHead, sameBytes } from "./kv.js";
import { type LmdbFile, ROLL_BACK } from "./lmdb-file.js";

/** How long writers wait for a construction that was heard of last this long ago. */
const HOLD_MS = 5000;

/** What became of a write. */
export type Met =
  | { readonly outcome: "written" }
  | { readonly outcome: "moved" }
  | { readonly outcome: "held" }
  | { readonly outcome: "lost"; readonly head: Bytes | undefined };

/**
 * Runs `body` in a write transaction if the head is still the expected one and nobody else holds
 * the store. A `holder` must hold it still: if not, somebody wrote, and the race is lost.
 */
export function writeIf(
  file: LmdbFile,
  agrees: (head: Bytes | undefined) => boolean,
  body: () => void,
  holder?: string,
): Met {
  let head: Bytes | undefined;
  let held = false;
  const result = file.write(() => {
    head = file.get(HEAD_KEY);
    if (isMovedHead(head) || !agrees(head)) return ROLL_BACK;
    const hold = file.hold();
    if (holder !== undefined && hold?.holder !== holder) return ROLL_BACK;
    held = holder === undefined && hold !== undefined && hold.untilMs > Date.now();
    if (held) return ROLL_BACK;
    if (hold !== undefined) file.removeHold();
    body();
    return true;
  });
  if (result !== ROLL_BACK) return { outcome: "written" };
  if (held) return { outcome: "held" };
  return isMovedHead(head) ? { outcome: "moved" } : { outcome: "lost", head };
}

/** Whether the head is the expected one. */
export function agreesWith(expectHead: Bytes | undefined): (head: Bytes | undefined) => boolean {
  return (head) => sameBytes(head, expectHead);
}

/** Starts or prolongs a hold. */
export function takeHold(file: LmdbFile, holder: string): "taken" | "moved" | "held" {
  let outcome: "taken" | "moved" | "held" = "taken";
  file.write(() => {
    const hold = file.hold();
    const foreign = hold !== undefined && hold.holder !== holder && hold.untilMs > Date.now();
    outcome = isMovedHead(file.get(HEAD_KEY)) ? "moved" : foreign ? "held" : "taken";
    if (outcome !== "taken") return ROLL_BACK;
    file.putHold(holder, Date.now() + HOLD_MS);
    return true;
  });
  return outcome;
}

/** Lets writers go on, if this holder still holds them. */
export function endHold(file: LmdbFile, holder: string): void {
  try {
    file.write(() => {
      if (file.hold()?.holder !== holder) return ROLL_BACK;
      file.removeHold();
      return true;
    });
  } catch {
    // On a full disk, say: then it ends by itself.
  }
}
