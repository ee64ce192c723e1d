/**
 * `subscribe` over HTTP: server-sent events as entries, each once and in order, for as long as somebody
 * reads. A connection that breaks, falls silent or is ended by a server that stops is opened again, from
 * the entry after the last one delivered; after many attempts in a row without an entry it fails.
 */

import { followingOf } from "../contract/following.js";
import type { Options } from "../contract/index.js";
import type { JournalEvent, Subscription } from "../contract/journal.js";
import { CortexError, invalid } from "../errors.js";
import { pause, pauseMs, problemError } from "./transport.js";

/** How the events of one connection are asked for. */
type Connect = (
  parameters: URLSearchParams,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array>>;

/** What a subscription needs of its client. */
interface Following {
  readonly connect: Connect;
  /** The first seq to deliver. */
  readonly start: Promise<number>;
  /** Aborted when the client closes. */
  readonly closing: AbortSignal;
}

/** A server says something every fifteen seconds; one that is silent for longer than this is gone. */
const SILENCE_MS_MAX = 45_000;

/** Connections in a row that brought nothing, after which a subscription fails. */
const ATTEMPTS_MAX = 10;

/** Follows a journal on a server. */
export function followRemote(options: Options<"subscribe">, following: Following): Subscription {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const until = [following.closing, ...(options.signal === undefined ? [] : [options.signal])];
  for (const signal of until) {
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  }
  // Whoever asks for the first entry gets this failure; perhaps nobody asks.
  following.start.catch(() => undefined);
  const leave = (): void => {
    for (const signal of until) signal.removeEventListener("abort", end);
  };
  const events = async function* (): AsyncGenerator<JournalEvent, undefined> {
    try {
      return yield* follow(options, following, stop.signal);
    } finally {
      leave();
    }
  };
  return followingOf(events(), () => {
    end();
    leave();
  });
}

/** Checks what the server would refuse only later. */
export function checkFollowing({ from, signal }: Options<"subscribe">): void {
  if (from !== undefined && (!Number.isSafeInteger(from) || from < 0)) {
    throw invalid("from", "a seq of at least 0", from);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid("signal", "an AbortSignal", signal);
  }
}

async function* follow(
  options: Options<"subscribe">,
  { connect, start }: Following,
  signal: AbortSignal,
): AsyncGenerator<JournalEvent, undefined> {
  let next = await start;
  let failures = 0;
  while (!signal.aborted) {
    let trouble: unknown = new CortexError("ERR_STORAGE", "server: the stream of events ended");
    try {
      const body = await connect(parametersOf(options, next), signal);
      for await (const event of readEvents(body, signal)) {
        if (signal.aborted) return undefined;
        if (event.name === "problem") throw problemError(event.data);
        if (event.name !== "entry") continue;
        const entry = event.data as JournalEvent;
        next = entry.seq + 1;
        failures = 0;
        yield entry;
      }
    } catch (error) {
      trouble = error;
    }
    if (signal.aborted) return undefined;
    failures += 1;
    if (failures > ATTEMPTS_MAX || !mayPass(trouble)) throw trouble;
    await pause(pauseMs(failures), signal);
  }
  return undefined;
}

/** A server that stops or cannot be reached may be back soon; whatever else it says, it means. */
function mayPass(trouble: unknown): boolean {
  if (!(trouble instanceof CortexError)) return true;
  return ["ERR_STORAGE", "ERR_CLOSED", "ERR_RATE_LIMITED"].includes(trouble.code);
}

function parametersOf({ kinds, pollMs }: Options<"subscribe">, from: number): URLSearchParams {
  const parameters = new URLSearchParams({ from: String(from) });
  for (const kind of kinds ?? []) parameters.append("kinds", kind);
  if (pollMs !== undefined) parameters.set("pollMs", String(pollMs));
  return parameters;
}

/** One event of a stream. */
interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

/** The events of a stream, until it ends, breaks off, falls silent or is left. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave);
  try {
    let held = "";
    for (;;) {
      const { done, value } = await withinSilence(reader);
      if (done || signal.aborted) return;
      // An event ends with an empty line; what comes after the last one is not whole yet.
      const blocks = (held + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      held = blocks.pop() ?? "";
      for (const block of blocks) yield* eventIn(block);
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

async function withinSilence(reader: ReadableStreamDefaultReader<Uint8Array>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    const message = `server: no sign of life for ${SILENCE_MS_MAX} ms`;
    timer = setTimeout(() => reject(new CortexError("ERR_STORAGE", message)), SILENCE_MS_MAX);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** The event in the lines between two empty ones; comments and pauses are none. */
function* eventIn(block: string): Generator<StreamEvent> {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ""] = /^([a-z]+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  if (data.length > 0) yield { name, data: JSON.parse(data.join("\n")) as unknown };
}
