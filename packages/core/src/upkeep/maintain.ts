/**
 * `maintain`: upkeep on demand, and what of it is done unasked, as jobs for the runner. First what is derived
 * (indexes, vectors), where nothing is journaled and no answer changes but in speed; then memories, where every
 * change is one journaled entry with its reason, which `revert` takes back.
 *
 * By default the only change of memories is that a claim backed by independent voices is confirmed.
 * Archiving what has expired, merging twins and relating memories are asked for one by one. A run is
 * bounded in time and in changes, and the next one goes on where it stopped; a dry run gives the same
 * plan and changes nothing. Safe to run at any time, to stop at any time and to run again. A replica's
 * memories are its source's: there the indexes alone are looked after.
 *
 * The job runs a piece at a time, now and then, and only where something was written since. It never archives,
 * merges or relates, nor removes vectors of other models: those are asked for, by somebody who has looked. The
 * job's own row says when the last run was, so a store that is opened for a minute now and then is not looked
 * after each time, and of several processes none begins anew. The text index looks after itself while it is
 * written to and when its store closes; its job does the same for a store that others write to in short visits.
 */
import { readConfig } from "../config/config.js";
import type { Asked } from "../contract/index.js";
import {
  CHANGE_STEPS,
  MAINTAIN_BUDGET_MS,
  type MaintainChange,
  type MaintainReport,
  type StepReport,
} from "../contract/upkeep.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { headOf } from "../history/build-beside.js";
import { Reader } from "../history/reader.js";
import { isReplica, refuseOnReplica } from "../history/replica-mark.js";
import { readJobs } from "../jobs/lease.js";
import type { Job } from "../jobs/runner.js";
import { textKey } from "../kv/keyspace.js";
import { type Bytes, type Kv, sameBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { planConfirm, planExpiry } from "./confirm.js";
import {
  applyChange,
  type Change,
  type ChangeStep,
  followedUpTo,
  memoriesOfChange,
  type PlanStep,
  type PlanWorld,
} from "./maintain-changes.js";
import { planMerges, planRelations } from "./merge-relate.js";
import {
  dropModels,
  flushText,
  type MaintainStep,
  mergeText,
  runSteps,
  seal,
  sealedUpTo,
  sealStep,
  type TextUpkeep,
} from "./steps.js";

/** Planning reads one snapshot, and those do not last: it stops early enough. */
const PLAN_MS_MAX = 20_000;
/** Changes that are written together. */
const GROUP_CHANGES = 64;

/** The one change of memories that nobody has to ask for. */
const UNASKED: ChangeStep = "confirm";

/** Changes and time of one run in the background: little, so that others have their turn. */
const BACKGROUND = { maxChanges: 100, budgetMs: 2000 } as const;

/** What one run is to do, and how far it may go. */
interface Task {
  readonly dryRun: boolean;
  /** Whether vectors of models other than the one in use may go. */
  readonly otherModels: boolean;
  readonly steps: readonly ChangeStep[];
  readonly snapshotEveryMs: number | undefined;
  readonly maxChanges: number;
  readonly budgetMs: number;
  readonly signal: AbortSignal | undefined;
  /** Whether others are waiting for the thread: then a plan ends after the piece at hand. */
  readonly isAwaited?: () => boolean;
}

/** Does what keeps a store quick, small and in order. */
export async function maintain(engine: Engine, asked: Asked<"maintain">): Promise<MaintainReport> {
  const task = taskOf(asked);
  if (!(await isReplica(engine.kv))) return keepUp(engine, task);
  const isByName = task.steps.some((step) => step !== UNASKED);
  if (isByName || task.snapshotEveryMs !== undefined) await refuseOnReplica(engine.kv);
  return keepUp(engine, { ...task, steps: [] });
}

/**
 * A small run of what nobody has to ask for: what the background job does, a piece at a time while others
 * call. Vectors of other models
 * stay, because another process may have that model: the two would take turns in removing each
 * other's vectors and paying for them anew.
 */
function maintainDue(engine: Engine, signal: AbortSignal): Promise<MaintainReport> {
  const quiet = { dryRun: false, otherModels: false, snapshotEveryMs: undefined };
  const isAwaited = calledMeanwhile(engine);
  return keepUp(engine, { ...quiet, ...BACKGROUND, steps: [UNASKED], signal, isAwaited });
}

/** Tells whether somebody called since it was first asked: a plan makes one piece, whoever calls. */
function calledMeanwhile({ activity }: Engine): () => boolean {
  let heard: number | undefined;
  return () => {
    heard ??= activity.calls;
    return activity.calls !== heard;
  };
}

/** The first entry that no run has looked at for claims to confirm. */
async function maintainedUpTo(reader: Reader): Promise<number> {
  const [cursor] = await reader.getMany([cursorKey("confirm")]);
  return followedUpTo(cursor, reader.head.size);
}

async function keepUp(engine: Engine, task: Task): Promise<MaintainReport> {
  const { dryRun, signal } = task;
  const end = engine.clock() + task.budgetMs;
  const isOver = (): boolean =>
    engine.closing.aborted || signal?.aborted === true || engine.clock() >= end;
  const indexes = await runSteps(stepsOf(engine, task), { dryRun, isOver });
  const memories = await maintainMemories(engine, task, isOver);
  // Last, so that what the run itself wrote is sealed as well.
  const { snapshotEveryMs } = task;
  const seals = snapshotEveryMs === undefined ? [] : [sealStep(engine, snapshotEveryMs)];
  const sealed = await runSteps(seals, { dryRun, isOver });
  const steps = [...indexes, ...memories.steps, ...sealed];
  const { size } = await headOf(engine.kv);
  const complete = steps.every(({ left }) => left === 0);
  return { dryRun, steps, changes: memories.changes, complete, seq: size - 1 };
}

function taskOf(asked: Asked<"maintain">): Task {
  const isAsked: { readonly [step in ChangeStep]: boolean } = {
    expire: asked.archiveExpired === true,
    confirm: true,
    merge: asked.merge === true,
    relate: asked.relate === true,
  };
  return {
    dryRun: asked.dryRun === true,
    otherModels: true,
    steps: CHANGE_STEPS.filter((step) => isAsked[step]),
    snapshotEveryMs: asked.snapshotEveryMs,
    maxChanges: asked.maxChanges ?? LIMITS.maintainChangesDefault,
    budgetMs: asked.budgetMs ?? MAINTAIN_BUDGET_MS,
    signal: asked.signal,
  };
}

/** The steps about indexes in the order in which they are done: what makes room for others first. */
function stepsOf({ kv, text, vectors }: Engine, { otherModels }: Task): readonly MaintainStep[] {
  const { tag } = vectors;
  return [
    // Without an embedder nobody can tell which model is the current one: all are kept.
    ...(tag === undefined || !otherModels ? [] : [dropModels(kv, tag)]),
    flushText(text),
    mergeText(text),
  ];
}

const PLANNERS: { readonly [step in ChangeStep]: PlanStep } = {
  expire: planExpiry,
  confirm: planConfirm,
  merge: planMerges,
  relate: planRelations,
};

/** What a step planned, and the row that says where it stands. */
interface StepPlan {
  readonly step: ChangeStep;
  readonly changes: readonly Change[];
  readonly finished: boolean;
  readonly key: Bytes;
  readonly before: Bytes | undefined;
  readonly after: Bytes | undefined;
}

async function maintainMemories(
  engine: Engine,
  task: Task,
  isOver: () => boolean,
): Promise<Pick<MaintainReport, "steps" | "changes">> {
  const plan = await planAll(engine, task, isOver);
  const steps: StepReport[] = [];
  const changes: MaintainChange[] = [];
  for (const one of plan) {
    const open = one.finished ? 0 : 1;
    if (task.dryRun) {
      changes.push(...one.changes.map((change) => shapeChange(change)));
      steps.push({ step: one.step, done: 0, left: one.changes.length + open });
      continue;
    }
    const written = await applyAll(engine, one.changes, isOver);
    changes.push(...written.changes);
    // What was not written is planned again from where this plan started.
    if (written.left === 0) await moveCursor(engine.kv, one);
    steps.push({ step: one.step, done: written.changes.length, left: written.left + open });
  }
  return { steps, changes };
}

/** Where a step has come to is a row of its own. */
function cursorKey(step: ChangeStep): Bytes {
  return textKey("cursor", `maintain ${step}`);
}

/** Plans every step on one snapshot; what a step takes is gone for those after it. */
async function planAll(
  engine: Engine,
  task: Task,
  isOver: () => boolean,
): Promise<readonly StepPlan[]> {
  const nowMs = engine.clock();
  const end = nowMs + PLAN_MS_MAX;
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { ttlDays = {} } = await readConfig(reader);
    const world: PlanWorld = {
      reader,
      nowMs,
      text: engine.text,
      ttlDays,
      isOver: () => isOver() || engine.clock() >= end || task.isAwaited?.() === true,
      changes: [],
      changesMax: task.maxChanges,
      taken: new Set(),
    };
    const plans: StepPlan[] = [];
    for (const step of task.steps) {
      const key = cursorKey(step);
      const [before] = await reader.getMany([key]);
      const first = world.changes.length;
      const { cursor, finished } = await PLANNERS[step](world, before);
      const changes = world.changes.slice(first);
      plans.push({ step, changes, finished, key, before, after: cursor });
    }
    return plans;
  });
}

