/**
 * Keys of a page: while somebody types, or a question stands in front of the page, keys are letters.
 */
import { useLayoutEffect, useRef } from "react";

/** Whether keys belong to what the person is writing. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select") !== null;
}

/** Whether a key is not for the page: somebody writes, a question stands in front, or the browser has it. */
export function isTaken(event: KeyboardEvent): boolean {
  if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return true;
  return document.querySelector("dialog[open]") !== null;
}

/** Runs what a key stands for while the component is there; a key without an action is left alone. */
export function useKeys(actions: { readonly [key: string]: (() => void) | undefined }): void {
  const now = useRef(actions);
  now.current = actions;
  // Before the browser paints: whoever sees the page can press its keys.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const act = now.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
