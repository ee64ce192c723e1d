/**
 * Two builds side by side: another one, which stands in a folder, and the one of this tree. Both do the
 * same through their public entries, in processes of their own that live at the same time and take turns
 * slice by slice, so that whatever else the machine does meanwhile falls on both alike; which of them goes
 * first changes from slice to slice. A round starts with new processes and a new store to write to.
 *
 * Judging what comes of it is left to `against-report.mjs`.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { commandProcessorMs, processorTicksOf, startWorker } from "./builds.mjs";
import { readLoad } from "./http-load.mjs";
import { findQueryAt, questionsAbout, searchesOf } from "./queries.mjs";
import { atRest, startServer } from "./server-process.mjs";
import { seededNumbers, startWorkload } from "./workload.mjs";

/**
 * @typedef {import("./builds.mjs").Build} Build
 * @typedef {import("./build-worker.mjs").Slice} Slice
 * @typedef {readonly [against: Build, ours: Build]} Builds
 *
 * How many slices a figure has in a round, and how many calls a slice.
 * @typedef {{ readonly slices: number, readonly calls: number }} Extent
 *
 * @typedef {"write" | "batch" | "filling" | "get" | "find" | "search" | "recall" | "rest" | "version"} FigureName
 *
 * @typedef {{
 *   readonly runs: number,
 *   readonly size: number,
 *   readonly base: number,
 *   readonly seed: number,
 *   readonly folder: string,
 *   readonly extents: Readonly<Record<FigureName, Extent>>,
 *   progress(text: string): void,
 * }} AgainstSettings
 *
 * The slices of one figure in one round, of both builds.
 * @typedef {readonly [against: readonly Slice[], ours: readonly Slice[]]} Pair
 * @typedef {Readonly<Record<FigureName, Pair>>} Round
 */

/** Memories of a batch. */
export const BATCH_ITEMS = 1000;

/** What is asked of the stores that are only read. */
const READING = /** @type {const} */ (["get", "find", "search", "recall"]);

/**
 * Measures both builds, round by round.
 * @param {AgainstSettings} settings
 * @param {Builds} builds
 * @returns {Promise<readonly Round[]>}
 */
export async function measureAgainst(settings, builds) {
  const rounds = [];
  const ids = /** @type {string[][]} */ ([]);
  for (let round = 0; round < settings.runs; round += 1) {
    settings.progress(`round ${round + 1} of ${settings.runs}`);
    const turn = { settings, builds, round, ids };
    const engine = await withWorkers(builds, async (workers) => {
      if (round === 0) ids.push(...(await fillToRead(settings, workers)));
      const writes = await measureWrites(turn, workers);
      const filling = await measureFilling(turn, workers);
      return { ...writes, filling, ...(await measureReads(turn, workers)) };
    });
    rounds.push({ ...engine, rest: await measureRest(turn), version: await measureStart(turn) });
  }
  return rounds;
}

/**
 * What a round goes by; `ids` are the memories of the store to read, for each build.
 * @typedef {{
 *   readonly settings: AgainstSettings,
 *   readonly builds: Builds,
 *   readonly round: number,
 *   readonly ids: readonly (readonly string[])[],
 * }} Turn
 *
 * @typedef {import("./builds.mjs").Worker} Worker
 */

/**
 * @template T
 * @param {Builds} builds
 * @param {(workers: readonly Worker[]) => Promise<T>} use
 * @returns {Promise<T>}
 */
