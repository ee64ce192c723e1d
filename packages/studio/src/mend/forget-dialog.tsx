/**
 * Forgetting: the one change that cannot be undone. It lists what goes, and wants the word typed.
 */
import { useState } from "react";
import { FormDialog, TextField } from "../base/dialog.tsx";
import { counted, oneLine } from "../base/format.tsx";
import { type Inspected, useRead, useWrite } from "../base/reads.ts";
import { go, hrefWith } from "../base/route.ts";

const WORD = "forget";

/** The dialog. */
export function ForgetDialog({
  inspected,
  onClose,
}: {
  readonly inspected: Inspected;
  readonly onClose: () => void;
}) {
  const { memory } = inspected;
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("asked by the owner");
  const [cascade, setCascade] = useState(false);
  const made = useDerived(memory.id);
  const forget = useWrite(
    (graph, why: string) => graph.forget(memory.id, why, { cascade }),
    ({ erased, edges }) => ({
      text: `Forgotten for good: ${counted(erased.length, "memory", "memories")} and ${counted(edges, "link")}.`,
    }),
  );
  return (
    <FormDialog
      title="Forget it for good"
      submit="Forget"
      isDanger
      canSubmit={typed.trim().toLowerCase() === WORD && reason.trim() !== ""}
      isBusy={forget.isPending}
      error={forget.error}
      onSubmit={() =>
        forget.mutate(reason.trim(), {
          onSuccess: () => {
            onClose();
            go(hrefWith({ m: undefined }));
          },
        })
      }
      onClose={onClose}
    >
      <p>
        <strong>This cannot be undone.</strong> The content is destroyed; that something was there,
        and proofs made before, remain. These go:
      </p>
      <WhatGoes inspected={inspected} derived={cascade ? made : []} />
      {made.length > 0 && (
        <label>
          <input
            type="checkbox"
            checked={cascade}
            onChange={(event) => setCascade(event.target.checked)}
          />{" "}
          and {counted(made.length, "memory", "memories")} made from it
        </label>
      )}
      <TextField
        id="forget-reason"
        label="Why, for the journal (it stays: name no content)"
        value={reason}
        onChange={setReason}
      />
      <TextField
        id="forget-word"
        label={
          <>
            Type <strong>{WORD}</strong> to confirm
          </>
        }
        value={typed}
        onChange={setTyped}
      />
    </FormDialog>
  );
}

/** The memories that were made from one. */
function useDerived(id: string) {
  const derived = useRead(["derived", id], async (graph) => {
    const walk = await graph.traverse(id, {
      direction: "in",
      kinds: ["derived_from"],
      maxHops: 6,
    });
    return walk.hits.map(({ memory: one }) => one);
  });
  return derived.data ?? [];
}

/** The list of what is destroyed. */
function WhatGoes({
  inspected: { memory, versions, links, backlinks },
  derived,
}: {
  readonly inspected: Inspected;
  readonly derived: readonly Pick<Inspected["memory"], "id" | "text">[];
}) {
  return (
    <ul className="goes">
      <li dir="auto">“{oneLine(memory.text, 100)}”</li>
      <li>{counted(versions.length, "version")} of it</li>
      <li>{counted(links.length + backlinks.length, "link")} to and from it</li>
      {derived.map((one) => (
        <li key={one.id} dir="auto">
          “{oneLine(one.text, 100)}”
        </li>
      ))}
    </ul>
  );
}
