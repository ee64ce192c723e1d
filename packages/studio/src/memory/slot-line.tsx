/**
 * The values of a slot as a line in time, newest first: what held, from when until when, and who said so.
 */
import { exact, Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { Answer, MemoryLine } from "../base/ui.tsx";
import { howSure, whoSaid } from "../base/words.ts";

/** The line of a slot; `id` is the value that is being looked at. */
export function SlotLine({ slot, id }: { readonly slot: string; readonly id: string }) {
  const history = useRead(["slot", slot], (memory, past) =>
    memory.slotHistory(slot, { limit: 50, ...past }),
  );
  return (
    <Answer of={history} what="the slot">
      {({ values, more }) => (
        <ol className="slot-line" aria-label={`Values of ${slot}`}>
          {values.map((value) => (
            <li key={value.uri} className={slotClass(value.current, value.id === id)}>
              <MemoryLine id={value.id} text={value.text} />
              <span
                className="about"
                title={value.to === undefined ? undefined : `until ${exact(value.to)}`}
              >
                {value.current ? "now, since " : "from "}
                <Time ms={value.from} />
                {value.to !== undefined && (
                  <>
                    {" "}
                    until <Time ms={value.to} />
                  </>
                )}
                {` · ${whoSaid(value.source)}`}
                {howSure(value.status) !== "" && `, ${howSure(value.status)}`}
              </span>
            </li>
          ))}
          {more && <li className="about">There are older values.</li>}
        </ol>
      )}
    </Answer>
  );
}

function slotClass(isCurrent: boolean, isThis: boolean): string {
  return `slot-value${isCurrent ? " is-current" : ""}${isThis ? " is-this" : ""}`;
}
