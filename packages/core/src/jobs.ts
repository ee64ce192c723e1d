/**
 * The background jobs of an open store, as an object: `memory.jobs`.
 *
 * It belongs to whoever opened the store and to no caller: nothing here takes an access, and no door offers it.
 * Which jobs there are follows from how the store was opened. A failure of a job never reaches the host;
 * `status` and `stats` show it, in this process and in others.
 */
import { toHex } from "./codec/keys.js";
import type { Options } from "./contract/index.js";
import type { EmbedReport } from "./contract/upkeep.js";
import { embedJob, embedPending } from "./embedding/embed.js";
import { checkOptions, type Engine } from "./engine/engine.js";
import { CortexError, invalid } from "./errors.js";
import { extractJob } from "./extract/extract.js";
import { Reader } from "./history/reader.js";
import { isReplica } from "./history/replica-mark.js";
import { type JobStatus, LEASE_MS_MAX, OWNER_BYTES, readJobs } from "./jobs/lease.js";
import { type Job, JobRunner, type RunnerParts, type RunnerSettings } from "./jobs/runner.js";
import { OWNER } from "./scope/access.js";
import { maintainJob, sealJob, textJob } from "./upkeep/maintain.js";
import { noEmbedder } from "./vector/vector-index.js";

/** How background jobs are run; everything may be left out. */
export interface JobsOptions {
  /** How often a job is asked whether there is something to do; 1,000 by default. */
  readonly intervalMs?: number;
  /** How long jobs wait before their first look, so that whoever opened the store goes first. */
  readonly firstLookMs?: number;
  /** How long a look may be put off while calls come, each time, and the first one six times as long; 0 by default. */
  readonly giveWayMs?: number;
  /** How long a lease lasts without being renewed; 10,000 by default. */
  readonly leaseMs?: number;
  /** The longest wait after failures; 60,000 by default. */
  readonly backoffMaxMs?: number;
  /** Do the upkeep this often, if anything was written; every hour by default, 0 for never. */
  readonly maintainEveryMs?: number;
  /** Seal a snapshot this often, if anything was written; 0, the default, for never. */
  readonly snapshotEveryMs?: number;
  /** How long a session is silent before its turns are distilled; 45,000 by default. */
  readonly extractAfterMs?: number;
  /** Called for every failure of a job. */
  readonly onError?: (name: string, error: unknown) => void;
}

/** What `open` was told about jobs, checked. */
interface JobsPlan {
  /** Whether they run from the start. */
  readonly isOn: boolean;
  readonly settings: RunnerSettings;
  readonly maintainEveryMs?: number;
  readonly snapshotEveryMs?: number;
  readonly extractAfterMs?: number;
}

const STANDARD = { intervalMs: 1000, leaseMs: 10_000, backoffMaxMs: 60_000 } as const;

const DAY_MS = 24 * 60 * 60_000;

/** What a number of the options may be. */
const RANGES = {
  intervalMs: [1, DAY_MS],
  firstLookMs: [0, DAY_MS],
  giveWayMs: [0, DAY_MS],
  leaseMs: [100, LEASE_MS_MAX],
  backoffMaxMs: [1, DAY_MS],
  maintainEveryMs: [0, Number.MAX_SAFE_INTEGER],
  snapshotEveryMs: [0, Number.MAX_SAFE_INTEGER],
  extractAfterMs: [0, DAY_MS],
} as const;

/** Checks what `open` was told about jobs: nothing, yes, no, or how. */
export function checkJobs(jobs: boolean | JobsOptions | undefined): JobsPlan {
  const options = jobs === undefined || typeof jobs === "boolean" ? {} : jobs;
  checkOptions(options, [...Object.keys(RANGES), "onError"], "jobs");
  for (const [name, [least, most]] of Object.entries(RANGES)) {
    const value: unknown = options[name as keyof typeof RANGES];
    const isFit = Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
    if (value === undefined || isFit) continue;
    throw invalid(`jobs.${name}`, `an integer from ${least} to ${most}`, value);
  }
  const { onError, maintainEveryMs, snapshotEveryMs, extractAfterMs } = options;
  if (onError !== undefined && typeof onError !== "function") {
    throw invalid("jobs.onError", "a function", onError);
  }
  return {
    isOn: jobs !== undefined && jobs !== false,
    settings: {
      intervalMs: options.intervalMs ?? STANDARD.intervalMs,
      firstLookMs: options.firstLookMs ?? 0,
      giveWayMs: options.giveWayMs ?? 0,
      leaseMs: options.leaseMs ?? STANDARD.leaseMs,
      backoffMaxMs: options.backoffMaxMs ?? STANDARD.backoffMaxMs,
      ...(onError === undefined ? {} : { onError }),
    },
    ...(maintainEveryMs === undefined ? {} : { maintainEveryMs }),
    ...(snapshotEveryMs === undefined ? {} : { snapshotEveryMs }),
    ...(extractAfterMs === undefined ? {} : { extractAfterMs }),
  };
}

