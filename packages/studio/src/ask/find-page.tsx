/**
 * Memories by exact conditions: what `type:goal tag:work` typed into the search field shows, page after
 * page.
 */
import { useState } from "react";
import { counted, Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { readQuery } from "../base/typed.ts";
import {
  Answer,
  Empty,
  MemoryLine,
  PageHead,
  StatusChip,
  SuspectChip,
  WaysToAsk,
} from "../base/ui.tsx";
import { TYPES } from "../base/words.ts";

const PAGE_SIZE = 50;

/** The page. */
export function FindPage() {
  const { params } = useRoute();
  const text = params.q ?? "";
  return (
    <>
      <PageHead
        title="Find"
        about="Memories that fulfil exact conditions. Pick some, or type them with words into the field above."
      >
        <WaysToAsk />
      </PageHead>
      <div className="find-chips">
        <Picks name="Type" text={text} picks={TYPES.map((type) => [`type:${type}`, type])} />
        <Picks name="Standing" text={text} picks={STANDINGS} />
        {text !== "" && (
          <button
            type="button"
            className="small"
            onClick={() => go(hrefWith({ q: undefined, cursor: undefined }))}
          >
            Clear
          </button>
        )}
      </div>
      {text === "" ? (
        <Empty title="Nothing is sought yet">
          <p>
            Pick a type, or type <code>tag:work</code>, <code>slot:"home city"</code>,{" "}
            <code>kind:turn</code> or <code>session:kyoto-trip</code> into the field above, with or
            without words. What you name of different things has to be true together.
          </p>
        </Empty>
      ) : (
        <Found key={text} text={text} />
      )}
    </>
  );
}

const STANDINGS = [
  ["is:active", "current"],
  ["is:archived", "history"],
  ["is:tombstoned", "retired"],
] as const;

/** Conditions that a click adds or takes away. */
function Picks({
  name,
  text,
  picks,
}: {
  readonly name: string;
  readonly text: string;
  readonly picks: readonly (readonly [condition: string, word: string])[];
}) {
  const words = text.split(/\s+/).filter((word) => word !== "");
  return (
    <p className="chips">
      <span className="about">{name}</span>
      {picks.map(([condition, word]) => {
        const isOn = words.includes(condition);
        const rest = words.filter((one) => one !== condition);
        return (
          <a
            key={condition}
            className="chip"
            aria-current={isOn ? "true" : undefined}
            href={hrefWith({ q: (isOn ? rest : [...words, condition]).join(" ") })}
          >
            {word}
          </a>
        );
      })}
    </p>
  );
}

function Found({ text }: { readonly text: string }) {
  const { query, wrong } = readQuery(text);
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const isAsked = wrong.length === 0 && Object.keys(query).length > 0;
  const found = useRead(
    ["find", text, cursor],
    (memory, past) =>
      memory.find({
        ...query,
        limit: PAGE_SIZE,
        ...(cursor === undefined ? {} : { cursor }),
        ...past,
      }),
    { keep: true, enabled: isAsked },
  );
  if (wrong.length > 0) {
    return <p className="warning">Not understood: {wrong.join(", ")}.</p>;
  }
  return (
    <Answer of={found} what="what matches">
      {({ hits, cursor: next }) => (
        <>
          {hits.length === 0 && (
            <Empty title="Nothing matches">
              <p>No memory fulfils all of these conditions at this moment.</p>
            </Empty>
          )}
          {hits.length > 0 && (
            <p className="about">
              {counted(hits.length, "memory", "memories")}
              {next !== undefined && " and more"}
            </p>
          )}
          {hits.map(({ id, type, text: shown, memory }) => (
            <MemoryLine key={id} id={id} type={type} text={memory?.text ?? shown}>
              {memory !== undefined && (
                <>
                  <SuspectChip flags={memory.versionRecord.flags} />
                  <StatusChip status={memory.head.status} />
                  <Time ms={memory.head.createdAt} />
                </>
              )}
            </MemoryLine>
          ))}
          <p className="pager">
            {cursors.length > 0 && (
              <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                Newer
              </button>
            )}
            {next !== undefined && (
              <button type="button" onClick={() => setCursors([...cursors, next])}>
                Older
              </button>
            )}
          </p>
        </>
      )}
    </Answer>
  );
}
