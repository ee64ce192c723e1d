/**
 * The HTTP clients as users make them: bound to the network, the clock and chance of this process. What
 * they promise is in `vector/embedder.ts` and `model/model.ts`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type HttpModelOptions, httpModelOver, type Model } from "./model/model.js";
import type { Fetch, HttpEffects } from "./net/http-post.js";
import { type Embedder, type HttpEmbedderOptions, httpEmbedderOver } from "./vector/embedder.js";

/** How an HTTP embedder is made. */
export interface EmbedderOptions extends HttpEmbedderOptions {
  /** Another `fetch` than the one of the process: for a proxy, or a certificate of your own. */
  readonly fetch?: Fetch;
}

/** How an HTTP model is made. */
export interface ModelOptions extends HttpModelOptions {
  /** Another `fetch` than the one of the process. */
  readonly fetch?: Fetch;
}

/** An embedder that asks a server which speaks OpenAI's form of the embeddings request. */
export function httpEmbedder({ fetch = globalThis.fetch, ...options }: EmbedderOptions): Embedder {
  return httpEmbedderOver(options, effectsWith(fetch));
}

/** A model that asks a server which speaks OpenAI's form of chat completions. */
export function httpModel({ fetch = globalThis.fetch, ...options }: ModelOptions): Model {
  return httpModelOver(options, effectsWith(fetch));
}

function effectsWith(fetch: Fetch): HttpEffects {
  return {
    fetch,
    pause: (ms, signal) =>
      sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {
        // Ended early, as the caller wished.
      }),
    deadline: (ms) => AbortSignal.timeout(ms),
    random: Math.random,
    clock: Date.now,
  };
}
