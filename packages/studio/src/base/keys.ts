/**
 * Keys of a page: while somebody types, or a question stands in front of the page, keys are letters.
 */
import { useLayoutEffect, useRef } from "react";

/** Whether keys belong to what the person is writing. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select") !== null;
}

/** Runs what a key stands for while the component is there; a key without an action is left alone. */
export function useKeys(actions: { readonly [key: string]: (() => void) | undefined }): void {
  const now = useRef(actions);
  now.current = actions;
  // Before the browser paints: whoever sees the page can press its keys.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const act = now.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
