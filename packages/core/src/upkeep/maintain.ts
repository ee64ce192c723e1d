/**
 * `maintain`: upkeep on demand. First what is derived (indexes, vectors), where nothing is journaled and
 * no answer changes but in speed; then memories, where every change is one journaled entry with its
 * reason, which `revert` takes back.
 *
 * By default the only change of memories is that a claim backed by independent voices is confirmed.
 * Archiving what has expired, merging twins and relating memories are asked for one by one. A run is
 * bounded in time and in changes, and the next one goes on where it stopped; a dry run gives the same
 * plan and changes nothing. Safe to run at any time, to stop at any time and to run again. A replica's
 * memories are its source's: there the indexes alone are looked after.
 */

import { readConfig } from "../config/config.js";
import type { MemoryId } from "../contract/shapes.js";
import { checkOptions, type Engine, memoryId } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { headOf } from "../history/build-beside.js";
import { Reader } from "../history/reader.js";
import { isReplica, refuseOnReplica } from "../history/replica-mark.js";
import { textKey } from "../kv/keyspace.js";
import type { Bytes, Kv } from "../kv/kv.js";
import { sameBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { planConfirm } from "./confirm.js";
import { planExpiry } from "./expiry.js";
import { applyChange } from "./maintain-apply.js";
import {
  CHANGE_STEPS,
  type Change,
  type ChangeStep,
  followedUpTo,
  memoriesOf,
  type PlanStep,
  type PlanWorld,
} from "./maintain-plan.js";
import { planMerges } from "./merge-twins.js";
import { planRelations } from "./relate.js";
import {
  dropModels,
  flushText,
  type MaintainStep,
  mergeText,
  runSteps,
  type StepReport,
  sealStep,
} from "./steps.js";

/** How upkeep is done. */
export interface MaintainOptions {
  /** Say what there is to do, and change nothing. */
  readonly dryRun?: boolean;
  /** Archive what has expired: by its own `expiresAt`, or by the `ttlDays` of its kind. */
  readonly archiveExpired?: boolean;
  /** Merge memories that say the same in the same words. */
  readonly merge?: boolean;
  /** Relate memories that name the same rare thing. */
  readonly relate?: boolean;
  /** Seal a snapshot if the last one is older than this, and anything was written since. */
  readonly snapshotEveryMs?: number;
  /** Most changes of memories in one run; 1,000 by default. */
  readonly maxChanges?: number;
  /** How long it may take, about; a piece that was begun is finished. 60,000 by default. */
  readonly budgetMs?: number;
  /** Ends it after the piece at hand. */
  readonly signal?: AbortSignal;
}

/** One change of memories that upkeep made, or would make. */
export interface MaintainChange {
  readonly step: ChangeStep;
  /** What it is about: what is changed first, then what that rests on. */
  readonly memories: readonly MemoryId[];
  readonly reason: string;
  /** The entry, for `revert`; absent in a dry run. */
  readonly seq?: number;
}

/** What upkeep did. */
export interface MaintainReport {
  readonly dryRun: boolean;
  readonly steps: readonly StepReport[];
  /** Changes of memories, in order. */
  readonly changes: readonly MaintainChange[];
  /** Whether nothing is left to do. */
  readonly complete: boolean;
  readonly seq: number;
}

const BUDGET_MS = 60_000;
/** Planning reads one snapshot, and those do not last: it stops early enough. */
const PLAN_MS_MAX = 20_000;
/** Changes that are written together. */
const GROUP_CHANGES = 64;

/** The one change of memories that nobody has to ask for. */
const UNASKED: ChangeStep = "confirm";

/** Changes and time of one run in the background: little, so that others have their turn. */
const BACKGROUND = { maxChanges: 100, budgetMs: 2000 } as const;

interface Asked {
  readonly dryRun: boolean;
  /** Whether vectors of models other than the one in use may go. */
  readonly otherModels: boolean;
  readonly steps: readonly ChangeStep[];
  readonly snapshotEveryMs: number | undefined;
  readonly maxChanges: number;
  readonly budgetMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Does what keeps a store quick, small and in order. */
export async function maintain(
  engine: Engine,
  options: MaintainOptions = {},
): Promise<MaintainReport> {
  const asked = checkAsked(options);
  if (!(await isReplica(engine.kv))) return keepUp(engine, asked);
  const isByName = asked.steps.some((step) => step !== UNASKED);
  if (isByName || asked.snapshotEveryMs !== undefined) await refuseOnReplica(engine.kv);
  return keepUp(engine, { ...asked, steps: [] });
}

/**
 * A small run of what nobody has to ask for: what the background job does. Vectors of other models
 * stay, because another process may have that model: the two would take turns in removing each
 * other's vectors and paying for them anew.
 */
export function maintainDue(engine: Engine, signal: AbortSignal): Promise<MaintainReport> {
  const quiet = { dryRun: false, otherModels: false, snapshotEveryMs: undefined };
  return keepUp(engine, { ...quiet, ...BACKGROUND, steps: [UNASKED], signal });
}

/** The first entry that no run has looked at for claims to confirm. */
export async function maintainedUpTo(reader: Reader): Promise<number> {
  const [cursor] = await reader.getMany([cursorKey("confirm")]);
  return followedUpTo(cursor, reader.head.size);
}

async function keepUp(engine: Engine, asked: Asked): Promise<MaintainReport> {
  const { dryRun, signal } = asked;
  const end = engine.clock() + asked.budgetMs;
  const isOver = (): boolean =>
    engine.closing.aborted || signal?.aborted === true || engine.clock() >= end;
  const indexes = await runSteps(stepsOf(engine, asked), { dryRun, isOver });
  const memories = await maintainMemories(engine, asked, isOver);
  // Last, so that what the run itself wrote is sealed as well.
  const { snapshotEveryMs } = asked;
  const seals = snapshotEveryMs === undefined ? [] : [sealStep(engine, snapshotEveryMs)];
  const sealed = await runSteps(seals, { dryRun, isOver });
  const steps = [...indexes, ...memories.steps, ...sealed];
  const { size } = await headOf(engine.kv);
  const complete = steps.every(({ left }) => left === 0);
  return { dryRun, steps, changes: memories.changes, complete, seq: size - 1 };
}

const FLAGS = ["dryRun", "archiveExpired", "merge", "relate"] as const;
const NUMBERS = ["budgetMs", "maxChanges", "snapshotEveryMs"] as const;

function checkAsked(options: MaintainOptions): Asked {
  checkOptions(options, [...FLAGS, ...NUMBERS, "signal", "access"]);
  for (const name of FLAGS) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== "boolean") {
      throw invalid(name, "true or false", value);
    }
  }
  for (const name of NUMBERS) {
    const value = options[name];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      throw invalid(name, "an integer of at least 1", value);
    }
  }
  const { signal, maxChanges = LIMITS.maintainChangesDefault } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid("signal", "an AbortSignal", signal);
  }
  if (maxChanges > LIMITS.maintainChanges) {
    throw invalid("maxChanges", `at most ${LIMITS.maintainChanges}`, maxChanges);
  }
  const isAsked: { readonly [step in ChangeStep]: boolean } = {
    expire: options.archiveExpired === true,
    confirm: true,
    merge: options.merge === true,
    relate: options.relate === true,
  };
  return {
    dryRun: options.dryRun === true,
    otherModels: true,
    steps: CHANGE_STEPS.filter((step) => isAsked[step]),
    snapshotEveryMs: options.snapshotEveryMs,
    maxChanges,
    budgetMs: options.budgetMs ?? BUDGET_MS,
    signal,
  };
}

