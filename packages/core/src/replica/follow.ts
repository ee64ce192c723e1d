/**
 * `follow`: a read-only replica of another store, kept level with it for as long as somebody wants, and
 * `promote`, which ends that and makes it a store of its own.
 *
 * The replica pulls pages of the source's journal, checks everything in them and commits them whole
 * (`replica-writer.ts`); between pages it waits for a word of the source. A source that goes away is tried
 * again after pauses that grow. One that has another history is refused, and nothing here is changed: the
 * two are compared root by root, by halves, so that the failure names the first seq at which they differ.
 * Whatever ends the process, the next one goes on where it was.
 *
 * Several processes may read the replica meanwhile, as with any store. Its caches are theirs: here only
 * what was forgotten is taken out of them.
 */
import { equalBytes, toHex } from "../codec/keys.js";
import { sha256Node } from "../codec/node-crypto.js";
import type { JournalEvent, Subscription } from "../contract/journal.js";
import type { CortexApi } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, type ErrorCode, invalid, isCortexError } from "../errors.js";
import { withSnapshot } from "../history/build-beside.js";
import { CommitSignal, type Pause } from "../history/growth.js";
import {
  decodeFollowStatus,
  type FollowStatus,
  promoteReplica,
  putFollowStatus,
  UNHEARD,
} from "../history/replica-mark.js";
import { readRoots } from "../history/trees.js";
import { type PageBytes, readPage } from "../journal/journal-page.js";
import { FOLLOW_KEY, TEXT_MANIFEST_KEY } from "../kv/keyspace.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { PLACE_OPTIONS, type PlaceOptions, withStore } from "../moves.js";
import { openKv, pause as pauseFor, textIndexOf, vectorsOf } from "../open.js";
import { checkActorName } from "../records/uri.js";
import type { RemoteCortex } from "../remote/client.js";
import { isRemoteLocation, type RemoteLocation, type RemoteOptions } from "../remote/settings.js";
import { ReplicaWriter, type TakenPage } from "./replica-writer.js";

/** What can be followed: the address of a running server, or a graph that is open. */
export type ReplicaSource = RemoteLocation | Pick<CortexApi, "journalPage" | "subscribe">;

