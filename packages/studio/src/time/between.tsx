/**
 * What changed between two points: each memory as it was and as it became, what came, what went.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { type FormEvent, useState } from "react";
import { counted } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { momentOf } from "../base/studio.tsx";
import { Answer, Difference, MemoryLine } from "../base/ui.tsx";
import { lifeWords } from "../base/words.ts";

/** Entries that are looked through. */
const ENTRIES_MAX = 2000;

/** Memories that are compared. */
const COMPARED = 60;

/** Reads that are on their way at once. */
const AT_ONCE = 8;

/** The two points, and what lies between. */
export function Between() {
  const { params } = useRoute();
  const [from, setFrom] = useState(params.a ?? "");
  const [to, setTo] = useState(params.b ?? "");
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    go(hrefWith({ a: from.trim() || undefined, b: to.trim() || undefined }));
  };
  return (
    <section className="card" aria-labelledby="between">
      <h2 id="between">What changed between two points</h2>
      <form className="one-line" onSubmit={onSubmit}>
        <label htmlFor="between-from">From</label>
        <input
          id="between-from"
          type="text"
          placeholder="an entry, or 2026-05-03"
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
        <label htmlFor="between-to">to</label>
        <input
          id="between-to"
          type="text"
          placeholder="now"
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
        <button type="submit">Compare</button>
      </form>
      {params.a !== undefined && <Compared from={params.a} to={params.b} />}
    </section>
  );
}

type Memory = NonNullable<Awaited<ReturnType<RemoteCortex["get"]>>>;

interface Pair {
  readonly id: string;
  readonly before: Memory | undefined;
  readonly after: Memory | undefined;
}

/** Memories that are shown until somebody wants all: the journal stands below. */
const PAIRS_FIRST = 8;

function Compared({ from, to }: { readonly from: string; readonly to: string | undefined }) {
  const [isWhole, setWhole] = useState(false);
  const found = useRead(["between", from, to], (memory) =>
    compare(memory, momentOf(from) ?? 0, momentOf(to)),
  );
  return (
    <Answer of={found} what="what changed">
      {({ pairs, entries, links, touched, isCut }) => (
        <>
          {entries === 0 && (
            <p className="about">
              Nothing changed. What was written in one go has no points in between.
            </p>
          )}
          <p hidden={entries === 0}>
            {counted(entries, "entry", "entries")}: {counted(touched, "memory", "memories")}{" "}
            touched, {counted(links, "link")} drawn or removed.
            {isCut && " Only the first part of it was looked through."}
            {touched > pairs.length && ` The first ${pairs.length} are compared below.`}
          </p>
          <ul className="pairs">
            {pairs.slice(0, isWhole ? pairs.length : PAIRS_FIRST).map((pair) => (
              <li key={pair.id}>
                <PairView pair={pair} />
              </li>
            ))}
          </ul>
          {!isWhole && pairs.length > PAIRS_FIRST && (
            <button type="button" className="small" onClick={() => setWhole(true)}>
              Show all {pairs.length}
            </button>
          )}
        </>
      )}
    </Answer>
  );
}

/** Reads what happened, and each memory at both points. */
async function compare(
  memory: RemoteCortex,
  from: number | string,
  to: number | string | undefined,
) {
  const page = await memory.changes(from, to, { limit: ENTRIES_MAX });
  const ids = [...new Set(page.changes.flatMap(({ memories }) => memories.map(({ id }) => id)))];
  const pairs: Pair[] = [];
  const chosen = ids.slice(0, COMPARED);
  for (let at = 0; at < chosen.length; at += AT_ONCE) {
    const some = chosen.slice(at, at + AT_ONCE).map(async (id) => {
      const [before, after] = await Promise.all([
        memory.get(id, { asOf: page.from }),
        memory.get(id, { asOf: page.next ?? page.to }),
      ]);
      return { id, before, after };
    });
    pairs.push(...(await Promise.all(some)));
  }
  return {
    pairs,
    entries: page.changes.length,
    links: page.changes.reduce((sum, { edges }) => sum + edges.length, 0),
    touched: ids.length,
    isCut: page.next !== undefined,
  };
}

function PairView({ pair: { id, before, after } }: { readonly pair: Pair }) {
  const shown = after ?? before;
  if (shown === undefined) {
    return <p className="about">Something that was forgotten since.</p>;
  }
  const [was, is] = [before?.head.lifecycle, after?.head.lifecycle];
  return (
    <>
      <MemoryLine id={id} type={shown.type} text={shown.text}>
        <span className={`chip pair-${pairKind(before, after)}`}>
          {PAIR_WORDS[pairKind(before, after)]}
        </span>
      </MemoryLine>
      {before !== undefined && after !== undefined && before.text !== after.text && (
        <Difference before={before.text} after={after.text} />
      )}
      {was !== undefined && is !== undefined && was !== is && (
        <p className="about">
          {lifeWords(was)} → {lifeWords(is)}
        </p>
      )}
    </>
  );
}

type PairKind = "new" | "gone" | "reworded" | "moved" | "same";

const PAIR_WORDS: { readonly [K in PairKind]: string } = {
  new: "new",
  gone: "gone",
  reworded: "reworded",
  moved: "other standing",
  same: "the same again, or fields alone",
};

function pairKind(before: Memory | undefined, after: Memory | undefined): PairKind {
  if (before === undefined) return "new";
  if (after === undefined) return "gone";
  if (before.text !== after.text) return "reworded";
  return before.head.lifecycle === after.head.lifecycle ? "same" : "moved";
}
