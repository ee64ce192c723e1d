/**
 * What was decided lately, read from the end of the journal, with the way to take it back: a notice goes
 * after a while, this stays.
 */
import { counted, Time } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { useStudio } from "../base/studio.tsx";
import { Failure, MemoryName, Section } from "../base/ui.tsx";

/** Entries at the end of the journal that are looked through. */
const LOOKED_AT = 200;

/** Decisions that are shown. */
const SHOWN = 10;

/** The section; only the owner reads the journal. */
export function DecidedLately() {
  const { isOwner } = useStudio();
  const found = useRead(
    ["review", "decided"],
    async (memory) => {
      const { seq } = await memory.root();
      const { changes } = await memory.changes(Math.max(0, seq - LOOKED_AT), seq, {
        limit: LOOKED_AT,
      });
      return changes.filter(({ kind }) => kind === "settle").reverse();
    },
    { enabled: isOwner },
  );
  const undo = useWrite(
    (memory, seq: number) => memory.revert(seq),
    () => ({ text: "Undone: the question is open again." }),
  );
  const decided = found.data ?? [];
  if (decided.length === 0) return null;
  return (
    <Section name="decided" title="Decided lately" aside={counted(decided.length, "decision")}>
      {undo.error !== null && <Failure error={undo.error} />}
      <ul className="decided">
        {decided.slice(0, SHOWN).map(({ seq, at, by, memories }) => (
          <li key={seq}>
            <span className="about">
              <Time ms={at} /> by {by}
            </span>{" "}
            <span className="decided-what">
              <Named memories={memories} />
            </span>{" "}
            <button
              type="button"
              className="small"
              disabled={undo.isPending}
              aria-label={`Undo decision ${seq}`}
              onClick={() => undo.mutate(seq)}
            >
              Undo
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Touched = readonly { readonly id: string; readonly text?: string; readonly erased: boolean }[];

/** The memories that a decision was about, by their words where the entry has them. */
function Named({ memories }: { readonly memories: Touched }) {
  const ids = [...new Set(memories.map(({ id }) => id))];
  return (
    <>
      {ids.slice(0, 3).map((id) => (
        <MemoryName key={id} id={id} />
      ))}
    </>
  );
}
