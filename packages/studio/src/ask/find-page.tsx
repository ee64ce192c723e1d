/**
 * Memories by exact conditions: what `type:goal tag:work` typed into the search field shows, page after
 * page.
 */
import { useState } from "react";
import { Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { Answer, Empty, MemoryLine, PageHead } from "../base/ui.tsx";
import { TYPES } from "../base/words.ts";
import { readQuery } from "./find-query.ts";

const PAGE_SIZE = 50;

/** The page. */
export function FindPage() {
  const { params } = useRoute();
  const text = params.q ?? "";
  return (
    <>
      <PageHead
        title="Find"
        about="By exact conditions: type, kind, tag, slot, session, is (active, archived, tombstoned), and words."
      >
        {text !== "" && (
          <button type="button" onClick={() => go(hrefWith({ q: undefined, cursor: undefined }))}>
            Clear
          </button>
        )}
      </PageHead>
      <p className="chips">
        {TYPES.map((type) => (
          <a key={type} className="chip" href={hrefWith({ q: `type:${type}` })}>
            type:{type}
          </a>
        ))}
      </p>
      {text === "" ? (
        <Empty title="Nothing is sought yet">
          <p>
            Type <code>type:goal</code>, <code>tag:work</code> or <code>slot:"home city"</code> into
            the field above; several are all wanted. Or pick a type.
          </p>
        </Empty>
      ) : (
        <Found key={text} text={text} />
      )}
    </>
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
        form: "medium",
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
          {hits.map(({ id, type, text: shown, memory }) => (
            <MemoryLine key={id} id={id} type={type} text={shown}>
              {memory !== undefined && <Time ms={memory.head.createdAt} />}
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
