/**
 * The log: one JSON line per request, and the ids that join an answer to its line: the caller's own where
 * it sent a harmless one, else a number of this process. A line never holds content: no body, no parameter, no header
 * of the caller but its request id, no message of an error; the operation, the status and the code say
 * what happened, and the stack of a fault of ours is told without its message. What was slow says by
 * which plan it was read: names of indexes and counts.
 */
import { randomBytes } from "node:crypto";
import type { ReadPlan } from "@cortex-memory/core/contract";

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
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** A name of the table, of a route, or `none`. */
  readonly operation: string;
  readonly status: number;
  readonly ms: number;
  /** The code of a failure. */
  readonly code?: string;
  /** What a fault of ours was. */
  readonly fault?: unknown;
  /** How a read was carried out; told where it was slow. */
  readonly plan?: ReadPlan;
}

/** Where lines go and what counts as slow. */
export interface LogOptions {
  readonly write: (text: string) => void;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly slowMs: number;
}

/** Writes the line of one request. */
export type RequestLog = (line: RequestLine) => void;

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
  const kept: SlowRequest[] = [];
  const flush = (): void => {
    if (held === "") return;
    const text = held;
    held = "";
    write(text);
  };
  const log: RequestLog = ({ fault, plan, ms, ...line }) => {
    if (held === "") setImmediate(flush);
    const isSlow = ms >= slowMs;
    const time = new Date(clock()).toISOString();
    if (isSlow) {
      kept.unshift({ time, ...line, ms: rounded(ms), ...(plan === undefined ? {} : { plan }) });
      kept.length = Math.min(kept.length, SLOW_KEPT);
    }
    held += `${JSON.stringify({
      time,
      // 501 is a refusal like any other; the rest of its hundred is trouble of ours.
      level: line.status >= 500 && line.status !== 501 ? "error" : isSlow ? "warn" : "info",
      ...line,
      ms: rounded(ms),
      ...(isSlow ? { slow: true } : {}),
      ...(isSlow && plan !== undefined ? { plan } : {}),
      ...(fault === undefined ? {} : { fault: withoutMessage(fault) }),
    })}\n`;
  };
  return { log, flush, slow: () => [...kept] };
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
