/**
 * A question in front of the page: what is behind waits, Escape leaves, the focus comes back.
 */
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
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