async function withWorkers(builds, use) {
  const workers = await Promise.all(builds.map(startWorker));
  try {
    return await use(workers);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

/**
 * Lets both builds take turns; `slice` does one slice with the build at that place.
 * @param {Turn} turn
 * @param {FigureName} figure
 * @param {(side: 0 | 1, index: number) => Promise<Slice> | Slice} slice
 * @returns {Promise<Pair>}
 */
async function takeTurns({ settings, round }, figure, slice) {
  const pair = /** @type {[Slice[], Slice[]]} */ ([[], []]);
  for (let index = 0; index < settings.extents[figure].slices; index += 1) {
    const order = /** @type {const} */ ((round + index) % 2 === 0 ? [0, 1] : [1, 0]);
    for (const side of order) pair[side].push(await slice(side, index));
  }
  return pair;
}

/** Slices that both builds do before any counts. */
const WARM_SLICES = 2;

/**
 * The same with some slices ahead that do not count: the first ones measure how code is compiled. Both builds do them
 * in turn as well, so that they have written as much when it counts.
 * @param {Turn} turn
 * @param {FigureName} figure
 * @param {(side: 0 | 1, index: number) => Promise<Slice> | Slice} slice
 * @returns {Promise<Pair>}
 */
async function warmTurns(turn, figure, slice) {
  for (let index = 0; index < WARM_SLICES; index += 1) {
    await slice(0, index);
    await slice(1, index);
  }
  return takeTurns(turn, figure, (side, index) => slice(side, index + WARM_SLICES));
}

/**
 * @param {AgainstSettings} settings
 * @param {number} side
 */
function readFolder({ folder }, side) {
  return join(folder, `read-${side}`);
}

/**
 * Fills the stores that every round reads; gives the ids of their memories.
 * @param {AgainstSettings} settings
 * @param {readonly Worker[]} workers
 */
async function fillToRead(settings, workers) {
  settings.progress(`filling a store of ${settings.size} with each build`);
  const ids = /** @type {string[][]} */ ([]);
  for (const [side, worker] of workers.entries()) {
    await worker.ask("open", readFolder(settings, side));
    ids.push(await fill(worker, startWorkload(settings.seed), settings.size));
    await worker.ask("close");
  }
  return ids;
}

/**
 * @param {Worker} worker
 * @param {ReturnType<typeof startWorkload>} workload
 * @param {number} count
 */
async function fill(worker, workload, count) {
  const ids = /** @type {string[]} */ ([]);
  while (ids.length < count) {
    const items = workload.take(Math.min(BATCH_ITEMS, count - ids.length));
    for (const id of await worker.ask("fill", items)) ids.push(id);
  }
  return ids;
}

/**
 * Writes to a new store of each build that holds some memories already.
 * @param {Turn} turn
 * @param {readonly Worker[]} workers
 */
async function measureWrites(turn, workers) {
  const { settings, round } = turn;
  const folders = workers.map((_, side) => join(settings.folder, `write-${round}-${side}`));
  // Each build has a workload of its own, of the same seed: both write the same.
  const workloads = workers.map(() => startWorkload(settings.seed));
  for (const [side, worker] of workers.entries()) {
    await worker.ask("open", folders[side]);
    await fill(worker, workloads[side] ?? startWorkload(settings.seed), settings.base);
  }
  const writes = settings.extents.write.calls;
  const write = await warmTurns(turn, "write", (side) =>
    workers[side]?.ask("slice", { figure: "write", inputs: workloads[side]?.take(writes) }),
  );
  const batches = settings.extents.batch.calls;
  const batch = await warmTurns(turn, "batch", (side) => {
    const inputs = Array.from({ length: batches }, () => workloads[side]?.take(BATCH_ITEMS));
    return workers[side]?.ask("slice", { figure: "batch", inputs });
  });
  for (const worker of workers) await worker.ask("close");
  for (const folder of folders) await rm(folder, { recursive: true });
  return { write, batch: perMemory(batch) };
}

/**
 * New stores filled in batches. A middle slice tells nothing of the second that every tenth batch may take, nor of what is
 * left for later: here all of it counts.
 * @param {Turn} turn
 * @param {readonly Worker[]} workers
 * @returns {Promise<Pair>}
 */
function measureFilling(turn, workers) {
  const { settings, round } = turn;
  const workload = startWorkload(settings.seed + round);
  return takeTurns(turn, "filling", async (side, index) => {
    const folder = join(settings.folder, `filling-${round}-${side}-${index}`);
    const { calls } = settings.extents.filling;
    const batches = Array.from({ length: calls }, () => workload.take(BATCH_ITEMS));
    const slice = await workers[side]?.ask("filling", { folder, batches });
    await rm(folder, { recursive: true });
    return slice;
  });
}

/**
 * A batch counts as the memories it holds.
 * @param {Pair} pair
 * @returns {Pair}
 */
function perMemory([against, ours]) {
  const counted = (/** @type {Slice} */ slice) => ({
    ...slice,
    operations: slice.operations * BATCH_ITEMS,
  });
  return [against.map(counted), ours.map(counted)];
}

/**
 * Reads from the stores that were filled at the start.
 * @param {Turn} turn
 * @param {readonly Worker[]} workers
 */
async function measureReads(turn, workers) {
  const { settings } = turn;
  for (const [side, worker] of workers.entries()) {
    await worker.ask("open", readFolder(settings, side));
  }
  const pairs = /** @type {Record<typeof READING[number], Pair>} */ ({});
  for (const figure of READING) {
    const inputs = inputsOf(turn, figure);
    pairs[figure] = await warmTurns(turn, figure, (side, index) =>
      workers[side]?.ask("slice", { figure, inputs: inputs(side, index) }),
    );
  }
  for (const worker of workers) await worker.ask("close");
  return pairs;
}

/**
 * The inputs of a slice: for both builds the same, but for the ids of their memories.
 * @param {Turn} turn
 * @param {typeof READING[number]} figure
 * @returns {(side: number, index: number) => readonly unknown[]}
 */
function inputsOf({ settings, round, ids }, figure) {
  const { slices, calls } = settings.extents[figure];
  const count = (slices + WARM_SLICES) * calls;
  const seed = settings.seed + round;
  const cut = (/** @type {readonly unknown[]} */ all) => (/** @type {number} */ index) =>
    all.slice(index * calls, (index + 1) * calls);
  switch (figure) {
    case "get": {
      const next = seededNumbers(seed);
      const places = Array.from({ length: count }, () => next(settings.size));
      const own = ids.map((all) => cut(places.map((place) => all[place])));
      return (side, index) => own[side]?.(index) ?? [];
    }
    case "find": {
      const of = cut(Array.from({ length: count }, (_, at) => findQueryAt(at + round)));
      return (_, index) => of(index);
    }
    case "search": {
      const words = searchesOf({ seed: settings.seed, size: settings.size }, count);
      const of = cut(words.map((some) => some.join(" ")));
      return (_, index) => of(index);
    }
    case "recall": {
      const texts = startWorkload(settings.seed).take(Math.min(settings.size, 2000));
      const about = texts.map(({ text }) => text);
      const of = cut(questionsAbout(about, seededNumbers(seed + 7), count));
      return (_, index) => of(index);
    }
  }
}

/**
 * Reads over HTTP from a server of each build; this process is the load.
 * @param {Turn} turn
 */
async function measureRest(turn) {
  const { settings, builds, ids } = turn;
  const servers = [];
  try {
    for (const [side, { main }] of builds.entries()) {
      servers.push(await startServer(main, readFolder(settings, side)));
    }
    // What a server does with a new store is no part of a read.
    for (const { port } of servers) await atRest(port);
    const count = settings.extents.rest.calls;
    const load = async (/** @type {number} */ side, /** @type {number} */ seed) => {
      const before = processorTicksOf(servers[side]?.pid);
      const port = servers[side]?.port ?? 0;
      const { perSecond } = await readLoad(port, ids[side] ?? [], { count, seed });
      const after = processorTicksOf(servers[side]?.pid);
      const known = before !== undefined && after !== undefined;
      const ticks = known ? after - before : undefined;
      return { operations: count, ms: (1000 * count) / perSecond, processorMs: ticks };
    };
    const { seed } = settings;
    return await warmTurns(turn, "rest", (side, index) => load(side, seed + index));
  } finally {
    for (const server of servers) await server.stop();
  }
}

/**
 * The shortest command there is: what it costs to start.
 * @param {Turn} turn
 */
function measureStart(turn) {
  const { calls } = turn.settings.extents.version;
  return takeTurns(turn, "version", (side) => {
    let ms = 0;
    for (let call = 0; call < calls; call += 1) {
      ms += commandProcessorMs(turn.builds[side], ["--version"]);
    }
    return { operations: calls, ms, processorMs: undefined };
  });
}
