/**
 * Upkeep: first a dry run with its plan, then the run itself, in short pieces, so that its progress can
 * be seen and it can be stopped. Every change of a memory that it makes can be undone.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { count, counted } from "../base/format.tsx";
import { useStudio } from "../base/studio.tsx";
import { Failure, MemoryName, useWhyNoWrite } from "../base/ui.tsx";

type Report = Awaited<ReturnType<RemoteCortex["maintain"]>>;

/** How long one piece of the run takes, about. */
const PIECE_MS = 1500;

/** Pieces after which a run stops by itself: something new comes all the time. */
const PIECES_MAX = 200;

/** Changes that a plan lists. */
const LISTED = 50;

const EXTRAS = {
  archiveExpired: "archive what has expired",
  merge: "merge memories that say the same in the same words",
  relate: "join memories that name the same rare thing",
} as const;

type Extra = keyof typeof EXTRAS;

const STEPS: { readonly [step: string]: string } = {
  "text flush": "write out the index of words",
  "text merge": "merge the pieces of the index of words",
  "vectors of other models": "remove vectors of models that are not used any more",
  snapshot: "seal a snapshot",
  expire: EXTRAS.archiveExpired,
  confirm: "confirm what independent voices say",
  merge: EXTRAS.merge,
  relate: EXTRAS.relate,
};

/** The section. */
export function Upkeep() {
  const whyNot = useWhyNoWrite();
  const [extras, setExtras] = useState<readonly Extra[]>([]);
  const { plan, run, stop, done } = useUpkeep(extras);
  const toggle = (extra: Extra) =>
    setExtras(extras.includes(extra) ? extras.filter((one) => one !== extra) : [...extras, extra]);
  return (
    <section className="card" aria-labelledby="upkeep-title">
      <h2 id="upkeep-title">Upkeep</h2>
      <p className="about">
        Keeps the store quick and in order. The plan changes nothing; what a run changes about
        memories can be undone on the page Time.
      </p>
      <fieldset className="checks">
        <legend>Also</legend>
        {(Object.keys(EXTRAS) as Extra[]).map((extra) => (
          <label key={extra} className="check">
            <input
              type="checkbox"
              checked={extras.includes(extra)}
              onChange={() => toggle(extra)}
            />
            {EXTRAS[extra]}
          </label>
        ))}
      </fieldset>
      <p className="buttons">
        <button type="button" disabled={plan.isPending} onClick={() => plan.mutate()}>
          {plan.isPending ? "Planning…" : "Show the plan"}
        </button>
        <button
          type="button"
          className="primary"
          title={whyNot}
          disabled={plan.data === undefined || run.isPending || whyNot !== undefined}
          onClick={() => run.mutate()}
        >
          Run it
        </button>
        {run.isPending && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </p>
      {plan.error !== null && <Failure error={plan.error} />}
      {run.error !== null && <Failure error={run.error} />}
      {run.isPending && <Progress steps={done} />}
      {run.data !== undefined && !run.isPending ? (
        <Plan report={run.data} isDone />
      ) : (
        plan.data !== undefined && !run.isPending && <Plan report={plan.data} isDone={false} />
      )}
    </section>
  );
}

type Steps = { readonly [step: string]: { readonly done: number; readonly left: number } };

function useUpkeep(extras: readonly Extra[]) {
  const { memory, graph } = useStudio();
  const queries = useQueryClient();
  const [done, setDone] = useState<Steps>({});
  const isStopped = useRef(false);
  const asked = Object.fromEntries(extras.map((extra) => [extra, true]));
  const run = useMutation({
    mutationFn: async () => {
      isStopped.current = false;
      const pieces: Report[] = [];
      while (!isStopped.current && pieces.length < PIECES_MAX) {
        const piece = await memory.maintain({ ...asked, budgetMs: PIECE_MS });
        pieces.push(piece);
        setDone(stepsOf(pieces));
        if (piece.complete) break;
      }
      return together(pieces);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [graph, "now"] }),
  });
  const plan = useMutation({
    mutationFn: () => memory.maintain({ ...asked, dryRun: true }),
    onMutate: () => run.reset(),
  });
  return { plan, run, done, stop: () => (isStopped.current = true) };
}

/** What was done by all pieces, and what the last one left. */
function stepsOf(pieces: readonly Report[]): Steps {
  const found: { [step: string]: { done: number; left: number } } = {};
  for (const { steps } of pieces) {
    for (const { step, done, left } of steps) {
      found[step] = { done: (found[step]?.done ?? 0) + done, left };
    }
  }
  return found;
}

function together(pieces: readonly Report[]): Report | undefined {
  const last = pieces.at(-1);
  if (last === undefined) return undefined;
  return {
    ...last,
    steps: Object.entries(stepsOf(pieces)).map(([step, counts]) => ({ step, ...counts })),
    changes: pieces.flatMap(({ changes }) => changes),
  };
}

function Progress({ steps }: { readonly steps: Steps }) {
  const all = Object.values(steps);
  const done = all.reduce((sum, one) => sum + one.done, 0);
  const left = all.reduce((sum, one) => sum + one.left, 0);
  return (
    <p aria-live="polite">
      <progress value={done} max={Math.max(1, done + left)} aria-label="Upkeep" /> {count(done)}{" "}
      done, {count(left)} left
    </p>
  );
}

function Plan({ report, isDone }: { readonly report: Report; readonly isDone: boolean }) {
  const { steps, changes, complete } = report;
  const busy = steps.filter(({ done, left }) => done + left > 0);
  return (
    <div className="plan">
      <p>
        <strong>{isDone ? "Done" : "The plan"}</strong>
        {busy.length === 0 && ": there is nothing to do. Everything is in order."}
        {isDone && !complete && ": some of it is left; run it again to go on."}
      </p>
      <ul className="goes">
        {busy.map(({ step, done, left }) => (
          <li key={step}>
            {STEPS[step] ?? step}: {isDone ? `${count(done)} done` : counted(left, "piece")}
          </li>
        ))}
      </ul>
      {changes.length > 0 && (
        <ul className="plan-changes">
          {changes.slice(0, LISTED).map(({ step, memories, reason }) => (
            <li key={`${step}-${memories.join()}`}>
              {STEPS[step] ?? step}:{" "}
              {memories.slice(0, 3).map((id) => (
                <MemoryName key={id} id={id} />
              ))}{" "}
              <span className="about">{reason}</span>
            </li>
          ))}
        </ul>
      )}
      {changes.length > LISTED && (
        <p className="about">and {count(changes.length - LISTED)} more changes of memories</p>
      )}
    </div>
  );
}
