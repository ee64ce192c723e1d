/**
 * How the server does: how long it runs, which operations take long or fail, and the last slow ones with
 * the plan by which they were read.
 */
import { clock, count, counted } from "../base/format.tsx";
import { useServer } from "../base/reads.ts";
import { Answer, TableFrame } from "../base/ui.tsx";
import { type OperationHealth, readMetrics } from "./metrics.ts";

/** Operations that are shown. */
const SHOWN = 12;

/** The sections about the server. */
export function ServerHealth() {
  const found = useServer("/metrics", async (response) => readMetrics(await response.text()), {
    isLive: true,
  });
  return (
    <section className="card" aria-labelledby="server-title">
      <h2 id="server-title">The server</h2>
      <Answer of={found} what="what the server counts">
        {({ uptimeSeconds, openStores, inFlight, operations }) => (
          <>
            <p>
              Running for {lasting(uptimeSeconds)}, {counted(openStores, "graph")} open,{" "}
              {counted(inFlight, "request")} at this moment.
            </p>
            <Operations operations={operations} />
          </>
        )}
      </Answer>
      <SlowRequests />
    </section>
  );
}

function lasting(seconds: number): string {
  if (seconds < 120) return counted(seconds, "second");
  if (seconds < 7200) return counted(Math.round(seconds / 60), "minute");
  return seconds < 172_800
    ? counted(Math.round(seconds / 3600), "hour")
    : counted(Math.round(seconds / 86_400), "day");
}

function Operations({ operations }: { readonly operations: readonly OperationHealth[] }) {
  return (
    <TableFrame label="Table of operations">
      <thead>
        <tr>
          <th scope="col">Slowest operations</th>
          <th scope="col" className="number">
            Asked
          </th>
          <th scope="col" className="number">
            Mean
          </th>
          <th scope="col" className="number">
            95 of 100 within
          </th>
          <th scope="col" className="number">
            Failed
          </th>
        </tr>
      </thead>
      <tbody>
        {operations.slice(0, SHOWN).map(({ operation, count: asked, meanMs, p95Ms, failed }) => (
          <tr key={operation}>
            <th scope="row">{operation}</th>
            <td className="number">{count(asked)}</td>
            <td className="number">{ms(meanMs)}</td>
            <td className="number">{p95Ms === undefined ? "over a minute" : ms(p95Ms)}</td>
            <td className={failed > 0 ? "number status-disputed" : "number"}>{count(failed)}</td>
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

function ms(value: number): string {
  return value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(1)} ms`;
}

interface Slow {
  readonly slowMs: number;
  readonly requests: readonly {
    readonly time: string;
    readonly requestId: string;
    readonly operation: string;
    readonly ms: number;
    readonly plan?: { readonly [member: string]: unknown };
  }[];
}

/** The last slow requests: no content, but by which plan they were read. */
function SlowRequests() {
  const found = useServer("/slow", async (response) => (await response.json()) as Slow, {
    isLive: true,
  });
  return (
    <Answer of={found} what="what was slow">
      {({ slowMs, requests }) =>
        requests.length === 0 ? (
          <p className="about">Nothing took longer than {ms(slowMs)} lately.</p>
        ) : (
          <details open>
            <summary>{counted(requests.length, "slow request")} lately</summary>
            <ul className="slow">
              {requests.map(({ requestId, time, operation, ms: took, plan }) => (
                <li key={requestId}>
                  <span className="number">{clock(Date.parse(time))}</span>{" "}
                  <strong>{operation}</strong> <span className="number">{ms(took)}</span>{" "}
                  <span className="about">{plan === undefined ? "" : planWords(plan)}</span>
                </li>
              ))}
            </ul>
          </details>
        )
      }
    </Answer>
  );
}

/** A plan as names and counts. */
function planWords(plan: { readonly [member: string]: unknown }): string {
  return Object.entries(plan)
    .filter(([name]) => name !== "verb")
    .map(([name, value]) =>
      typeof value === "object" ? `${name} ${JSON.stringify(value)}` : `${name} ${String(value)}`,
    )
    .join(" · ");
}
