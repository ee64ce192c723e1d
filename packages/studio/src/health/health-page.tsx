/**
 * Is everything well? What the open graph holds, how far its indexes and jobs have come, whether it is
 * whole, upkeep with its plan, and how the server does.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { bytes, count, counted, Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, Failure, PageHead, TableFrame, TypeMark } from "../base/ui.tsx";
import { ServerHealth } from "./server-health.tsx";
import { Upkeep } from "./upkeep.tsx";

type Stats = Awaited<ReturnType<RemoteCortex["stats"]>>;

/** The page. */
export function HealthPage() {
  const { isOwner, graph } = useStudio();
  const stats = useRead(["stats"], (memory) => memory.stats(), { enabled: isOwner });
  return (
    <>
      <PageHead
        title="Health"
        about={`Whether ${graph} is whole and quick, and what there is to do.`}
      />
      {isOwner ? (
        <Answer of={stats} what="how it does">
          {(found) => (
            <div className="trust">
              <Wellness stats={found} />
              <Holds stats={found} />
              <Upkeep />
              <Jobs stats={found} />
              <ServerHealth />
            </div>
          )}
        </Answer>
      ) : (
        <Empty title="Only the owner sees how the store does">
          <p>Your scope shows memories, and not the store that holds them.</p>
        </Empty>
      )}
    </>
  );
}

/** What needs a look, in one place; nothing where all is well. */
function Wellness({ stats }: { readonly stats: Stats }) {
  const trouble = troubleIn(stats);
  return (
    <section className="card" aria-labelledby="well-title">
      <h2 id="well-title">In short</h2>
      {trouble.length === 0 ? (
        <p className="verdict verdict-good">
          <span className="verdict-title">✓ Everything is well.</span> Indexes and jobs are up to
          date.
        </p>
      ) : (
        <ul className="verdict verdict-weak">
          {trouble.map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      )}
      <CheckStore />
    </section>
  );
}

/** A few entries behind are the usual state of an index. */
const LAG_SMALL = 5000;

function troubleIn({ text, vectors, jobs, replica, durable }: Stats): readonly string[] {
  return [
    ...(text.failure === undefined ? [] : [`The index of words failed: ${text.failure}`]),
    ...(text.lag > LAG_SMALL ? [`The index of words is ${count(text.lag)} entries behind.`] : []),
    ...(vectors !== undefined && vectors.lag > 0
      ? [`The index of meaning is ${counted(vectors.lag, "entry", "entries")} behind.`]
      : []),
    ...jobs.flatMap(({ name, lastError }) =>
      lastError === undefined ? [] : [`The job ${name} failed: ${lastError.message}`],
    ),
    ...(replica?.lastError === undefined ? [] : [`The copy failed: ${replica.lastError.message}`]),
    ...(durable ? [] : ["Nothing is kept on disk: this memory goes when the server stops."]),
  ];
}

/** Whether rows, hashes and roots agree with the journal. */
function CheckStore() {
  const { memory } = useStudio();
  const check = useMutation({ mutationFn: () => memory.check() });
  return (
    <>
      <p className="buttons">
        <button type="button" disabled={check.isPending} onClick={() => check.mutate()}>
          {check.isPending ? "Checking…" : "Check that it is whole"}
        </button>
        <span className="about">compares everything with the journal; may take a while</span>
      </p>
      {check.error !== null && <Failure error={check.error} />}
      {check.data !== undefined &&
        (check.data.ok ? (
          <p className="verdict verdict-good">
            It is whole: {counted(check.data.entries, "entry", "entries")} were compared.
          </p>
        ) : (
          <ul className="verdict verdict-bad">
            {check.data.problems.map(({ code, message }) => (
              <li key={message}>
                {message} <code>{code}</code>
              </li>
            ))}
          </ul>
        ))}
    </>
  );
}

function Holds({ stats }: { readonly stats: Stats }) {
  const { memories, types, edges, entries, sizeBytes, lastAt } = stats;
  const most = Math.max(1, ...types.map(({ count: many }) => many));
  return (
    <section className="card" aria-labelledby="holds-title">
      <h2 id="holds-title">What it holds</h2>
      <dl className="facts">
        <Fact name="Memories">
          {count(memories.active)} current, {count(memories.archived)} history,{" "}
          {count(memories.tombstoned)} retired, {count(memories.erased)} forgotten
        </Fact>
        <Fact name="Links">{count(edges.live)}</Fact>
        <Fact name="Journal">
          {counted(entries, "entry", "entries")}, the last <Time ms={lastAt} />
        </Fact>
        <Fact name="On disk">
          {bytes(sizeBytes)} ({stats.backend})
        </Fact>
      </dl>
      <table className="bars by-type">
        <tbody>
          {types.map(({ type, count: many }) => (
            <tr key={type}>
              <th scope="row">
                <TypeMark type={type} named />
              </th>
              <td className="bar-cell">
                <span className="bar" style={{ width: `${(100 * many) / most}%` }} />
              </td>
              <td className="number">{count(many)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Jobs({ stats: { text, vectors, jobs, replica } }: { readonly stats: Stats }) {
  return (
    <section className="card" aria-labelledby="jobs-title">
      <h2 id="jobs-title">Indexes and jobs</h2>
      <dl className="facts">
        <Fact name="Words">
          {counted(text.documents, "text")} in {counted(text.segments, "piece")}
          {text.lag > 0 &&
            `; ${counted(text.lag, "entry", "entries")} not written out yet, and found all the same`}
        </Fact>
        <Fact name="Meaning">
          {vectors === undefined
            ? "off: no model that compares meaning is set up"
            : `${counted(vectors.memories, "memory", "memories")} by ${vectors.model}, ${lagWords(vectors.lag)}`}
        </Fact>
        {replica !== undefined && (
          <Fact name="Copy of">
            {replica.source}, {lagWords(replica.lag)}
          </Fact>
        )}
      </dl>
      {jobs.length === 0 ? (
        <p className="about">No background job has run on this store yet.</p>
      ) : (
        <TableFrame label="Table of jobs">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col" className="number">
                Behind
              </th>
              <th scope="col" className="number">
                Done
              </th>
              <th scope="col">Last run</th>
              <th scope="col">Trouble</th>
            </tr>
          </thead>
          <tbody>
            {jobs.map(({ name, lag, done, lastRunAt, lastError }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className="number">{count(lag)}</td>
                <td className="number">{count(done)}</td>
                <td>{lastRunAt === undefined ? "not yet" : <Time ms={lastRunAt} />}</td>
                <td>{lastError === undefined ? "none" : lastError.message}</td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      )}
    </section>
  );
}

function lagWords(lag: number): string {
  return lag === 0 ? "up to date" : `${counted(lag, "entry", "entries")} behind`;
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
