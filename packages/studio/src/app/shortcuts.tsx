/**
 * Keys: `g` and a letter go to a page, Escape closes the panel, `?` shows all of them. While somebody
 * types, keys are letters.
 */
import { useEffect, useRef } from "react";
import { isTyping } from "../base/keys.ts";
import { currentRoute, go, hrefOf, hrefWith } from "../base/route.ts";
import { PAGES, SIDE_PAGES } from "./pages.tsx";

/** The second key has to follow soon. */
const SEQUENCE_MS = 1200;

const HELP_ID = "shortcut-help";

/** Listens for keys while the frame is shown. */
export function useShortcuts(): void {
  useEffect(() => {
    let wentAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === "?") return openHelp();
      if (event.key === "Escape" && currentRoute().params.m !== undefined) {
        return go(hrefWith({ m: undefined }));
      }
      if (event.key === "n" && currentRoute().params.at !== undefined) {
        return go(hrefWith({ at: undefined }));
      }
      if (event.key === "g") {
        wentAt = event.timeStamp;
        return;
      }
      const isSecond = event.timeStamp - wentAt < SEQUENCE_MS && wentAt > 0;
      wentAt = 0;
      const page = [...PAGES, ...SIDE_PAGES].find(({ shortcut }) => shortcut === event.key);
      if (isSecond && page !== undefined) go(hrefOf(page.path));
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

function openHelp(): void {
  const dialog = document.getElementById(HELP_ID);
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

/** The list of keys. */
export function ShortcutHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const keys = [
    ["/ or Ctrl K", "ask, find, jump, run a command"],
    ...[...PAGES, ...SIDE_PAGES].map(({ shortcut, name }) => [`g ${shortcut}`, name]),
    ["n", "back to now"],
    ["Esc", "close the panel"],
    ["?", "this list"],
  ];
  return (
    <dialog ref={dialog} id={HELP_ID} aria-labelledby={`${HELP_ID}-title`}>
      <h2 id={`${HELP_ID}-title`}>Keys</h2>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
