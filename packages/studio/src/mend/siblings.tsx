/**
 * Versions that nobody chose between: two writers changed the same version, and both are open. They stand
 * side by side, and one click keeps one.
 */
import { Time } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { Answer, Failure, useWhyNoWrite } from "../base/ui.tsx";
import { whoSaid } from "../base/words.ts";

/** The open versions of a memory. */
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
