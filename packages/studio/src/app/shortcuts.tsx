/**
 * Keys: `g` and a letter go to a page, Escape closes the panel, `?` shows all of them. While somebody
 * types, keys are letters.
 */
import { useLayoutEffect, useRef } from "react";
import { isTaken } from "../base/dialog.tsx";
import { currentRoute, go, hrefOf, hrefWith } from "../base/route.ts";
import { PAGES, SIDE_PAGES } from "./pages.tsx";

const HELP_ID = "shortcut-help";

/** Listens for keys while the frame is shown. */
export function useShortcuts(): void {
  // Before the browser paints: whoever sees the page can press its keys.
  useLayoutEffect(() => {
    let isSecond = false;
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const page = isSecond
        ? [...PAGES, ...SIDE_PAGES].find(({ shortcut }) => shortcut === event.key)
        : undefined;
      // However slow the hand: the key after `g` says where to, and any other key ends it.
      isSecond = event.key === "g" && !isSecond;
      if (page !== undefined) return go(hrefOf(page.path));
      if (event.key === "?") return openHelp();
      if (event.key === "Escape" && currentRoute().params.m !== undefined) {
        return go(hrefWith({ m: undefined }));
      }
      if (event.key === "n" && currentRoute().params.at !== undefined) {
        return go(hrefWith({ at: undefined }));
      }
    };
    const onPress = () => {
      isSecond = false;
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("pointerdown", onPress);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("pointerdown", onPress);
    };
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
    ["1 to 4", "decide what is shown, in the review; j and k go on and back"],
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
