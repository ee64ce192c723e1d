/**
 * What can be done about a memory in its panel, with the standing of whoever signed in: a new wording, other
 * tags, a link, confirm, retire, restore, forget, and choosing between versions that are both open. Everything
 * but forget can be undone.
 */
import { useState } from "react";
import { Time } from "../base/format.tsx";
import { type Inspected, useRead, useWrite } from "../base/reads.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Failure, useWhyNoWrite } from "../base/ui.tsx";
import { whoSaid } from "../base/words.ts";
import { EditDialog, ForgetDialog, HeadDialog, LinkDialog, RetireDialog } from "./mend-dialogs.tsx";

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

/**
 * Versions that nobody chose between: two writers changed the same version, and both are open. They stand side
 * by side, and one click keeps one.
 */
export function Siblings({ id }: { readonly id: string }) {
  const whyNot = useWhyNoWrite();
  const found = useRead(["review", "siblings", id], async (memory) => {
    const { items } = await memory.review({ kinds: ["siblings"], limit: 500 });
    return items.find(({ sides }) => sides.some((side) => side.id === id)) ?? null;
  });
  const settle = useWrite(
    (memory, { item, keep }: { readonly item: string; readonly keep: string }) =>
      memory.settle(item, { decision: "keep_one", keep, reason: "chosen in the studio" }),
    ({ seq }) => ({ text: "Kept. The other version is history.", undo: seq }),
  );
  return (
    <Answer of={found} what="the open versions">
      {(item) =>
        item === null ? null : (
          <section className="siblings" aria-label="Open versions">
            <h2>Two versions are open</h2>
            <p className="about">
              They were written at the same time. Keep one; the other stays in the history.
            </p>
            <div className="sides">
              {item.sides.map((side) => (
                <div key={side.uri} className="side">
                  <p dir="auto">{side.text}</p>
                  <p className="about">
                    Version {side.version}, <Time ms={side.createdAt} /> by {side.createdBy} ·{" "}
                    {whoSaid(side.source)}
                  </p>
                  <button
                    type="button"
                    disabled={whyNot !== undefined || settle.isPending}
                    onClick={() => settle.mutate({ item: item.id, keep: side.uri })}
                  >
                    Keep this one
                  </button>
                </div>
              ))}
            </div>
            {settle.error !== null && <Failure error={settle.error} />}
          </section>
        )
      }
    </Answer>
  );
}
