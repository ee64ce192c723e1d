/**
 * The simulation: several clients on one store, with crashes, faults, jobs and moves, compared with the plain
 * model after every step. One seed decides everything; `simulation-world.ts` says how.
 *
 * A step starts some operations at once, on several clients; when all have ended, or their client has,
 * `simulation-judge.ts` finds the order in which they took effect and compares. A failure names the step,
 * and `shrink` looks for a shorter run that fails as well, which one line of `reproduction` repeats.
 */
import type { Cortex } from "../cortex.js";
import { isCortexError } from "../errors.js";
import { GUEST } from "../scope/access.js";
import type { KvFault } from "./faulty-kv.js";
import type { ModelOperation } from "./model-state.js";
import { type SeededRandom, seededRandom } from "./seeded-random.js";
import { LISTS, operationName } from "./simulation-compare.js";
import { type Asked, Judge, type Move, type Read } from "./simulation-judge.js";
import { type BadCall, nextStep, perform, START, WORDS } from "./simulation-plan.js";
import { Client, type FaultAt, mixed, World } from "./simulation-world.js";

/** What a run can be asked to leave out. */
export const FEATURES = [
  "clients",
  "crashes",
  "faults",
  "jobs",
  "moves",
  "reads",
  "upkeep",
] as const;

/** Something that happens in a run beside the writing. */
export type Feature = (typeof FEATURES)[number];

/** Which run. */
export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  /** Steps to leave out, counted from 0; the others stay as they are. */
  readonly skip?: readonly number[];
  readonly without?: readonly Feature[];
  /** One fault at a call of the whole run, instead of those that the seed decides. */
  readonly faultAt?: FaultAt;
}

/** What happened in a run. */
export interface SimulationReport {
  operations: number;
  acknowledged: number;
  /** Operations whose outcome nobody was told, and those of them that had taken effect. */
  unanswered: number;
  unansweredDone: number;
  crashes: number;
  faults: number;
  moves: number;
  reads: number;
  entries: number;
  calls: number;
}

/** A run that went wrong, and where. */
export class SimulationFailure extends Error {
  readonly step: number;

