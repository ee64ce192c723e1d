/**
 * What it knows, in sentences: who, rules, preferences, goals, what came last; what changed since the
 * last visit; what waits for the owner. Each line is a memory.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { useEffect, useState } from "react";
import { count, counted, Time } from "../base/format.tsx";
import { useRead, useWaiting } from "../base/reads.ts";
import { hrefOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, MemoryLine, PageHead, StatusChip, SuspectChip } from "../base/ui.tsx";
import { TYPES } from "../base/words.ts";
import { AgentBlock, RemoveSample, SAMPLE_GRAPH, SampleButton } from "./welcome.tsx";

interface Group {
  readonly title: string;
  readonly about: string;
  readonly types: readonly MemoryType[];
  readonly most: number;
}

/** The groups of a memory that tell most, in the order in which a context has them. */
const GROUPS: readonly Group[] = [
  { title: "Who", about: "what it knows of its owner", types: ["identity"], most: 6 },
  { title: "Rules", about: "what an agent must keep to", types: ["constraint"], most: 8 },
  { title: "Preferences", about: "likes and dislikes", types: ["preference"], most: 8 },
  { title: "Goals", about: "what is being pursued", types: ["goal"], most: 8 },
  {
    title: "Lately",
    about: "what was written last",
    types: TYPES.filter((type) => !["identity", "constraint", "preference", "goal"].includes(type)),
    most: 10,
  },
];

/** The page. */
export function HomePage() {
  const { graph, isOwner } = useStudio();
  const any = useRead(["list", "any"], (memory, past) => memory.list({ limit: 1, ...past }));
  return (
    <>
      <PageHead title="What it knows" about={`The memory of ${graph}, in its own words.`}>
        {graph === SAMPLE_GRAPH && isOwner && <RemoveSample />}
      </PageHead>
      {/* Asked beside the groups, not before them: nearly always there is something. */}
      {any.data?.memories.length === 0 ? (
        <Nothing />
      ) : (
        <>
          {graph === SAMPLE_GRAPH && <Tour />}
          {isOwner && <Waiting />}
          <div className="groups">
            {GROUPS.map((group) => (
              <GroupView key={group.title} group={group} />
            ))}
          </div>
        </>
      )}
    </>
  );
}

/** What to look at in the sample, in the order in which it makes sense. */
function Tour() {
  const { at } = useStudio();
  if (at !== undefined) return null;
  const steps = [
    [
      "Ask where Mara lives",
      hrefOf("ask", { q: "Where does Mara live?" }),
      "and see why it says so",
    ],
    ["See that she moved", hrefOf("", { m: "sample:home" }), "the old value is kept as history"],
    ["Decide what is disputed", hrefOf("review"), "an agent noted what she never said"],
    ["Look at the picture", hrefOf("graph", { from: "sample:kyoto" }), "what the trip hangs on"],
    ["Go back in time", hrefOf("time"), "or drag the bar below to the left"],
    ["Check that nothing was altered", hrefOf("trust"), "pin this moment, verify a memory"],
  ] as const;
  return (
    <section className="card tour" aria-label="A look around">
      <h2>Two minutes to look around</h2>
      <ol>
        {steps.map(([name, href, about]) => (
          <li key={name}>
            <a href={href}>{name}</a> <span className="about">{about}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Nothing() {
  const { at, isOwner } = useStudio();
  if (at !== undefined) {
    return (
      <Empty title="Nothing was known at this moment">
        <p>Move the time bar to the right.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing is remembered yet">
      <p>What an agent or you write shows here at once, as sentences.</p>
      {isOwner && (
        <>
          <SampleButton />
          <AgentBlock />
        </>
      )}
    </Empty>
  );
}

/** What changed since the last visit, and what waits for a decision. */
function Waiting() {
  const { at, graph, memory } = useStudio();
  const isNow = at === undefined;
  const root = useRead(["root", graph], () => memory.root());
  const seen = useLastSeen(graph, isNow ? root.data?.seq : undefined);
  const open = useWaiting();
  if (!isNow || root.data === undefined) return null;
  const since = seen === undefined ? 0 : root.data.seq - seen;
  const waiting = open.data?.items.length ?? 0;
  return (
    <p className="waiting">
      {since > 0 && (
        <>
          <a href={hrefOf("time", { a: String(seen) })}>
            {counted(since, "change")} since your last visit.
          </a>{" "}
        </>
      )}
      {seen !== undefined && since === 0 && "Nothing changed since your last visit. "}
      {waiting === 0 ? (
        "Nothing waits for your decision."
      ) : (
        <a href={hrefOf("review")}>
          {`${counted(waiting, "thing")}${open.data?.cursor === undefined ? "" : " or more"} ${
            waiting === 1 ? "waits" : "wait"
          } for your decision.`}
        </a>
      )}
    </p>
  );
}

/** The entry at which this browser last saw the memory; what it sees now is kept for the next time. */
function useLastSeen(graph: string, seq: number | undefined): number | undefined {
  const key = `cortex.seen.${graph}`;
  const [before] = useState(() => {
    const kept = window.localStorage.getItem(key);
    return kept === null ? undefined : Number(kept);
  });
  useEffect(() => {
    if (seq !== undefined) window.localStorage.setItem(key, String(seq));
  }, [key, seq]);
  return before;
}

function GroupView({ group: { title, about, types, most } }: { readonly group: Group }) {
  const found = useRead(["list", title], (memory, past) =>
    memory.list({ type: types, limit: most, ...past }),
  );
  return (
    <section className="group">
      <h2>{title}</h2>
      <p className="about">{about}</p>
      <Answer of={found} what={title.toLowerCase()}>
        {({ memories, cursor }) => (
          <>
            {memories.length === 0 && <p className="about">Nothing yet.</p>}
            {memories.map(({ id, type, text, head, versionRecord }) => (
              <MemoryLine key={id} id={id} type={type} text={text}>
                <SuspectChip flags={versionRecord.flags} />
                <StatusChip status={head.status} />
                <Time ms={head.createdAt} />
              </MemoryLine>
            ))}
            {cursor !== undefined && types.length === 1 && (
              <a className="more" href={hrefOf("find", { q: `type:${types[0]}` })}>
                More than {count(most)}: see all
              </a>
            )}
          </>
        )}
      </Answer>
    </section>
  );
}
