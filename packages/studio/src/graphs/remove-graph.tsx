/**
 * Removing a graph on request: what goes, its name typed, and a reason.
 */
import { useState } from "react";
import { FormDialog, TextField } from "../base/dialog.tsx";
import { counted } from "../base/format.tsx";
import { useRemoveGraph } from "../base/reads.ts";
import { useWhyNoWrite } from "../base/ui.tsx";

interface RemoveGraphProps {
  readonly id: string;
  /** What it holds; `undefined` where that could not be read. */
  readonly holds: { readonly memories: number; readonly links: number } | undefined;
}

/** The button of a row, and its dialog. */
export function RemoveGraph({ id, holds }: RemoveGraphProps) {
  const whyNot = useWhyNoWrite();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const remove = useRemoveGraph(`The graph ${id} is removed.`);
  return (
    <>
      <button
        type="button"
        className="small"
        disabled={whyNot !== undefined}
        title={whyNot}
        aria-label={`Remove ${id}`}
        onClick={() => setOpen(true)}
      >
        Remove…
      </button>
      {isOpen && (
        <FormDialog
          title={`Remove ${id} for good`}
          submit="Remove"
          isDanger
          canSubmit={typed.trim() === id && reason.trim() !== ""}
          isBusy={remove.isPending}
          error={remove.error}
          onSubmit={() =>
            remove.mutate({ id, reason: reason.trim() }, { onSuccess: () => setOpen(false) })
          }
          onClose={() => setOpen(false)}
        >
          <p>
            <strong>This cannot be undone.</strong> These go, with their whole history:
          </p>
          <ul className="goes">
            <li>
              {holds === undefined
                ? "everything in it"
                : `${counted(holds.memories, "memory", "memories")} and ${counted(holds.links, "link")}`}
            </li>
            <li>its journal, its snapshots and its conversations</li>
          </ul>
          <p className="about">Backups and copies elsewhere stay. Other graphs are not touched.</p>
          <TextField id="remove-reason" label="Why" value={reason} onChange={setReason} />
          <TextField
            id="remove-word"
            label={
              <>
                Type <strong>{id}</strong> to confirm
              </>
            }
            value={typed}
            onChange={setTyped}
          />
        </FormDialog>
      )}
    </>
  );
}
