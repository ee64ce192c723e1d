/**
 * What happened, and what was known when: a day to go to, the difference between two points, and the journal as
 * a readable log with filters, newest first: who did what to which memory, with the way to see that moment, and
 * to take it back where the engine can.
 */
import { useState } from "react";
import { clock, count, day } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, Failure, MemoryName, PageHead } from "../base/ui.tsx";
import { spaced } from "../base/words.ts";
import { Between } from "./between.tsx";
import {
  type Change,
  canUndo,
  didWords,
  type Filter,
  GROUPS,
  isShown,
  mainFirst,
  STRETCH,
  type Stretch,
  stretchesOf,
} from "./journal-words.ts";

/** The page. */
export function TimePage() {
  const { isOwner } = useStudio();
  return (
    <>
      <PageHead
        title="Time"
        about="Everything that ever changed, in order. Nothing is rewritten: an undo is one more line."
      >
        {isOwner && <DayChoice />}
      </PageHead>
      {isOwner ? (
        <>
          <Between />
          <Journal />
        </>
      ) : (
        <Empty title="Only the owner reads the journal">
          <p>It is about every memory, and your scope shows a part of them.</p>
        </Empty>
      )}
    </>
  );
}

/** Shows everything as it was at the end of a day. */
function DayChoice() {
  const { at } = useStudio();
  const shown = typeof at === "string" ? at.slice(0, 10) : "";
  return (
    <label>
      What was known on{" "}
      <input
        type="date"
        value={shown}
        onChange={(event) => {
          const { value } = event.target;
          go(hrefWith({ at: value === "" ? undefined : `${value}T23:59:59.999Z` }));
        }}
      />
    </label>
  );
}

function Journal() {
  const { graph, memory, at } = useStudio();
  const { params } = useRoute();
  const [many, setMany] = useState(1);
  const [words, setWords] = useState("");
  const end = useRead(["root", graph], () => memory.root(), { keep: true });
  const filter = { group: params.what, words };
  return (
    <>
      <div className="journal-filter">
        <label>
          Show{" "}
          <select
            value={params.what ?? ""}
            onChange={(event) => go(hrefWith({ what: event.target.value || undefined }))}
          >
            <option value="">everything</option>
            {GROUPS.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <input
          type="text"
          aria-label="Narrow by name or words"
          placeholder="by whom, or which words…"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </div>
      <Answer of={end} what="the end of the journal">
        {({ seq }) => {
          const last = typeof at === "number" ? Math.min(at, seq) : seq;
          const stretches = stretchesOf(last, many);
          const first = stretches.at(-1)?.from ?? 0;
          return (
            <>
              {stretches.map((stretch) => (
                <StretchView key={stretch.from} stretch={stretch} filter={filter} />
              ))}
              {first > 0 ? (
                <p>
                  <button type="button" onClick={() => setMany(many + 2)}>
                    Show older
                  </button>{" "}
                  <span className="about">
                    {count(first)} more before, {count(2 * STRETCH)} at a time
                  </span>
                </p>
              ) : (
                <p className="about">Here the memory began.</p>
              )}
            </>
          );
        }}
      </Answer>
    </>
  );
}

/** Memories that one sentence names. */
const NAMED = 3;

/** One stretch of the journal. */
function StretchView({ stretch, filter }: { readonly stretch: Stretch; readonly filter: Filter }) {
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
