/**
 * The journal as a readable log, newest first: who did what to which memory, with the way to see that
 * moment, and to take it back where the engine can.
 */
import { clock, count, day } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { hrefWith } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Failure, MemoryName } from "../base/ui.tsx";
import { spaced } from "../base/words.ts";
import {
  type Change,
  canUndo,
  didWords,
  type Filter,
  isShown,
  mainFirst,
  type Stretch,
} from "./journal-words.ts";

/** Memories that one sentence names. */
const NAMED = 3;

/** One stretch of the journal. */
export function StretchView({
  stretch,
  filter,
}: {
  readonly stretch: Stretch;
  readonly filter: Filter;
}) {
  const { from, to } = stretch;
  const found = useRead(["changes", from, to], (memory) =>
    memory.changes(from, to, { limit: to - from }),
  );
  return (
    <Answer of={found} what="the journal">
      {({ changes }) => {
        const shown = [...changes].reverse().filter((change) => isShown(change, filter));
        return (
          <ol className="journal">
            {shown.map((change, at) => (
              <Entry
                key={change.seq}
                change={change}
                isNewDay={at === 0 || day(shown[at - 1]?.at ?? 0) !== day(change.at)}
              />
            ))}
          </ol>
        );
      }}
    </Answer>
  );
}

function Entry({ change, isNewDay }: { readonly change: Change; readonly isNewDay: boolean }) {
  const { seq, at, by } = change;
  return (
    <li>
      {isNewDay && <h2 className="journal-day">{day(at)}</h2>}
      <div className="journal-entry">
        <time className="number" dateTime={new Date(at).toISOString()}>
          {clock(at)}
        </time>
        <p>
          <span className="journal-by">{by}</span> <Sentence change={change} />
        </p>
        <span className="journal-more">
          <a href={hrefWith({ at: String(seq) })} title="Show everything as of this entry">
            entry {count(seq)}
          </a>
          {canUndo(change) && <Undo seq={seq} />}
        </span>
      </div>
    </li>
  );
}

function Sentence({ change: { kind, memories, edges } }: { readonly change: Change }) {
  if (kind === "add_edge" || kind === "remove_edge") {
    return (
      <>
        {kind === "add_edge" ? "linked " : "removed the link "}
        {edges.slice(0, NAMED).map((edge) => (
          <span key={edge.id}>
            <MemoryName id={edge.from} /> {spaced(edge.kind)}{" "}
            {edge.toGraph === undefined ? (
              <MemoryName id={edge.to} />
            ) : (
              `${edge.to} in ${edge.toGraph}`
            )}{" "}
          </span>
        ))}
      </>
    );
  }
  const named = mainFirst(memories);
  const [first, ...rest] = named;
  return (
    <>
      {didWords(kind)} {first !== undefined && <Named memory={first} />}
      {kind === "write" && rest.length > 0 && ", which took the place of "}
      {kind !== "write" && rest.length > 0 && " and "}
      {rest.slice(0, NAMED - 1).map((one) => (
        <Named key={one.id} memory={one} />
      ))}
      {rest.length > NAMED - 1 && ` and ${count(rest.length - NAMED + 1)} more`}
    </>
  );
}

function Named({ memory }: { readonly memory: Change["memories"][number] }) {
  if (memory.erased) return <span className="about">something that was forgotten since</span>;
  return (
    <MemoryName id={memory.id} {...(memory.text === undefined ? {} : { text: memory.text })} />
  );
}

function Undo({ seq }: { readonly seq: number }) {
  const { canWrite } = useStudio();
  const undo = useWrite(
    (memory, entry: number) => memory.revert(entry),
    ({ seq: next }) => ({ text: `Entry ${count(seq)} is undone.`, undo: next }),
  );
  if (!canWrite) return null;
  return (
    <>
      <button
        type="button"
        className="quiet"
        disabled={undo.isPending}
        aria-label={`Undo entry ${seq}`}
        onClick={() => undo.mutate(seq)}
      >
        Undo
      </button>
      {undo.error !== null && <Failure error={undo.error} />}
    </>
  );
}
