/**
 * The composition root: from a location to an open memory graph. The only file that names backends,
 * the clock and the source of randomness.
 */
import { randomFillSync, randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { uptime } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { hasherNode, sha256Node, verifyEd25519Node } from "./codec/node-crypto.js";
import { newUlid, ulidText } from "./codec/ulid.js";
import { languageReader } from "./config/config.js";
import { type Cortex, openCortex } from "./cortex.js";
import { embeddedBehind } from "./embedding/embed.js";
import {
  type Activity,
  checkOptions,
  checkPrincipal,
  type Engine,
  openGenesis,
} from "./engine/engine.js";
import { checkRateLimits, RateLimiter, type RateLimits } from "./engine/rate-limits.js";
import { Vocabulary } from "./engine/vocabulary.js";
import { aWord, CortexError, invalid } from "./errors.js";
import { Chance } from "./history/chance.js";
import { CommitSignal, type Pause } from "./history/growth.js";
import { guardPosition, verified } from "./history/guarded-reads.js";
import { sizeIn } from "./history/head-row.js";
import { guessEntries, type Presumes } from "./history/presumption.js";
import { Writer } from "./history/writer.js";
import { checkJobs, Jobs, type JobsOptions } from "./jobs.js";
import type { Kv } from "./kv/kv.js";
import type { Quarantined } from "./kv/lmdb-quarantine.js";
import type { DatabaseStores } from "./kv/postgres-stamp.js";
import { checkModel, type Model } from "./model/model.js";
import { writeVia } from "./move/move-files.js";
import { checkActorName } from "./records/uri.js";
import type { RemoteCortex } from "./remote/client.js";
import { isRemoteLocation, type RemoteLocation, type RemoteOptions } from "./remote/settings.js";
import { TextIndex } from "./text/text-index.js";
import { type CheckedEmbedder, checkEmbedder, type Embedder } from "./vector/embedder.js";
import { VectorIndex } from "./vector/vector-index.js";

/** How a store is opened. */
export interface OpenOptions {
  /** Whose memory it is; a safe name. */
  readonly actor?: string;
  /** The principal that entries name when a call names none; the actor by default. */
  readonly principal?: string;
  /** False refuses to create a store that is not there. */
  readonly create?: boolean;
  /** Do not wait for the disk: a crash of the machine may lose the last writes. Off by default. */
  readonly relaxedDurability?: boolean;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Turns texts into vectors: `embedPending` gives them to memories, `near` asks by them. */
  readonly embedder?: Embedder;
  /** Reads conversations: `extract` distils turns into facts by it. Never used unless given. */
  readonly model?: Model;
  /** Other rate limits than the usual ones; `false` switches them off. */
  readonly rateLimits?: Partial<RateLimits> | false;
  /** Run background jobs from the start: `true`, or how. `memory.jobs` starts them later. */
  readonly jobs?: boolean | JobsOptions;
  /**
   * False gives out what the disk says without comparing it with the hashes of the journal. On by default:
   * damaged bytes are `ERR_CORRUPT`, never an answer.
   */
  readonly verifyReads?: boolean;
  /** A storage engine of your own, instead of the location's. */
  readonly kv?: Kv;
}

/** Opens the memory graph of one actor on a running server; see `remote/client.ts`. */
export async function open(
  location: RemoteLocation,
  options?: RemoteOptions,
): Promise<RemoteCortex>;
/** Opens the memory graph of one actor: a folder, `memory:`, or a database at `postgres://…`. */
export async function open(location: string, options?: OpenOptions): Promise<Cortex>;
export async function open(
  location: string,
  options: OpenOptions | RemoteOptions = {},
): Promise<Cortex | RemoteCortex> {
  if (!isRemoteLocation(location)) return (await openGraph(location, options)).memory;
  refuseStoreOptions(options);
  const { openRemote } = await import("./remote/client.js");
  return withFiles(await openRemote(location, options));
}

/** Options about a store itself, which on a server is the server's to open. */
const STORE_OPTIONS: { readonly [name in Exclude<keyof OpenOptions, keyof RemoteOptions>]: true } =
  {
    principal: true,
    relaxedDurability: true,
    clock: true,
    random: true,
    embedder: true,
    model: true,
    rateLimits: true,
    jobs: true,
    verifyReads: true,
    kv: true,
  };

/** Every option of a store that is opened here. */
const OPEN_OPTIONS = ["actor", "create", ...Object.keys(STORE_OPTIONS)];

function refuseStoreOptions(options: object): void {
  const given = Object.entries(options ?? {}).find(
    ([name, value]) => value !== undefined && Object.hasOwn(STORE_OPTIONS, name),
  );
  if (given === undefined) return;
  const [field] = given;
  const message = `${field}: expected none for a server, which opens its stores itself`;
  throw new CortexError("ERR_UNSUPPORTED", message, { field });
}

/** Time since the machine started goes on while it sleeps, so a laptop may be shut for a week. */
const UPTIME = { elapsed: () => uptime() * 1000 };

/** What callers of this process do, in all of its stores. */
const ACTIVITY: Activity = { calls: 0 };

/** An open graph, and the engine behind it for verbs that span graphs. */
export interface OpenedGraph {
  readonly memory: Cortex;
  readonly engine: Engine;
}

/** Opens a graph together with its engine. `wait` is how it waits: by real time unless a test brings its own. */
export async function openGraph(
  location: string,
  options: OpenOptions = {},
  wait?: Pause,
): Promise<OpenedGraph> {
  checkOptions(options, OPEN_OPTIONS);
  const actor = checkActorName(options.actor === undefined ? "default" : options.actor);
  const principal = checkPrincipal(options.principal, actor);
  const rateLimits = checkRateLimits(options.rateLimits);
  const plan = checkJobs(options.jobs);
  const embedder = options.embedder === undefined ? undefined : checkEmbedder(options.embedder);
  const model = options.model === undefined ? undefined : checkModel(options.model);
  const kv = await storageOf(location, actor, options);
  try {
    const clock = options.clock ?? Date.now;
    const chance = new Chance(options.random ?? systemRandom);
    const signal = new CommitSignal();
    const closing = closingOfStore();
    const writer = new Writer({
      kv,
      signal,
      sha256: sha256Node,
      clock,
      random: chance.draw,
      chance,
      pause: wait ?? pause,
      keySeed: KEY_SEED,
      presumes: presumesOf(kv, chance),
      // An injected clock is its own authority; only the system's may leap.
      ...(options.clock === undefined ? UPTIME : {}),
    });
    const engine: Engine = {
      kv,
      writer,
      sha256: sha256Node,
      verifySignature: verifyEd25519Node,
      hasher: hasherNode,
      signal,
      closing: closing.signal,
      pause: wait ?? pause,
      vocabulary: new Vocabulary(wait ?? pause),
      clock,
      random: chance.draw,
      scratch: scratchBeside(kv),
      text: textIndexOf(kv, signal),
      vectors: vectorsOf(kv, embedder),
      ...(embedder === undefined ? {} : { embedder }),
      ...(model === undefined ? {} : { model }),
      limiter: new RateLimiter(rateLimits, clock),
      activity: ACTIVITY,
      actor,
      principal,
      sessionOfProcess: onceNamed(() => `process-${ulidText(newUlid(clock(), chance.draw))}`),
    };
    const genesis = await openGenesis(engine, options.create !== false);
    const jobs = new Jobs(engine, wait ?? pauseIdly, plan);
    const memory = openCortex(engine, genesis, jobs, async () => {
      closing.abort();
      // Begun together: from this turn on no write is taken, however long a job takes to end.
      await Promise.all([writer.close(), jobs.stop(), embeddedBehind(engine)]);
      for (const part of [engine.text, kv]) await part.close();
    });
    if (plan.isOn) jobs.start();
    return { memory, engine };
  } catch (error) {
    await kv.close();
    throw error;
  }
}

/** Says that a store closes. Every subscription listens to it, and a server has as many as it has clients. */
function closingOfStore(): AbortController {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  return closing;
}

/** The storage of a graph; what is read of its journal is verified unless the options say otherwise. */
async function storageOf(location: string, actor: string, options: OpenOptions): Promise<Kv> {
  const stored = options.kv ?? (await openKv(location, actor, options));
  // A file is what it is; a database may be set back while it is open.
  const kv = stored.manifest.name === "postgres" ? guessEntries(guardPosition(stored)) : stored;
  return options.verifyReads === false ? kv : verified(kv, sha256Node);
}

/** Which writes of a store begin without a read; none where whoever opens it wants the same bytes again. */
function presumesOf(kv: Kv, chance: Chance): Presumes {
  if (chance.source !== systemRandom) return "nothing";
  return kv.manifest.isRemote === true ? "groups" : "alone";
}

/** A name that is made when it is first asked for, and the same from then on. */
function onceNamed(make: () => string): () => string {
  let name: string | undefined;
  return () => {
    name ??= make();
    return name;
  };
}

/** Waits; a signal that is aborted ends it early. */
export const pause: Pause = (ms, signal) => sleepUntil(ms, signal, true);

/** The same for what goes on in the background: it does not keep the process alive. */
const pauseIdly: Pause = (ms, signal) => sleepUntil(ms, signal, false);

async function sleepUntil(
  ms: number,
  signal: AbortSignal | undefined,
  ref: boolean,
): Promise<void> {
  await sleep(ms, undefined, { ref, ...(signal === undefined ? {} : { signal }) }).catch(() => {
    // Ended early, as the caller wished.
  });
}

/** The text index of a store. */
export function textIndexOf(kv: Kv, signal: CommitSignal): TextIndex {
  return new TextIndex({
    kv,
    signal,
    language: languageReader(),
    turn: async () => void (await turn()),
  });
}

/** The vectors of a store. */
export function vectorsOf(kv: Kv, embedder?: CheckedEmbedder): VectorIndex {
  return new VectorIndex({
    kv,
    sha256: sha256Node,
    turn: async () => {
      await turn();
    },
    ...(embedder === undefined ? {} : { embedder }),
  });
}

/** Whether a location is a database on a Postgres server, also where its address lacks something. */
export function isPostgresLocation(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}

/** How the storage of a location is opened. */
export interface OpenKvOptions extends Pick<OpenOptions, "create" | "relaxedDurability"> {
  readonly readOnly?: boolean;
}

/** Opens the storage of one actor at a location, whatever it holds. */
export async function openKv(location: string, actor: string, options: OpenKvOptions): Promise<Kv> {
  if (typeof location !== "string" || location === "") {
    throw invalid("location", "a folder, memory: or postgres://…", location);
  }
  if (location === "memory:") {
    const { openMemoryKv } = await import("./kv/memory-backend.js");
    return openMemoryKv();
  }
  // Two letters and more: one letter and a colon is a drive. A folder with a colon is written ./a:b.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(location)?.[1];
  if (isPostgresLocation(location)) {
    const { openPostgresKv } = await import("./kv/postgres-backend.js");
    return openPostgresKv(location, actor, {
      create: options.create !== false,
      relaxed: options.relaxedDurability === true,
      readOnly: options.readOnly === true,
    });
  }
  if (scheme !== undefined) {
    const expected = "a folder such as ./memory, memory: or postgres://…";
    const message = `location: expected ${expected}, got ${aWord(scheme)} address, which cannot be opened`;
    throw new CortexError("ERR_UNSUPPORTED", message, { field: "location", expected });
  }
  const { openLmdbKv } = await import("./kv/lmdb-backend.js");
  return openLmdbKv(join(resolvePath(location), actor), {
    create: options.create !== false,
    relaxed: options.relaxedDurability === true,
    readOnly: options.readOnly === true,
    positionOf: sizeIn,
  });
}

/**
 * What is wrong with the files of a store, each with its place, looked at without opening them: damage
 * may take the process down that opens one. Nothing is found where the store is no folder.
 */
export async function examineStore(location: string, actor: string): Promise<readonly string[]> {
  if (/^[a-z][a-z0-9+.-]+:/i.test(location)) return [];
  const { examineFolder } = await import("./kv/lmdb-folder.js");
  return examineFolder(join(resolvePath(location), checkActorName(actor)));
}

/** Names the stores of a folder while they are in use, and keeps apart what ended a process before. */
export async function watchStores(root: string, derived: readonly string[]): Promise<() => void> {
  return (await import("./kv/lmdb-quarantine.js")).watchStores(root, derived);
}

/** The stores of a location that are under quarantine: damaged ones, which nobody may open. */
export async function quarantinedStores(location: string): Promise<readonly Quarantined[]> {
  if (/^[a-z][a-z0-9+.-]+:/i.test(location)) return [];
  return (await import("./kv/lmdb-quarantine.js")).quarantinedIn(resolvePath(location));
}

/** What can be told of the stores in a folder without opening them. */
export type StoreStamps = typeof import("./kv/lmdb-stamp.js");

/** How the stores of a folder are looked at from outside. */
export function storeStamps(): Promise<StoreStamps> {
  return import("./kv/lmdb-stamp.js");
}

/** How a damaged store of a folder is read without its engine. */
export function storeFolders(): Promise<typeof import("./kv/lmdb-folder.js")> {
  return import("./kv/lmdb-folder.js");
}

/** How the store of a folder is removed. */
export function storeRemoval(): Promise<typeof import("./kv/lmdb-removal.js")> {
  return import("./kv/lmdb-removal.js");
}

/** How the stores of a database are looked at from outside. */
export async function databaseStores(location: string, create: boolean): Promise<DatabaseStores> {
  const { lookAtPostgres } = await import("./kv/postgres-stamp.js");
  return lookAtPostgres(location, create);
}

/** Entries up to which a throw-away store is built in memory rather than beside the store. */
const SCRATCH_IN_MEMORY = 20_000;

function scratchBeside(kv: Kv): Engine["scratch"] {
  return async (entries) => {
    if (entries > SCRATCH_IN_MEMORY && kv.manifest.generations) return kv.nextGeneration();
    const { openMemoryKv } = await import("./kv/memory-backend.js");
    const memory = openMemoryKv();
    return {
      kv: memory,
      promote: () => Promise.reject(new Error("a scratch store is never promoted")),
      abandon: () => memory.close(),
    };
  };
}

/** Of this process: where keys lie in its tables is not for callers to foresee. */
const KEY_SEED = randomInt(2 ** 32);

const POOL_BYTES = 8192;

/** Random bytes from the system, drawn in blocks: small draws are too many system calls. */
export const systemRandom = pooledRandom();

function pooledRandom(): (bytes: number) => Uint8Array {
  let pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (bytes) => {
    if (bytes > POOL_BYTES) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > POOL_BYTES) {
      // A new one: pieces of the old one are in use, and a view of it is half as much garbage as a copy.
      pool = randomFillSync(new Uint8Array(POOL_BYTES));
      used = 0;
    }
    used += bytes;
    return new Uint8Array(pool.buffer, used - bytes, bytes);
  };
}

/** The client, taking paths as targets as well. */
function withFiles(remote: RemoteCortex): RemoteCortex {
  return {
    ...remote,
    exportJournal: (target, options) =>
      writeVia(target, (sink) => remote.exportJournal(sink, options)),
    backup: (target, options) => writeVia(target, (sink) => remote.backup(sink, options)),
  };
}
