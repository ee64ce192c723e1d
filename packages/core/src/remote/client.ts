/**
 * A memory graph on a running server, with the interface of one at hand. Nothing but `fetch` and the
 * language itself is used, so that it runs in a browser, at the edge and in Node alike.
 *
 * Every verb goes by its row in `table.ts`. The client keeps the last checkpoint it saw and demands that
 * the server's history goes on from there: see `witness.ts`. What the server offers to the caller is the
 * server's to decide, by the token or scope that the client was opened with. An export or a backup goes to
 * its sink as it comes and is read on the way, so that one that broke off or was changed is found.
 */

import { equalBytes, toHex } from "../codec/keys.js";
import { hasherPure, sha256Pure } from "../codec/sha256-pure.js";
import type { CortexVerbs, Options, VerbName } from "../contract/index.js";
import type { Subscription } from "../contract/journal.js";
import type { ByteSink, ExportReport } from "../contract/move.js";
import type { OnProgress } from "../contract/verb.js";
import type { CortexApi } from "../cortex.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { parseCheckpoint } from "../journal/checkpoint.js";
import {
  decodeErased,
  decodeExportHeader,
  decodeExportTrailer,
  type ExportHeader,
  FRAME,
  malformed,
  readFrames,
  startErased,
} from "../journal/export-format.js";
import { decodeProof, type Proof, proofBytes } from "../journal/proof.js";
import { checkFollowing, followRemote } from "./events.js";
import { type RemoteOptions, type RemoteSettings, readSettings } from "./settings.js";
import { isRepeatable, type RemoteRoute, ROUTES } from "./table.js";
import { answerOf, type Body, bodyText, closed, request, speaksAs } from "./transport.js";
import { Witness } from "./witness.js";

/** A memory graph on a server. */
export interface RemoteCortex extends CortexApi {
  /** The newest checkpoint seen: keep it, and give it as `checkpoint` when opening again. */
  trusted(): string | undefined;
  /** Demands now, not at the next occasion, that the server's history goes on from what was seen. */
  confirm(): Promise<void>;
}

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

/**
 * Opens the memory graph of an actor on a server. A server that is not there, is none of ours, refuses
 * the caller or has another history than `checkpoint` fails here.
 */
export async function openRemote(url: string, options: RemoteOptions = {}): Promise<RemoteCortex> {
  const client = new Client(readSettings(url, options));
  await client.begin();
  return client.face();
}

/**
 * Asks a server for an operation that is no verb of a graph, by its path: what it offers about its graphs
 * as a whole. The answer is as the server's own pages describe it.
 */
export function askServer(
  url: string,
  options: Pick<RemoteOptions, "token" | "plainHttp" | "fetch">,
  operation: { readonly path: string; readonly input: object },
): Promise<unknown> {
  const call = {
    path: operation.path,
    body: JSON.stringify(operation.input),
    accept: JSON_TYPE,
    isRepeatable: false,
    isLong: false,
    signal: new AbortController().signal,
  };
  return request(readSettings(url, options), call, (response) => response.json());
}

