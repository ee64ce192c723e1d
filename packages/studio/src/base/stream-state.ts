/**
 * Whether the stream of events is there at this moment. The client opens it again by itself when it
 * breaks, and tells nobody; so the page watches the one request that is the stream, and knows.
 */

/** How the stream is doing. */
export type StreamState = "connecting" | "live" | "broken";

let state: StreamState = "connecting";
const listeners = new Set<() => void>();

function tell(next: StreamState): void {
  if (next === state) return;
  state = next;
  for (const listener of [...listeners]) listener();
}

/** How it is doing now. */
export function streamState(): StreamState {
  return state;
}

/** Calls back when that changes. */
export function onStreamState(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** `fetch`, with an eye on the stream. */
export const watchingFetch: typeof fetch = async (input, init) => {
  const address = typeof input === "string" || input instanceof URL ? String(input) : input.url;
  if (!/\/subscribe(\?|$)/.test(address)) return fetch(input, init);
  try {
    const response = await fetch(input, init);
    tell(response.ok ? "live" : "broken");
    if (!response.ok || response.body === null) return response;
    return new Response(watched(response.body), { status: 200, headers: response.headers });
  } catch (error) {
    tell("broken");
    throw error;
  }
};

/** The same bytes; that they end or break off is told. */
function watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(sink) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          tell("broken");
          sink.close();
        } else sink.enqueue(value);
      } catch (error) {
        tell("broken");
        sink.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
