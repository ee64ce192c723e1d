/**
 * Operations that go on answering, as Server-Sent Events: one event per item, whose id is the item's
 * seq, so that a client that comes back says where it was.
 *
 * Promise: the client pulls. An item is asked for when the one before it is on its way, so a client that
 * does not read costs a few items of memory, and is cut off by the socket's own limit. A comment now and
 * then keeps proxies and clients from giving up. A failure on the way is an event named `problem`, after
 * which the stream ends; when the server stops, the stream ends without one, and clients come back.
 */

import type { Cortex } from "@cortex-memory/core";
import { describe } from "@cortex-memory/core/contract";
import type { Asked, Door } from "./perform.js";
import { commonHeaders, HttpFailure, problemOf, type Seen } from "./respond.js";
import type { Input, Route } from "./routes.js";

/** The media type of events. */
export const EVENT_STREAM = "text/event-stream";

/** How often a silent stream says that it is still there. */
const HEARTBEAT_MS = 15_000;

/** How long a client should wait before it comes back. */
const RETRY_MS = 1000;

/** The streams of a server. */
export interface Streams {
  /** Adds one; the result takes it away again. */
  add(stop: () => void): () => void;
  clients(): number;
  /** Ends all of them. */
  end(): void;
}

/** Starts keeping track of streams. */
export function makeStreams(): Streams {
  const stops = new Set<() => void>();
  return {
    add(stop) {
      stops.add(stop);
      return () => stops.delete(stop);
    },
    clients: () => stops.size,
    end() {
      for (const stop of [...stops]) stop();
    },
  };
}

/** The input with the position that a returning client names; it knows better than its address. */
export function withLastEvent({ fields }: Route, headers: Headers, input: Input): Input {
  const id = headers.get("last-event-id");
  if (id === null || id === "" || !fields.includes("from")) return input;
  if (/^\d{1,15}$/.test(id)) return { ...input, from: Number(id) + 1 };
  throw new HttpFailure("malformed", `last-event-id: expected a seq, got ${describe(id)}`);
}

/** Answers with the items of an operation that goes on answering. */
export function sendEvents(
  door: Door,
  { route, actor, seen }: Asked,
  open: (memory: Cortex, signal: AbortSignal) => AsyncIterable<unknown>,
): Promise<Response> {
  return sendStream(seen, door.streams, (signal, serve) =>
    door.stores.use(route.operation, actor, (memory) =>
      // Where to begin is settled by a read of the store; what is wrong with it is a status.
      serve(open(memory, signal), {
        begun: memory.stats(),
        eventOf: entryEvent,
        pulse: ": here\n\n",
      }),
    ),
  );
}

/** How items are sent. */
interface Sending {
  /** Settled when what is wrong with the beginning would have been found. */
  readonly begun: Promise<unknown>;
  readonly eventOf: (item: unknown) => string;
  /** What a silent stream says now and then. */
  readonly pulse: string;
}

/** Sends items until there are no more, or nobody listens. */
type Serve = (items: AsyncIterable<unknown>, sending: Sending) => Promise<void>;

/** A response that goes on. `run` holds open what the items come from while they are served. */
export function sendStream(
  seen: Seen,
  streams: Streams,
  run: (signal: AbortSignal, serve: Serve) => Promise<void>,
): Promise<Response> {
  const stop = new AbortController();
  return new Promise((resolve, reject) => {
    const serve: Serve = async (iterable, sending) => {
      const items = iterable[Symbol.asyncIterator]();
      const first = items.next();
      await Promise.race([first, sending.begun]);
      const remove = streams.add(() => stop.abort());
      try {
        const pump = makePump({ items, first, stop, sending, requestId: seen.requestId });
        const headers = { "Content-Type": EVENT_STREAM, "Cache-Control": "no-store" };
        resolve(new Response(pump.body, { headers: commonHeaders(seen, headers) }));
        await pump.done;
      } finally {
        remove();
        stop.abort();
        await items.return?.();
      }
    };
    run(stop.signal, serve).catch(reject);
  });
}

interface Pumped {
  readonly items: AsyncIterator<unknown>;
  readonly first: Promise<IteratorResult<unknown>>;
  readonly stop: AbortController;
  readonly sending: Sending;
  readonly requestId: string;
}

/** The bytes of a stream, and when the last of them is made. */
function makePump({ items, first, stop, sending, requestId }: Pumped): {
  readonly body: ReadableStream<Uint8Array>;
  readonly done: Promise<void>;
} {
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let next: Promise<IteratorResult<unknown>> | undefined = first;
  let heartbeat: NodeJS.Timeout | undefined;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    clearInterval(heartbeat);
    stop.abort();
    finish();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(`retry: ${RETRY_MS}\n\n`));
      heartbeat = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(Buffer.from(sending.pulse));
      }, HEARTBEAT_MS);
      heartbeat.unref();
    },
    async pull(controller) {
      try {
        const item = await (next ?? items.next());
        next = undefined;
        // The client left while the item was waited for.
        if (isOver) return;
        if (item.done !== true) {
          controller.enqueue(Buffer.from(sending.eventOf(item.value)));
          return;
        }
      } catch (error) {
        if (isOver) return;
        const { problem } = problemOf(error, requestId);
        controller.enqueue(Buffer.from(`event: problem\ndata: ${JSON.stringify(problem)}\n\n`));
      }
      end();
      controller.close();
    },
    cancel: end,
  });
  return { body, done };
}

function entryEvent(item: unknown): string {
  const { seq } = item as { readonly seq?: unknown };
  return eventText("entry", item, typeof seq === "number" ? String(seq) : undefined);
}

/** One event. JSON has no line breaks of its own, so that the data is one line. */
export function eventText(name: string, data: unknown, id: string | undefined): string {
  const shownId = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${name}\n${shownId}data: ${JSON.stringify(data)}\n\n`;
}