class Client {
  readonly #settings: RemoteSettings;
  readonly #witness: Witness;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Subscriptions that are finding out where they begin: what is asked after them waits for that. */
  readonly #starts = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(settings: RemoteSettings) {
    this.#settings = settings;
    this.#witness = new Witness(
      async (since) => (await this.#json(ROUTES.prove, { since })) as unknown as Proof,
      settings.confirmEveryMs,
      () => performance.now(),
    );
  }

  /** The first look at the server. */
  async begin(): Promise<void> {
    const { checkpoint, isScope } = this.#settings;
    if (checkpoint !== undefined) {
      this.#witness.trust(checkpoint);
      await this.#witness.confirm();
      return;
    }
    // The checkpoint is the owner's; holders of a scope see their first one in a proof.
    if (isScope) return;
    try {
      await this.#look();
    } catch (error) {
      if (!isCortexError(error, "ERR_NOT_FOUND")) throw error;
      if (error.details.field !== "data") {
        const message = "location: there is a server, but Cortex is not at this path of it";
        throw new CortexError("ERR_UNSUPPORTED", message, { field: "location" }, error);
      }
      if (!this.#settings.mayCreate) throw error;
      await this.#makeStore();
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const { checkpoint } = await this.#json(ROUTES.checkpoint, {});
    await this.#witness.see(String(checkpoint));
  }

  /**
   * Opening a store that is not there makes one, here as on a disk. On a server writing makes it, and a
   * change of the configuration that changes nothing leaves the new store without an entry of its own.
   */
  async #makeStore(): Promise<void> {
    try {
      await this.#json(ROUTES.configure, {});
    } catch (error) {
      if (!isCortexError(error, "ERR_NO_CHANGE")) throw error;
    }
  }

  /** The client as its users see it. */
  face(): RemoteCortex {
    const names = Object.keys(ROUTES) as VerbName[];
    const verbs = names.map((verb) => [verb, this.#method(verb)]);
    const { actor = this.#actorSeen() } = this.#settings;
    const close = (): Promise<void> => this.#close();
    return {
      // The table is complete by type; what is made of it here has lost its types on the way.
      ...(Object.fromEntries(verbs) as unknown as CortexVerbs),
      actor,
      trusted: () => this.#witness.newest,
      confirm: () => this.#tracked(() => this.#witness.confirm()),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  #actorSeen(): string {
    const seen = this.#witness.newest;
    return seen === undefined ? "default" : parseCheckpoint(sha256Pure, seen).actor;
  }

  #method(verb: VerbName): (...args: readonly unknown[]) => unknown {
    const route = ROUTES[verb];
    if (route.sends === "events") return (...args) => this.#subscribe(route, args);
    if (route.sends === "file") {
      return (...args) => this.#tracked(() => this.#download(route, args));
    }
    return (...args) => this.#tracked(() => this.#perform(verb, route, args));
  }

  async #tracked<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw closed();
    this.#witness.check();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #perform(verb: VerbName, route: RemoteRoute, args: readonly unknown[]): Promise<unknown> {
    const input = route.input(...args);
    // Refused before anything is waited for.
    bodyText(input);
    await Promise.allSettled(this.#starts);
    try {
      const [answer] = await Promise.all([this.#json(route, input), this.#witness.confirmIfDue()]);
      const seen = checkpointIn(verb, answer);
      if (seen !== undefined) await this.#witness.see(seen);
      return answerOf(verb, route.member, answer);
    } catch (error) {
      const isMissing = route.mayMiss === true && isCortexError(error, "ERR_NOT_FOUND");
      const { field } = isMissing ? error.details : { field: "" };
      // Other fields name something else that is missing, which fails at hand as well.
      if (isMissing && (field === undefined || field === "data")) return undefined;
      throw error;
    }
  }

  #json(route: RemoteRoute, input: Body): Promise<Body> {
    const call = {
      path: route.path,
      body: bodyText(input),
      speaksAs: speaksAs(input),
      accept: JSON_TYPE,
      isRepeatable: isRepeatable(route, input),
      isLong: route.isLong === true,
      signal: this.#closing.signal,
    };
    return request(this.#settings, call, async (response) => {
      if (/^application\/json/i.test(response.headers.get("content-type") ?? "")) {
        return (await response.json()) as Body;
      }
      await response.body?.cancel();
      throw new CortexError("ERR_STORAGE", "server: expected JSON, got something else");
    });
  }

  async #download(route: RemoteRoute, args: readonly unknown[]): Promise<unknown> {
    const { target, ...input } = route.input(...args);
    const sink = sinkOf(target);
    const call = {
      path: route.path,
      body: bodyText(input),
      accept: "application/octet-stream",
      // What has gone to the sink cannot be taken back.
      isRepeatable: false,
      isLong: true,
      signal: this.#closing.signal,
    };
    return request(this.#settings, call, (response) =>
      download(bodyOf(response), sink, input.onProgress as OnProgress | undefined),
    );
  }

  #subscribe(route: RemoteRoute, args: readonly unknown[]): Subscription {
    if (this.#isClosed) throw closed();
    this.#witness.check();
    const options = route.input(...args) as Options<"subscribe">;
    const { signal: _, ...sent } = options;
    bodyText(sent);
    checkFollowing(options);
    const start = this.#startOf(options.from);
    return followRemote(options, {
      start,
      closing: this.#closing.signal,
      connect: async (parameters, signal) => {
        const call = {
          path: route.path,
          parameters,
          accept: EVENTS_TYPE,
          isRepeatable: false,
          isLong: false,
          signal,
        };
        // The time limit is for the beginning of the answer; how long it goes on is the reader's affair.
        return request(this.#settings, call, async (response) => bodyOf(response));
      },
    });
  }

  /** What this client writes after the call counts as after the call. */
  #startOf(from: number | undefined): Promise<number> {
    if (from !== undefined) return Promise.resolve(from);
    const start = this.#json(ROUTES.root, {}).then(({ seq }) => Number(seq) + 1);
    this.#starts.add(start);
    start.then(
      () => this.#starts.delete(start),
      () => this.#starts.delete(start),
    );
    return start;
  }

  /** Waits for what was asked, as closing a store does, and ends subscriptions. */
  async #close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#running]);
    this.#closing.abort();
  }
}

/** The checkpoint that an answer states, where it states the present. */
function checkpointIn(verb: VerbName, answer: Body): string | undefined {
  switch (verb) {
    case "checkpoint":
    case "snapshot":
    case "share":
      return String(answer.checkpoint);
    case "prove":
      return decodeProof(proofBytes(answer)).checkpoint;
    default:
      return undefined;
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (response.body !== null) return response.body as ReadableStream<Uint8Array>;
  throw new CortexError("ERR_STORAGE", "server: expected a body, got none");
}

/** Entries between two calls of `onProgress`. */
const PROGRESS_ENTRIES = 1000;

/** The sink of a target; a path needs a file system, which the client of `open` has. */
function sinkOf(target: unknown): ByteSink {
  if (typeof target === "function") return target as ByteSink;
  if (typeof target !== "string") throw invalid("target", "a function that takes chunks", target);
  throw new CortexError(
    "ERR_UNSUPPORTED",
    "target: expected a function that takes chunks, because the client of a server writes no files",
    { field: "target" },
  );
}

/** Hands a file on and reads it. */
async function download(
  body: ReadableStream<Uint8Array>,
  sink: ByteSink,
  onProgress: ((done: number, total: number) => void) | undefined,
): Promise<ExportReport> {
  const hasher = hasherPure();
  const erased = startErased();
  let header: ExportHeader | undefined;
  let entries = 0;
  for await (const { tag, payload } of readFrames(handedOn(body, sink), hasher)) {
    if (header === undefined) {
      if (tag !== FRAME.header) throw malformed("it does not start with its header");
      header = decodeExportHeader(payload);
      continue;
    }
    const total = header.size - header.from;
    if (tag === FRAME.erased) decodeErased(payload, header.size, erased);
    if (tag === FRAME.entry) {
      entries += 1;
      if (entries % PROGRESS_ENTRIES === 0) onProgress?.(entries, total);
    }
    if (tag !== FRAME.trailer) continue;
    const trailer = decodeExportTrailer(payload);
    const isWhole = entries === total && trailer.entries === total;
    if (!isWhole) throw malformed(`it holds ${entries} entries, expected ${total}`);
    if (!equalBytes(trailer.sum, hasher.digest()) || !equalBytes(trailer.root, header.root)) {
      throw malformed("its bytes are not those its trailer speaks of");
    }
    onProgress?.(entries, total);
    const { from, size, root } = header;
    return { entries, from, seq: size - 1, root: toHex(root), erased: erased.end().length };
  }
  throw malformed("it ends before its trailer");
}

async function* handedOn(
  body: ReadableStream<Uint8Array>,
  sink: ByteSink,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      await sink(value);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
