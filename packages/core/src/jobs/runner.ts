/**
 * Running a job in the background: again and again, in one process at a time, for as long as the store
 * is open or until it is stopped.
 *
 * Promises: nothing of a job reaches the host. A failure is recorded in the job's row and passed to `onError`,
 * and the next try comes later each time. A run that has lost its lease is told to stop at once through its
 * signal, and what it reports is not recorded. `stop` returns when the run that was going on has ended, and
 * gives the lease back. A store at rest is looked at and not written: a lease is taken only when there is
 * something to do. With `giveWayMs`, a look is put off until a moment without calls comes, but for no longer
 * than that. The first look is put off for longer, because it is the longest: it loads what the job needs and
 * catches up with what others left.
 *
 * `hasWork` tells whoever may close the store whether that would interrupt something. It is known
 * without asking the store: by what the last look found, and by commits that came after it. Work that
 * failed, or that another process is at, is no reason to keep the store open.
 */
import { isCortexError } from "../errors.js";
import type { Pause } from "../history/growth.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { type JobReport, Lease } from "./lease.js";

/** Something that is done again and again. */
export interface Job {
  readonly name: string;
  /** Whether a run would find something to do; asked without a lease. Without it, one always would. */
  pending?(): Promise<boolean>;
  /** After a look that found nothing to do: whether something only waits for its time to come. */
  isWaiting?(): boolean;
  /** After a look that found something to do: whether it is so little that doing it twice costs less than a lease. */
  isSlight?(): boolean;
  /** Does a bounded piece of the work; stops early when the signal is aborted. */
  run(signal: AbortSignal): Promise<JobReport>;
}

/** How jobs are run. */
export interface RunnerSettings {
  /** How long to wait before a job is asked again whether there is something to do. */
  readonly intervalMs: number;
  /** How long to wait before the first look; not at all unless told. */
  readonly firstLookMs?: number;
  /** How long a look may be put off while calls come, the first one six times as long; not at all unless told. */
  readonly giveWayMs?: number;
  /** How long a lease lasts without being renewed. */
  readonly leaseMs: number;
  /** The longest wait after failures. */
  readonly backoffMaxMs: number;
  /** Called for every failure of a job. */
  readonly onError?: (name: string, error: unknown) => void;
}

/** What a runner is made of. */
export interface RunnerParts {
  readonly kv: Kv;
  readonly clock: () => number;
  readonly pause: Pause;
  /** The id of this process's runners. */
  readonly owner: Bytes;
  /** Calls of the process so far, for a runner that gives way to them. */
  readonly calls?: () => number;
}

/** So long without a call, and callers are taken to have gone. */
const QUIET_MS = 100;
/** By how much longer the first look is put off while calls come. */
const FIRST_LOOK_TIMES = 6;

/** One job, running or not. */
export class JobRunner {
  readonly job: Job;
  readonly #parts: RunnerParts;
  readonly #settings: RunnerSettings;
  readonly #lease: Lease;
  #stop = new AbortController();
  #loop: Promise<void> | undefined;
  /** Commits of this process since the runner was made, and how many of them the last look knew. */
  #commits = 0;
  #commitsSeen = 0;
  #isDue = false;
  /** Calls of the process when this runner last looked whether some come. */
  #heard = 0;

  constructor(job: Job, parts: RunnerParts, settings: RunnerSettings) {
    this.job = job;
    this.#parts = parts;
    this.#settings = settings;
    this.#lease = new Lease({ ...parts, name: job.name, leaseMs: settings.leaseMs });
  }

  /** Whether it was started and not stopped. */
  get isRunning(): boolean {
    return this.#loop !== undefined;
  }