/** Writes changes in groups, for as long as there is time. */
async function applyAll(
  engine: Engine,
  changes: readonly Change[],
  isOver: () => boolean,
): Promise<{ readonly changes: readonly MaintainChange[]; readonly left: number }> {
  const written: MaintainChange[] = [];
  for (let at = 0; at < changes.length; at += GROUP_CHANGES) {
    if (isOver()) return { changes: written, left: changes.length - at };
    const group = changes.slice(at, at + GROUP_CHANGES);
    const seqs = await Promise.all(group.map((change) => applyChange(engine, change)));
    for (const [index, change] of group.entries()) {
      const seq = seqs[index];
      if (seq !== undefined) written.push(shapeChange(change, seq));
    }
  }
  return { changes: written, left: 0 };
}

function shapeChange(change: Change, seq?: number): MaintainChange {
  return {
    step: change.step,
    memories: memoriesOfChange(change).map(({ id }) => memoryId(id)),
    reason: change.reason,
    ...(seq === undefined ? {} : { seq }),
  };
}

/** Notes how far a step has come. Whoever loses the race leaves it to the other, who looked as well. */
async function moveCursor(kv: Kv, { key, before, after }: StepPlan): Promise<void> {
  if (sameBytes(before, after)) return;
  await kv.commitCaches({
    expect: [{ key, value: before }],
    puts: after === undefined ? [] : [{ key, value: after }],
    deletes: after === undefined ? [key] : [],
  });
}

