/**
 * What was just done, said in a corner for a while, with the way to take it back where there is one.
 */
import { isCortexError } from "@cortex-memory/core/remote";
import { useEffect, useState, useSyncExternalStore } from "react";

/** Something to say. */
export interface Notice {
  readonly text: string;
  readonly undo?: () => Promise<void>;
}

let shown: Notice | undefined;
const listeners = new Set<() => void>();

/** Says it; what was said before goes. */
export function notify(notice: Notice | undefined): void {
  shown = notice;
  for (const listener of [...listeners]) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How long something that cannot be undone is shown; what can be undone stays longer. */
const SHOWN_MS = { plain: 8000, undo: 20_000 };

/** The corner where it is said. */
export function NoticeCorner() {
  const notice = useSyncExternalStore(subscribe, () => shown);
  const [isUndoing, setUndoing] = useState(false);
  // Whoever is on it is not done with it.
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (notice === undefined) return setHeld(false);
    if (isHeld) return;
    const ms = notice.undo === undefined ? SHOWN_MS.plain : SHOWN_MS.undo;
    const timer = setTimeout(() => notify(undefined), ms);
    return () => clearTimeout(timer);
  }, [notice, isHeld]);
  const undo = async (work: () => Promise<void>) => {
    setUndoing(true);
    try {
      await work();
      notify({ text: "Undone." });
    } catch (error) {
      const why = isCortexError(error) ? error.message : String(error);
      notify({ text: `This cannot be undone any more: ${why}` });
    } finally {
      setUndoing(false);
    }
  };
  return (
    <div className="notice-corner" role="status">
      {notice !== undefined && (
        // biome-ignore lint/a11y/noStaticElementInteractions: its buttons are what is pressed
        <div
          className="notice"
          onPointerEnter={() => setHeld(true)}
          onPointerLeave={() => setHeld(false)}
          onFocus={() => setHeld(true)}
          onBlur={() => setHeld(false)}
        >
          <span>{notice.text}</span>
          {notice.undo !== undefined && (
            <button type="button" disabled={isUndoing} onClick={() => undo(notice.undo ?? noWork)}>
              Undo
            </button>
          )}
          <button type="button" className="quiet" onClick={() => notify(undefined)}>
            Close
          </button>
        </div>
      )}
    </div>
  );
}

async function noWork(): Promise<void> {}