/** The steps about indexes in the order in which they are done: what makes room for others first. */
function stepsOf({ kv, text, vectors }: Engine, { otherModels }: Asked): readonly MaintainStep[] {
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
interface Planned {
  readonly step: ChangeStep;
  readonly changes: readonly Change[];
  readonly finished: boolean;
  readonly key: Bytes;
  readonly before: Bytes | undefined;
  readonly after: Bytes | undefined;
}

async function maintainMemories(
  engine: Engine,
  asked: Asked,
  isOver: () => boolean,
): Promise<Pick<MaintainReport, "steps" | "changes">> {
  const plan = await planAll(engine, asked, isOver);
  const steps: StepReport[] = [];
  const changes: MaintainChange[] = [];
  for (const one of plan) {
    const open = one.finished ? 0 : 1;
    if (asked.dryRun) {
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
  asked: Asked,
  isOver: () => boolean,
): Promise<readonly Planned[]> {
  const nowMs = engine.clock();
  const end = nowMs + PLAN_MS_MAX;
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { ttlDays = {} } = await readConfig(reader);
    const world: PlanWorld = {
      reader,
      nowMs,
      text: engine.text,
      ttlDays,
      isOver: () => isOver() || engine.clock() >= end,
      changes: [],
      changesMax: asked.maxChanges,
      taken: new Set(),
    };
    const plans: Planned[] = [];
    for (const step of asked.steps) {
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
    memories: memoriesOf(change).map(({ id }) => memoryId(id)),
    reason: change.reason,
    ...(seq === undefined ? {} : { seq }),
  };
}

/** Notes how far a step has come. Whoever loses the race leaves it to the other, who looked as well. */
async function moveCursor(kv: Kv, { key, before, after }: Planned): Promise<void> {
  if (sameBytes(before, after)) return;
  await kv.commitCaches({
    expect: [{ key, value: before }],
    puts: after === undefined ? [] : [{ key, value: after }],
    deletes: after === undefined ? [key] : [],
  });
}