  /** Whether it runs and there is, or may be, something left for it; see the file header. */
  get hasWork(): boolean {
    return this.isRunning && (this.#isDue || this.#commits > this.#commitsSeen);
  }

  /** Takes note that something was committed, which the next look will look at. */
  noteCommit(): void {
    this.#commits += 1;
  }

  /** Starts running; idempotent. */
  start(): void {
    if (this.#loop !== undefined) return;
    this.#stop = new AbortController();
    this.#loop = this.#run(this.#stop.signal);
  }

  /** Stops after the run that is going on; idempotent. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    this.#loop = undefined;
  }

  async #run(stop: AbortSignal): Promise<void> {
    let failures = 0;
    let outcome: "rest" | "more" | "failed" = "rest";
    const { firstLookMs = 0 } = this.#settings;
    const { giveWayMs = 0 } = this.#settings;
    if (firstLookMs > 0) await this.#parts.pause(firstLookMs, stop);
    for (let mostMs = giveWayMs * FIRST_LOOK_TIMES; !stop.aborted; mostMs = giveWayMs) {
      if (outcome !== "more") await this.#giveWay(stop, mostMs);
      if (stop.aborted) break;
      outcome = await this.#turn(stop);
      failures = outcome === "failed" ? failures + 1 : 0;
      // Even a job that is far behind lets others have their turn.
      const waitMs = outcome === "more" ? 0 : this.#waitMs(failures);
      if (!stop.aborted) await this.#parts.pause(waitMs, stop);
    }
    await this.#lease.release().catch((error: unknown) => this.#report(error));
  }

  /** Waits while calls come; work that has begun goes on without asking again. */
  async #giveWay(stop: AbortSignal, mostMs: number): Promise<void> {
    const { calls = () => 0, pause } = this.#parts;
    for (let waitedMs = 0; waitedMs < mostMs && !stop.aborted; waitedMs += QUIET_MS) {
      const heard = this.#heard;
      this.#heard = calls();
      if (this.#heard === heard) return;
      await pause(QUIET_MS, stop);
    }
  }

  #waitMs(failures: number): number {
    const { intervalMs, backoffMaxMs } = this.#settings;
    return failures === 0 ? intervalMs : Math.min(backoffMaxMs, intervalMs * 2 ** failures);
  }

  /** Looks whether there is work and does a piece of it, if no other process does. */
  async #turn(stop: AbortSignal): Promise<"rest" | "more" | "failed"> {
    const commits = this.#commits;
    try {
      const isDue = (await this.job.pending?.()) ?? true;
      this.#saw(commits, isDue || this.job.isWaiting?.() === true);
      if (!isDue || stop.aborted) return "rest";
      const hasMore =
        this.job.isSlight?.() === true
          ? await this.#runSlight(stop)
          : (await this.#lease.take()) && (await this.#runOnce(stop));
      this.#saw(commits, hasMore);
      return hasMore ? "more" : "rest";
    } catch (error) {
      this.#saw(this.#commits, false);
      if (stop.aborted) return "rest";
      this.#report(error);
      // What cannot be recorded either has been told already.
      await this.#fail(error).catch(() => false);
      return "failed";
    }
  }

  /** What a look, or a run, has found to be left of the work as it was after so many commits. */
  #saw(commits: number, isDue: boolean): void {
    this.#commitsSeen = commits;
    this.#isDue = isDue;
  }

  /** A run without a lease; true when it did something and did not do all. */
  async #runSlight(stop: AbortSignal): Promise<boolean> {
    const report = await this.job.run(stop);
    if (report.done > 0) await this.#lease.note(report);
    return report.done > 0 && report.lag > 0;
  }

  /** Records a failure, under the lease unless that is somebody else's. */
  async #fail(error: unknown): Promise<boolean> {
    return (await this.#lease.take()) && (await this.#lease.record(failureOf(error)));
  }

  /** A run under the lease; true when it did something and did not do all. */
  async #runOnce(stop: AbortSignal): Promise<boolean> {
    const report = await this.#runLeased(stop);
    if (report === undefined || !(await this.#lease.record(report))) return false;
    return report.done > 0 && report.lag > 0;
  }

  /** One run, its lease renewed meanwhile; `undefined` when the lease was lost. */
  async #runLeased(stop: AbortSignal): Promise<JobReport | undefined> {
    // `stop` was called while the lease was taken: a signal that is aborted already calls no listener.
    if (stop.aborted) return undefined;
    const over = new AbortController();
    const cancel = new AbortController();
    const onStop = (): void => cancel.abort();
    stop.addEventListener("abort", onStop, { once: true });
    const renewed = this.#keepLease(over.signal, cancel);
    try {
      const report = await this.job.run(cancel.signal);
      return cancel.signal.aborted && !stop.aborted ? undefined : report;
    } catch (error) {
      // A run that was told to stop may end in any way.
      if (!cancel.signal.aborted) throw error;
      return undefined;
    } finally {
      stop.removeEventListener("abort", onStop);
      over.abort();
      await renewed;
    }
  }

  /** Renews the lease until the run is over; a lost one cancels the run. */
  async #keepLease(over: AbortSignal, run: AbortController): Promise<void> {
    while (!over.aborted) {
      await this.#parts.pause(this.#settings.leaseMs / 3, over);
      if (over.aborted) return;
      const isHeld = await this.#lease.renew().catch((error: unknown) => {
        this.#report(error);
        return false;
      });
      if (!isHeld) run.abort();
      if (run.signal.aborted) return;
    }
  }

  #report(error: unknown): void {
    try {
      this.#settings.onError?.(this.job.name, error);
    } catch {
      // A listener that fails is the host's own affair, and no reason to stop.
    }
  }
}

/** A failure fit for the store: the messages of others may hold anything, so they are left out. */
function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (isCortexError(error)) return { code: error.code, message: error.message };
  const code = error instanceof Error ? error.name : typeof error;
  return { code, message: "a fault that is none of Cortex's; onError is told what" };
}