  constructor(step: number, cause: unknown) {
    super(`step ${step}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "SimulationFailure";
    this.step = step;
  }
}

const CLIENTS = 3;
/** What a real storage can do; that it lies is for tests of the simulation itself. */
const FAULTS: readonly KvFault[] = ["fails", "full", "lost"];

/** Plays one run to its end; throws a `SimulationFailure` at the first thing that is wrong. */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const run = new Run(options);
  let step = -1;
  try {
    await run.begin();
    for (step = 0; step < options.steps; step += 1) {
      if (!options.skip?.includes(step)) await run.step(step);
    }
    await run.end();
    return run.report;
  } catch (error) {
    throw new SimulationFailure(step, error);
  } finally {
    await run.close();
  }
}

class Run {
  readonly report: SimulationReport = {
    operations: 0,
    acknowledged: 0,
    unanswered: 0,
    unansweredDone: 0,
    crashes: 0,
    faults: 0,
    moves: 0,
    reads: 0,
    entries: 0,
    calls: 0,
  };
  readonly #options: SimulationOptions;
  readonly #world: World;
  readonly #clients: Client[] = [];
  #judge: Judge | undefined;
  #operations = 0;
  #now = START;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#world = new World(options.seed, options.faultAt);
  }

  #has(feature: Feature): boolean {
    return this.#options.without?.includes(feature) !== true;
  }

  get #judging(): Judge {
    if (this.#judge === undefined) throw new Error("the run has not begun");
    return this.#judge;
  }

  async begin(): Promise<void> {
    const random = seededRandom(mixed(this.#options.seed, 0x8000));
    await this.#reopen(random);
    const observer = await this.#world.openObserver(() => this.#now);
    this.#judge = new Judge(observer, this.report);
  }

  /** Opens the store for everybody who has it not open. */
  async #reopen(random: SeededRandom): Promise<void> {
    const count = this.#has("clients") ? CLIENTS : 1;
    for (let at = 0; at < count; at += 1) {
      if (this.#clients[at]?.isDead === false) continue;
      // The first one gives birth to the store, at the very start.
      const skewMs = at === 0 ? 0 : random.pick([0, 0, -3000, 40_000]);
      const client = new Client(`client ${at}`, skewMs, this.#now + skewMs);
      await this.#openFor(client, random);
      this.#clients[at] = client;
    }
  }

  async #openFor(client: Client, random: SeededRandom): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      let outcome: { readonly error?: unknown } | undefined;
      void this.#world.open(client, this.#has("jobs")).then(
        () => {
          outcome = {};
        },
        (error: unknown) => {
          outcome = { error };
        },
      );
      await this.#world.run(random, () => outcome !== undefined);
      if (outcome?.error === undefined) return;
      // A fault may hit whoever opens; the next try must succeed.
      if (!client.isHurt || attempt > 0) throw outcome.error;
    }
  }

  async step(number: number): Promise<void> {
    const random = seededRandom(mixed(this.#options.seed, number));
    const { state } = this.#judging;
    const step = nextStep(random, state);
    this.#now = step.now;
    await this.#reopen(random);
    for (const client of this.#clients) {
      client.now = step.now + client.skewMs;
      client.calls = 0;
      client.writes = 0;
      client.isHurt = false;
    }
    const asked = step.calls.map((call) => this.#start(random.pick(this.#clients), call));
    if (this.#has("reads")) asked.push(this.#startRead(random));
    if (this.#has("moves") && random.chance(15)) asked.push(this.#startMove(random));
    this.#plan(random, asked);
    const isOver = (): boolean =>
      asked.every(({ client, outcome }) => outcome !== undefined || client.isDead);
    await this.#world.run(random, isOver);
    this.report.crashes += this.#clients.filter(({ isDead }) => isDead).length;
    this.report.faults += this.#clients.filter(({ isHurt }) => isHurt).length;
    this.#world.mishap = undefined;
    await this.#judging.judge(asked, random);
    this.report.calls = this.#world.calls;
  }

  /** Decides what goes wrong in a step. */
  #plan(random: SeededRandom, asked: readonly Asked[]): void {
    const dice = random.below(100);
    const { client } = random.pick(asked);
    const ofWrites = random.chance(60);
    const call = random.between(1, ofWrites ? 3 : random.pick([4, 12, 60]));
    const isDone = random.chance(50);
    const fault = random.pick(FAULTS);
    if (dice < 15 && this.#has("crashes")) {
      this.#world.mishap = { client, call, ofWrites, what: "crashes", isDone };
    } else if (dice < 35 && this.#has("faults") && this.#options.faultAt === undefined) {
      this.#world.mishap = { client, call, ofWrites, what: fault, isDone };
    }
  }

  #start(client: Client, call: ModelOperation | BadCall): Asked {
    this.#operations += 1;
    this.report.operations += 1;
    const key = "verb" in call && call.verb === "write" ? call.input.idempotencyKey : undefined;
    // A key is a principal's own: whoever repeats a call under one has the same name.
    const number =
      key === undefined ? this.#operations : 1_000_000 + WORDS.keys.indexOf(key as never);
    const by = operationName(number);
    return this.#watch(client, { call, by }, () => perform(client.graph, call, by));
  }

  #startRead(random: SeededRandom): Asked {
    this.report.reads += 1;
    const client = random.pick(this.#clients);
    const query = random.pick(WORDS.texts);
    const list = random.pick(LISTS);
    const read: Read = random.pick([
      { what: "list", list },
      { what: "recall", query, access: undefined },
      { what: "recall", query, access: GUEST },
    ]);
    return this.#watch(client, { read }, () => askFor(client.graph, read));
  }

  #startMove(random: SeededRandom): Asked {
    this.report.moves += 1;
    const client = random.pick(this.#clients);
    const move: Move = random.pick(["rebuild", "vacuum", "snapshot", "snapshot", "check"]);
    return this.#watch(client, { move }, () => client.graph[move]());
  }

  /** Asks, and takes note of what comes back and when. */
  #watch(client: Client, what: Asked["what"], ask: () => Promise<unknown>): Asked {
    const asked: Asked = { client, what, startSize: this.#world.size };
    void ask().then(
      (value) => {
        asked.outcome = { value, size: this.#world.size };
      },
      (error: unknown) => {
        if (!isCortexError(error)) asked.outcome = { bug: error, size: this.#world.size };
        else asked.outcome = { error, size: this.#world.size };
      },
    );
    return asked;
  }

  /** The last look, and upkeep on two clients at once. */
  async end(): Promise<void> {
    const random = seededRandom(mixed(this.#options.seed, 0x8001));
    await this.#judging.judgeAll(random);
    if (!this.#has("upkeep")) return;
    await this.#reopen(random);
    const asked = this.#clients
      .slice(0, 2)
      .map((client) => this.#watch(client, { move: "maintain" }, () => client.graph.maintain()));
    this.#plan(random, asked);
    await this.#world.run(random, () =>
      asked.every(({ client, outcome }) => outcome !== undefined || client.isDead),
    );
    await this.#judging.judgeUpkeep(asked);
    this.report.calls = this.#world.calls;
  }

  /** Lets go of every client; what they still wait for never comes. */
  async close(): Promise<void> {
    for (const client of this.#clients) this.#world.crash(client);
    await this.#judge?.close();
  }
}

function askFor(memory: Cortex, read: Read): Promise<unknown> {
  if (read.what === "list") return memory.list({ ...read.list, limit: 1000 } as never);
  const { query, access } = read;
  return memory.recall(query, access === undefined ? {} : { access });
}

/** A shorter run that fails as well: fewer steps, then nothing beside the writing that is not needed. */
export async function shrink(
  options: SimulationOptions,
  failure: SimulationFailure,
): Promise<SimulationOptions> {
  const fails = async (other: SimulationOptions): Promise<boolean> =>
    simulate(other).then(
      () => false,
      () => true,
    );
  let best: SimulationOptions = { ...options };
  const attempt = async (other: SimulationOptions): Promise<boolean> => {
    const isSmaller = await fails(other);
    if (isSmaller) best = other;
    return isSmaller;
  };
  if (failure.step < options.steps) await attempt({ ...options, steps: failure.step + 1 });
  for (const feature of FEATURES) {
    if (best.without?.includes(feature)) continue;
    await attempt({ ...best, without: [...(best.without ?? []), feature] });
  }
  for (let size = Math.ceil(best.steps / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.steps; from += size) {
      const more = Array.from({ length: Math.min(size, best.steps - from) }, (_, at) => from + at);
      const skip = [...new Set([...(best.skip ?? []), ...more])].sort((a, b) => a - b);
      if (skip.length > (best.skip?.length ?? 0)) await attempt({ ...best, skip });
    }
  }
  return best;
}

/** A run with a fault at every call: what it went through. */
export interface EveryCallReport {
  readonly runs: number;
  readonly calls: number;
}

/**
 * Plays one run again and again, each time with one fault, at the first call, the second, and so on
 * until the run ends before the call comes; `stride` leaves calls out. One client, so that its calls are
 * the same ones each time.
 */
export async function faultAtEveryCall(
  options: Pick<SimulationOptions, "seed" | "steps">,
  stride: number,
  onRun: (at: FaultAt) => void = () => {},
): Promise<EveryCallReport> {
  let runs = 0;
  let most = 0;
  for (const fault of FAULTS) {
    for (let call = 1; ; call += stride) {
      const faultAt: FaultAt = { call, fault };
      onRun(faultAt);
      const { calls } = await simulate({ ...options, without: ["clients", "crashes"], faultAt });
      runs += 1;
      most = Math.max(most, calls);
      if (calls < call) break;
    }
  }
  return { runs, calls: most };
}

/** The line that plays a run again. */
export function reproduction(options: SimulationOptions): string {
  const { seed, steps, skip = [], without = [], faultAt } = options;
  return [
    `npm run simulate -- --seed ${seed} --steps ${steps}`,
    ...(skip.length === 0 ? [] : [`--skip ${skip.join(",")}`]),
    ...(without.length === 0 ? [] : [`--without ${without.join(",")}`]),
    ...(faultAt === undefined ? [] : [`--fault-at ${faultAt.call}:${faultAt.fault}`]),
  ].join(" ");
}
