/**
 * What can be done about a memory, with the standing of whoever signed in: a new wording, other tags,
 * a link, confirm, retire, restore, forget. Everything but forget can be undone.
 */
import { useState } from "react";
import { type Inspected, useWrite } from "../base/reads.ts";
import { useStudio } from "../base/studio.tsx";
import { Failure, useWhyNoWrite } from "../base/ui.tsx";
import { ForgetDialog } from "./forget-dialog.tsx";
import { EditDialog, HeadDialog, LinkDialog, RetireDialog } from "./mend-dialogs.tsx";

type Act = "edit" | "head" | "link" | "retire" | "forget";

/** The buttons below a memory. */
export function MendActions({ inspected }: { readonly inspected: Inspected }) {
  const { isOwner } = useStudio();
  const whyNot = useWhyNoWrite();
  const [act, setAct] = useState<Act | undefined>(undefined);
  const { memory } = inspected;
  const { id, head } = memory;
  const confirm = useWrite(
    (graph, _: undefined) => graph.updateHead(id, { status: "confirmed" }),
    ({ seq }) => ({ text: "Confirmed.", undo: seq }),
  );
  const restore = useWrite(
    (graph, _: undefined) => graph.restore(id),
    ({ seq }) => ({ text: "It is back.", undo: seq }),
  );
  const isActive = head.lifecycle === "active";
  const close = () => setAct(undefined);
  if (whyNot !== undefined) return <p className="about">{whyNot}</p>;
  return (
    <>
      <fieldset className="actions" aria-label="Change it">
        {isActive && (
          <>
            <Button name="Edit" onClick={() => setAct("edit")} />
            <Button name="Tags" onClick={() => setAct("head")} />
            <Button name="Link" onClick={() => setAct("link")} />
            {isOwner && head.status !== "confirmed" && (
              <Button
                name="Confirm"
                isBusy={confirm.isPending}
                onClick={() => confirm.mutate(undefined)}
              />
            )}
            <Button name="Retire" onClick={() => setAct("retire")} />
          </>
        )}
        {!isActive && (
          <Button
            name="Restore"
            isBusy={restore.isPending}
            onClick={() => restore.mutate(undefined)}
          />
        )}
        {isOwner && (
          <button type="button" className="danger" onClick={() => setAct("forget")}>
            Forget…
          </button>
        )}
      </fieldset>
      {confirm.error !== null && <Failure error={confirm.error} />}
      {restore.error !== null && <Failure error={restore.error} />}
      {act === "edit" && <EditDialog memory={memory} onClose={close} />}
      {act === "head" && <HeadDialog memory={memory} onClose={close} />}
      {act === "link" && <LinkDialog memory={memory} onClose={close} />}
      {act === "retire" && <RetireDialog memory={memory} onClose={close} />}
      {act === "forget" && <ForgetDialog inspected={inspected} onClose={close} />}
    </>
  );
}

function Button({
  name,
  isBusy = false,
  onClick,
}: {
  readonly name: string;
  readonly isBusy?: boolean;
  readonly onClick: () => void;
}) {
  return (
    <button type="button" disabled={isBusy} onClick={onClick}>
      {name}
    </button>
  );
}