/** How a source is followed. */
export interface ReplicaOptions
  extends PlaceOptions,
    Pick<RemoteOptions, "token" | "plainHttp" | "timeoutMs" | "fetch"> {
  /** Ends as soon as the replica is level with its source; a failure is not tried again. */
  readonly once?: boolean;
  /** Ends it when aborted. */
  readonly signal?: AbortSignal;
  /** The longest pause between two looks at a source that says nothing; 5,000 by default. */
  readonly pollMs?: number;
  /** Waits; for tests that do not want to. */
  readonly pause?: Pause;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

/** What happened while following. */
export type ReplicaEvent =
  | {
      /** The replica has everything that the source had, and the same root. */
      readonly state: "level";
      readonly seq: number;
      /** The root over everything, in hex. */
      readonly root: string;
      /** Entries that came since the last time it was level. */
      readonly entries: number;
    }
  | {
      /** Something failed that may pass; it is tried again after a pause. */
      readonly state: "trouble";
      /** The last seq of the replica; -1 when it has none. */
      readonly seq: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryMs: number;
    };

/** What `promote` did. */
export interface PromoteReport {
  /** What the store followed before. */
  readonly source: string;
  readonly seq: number;
  /** The root over everything, in hex. */
  readonly root: string;
  readonly epoch: number;
  /** Present when the source had entries that are not here. */
  readonly warning?: string;
}

const OPTIONS = [
  ...PLACE_OPTIONS,
  "once",
  "signal",
  "pollMs",
  "pause",
  "clock",
  "token",
  "plainHttp",
  "timeoutMs",
  "fetch",
] as const;

const POLL_MS = 5000;
/** A page of megabytes over a slow line takes its time; a line that is dead has to be given up. */
const TIMEOUT_MS = 120_000;
/** How often it is written down how far a long way still is. */
const STATUS_MS = 2000;
const FIRST_RETRY_MS = 250;
const RETRY_MS_MAX = 30_000;

/** The longest time that the client of a server knows: following checks more than its own looks do. */
const NEVER_MS = 2_147_483_647;

/**
 * Follows a source into the store at a location, which must be empty or a replica. Says when the two are
 * level, and what is in the way; ends with `once`, by its signal, when its reader leaves, or by a failure
 * that will not pass.
 */
export async function* follow(
  location: string,
  source: ReplicaSource,
  options: ReplicaOptions = {},
): AsyncGenerator<ReplicaEvent, undefined> {
  checkOptions(options, OPTIONS);
  const actor = checkActorName(options.actor ?? "default");
  const stop = new AbortController();
  const link = linkTo(source, actor, options, stop.signal);
  const kv = options.kv ?? (await openKv(location, actor, {}));
  const end = (): void => stop.abort();
  options.signal?.addEventListener("abort", end);
  if (options.signal?.aborted === true) end();
  const parts = { kv, sha256: sha256Node, actor, source: link.name };
  const following = new Following({ kv, link, options, signal: stop.signal });
  try {
    yield* following.run(await ReplicaWriter.begin(parts));
  } finally {
    end();
    options.signal?.removeEventListener("abort", end);
    await following.close();
    await link.close();
    if (options.kv === undefined) await kv.close();
  }
}

/** Makes a replica a store of its own, which takes writes and follows nobody. */
export async function promote(
  location: string,
  options: PlaceOptions = {},
): Promise<PromoteReport> {
  checkOptions(options, PLACE_OPTIONS);
  return withStore(location, options, { create: false }, async ({ kv, sha256 }) => {
    const { source, head, status } = await promoteReplica(kv);
    const { overall } = await withSnapshot(kv, (snapshot) => readRoots(sha256, snapshot, head));
    const { size, epoch } = head;
    const lag = status.sourceSize - size;
    const report = { source, seq: size - 1, root: toHex(overall), epoch };
    if (lag <= 0 && status.levelSize >= size) return report;
    const warning =
      lag > 0
        ? `the source had ${lag} entries more when it was last heard, which are not here`
        : "the replica was not level with its source when it was last heard";
    return { ...report, warning };
  });
}

/** The source as it is worked with. */
interface Link extends PageSource {
  /** As the replica names it. */
  readonly name: string;
  subscribe(from: number): Promise<Subscription>;
  close(): Promise<void>;
}

function linkTo(
  source: ReplicaSource,
  actor: string,
  options: ReplicaOptions,
  signal: AbortSignal,
): Link {
  if (isRemoteLocation(source)) return remoteLink(source, actor, options, signal);
  const isGraph = typeof source === "object" && source !== null && "journalPage" in source;
  if (!isGraph) throw invalid("source", "the address of a server, or an open graph", source);
  return {
    name: "a graph at hand",
    page: (wanted) => source.journalPage(wanted),
    subscribe: async (from) => source.subscribe({ from, signal }),
    close: async () => {},
  };
}

/** A source on a server; the client is made when it is first needed, and again if that failed. */
function remoteLink(
  address: RemoteLocation,
  actor: string,
  options: ReplicaOptions,
  signal: AbortSignal,
): Link {
  const { token, plainHttp, timeoutMs = TIMEOUT_MS, fetch: send = globalThis.fetch } = options;
  let opened: Promise<RemoteCortex> | undefined;
  const client = (): Promise<RemoteCortex> => {
    opened ??= openClient().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const openClient = async (): Promise<RemoteCortex> => {
    const { openRemote } = await import("../remote/client.js");
    return openRemote(address, {
      actor,
      create: false,
      timeoutMs,
      // Trying again is decided here, and so is what the source's history has to agree with.
      retries: 0,
      confirmEveryMs: NEVER_MS,
      fetch: (input, init) => send(input, { ...init, signal: eitherOf(signal, init?.signal) }),
      ...(token === undefined ? {} : { token }),
      ...(plainHttp === undefined ? {} : { plainHttp }),
    });
  };
  return {
    name: address,
    page: async (wanted) => (await client()).journalPage(wanted),
    subscribe: async (from) => (await client()).subscribe({ from, signal }),
    close: async () => {
      const open = await opened?.catch(() => undefined);
      await open?.close();
    },
  };
}

function eitherOf(signal: AbortSignal, other: AbortSignal | null | undefined): AbortSignal {
  return other === null || other === undefined ? signal : AbortSignal.any([signal, other]);
}

/** What following is made of. */
interface FollowingParts {
  readonly kv: Kv;
  readonly link: Link;
  readonly options: ReplicaOptions;
  readonly signal: AbortSignal;
}

/** One run of following: the loop, and what it remembers between its rounds. */
class Following {
  readonly #kv: Kv;
  readonly #link: Link;
  readonly #options: ReplicaOptions;
  readonly #signal: AbortSignal;
  readonly #pause: Pause;
  readonly #clock: () => number;
  /** The source's own word that it grew, and the promise of its next one. */
  #events: Subscription | undefined;
  #next: Promise<IteratorResult<JournalEvent>> | undefined;
  /** Memories whose traces in caches have to go when the replica is level. */
  #forgotten: Bytes[] = [];
  /** How far it went, as last written down. */
  #status = UNHEARD;

  constructor({ kv, link, options, signal }: FollowingParts) {
    this.#kv = kv;
    this.#link = link;
    this.#options = options;
    this.#signal = signal;
    this.#pause = options.pause ?? pauseFor;
    this.#clock = options.clock ?? Date.now;
  }

  /** Pulls, waits and tries again; see the file header. */
  async *run(replica: ReplicaWriter): AsyncGenerator<ReplicaEvent, undefined> {
    const { once = false, onProgress } = this.#options;
    this.#forgotten = [...replica.forgottenBefore];
    const [status] = await withSnapshot(this.#kv, (one) => one.getMany([FOLLOW_KEY]));
    this.#status = decodeFollowStatus(status);
    let failures = 0;
    let entries: number | undefined;
    while (!this.#signal.aborted) {
      try {
        const page = await pullPage(replica, this.#link);
        failures = 0;
        const isFirst = entries === undefined;
        entries = (entries ?? 0) + page.entries;
        this.#forgotten.push(...page.forgotten);
        if (page.size < page.sourceSize) {
          onProgress?.(page.size, page.sourceSize);
          await this.#hear(page.sourceSize);
          continue;
        }
        await this.#settle(page);
        if (isFirst || entries > 0) {
          yield { state: "level", seq: page.size - 1, root: page.root, entries };
        }
        entries = 0;
        if (once) return undefined;
        await this.#untilGrowth(page.size);
      } catch (error) {
        if (this.#signal.aborted) return undefined;
        await this.#dropEvents();
        const trouble = await this.#noted(replica, error);
        if (once || trouble === undefined) throw error;
        failures += 1;
        const retryMs = Math.min(RETRY_MS_MAX, FIRST_RETRY_MS * 2 ** (failures - 1));
        yield { ...trouble, retryMs };
        await this.#pause(retryMs, this.#signal);
      }
    }
    return undefined;
  }

  /** Ends what listens to the source. */
  async close(): Promise<void> {
    await this.#dropEvents();
  }

  /** The replica is level: what was forgotten leaves the caches, and that is written down. */
  async #settle({ size, sourceSize }: TakenPage): Promise<void> {
    if (this.#forgotten.length > 0) {
      await vectorsOf(this.#kv).purge(this.#forgotten);
      const [manifest] = await withSnapshot(this.#kv, (one) => one.getMany([TEXT_MANIFEST_KEY]));
      // Never closed: it would write out what others may have left to be indexed.
      if (manifest !== undefined) await textIndexOf(this.#kv, new CommitSignal()).purge([]);
      this.#forgotten = [];
    }
    await this.#keep({ levelSize: size, sourceSize, heardAt: this.#clock() });
  }

  /** Writes a failure down; gives what to say of one that may pass. */
  async #noted(
    replica: ReplicaWriter,
    error: unknown,
  ): Promise<Omit<Extract<ReplicaEvent, { state: "trouble" }>, "retryMs"> | undefined> {
    if (!isCortexError(error)) return undefined;
    const { code, message } = error;
    try {
      const size = await replica.size();
      const failure = { code, message, at: this.#clock() };
      // A store that is not born yet has no rows.
      if (size > 0) await this.#keep({ ...this.#status, failure });
      return PASSING.has(code) ? { state: "trouble", seq: size - 1, code, message } : undefined;
    } catch (cause) {
      // The store itself is in trouble, perhaps the same one: that is what has to be said.
      throw isCortexError(cause) && PASSING.has(cause.code) ? cause : error;
    }
  }

  /** On a long way somebody may want to know how long; not at every page, for it costs a commit. */
  async #hear(sourceSize: number): Promise<void> {
    const heardAt = this.#clock();
    const { levelSize } = this.#status;
    if (heardAt - this.#status.heardAt < STATUS_MS) return;
    await this.#keep({ levelSize, sourceSize, heardAt });
  }

  async #keep(status: FollowStatus): Promise<void> {
    await putFollowStatus(this.#kv, status);
    this.#status = status;
  }

  /** Waits for the source to have more than `size` entries, or for long enough to look again. */
  async #untilGrowth(size: number): Promise<void> {
    const { pollMs = POLL_MS } = this.#options;
    const over = new AbortController();
    const waiting = this.#pause(pollMs, AbortSignal.any([this.#signal, over.signal]));
    try {
      for (;;) {
        const event = await Promise.race([this.#nextEvent(size), waiting]);
        if (event === undefined || this.#signal.aborted) return;
        this.#next = undefined;
        if (event.done === true) return await this.#dropEvents();
        if (event.value.seq >= size) return;
      }
    } catch (error) {
      await this.#dropEvents();
      // A source that will not be listened to may still give pages, which say what is wrong with it.
      if (isCortexError(error) && PASSING.has(error.code)) throw error;
      await this.#pause(FIRST_RETRY_MS, this.#signal);
    } finally {
      over.abort();
    }
  }

  async #nextEvent(size: number): Promise<IteratorResult<JournalEvent>> {
    this.#events ??= await this.#link.subscribe(size);
    if (this.#next === undefined) {
      this.#next = this.#events.next();
      // Whoever waits for it gets this failure; at the end perhaps nobody waits.
      this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  async #dropEvents(): Promise<void> {
    const events = this.#events;
    this.#events = undefined;
    this.#next = undefined;
    await events?.return().catch(() => undefined);
  }
}

/** Failures that may pass by themselves: a source that is away, busy or stopping, a disk that is full. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "ERR_STORAGE",
  "ERR_CLOSED",
  "ERR_RATE_LIMITED",
  "ERR_CONTENDED",
  "ERR_DISK_FULL",
]);

/** Gives pages of a journal, as documents; the one side of following that is somebody else's. */
export interface PageSource {
  page(options: { readonly from: number; readonly limit?: number }): Promise<unknown>;
}

/** How often a page may come too late before somebody is told. */
const ATTEMPTS = 100;

/** Fetches the next page and commits it; a fork, a rollback or a bad page leaves everything as it was. */
export async function pullPage(replica: ReplicaWriter, source: PageSource): Promise<TakenPage> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const from = await replica.size();
    const page = await pageFrom(replica, source, from);
    const outcome = await replica.take(page);
    if (outcome.kind === "taken") return outcome;
    if (outcome.kind === "forked") throw await forkOf(replica, source, from);
  }
  throw new CortexError("ERR_CONTENDED", "others moved the replica on too often to add a page");
}

/** The next page; a source that ends earlier is judged by what it still has. */
async function pageFrom(
  replica: ReplicaWriter,
  source: PageSource,
  from: number,
): Promise<PageBytes> {
  try {
    return readPage(await source.page({ from }));
  } catch (error) {
    const seq = isCortexError(error, "ERR_ROLLED_BACK") ? error.details.seq : undefined;
    const size = seq === undefined ? from : seq + 1;
    if (size >= from) throw error;
    if (!(await agreesAt(replica, source, size))) throw await forkOf(replica, source, size);
    throw new CortexError(
      "ERR_ROLLED_BACK",
      `the source ends at seq ${size - 1}, but the replica has its entries up to seq ${from - 1}`,
      { seq: size - 1 },
    );
  }
}

/** Whether both have the same first `size` entries, as far as the source says. */
async function agreesAt(
  replica: ReplicaWriter,
  source: PageSource,
  size: number,
): Promise<boolean> {
  const { from, fromRoot } = readPage(await source.page({ from: size, limit: 1 }));
  return from === size && equalBytes(fromRoot, await replica.rootAt(size));
}

/** The failure of a source whose first `size` entries are not the replica's. */
async function forkOf(
  replica: ReplicaWriter,
  source: PageSource,
  size: number,
): Promise<CortexError> {
  // Both agree on `same` entries, and not on `other`.
  let [same, other] = [0, size];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (await agreesAt(replica, source, middle)) same = middle;
    else other = middle;
  }
  return new CortexError(
    "ERR_FORK",
    `the histories of source and replica part at seq ${same}; nothing was changed here`,
    { seq: same },
  );
}