/** See the file header. */
export class Jobs {
  readonly #engine: Engine;
  readonly #pause: RunnerParts["pause"];
  readonly #plan: JobsPlan;
  #owner: Uint8Array | undefined;
  #runners: ReadonlyMap<string, JobRunner> | undefined;

  constructor(engine: Engine, pause: RunnerParts["pause"], plan: JobsPlan) {
    this.#engine = engine;
    this.#pause = pause;
    this.#plan = plan;
  }

  /** The id under which this process takes leases, in hex; none before the first start. */
  get owner(): string | undefined {
    return this.#owner === undefined ? undefined : toHex(this.#owner);
  }

  /** Whether closing the store now would interrupt a job, or keep one from what was just written. */
  get hasWork(): boolean {
    return [...(this.#runners?.values() ?? [])].some((runner) => runner.hasWork);
  }

  /** Starts every job that the store was opened for; idempotent. */
  start(): void {
    for (const runner of this.#all().values()) runner.start();
  }

  /** Stops every job, after the runs that are going on; idempotent. */
  async stop(): Promise<void> {
    await Promise.all([...(this.#runners?.values() ?? [])].map((runner) => runner.stop()));
  }

  /** Where the jobs of the store stand, those of other processes included. */
  status(): Promise<readonly JobStatus[]> {
    const { kv, clock } = this.#engine;
    return Reader.with(kv, undefined, (reader) => readJobs(reader, clock()));
  }

  /** Starts the embedder alone; `ERR_NO_EMBEDDER` when the store was opened without one. */
  startEmbedder(): void {
    this.#embedder().start();
  }

  /** Stops the embedder, after the batch at hand; idempotent. */
  async stopEmbedder(): Promise<void> {
    await this.#runners?.get("embed")?.stop();
  }

  /** Embeds what is pending now, whether or not the embedder runs. */
  async drainEmbedder(options: Omit<Options<"embedPending">, "access"> = {}): Promise<EmbedReport> {
    checkOptions(options, ["onProgress", "signal"]);
    return embedPending(this.#engine, { ...options, access: OWNER });
  }

  #embedder(): JobRunner {
    const runner = this.#all().get("embed");
    if (runner === undefined) throw noEmbedder();
    return runner;
  }

  /** The runners; made late, because a store that runs no job should draw no id for one. */
  #all(): ReadonlyMap<string, JobRunner> {
    if (this.#engine.closing.aborted) throw new CortexError("ERR_CLOSED", "the store is closed");
    if (this.#runners !== undefined) return this.#runners;
    const { kv, clock, random, signal, activity } = this.#engine;
    this.#owner = random(OWNER_BYTES);
    const calls = (): number => activity.calls;
    const parts = { kv, clock, pause: this.#pause, owner: this.#owner, calls };
    const jobs = jobsOf(this.#engine, this.#plan);
    const runners = new Map(
      jobs.map((job) => [job.name, new JobRunner(job, parts, this.#plan.settings)]),
    );
    signal.listen(() => {
      for (const runner of runners.values()) runner.noteCommit();
    });
    this.#runners = runners;
    return runners;
  }
}

/** The jobs that a store has, by what it was opened with. */
function jobsOf(engine: Engine, plan: JobsPlan): readonly Job[] {
  const { embedder, model } = engine;
  const { maintainEveryMs, snapshotEveryMs = 0, extractAfterMs } = plan;
  return [
    textJob(engine.text),
    ...(embedder === undefined ? [] : [embedJob(engine)]),
    ...[
      ...(model === undefined ? [] : [extractJob(engine, extractAfterMs)]),
      ...(maintainEveryMs === 0 ? [] : [maintainJob(engine, maintainEveryMs)]),
      ...(snapshotEveryMs === 0 ? [] : [sealJob(engine, snapshotEveryMs)]),
    ].map((job) => restsOnReplica(engine, job)),
  ];
}

/** A job that writes to the store itself: where another store is followed, it has nothing to do. */
function restsOnReplica({ kv }: Engine, job: Job): Job {
  let isResting = false;
  return {
    name: job.name,
    async pending() {
      const isDue = (await job.pending?.()) ?? true;
      isResting = (isDue || job.isWaiting?.() === true) && (await isReplica(kv));
      return isDue && !isResting;
    },
    isWaiting: () => !isResting && job.isWaiting?.() === true,
    run: (signal) => job.run(signal),
  };
}
