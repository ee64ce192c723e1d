/**
 * The time bar of every page: moved, the whole studio shows that moment, says so in amber, and changes
 * wait until now. Only the owner knows how long the journal is, so only the owner has the bar.
 */
import { type CSSProperties, useEffect, useState } from "react";
import { ago, count, dayShort, exact } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";

/** How long a moved slider rests before the moment is shown. */
const REST_MS = 120;

/** The bar. */
export function TimeBar() {
  const { at, memory, graph, isOwner } = useStudio();
  // The end of the journal, whatever moment is shown.
  const end = useRead(["root", graph], () => memory.root(), { enabled: isOwner, keep: true });
  const last = end.data?.seq;
  if (!isOwner || last === undefined) return null;
  return <Slider last={last} at={typeof at === "number" ? Math.min(at, last) : at} />;
}

function Slider({ last, at }: { readonly last: number; readonly at: number | string | undefined }) {
  const shown = typeof at === "number" ? at : last;
  const [moved, setMoved] = useState<number | undefined>(undefined);
  useEffect(() => {
    if (moved === undefined) return;
    const timer = setTimeout(() => {
      go(hrefWith({ at: moved >= last ? undefined : String(moved) }), { replace: true });
      setMoved(undefined);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [moved, last]);
  const isPast = at !== undefined;
  return (
    <footer className={isPast ? "time-bar is-past" : "time-bar"}>
      <Play last={last} shown={isPast && typeof at === "number" ? at : undefined} />
      <input
        type="range"
        aria-label="Moment of the journal"
        aria-valuetext={isPast ? `entry ${shown} of ${last}` : "now"}
        min={0}
        max={last}
        value={moved ?? shown}
        style={{ "--at": `${(100 * (moved ?? shown)) / Math.max(1, last)}%` } as CSSProperties}
        onChange={(event) => setMoved(Number(event.target.value))}
      />
      {isPast ? (
        <PastWords at={at} />
      ) : (
        <span className="time-words">now · entry {count(last)}</span>
      )}
      {isPast && (
        <button type="button" onClick={() => go(hrefWith({ at: undefined }))}>
          Back to now
        </button>
      )}
    </footer>
  );
}

/** How long each moment is shown while playing. */
const FRAME_MS = 700;

/** Moments that a play has at most: a long journal goes in larger steps. */
const FRAMES = 60;

/** Lets the memory grow again, moment by moment, from the one that is shown or from the beginning. */
function Play({ last, shown }: { readonly last: number; readonly shown: number | undefined }) {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => {
      const next = (shown ?? 0) + Math.max(1, Math.ceil(last / FRAMES));
      if (next >= last) setPlaying(false);
      go(hrefWith({ at: next >= last ? undefined : String(next) }), { replace: true });
    }, FRAME_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, shown, last]);
  const start = () => {
    if (shown === undefined) go(hrefWith({ at: "0" }));
    setPlaying(true);
  };
  return (
    <button
      type="button"
      className="play"
      aria-label={isPlaying ? "Pause" : "Play what happened"}
      title={isPlaying ? "Pause" : "Play what happened, from the beginning or from here"}
      disabled={last === 0}
      onClick={() => (isPlaying ? setPlaying(false) : start())}
    >
      <span aria-hidden="true">{isPlaying ? "❚❚" : "▶"}</span>
    </button>
  );
}

function PastWords({ at }: { readonly at: number | string }) {
  const entry = useRead(["log-at", at], (memory) =>
    typeof at === "number" ? memory.log({ from: at, limit: 1 }) : Promise.resolve(undefined),
  );
  if (typeof at === "string") return <span className="time-words">The past: {dateWords(at)}</span>;
  const ms = entry.data?.entries[0]?.at;
  return (
    <span className="time-words">
      The past: entry {count(at)}
      {ms !== undefined && (
        <span title={exact(ms)}>
          {" "}
          · {exact(ms)} ({ago(ms)})
        </span>
      )}
    </span>
  );
}

/** A date of an address as people say it; the end of a day is what choosing a day gives. */
function dateWords(at: string): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  return at.endsWith("T23:59:59.999Z") ? `the end of ${dayShort(ms)}` : exact(ms);
}