/** How often upkeep is done unless told otherwise. */
export const MAINTAIN_EVERY_MS = 60 * 60_000;

const NAME = "maintain";

/** The job that keeps a store in order. */
export function maintainJob(engine: Engine, everyMs: number = MAINTAIN_EVERY_MS): Job {
  /** Whether the last run of this process met its bounds before it was through. */
  let isCut = false;
  return {
    name: NAME,
    pending: () =>
      Reader.with(engine.kv, undefined, async (reader) => {
        // The first entry of a new store is nothing to look after.
        const isBehind = reader.head.size > Math.max(1, await maintainedUpTo(reader));
        return isBehind && (isCut || (await isTime(reader, engine.clock(), everyMs)));
      }),
    async run(signal) {
      const { steps, changes } = await maintainDue(engine, signal);
      // Entries that others write meanwhile are for the next time; what did not fit is for now.
      isCut = steps.some(({ step, left }) => step === "confirm" && left > 0);
      return Reader.with(engine.kv, undefined, async (reader) => {
        const cursor = await maintainedUpTo(reader);
        return { done: changes.length, cursor, lag: reader.head.size - cursor };
      });
    },
  };
}

async function isTime(reader: Reader, now: number, everyMs: number): Promise<boolean> {
  const last = (await readJobs(reader, now)).find(({ name }) => name === NAME)?.lastRunAt;
  // A run that is still to come was written by a clock that went wrong.
  return last === undefined || now < last || now - last >= everyMs;
}

/** The job that keeps a text index short of tail and few of segments. */
export function textJob(text: TextUpkeep): Job {
  const flush = flushText(text);
  const merge = mergeText(text);
  const isLong = async (): Promise<boolean> => (await flush.left()) >= LIMITS.textCloseEntries;
  return {
    name: "text",
    pending: async () => (await isLong()) || (await merge.left()) > 0,
    async run(signal) {
      let done = 0;
      while (!signal.aborted && (await isLong())) done += await flush.work();
      if (!signal.aborted) done += await merge.work();
      const { cursor, tail } = await text.status();
      return { done, cursor, lag: tail };
    },
  };
}

/** The job that seals the store every so often. */
export function sealJob(engine: Engine, everyMs: number): Job {
  return {
    name: "snapshot",
    pending: async () => (await sealedUpTo(engine, everyMs)).isDue,
    async run() {
      const before = await sealedUpTo(engine, everyMs);
      if (!before.isDue) {
        return { done: 0, cursor: before.cursor, lag: before.size - before.cursor };
      }
      const { seq } = await seal(engine);
      return { done: 1, cursor: seq + 1, lag: 0 };
    },
  };
}
