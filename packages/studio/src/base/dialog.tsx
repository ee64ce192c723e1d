/**
 * A question in front of the page: what is behind waits, Escape leaves, the focus comes back. What cannot be
 * undone asks for a word to be typed. While a question stands there, or somebody types, the keys of the page
 * are letters.
 */
import {
  type FormEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Failure } from "./ui.tsx";

/** A form in a dialog. */
export function FormDialog({
  title,
  submit,
  isDanger = false,
  canSubmit = true,
  isBusy,
  error,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** What the button says. */
  readonly submit: string;
  readonly isDanger?: boolean;
  readonly canSubmit?: boolean;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (canSubmit && !isBusy) onSubmit();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form className="dialog-form" onSubmit={send}>
        <h2 id={id}>{title}</h2>
        {children}
        {error !== null && error !== undefined && <Failure error={error} />}
        <p className="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isDanger ? "danger" : "primary"}
            disabled={!canSubmit || isBusy}
          >
            {isBusy ? "Working…" : submit}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** A question before something that cannot be undone: it says so, and wants a word typed. */
export function ConfirmDialog({
  title,
  submit,
  word,
  about,
  canSubmit = true,
  isBusy,
  error,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  readonly submit: string;
  /** What has to be typed, in small letters; a keyboard may make the first one large. */
  readonly word: string;
  /** What happens, after the sentence that it cannot be undone. */
  readonly about: string;
  readonly canSubmit?: boolean;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  /** What goes, and what else is asked. */
  readonly children?: ReactNode;
}) {
  const [typed, setTyped] = useState("");
  const id = useId();
  return (
    <FormDialog
      title={title}
      submit={submit}
      isDanger
      canSubmit={canSubmit && typed.trim().toLowerCase() === word}
      isBusy={isBusy}
      error={error}
      onSubmit={onSubmit}
      onClose={onClose}
    >
      <p>
        <strong>This cannot be undone.</strong> {about}
      </p>
      {children}
      <TextField
        id={id}
        label={
          <>
            Type <strong>{word}</strong> to confirm
          </>
        }
        value={typed}
        onChange={setTyped}
      />
    </FormDialog>
  );
}

/** A labelled line to type into. */
export function TextField({
  id,
  label,
  value,
  onChange,
}: {
  readonly id: string;
  readonly label: ReactNode;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="text"
        autoComplete="off"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  );
}

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
