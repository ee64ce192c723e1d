/**
 * What the server counts, and its rendering in the text format of Prometheus. The names are fixed on
 * the page for operators. No label names an actor, an id or anything else a caller chose, so that the
 * number of series does not grow with use and nothing about anybody leaks.
 *
 * The log: one JSON line per request, and the ids that join an answer to its line: the caller's own where it
 * sent a harmless one, else a number of this process. A line never holds content: no body, no parameter, no
 * header of the caller but its request id, no message of an error; the operation, the status and the code say
 * what happened, and the stack of a fault of Cortex itself is logged without its message. The line of a slow
 * read says by which plan it was read: names of indexes and counts.
 */

import { randomBytes } from "node:crypto";
import type { ReadPlan } from "@cortex-memory/core/contract";
import {
  COMMIT_BOUNDS_MS,
  type PostgresCounts,
  postgresCounts,
} from "@cortex-memory/core/postgres";

/** Upper bounds of the buckets of durations, in seconds. */
const BOUNDS_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60,
] as const;

interface Histogram {
  readonly counts: number[];
  sumSeconds: number;
  count: number;
}

/** What is read at the time of asking. */
interface Gauges {
  readonly openStores: number;
  /** Journal entries of the open stores together. */
  readonly entries: number;
  readonly streamClients: number;
  readonly inFlight: number;
  readonly uptimeSeconds: number;
  /** What the server of a database says of itself; absent where there is none, or it may not tell. */
  readonly lockWaits?: number | undefined;
  readonly lagSeconds?: number | undefined;
}

/** Counts requests. */
export interface Metrics {
  /** `operation` is a name of the table or of a route, never text of a caller. */
  count(operation: string, status: number, ms: number): void;
  render(gauges: Gauges): string;
}

/** Starts counting. */
export function makeMetrics(): Metrics {
  const requests = new Map<string, Map<number, number>>();
  const durations = new Map<string, Histogram>();
  return {
    count(operation, status, ms) {
      const byStatus = requests.get(operation) ?? new Map<number, number>();
      requests.set(operation, byStatus);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      const known = durations.get(operation);
      const histogram = known ?? { counts: BOUNDS_SECONDS.map(() => 0), sumSeconds: 0, count: 0 };
      if (known === undefined) durations.set(operation, histogram);
      observe(histogram, ms / 1000);
    },
    render(gauges) {
      const counted = [...requests].flatMap(([operation, byStatus]) =>
        [...byStatus].map(
          ([status, count]) =>
            `cortex_http_requests_total{operation="${operation}",status="${status}"} ${count}`,
        ),
      );
      return `${[
        ...family("cortex_http_requests_total", "counter", "Requests answered.", counted),
        ...family(
          "cortex_http_request_duration_seconds",
          "histogram",
          "Time from the request's head to its answer's.",
          [...durations].flatMap(([operation, one]) =>
            histogramLines(
              "cortex_http_request_duration_seconds",
              `operation="${operation}"`,
              BOUNDS_SECONDS,
              one,
            ),
          ),
        ),
        ...gauge("cortex_http_requests_in_flight", "Requests being answered.", gauges.inFlight),
        ...gauge("cortex_stores_open", "Stores open now.", gauges.openStores),
        ...gauge("cortex_journal_entries", "Journal entries of the open stores.", gauges.entries),
        ...gauge("cortex_stream_clients", "Clients that follow a stream.", gauges.streamClients),
        ...gauge("cortex_uptime_seconds", "Time since the start.", gauges.uptimeSeconds),
        ...databaseLines(postgresCounts()),
        ...serverLines(gauges),
      ].join("\n")}\n`;
    },
  };
}

function observe(histogram: Histogram, seconds: number): void {
  histogram.count += 1;
  histogram.sumSeconds += seconds;
  const at = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound);
  if (at >= 0) histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
}

/** The buckets are cumulative in the text, though not in memory. `label` is empty where there is none. */
function histogramLines(
  name: string,
  label: string,
  bounds: readonly number[],
  { counts, sumSeconds, count }: Readonly<Histogram>,
): string[] {
  const labels = label === "" ? "" : `{${label}}`;
  const more = label === "" ? "" : `${label},`;
  let sum = 0;
  const buckets = bounds.map((bound, at) => {
    sum += counts[at] ?? 0;
    return `${name}_bucket{${more}le="${bound}"} ${sum}`;
  });
  return [
    ...buckets,
    `${name}_bucket{${more}le="+Inf"} ${count}`,
    `${name}_sum${labels} ${sumSeconds}`,
    `${name}_count${labels} ${count}`,
  ];
}

/** What the metrics of a database are called, in which unit and what they mean. */
const DATABASE_FAMILIES = {
  connections: ["connections", "gauge", "Connections open."],
  busy: ["connections_busy", "gauge", "Connections in use."],
  waiting: ["connections_waited_for", "gauge", "Calls that wait for a connection."],
  most: ["connections_most", "gauge", "Connections there may be."],
  messages: ["round_trips_total", "counter", "Round trips that somebody waited for."],
  commits: ["commits_total", "counter", "Commits made."],
  lostRaces: ["lost_races_total", "counter", "Commits that another writer was faster than."],
  heldWaits: ["rebuild_waits_total", "counter", "Waits of commits for a store being rebuilt."],
  lockTimeouts: ["lock_timeouts_total", "counter", "Writes that gave up waiting for a lock."],
  retries: ["retries_total", "counter", "Commits tried again after a broken connection."],
  lookedUp: ["outcomes_looked_up_total", "counter", "Commits whose outcome had to be looked up."],
} as const satisfies {
  readonly [name in DatabaseCount]: readonly [string, string, string];
};

/** What is counted by one number. */
type DatabaseCount = Exclude<keyof PostgresCounts, "address" | "commitMs" | "commitCounts">;

