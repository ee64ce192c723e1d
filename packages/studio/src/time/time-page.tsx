/**
 * What happened, and what was known when: a day to go to, the journal as sentences with filters, and the
 * difference between two points.
 */
import { useState } from "react";
import { count } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, PageHead } from "../base/ui.tsx";
import { Between } from "./between.tsx";
import { StretchView } from "./journal-list.tsx";
import { GROUPS, STRETCH, stretchesOf } from "./journal-words.ts";

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