/** The lines about databases; none where no store is in one. */
function databaseLines(all: readonly PostgresCounts[]): string[] {
  if (all.length === 0) return [];
  const single = Object.entries(DATABASE_FAMILIES).flatMap(([member, [suffix, type, help]]) => {
    const name = `cortex_postgres_${suffix}`;
    const count = all.reduce((sum, one) => sum + one[member as DatabaseCount], 0);
    return family(name, type, help, [`${name} ${count}`]);
  });
  return [...single, ...commitLines(all)];
}

/** How long commits took, over all databases. */
function commitLines(all: readonly PostgresCounts[]): string[] {
  const name = "cortex_postgres_commit_duration_seconds";
  const times = {
    counts: COMMIT_BOUNDS_MS.map((_, at) =>
      all.reduce((sum, { commitCounts }) => sum + (commitCounts[at] ?? 0), 0),
    ),
    sumSeconds: all.reduce((sum, { commitMs }) => sum + commitMs, 0) / 1000,
    count: all.reduce((sum, { commits }) => sum + commits, 0),
  };
  const bounds = COMMIT_BOUNDS_MS.map((ms) => ms / 1000);
  const lines = histogramLines(name, "", bounds, times);
  return family(name, "histogram", "Time of a commit, from asking for it to its answer.", lines);
}

function serverLines({ lockWaits, lagSeconds }: Gauges): string[] {
  const waits = "Connections of the database that wait for a lock.";
  const lag = "How far the last standby is behind.";
  return [
    ...(lockWaits === undefined
      ? []
      : gauge("cortex_postgres_server_lock_waits", waits, lockWaits)),
    ...(lagSeconds === undefined
      ? []
      : gauge("cortex_postgres_standby_lag_seconds", lag, lagSeconds)),
  ];
}

function gauge(name: string, help: string, value: number): string[] {
  return family(name, "gauge", help, [`${name} ${value}`]);
}

function family(name: string, type: string, help: string, lines: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** The header that carries the id of a request, in both directions. */
export const REQUEST_ID_HEADER = "X-Request-Id";

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

/** Makes the ids of one server. */
export function makeRequestIds(): (given: string | null) => string {
  const start = randomBytes(6).toString("hex");
  let count = 0;
  return (given) => {
    if (given !== null && HARMLESS.test(given)) return given;
    count += 1;
    return `${start}-${count}`;
  };
}

/** What is said about one request. */
interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** A name of the table, of a route, or `none`. */
  readonly operation: string;
  readonly status: number;
  readonly ms: number;
  /** The code of a failure. */
  readonly code?: string | undefined;
  /** What a fault of ours was. */
  readonly fault?: unknown;
  /** How a read was carried out; told where it was slow. */
  readonly plan?: ReadPlan | undefined;
}

/** Where lines go and what counts as slow. */
interface LogOptions {
  readonly write: (text: string) => void;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly slowMs: number;
}

/** Writes the line of one request. */
type RequestLog = (line: RequestLine) => void;

/** A request that was slow, as the log tells it. */
export type SlowRequest = Omit<RequestLine, "fault"> & { readonly time: string };

/** Slow requests that are remembered for whoever asks. */
const SLOW_KEPT = 50;

/** Makes the log. Lines of one turn are written together: one system call for many requests. */
export function makeRequestLog({ write, clock, slowMs }: LogOptions): {
  readonly log: RequestLog;
  /** Writes what is still held. */
  readonly flush: () => void;
  /** The last slow requests, the latest first. */
  readonly slow: () => readonly SlowRequest[];
} {
  let held = "";
  const timeText = makeTimeText();
  const kept: SlowRequest[] = [];
  const flush = (): void => {
    if (held === "") return;
    const text = held;
    held = "";
    write(text);
  };
  const log: RequestLog = ({ requestId, method, operation, status, ms, code, fault, plan }) => {
    if (held === "") setImmediate(flush);
    const isSlow = ms >= slowMs;
    const time = timeText(clock());
    const shownMs = rounded(ms);
    if (isSlow) {
      kept.unshift({ time, requestId, method, operation, status, code, ms: shownMs, plan });
      kept.length = Math.min(kept.length, SLOW_KEPT);
    }
    // 501 is a refusal like any other; the rest of its hundred is trouble of ours.
    const level = status >= 500 && status !== 501 ? "error" : isSlow ? "warn" : "info";
    // Put together by hand, in a third of the time: an id is harmless, and all other texts are names of ours.
    held +=
      `{"time":"${time}","level":"${level}","requestId":"${requestId}","method":"${method}",` +
      `"operation":"${operation}","status":${status}${member("code", code)},"ms":${shownMs}` +
      `${isSlow ? `,"slow":true${member("plan", plan)}` : ""}` +
      `${fault === undefined ? "" : member("fault", withoutMessage(fault))}}\n`;
  };
  return { log, flush, slow: () => [...kept] };
}

/** A member of a line, where there is one. */
function member(name: string, value: unknown): string {
  return value === undefined ? "" : `,"${name}":${JSON.stringify(value)}`;
}

/** Times as text. Requests of one turn mostly end in the same millisecond, whose text is made once. */
function makeTimeText(): (ms: number) => string {
  let lastMs = Number.NaN;
  let lastText = "";
  return (ms) => {
    if (ms !== lastMs) {
      lastText = new Date(ms).toISOString();
      lastMs = ms;
    }
    return lastText;
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** Name and frames of an error; a message may quote what it was about. */
function withoutMessage(fault: unknown): string {
  if (!(fault instanceof Error)) return typeof fault;
  const frames = (fault.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [fault.name, ...frames.slice(0, 8).map((line) => line.trim())].join(" | ");
}
