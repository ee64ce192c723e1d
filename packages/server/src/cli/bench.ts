/**
 * `cortex bench`: how quick this machine is with a store, in a table. It works in a temporary folder that it
 * removes; every write waits for the disk, and the figures come with what was measured on which machine.
 *
 * It is for looking at one machine. How releases are measured, and against what, is on the page of
 * benchmarks.
 *
 * What `cortex bench` does to a store, step by step, each with the time of every single call.
 *
 * The memories are made up from a seed, so that two machines do the same work; words are drawn as people
 * use them, a few often and most rarely. Every write waits for the disk before it counts.
 */

import { statfsSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { type Cortex, open, type WriteInput } from "@cortex-memory/core";
import { UsageError } from "../error-status.js";
import { startProgress } from "../progress.js";
import { clean, type Ink, makeInk, wantsColour } from "../render/ink.js";
import { packageVersion } from "../version.js";
import { withTemporaryFolder } from "./files.js";
import type { Host } from "./host.js";
import { BENCH_SIZE, type GlobalFlags } from "./program.js";

/** The times of one step. */
interface StepTimes {
  readonly name: string;
  /** What one call does. */
  readonly about: string;
  /** Memories written or read, or questions asked. */
  readonly count: number;
  /** Time of the whole step. */
  readonly totalMs: number;
  /** Time of every call, in the order in which they ended. */
  readonly callMs: readonly number[];
}

/** What the steps work with. */
interface BenchWork {
  readonly memory: Cortex;
  /** Memories that the store holds in the end. */
  readonly size: number;
  /** A clock that only goes forward. */
  readonly nowMs: () => number;
  /** Told how many calls of all steps are done. */
  readonly onProgress: (done: number, total: number) => void;
}

/** The smallest store that is worth a figure. */
const SIZE_MIN = 200;
const SINGLE_MOST = 200;
const AT_ONCE = 32;
const TOGETHER_MOST = 1600;
const BATCH_ITEMS = 100;
const GETS_MOST = 2000;
const SEARCHES_MOST = 200;
const RECALLS_MOST = 100;

/** How many memories each way of writing gets. */
export function sharesOf(size: number): {
  readonly single: number;
  readonly together: number;
  readonly batched: number;
} {
  const single = Math.min(SINGLE_MOST, Math.floor(size / 4));
  const together = Math.min(TOGETHER_MOST, Math.floor(size / 4));
  return { single, together, batched: size - single - together };
}

/** One step before it is done. */
interface Step extends Pick<StepTimes, "name" | "about" | "count"> {
  /** How often something is called; a call may do several memories. */
  readonly calls: number;
  readonly atOnce: number;
  readonly call: (at: number) => Promise<unknown>;
}

/** Runs every step, one after the other. */
async function runSteps(work: BenchWork): Promise<readonly StepTimes[]> {
  const ids: string[] = [];
  const steps = [...writingSteps(work, ids), ...readingSteps(work, ids)];
  const total = steps.reduce((sum, { calls }) => sum + calls, 0);
  let done = 0;
  const onCall = (): void => {
    done += 1;
    work.onProgress(done, total);
  };
  const times: StepTimes[] = [];
  for (const step of steps) times.push(await timed(step, work.nowMs, onCall));
  return times;
}

/** The ids of what is written are added to `ids`. */
function writingSteps({ memory, size }: BenchWork, ids: string[]): readonly Step[] {
  const { single, together, batched } = sharesOf(size);
  const write = async (at: number): Promise<void> => {
    ids.push((await memory.write(memoryAt(at))).id);
  };
  const writeBatch = async (at: number): Promise<void> => {
    const from = single + together + at * BATCH_ITEMS;
    const length = Math.min(BATCH_ITEMS, size - from);
    const items = Array.from({ length }, (_, n) => ({ write: memoryAt(from + n) }));
    const { results } = await memory.batch(items);
    for (const result of results) if (result.ok && "id" in result) ids.push(String(result.id));
  };
  return [
    {
      name: "write",
      about: "one memory after another",
      count: single,
      calls: single,
      atOnce: 1,
      call: write,
    },
    {
      name: "write at once",
      about: `${AT_ONCE} callers`,
      count: together,
      calls: together,
      atOnce: AT_ONCE,
      call: (at) => write(single + at),
    },
    {
      name: "batch",
      about: `${BATCH_ITEMS} memories a call`,
      count: batched,
      calls: Math.ceil(batched / BATCH_ITEMS),
      atOnce: 1,
      call: writeBatch,
    },
  ];
}

function readingSteps({ memory, size }: BenchWork, ids: readonly string[]): readonly Step[] {
  const random = makeRandom(SEED);
  const reading = (
    name: string,
    about: string,
    count: number,
    call: () => Promise<unknown>,
  ): Step => ({ name, about, count, calls: count, atOnce: 1, call });
  const someId = (): string => ids[Math.floor(random() * ids.length)] ?? "";
  const [gets, searches, recalls] = [GETS_MOST, SEARCHES_MOST, RECALLS_MOST].map((most) =>
    Math.min(most, Math.ceil((size * most) / GETS_MOST)),
  ) as [number, number, number];
  return [
    reading("get", "one memory by its id", gets, () => memory.get(someId())),
    reading("search", "two words, 20 hits", searches, () =>
      memory.search(words(random, 2), { limit: 20 }),
    ),
    reading("recall", "a question of five words", recalls, () => memory.recall(words(random, 5))),
  ];
}

/** Does a step, and times each call. */
async function timed(
  { name, about, count, calls, atOnce, call }: Step,
  nowMs: () => number,
  onCall: () => void,
): Promise<StepTimes> {
  const callMs: number[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < calls) {
      const at = next;
      next += 1;
      const fromMs = nowMs();
      await call(at);
      callMs.push(nowMs() - fromMs);
      onCall();
    }
  };
  const fromMs = nowMs();
  await Promise.all(Array.from({ length: atOnce }, caller));
  return { name, about, count, totalMs: nowMs() - fromMs, callMs };
}

const SEED = 20_260_101;

/** The same memories on every machine, each made when it is wanted. */
function memoryAt(at: number): WriteInput {
  const random = makeRandom(SEED + 1 + at);
  // The number makes every text another one: the same words again would only reinforce a memory.
  const text = `${words(random, 8 + Math.floor(random() * 16))} ${at}`;
  const tags = [`tag-${Math.floor(random() * 50)}`];
  return at % 3 === 0 ? { type: "event", text, tags } : { type: "fact", text, tags };
}

const SYLLABLES = ["ba", "cor", "di", "el", "fu", "gam", "hi", "jo", "kel", "lu", "mi", "no"];
const WORDS: readonly string[] = SYLLABLES.flatMap((one) =>
  SYLLABLES.flatMap((two) => SYLLABLES.map((three) => `${one}${two}${three}`)),
);

/** Some words; low numbers come up far more often than high ones, as in any language. */
function words(random: () => number, count: number): string {
  const drawn = Array.from({ length: count }, () => {
    const rank = Math.floor(WORDS.length ** random()) - 1;
    return WORDS[rank] ?? "";
  });
  return drawn.join(" ");
}

/** Numbers from 0 to 1 that a seed decides (a xorshift of 32 bits, over a seed that is spread first). */
function makeRandom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const SIZE_MAX = 1_000_000;

/** One line of the table. */
interface Figures {
  readonly name: string;
  readonly about: string;
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What was measured, and where. */
interface Report {
  readonly version: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryBytes: number;
    readonly platform: string;
    readonly node: string;
  };
  readonly size: number;
  /** Writes wait for the disk. */
  readonly durable: true;
  /** Where the store was, and whether a disk is behind it as far as can be told. */
  readonly folder: string;
  readonly inMemory: boolean;
  readonly storeBytes: number;
  readonly steps: readonly Figures[];
}

/** Measures and prints; the result is the exit code. */
export async function runBench(
  host: Host,
  globals: GlobalFlags,
  asked: string | undefined,
): Promise<number> {
  if (globals.data !== undefined) {
    throw new UsageError(
      "--data: expected none, because bench works in a temporary folder; TMPDIR says where",
    );
  }
  const size = sizeOf(asked);
  const json = globals.json === true;
  const report = await withTemporaryFolder("cortex-bench-", (folder) =>
    measure(host, folder, size, json),
  );
  const ink = makeInk(wantsColour(host.out, host.env));
  host.out.write(json ? `${JSON.stringify(report, null, 2)}\n` : `${table(report, ink)}\n`);
  return 0;
}

function sizeOf(asked: string | undefined): number {
  if (asked === undefined) return BENCH_SIZE;
  const size = /^\d{1,9}$/.test(asked) ? Number(asked) : Number.NaN;
  if (size >= SIZE_MIN && size <= SIZE_MAX) return size;
  const range = `${SIZE_MIN} to ${SIZE_MAX}`;
  throw new UsageError(`--size: expected a whole number, ${range}, got ${JSON.stringify(asked)}`);
}

async function measure(host: Host, folder: string, size: number, json: boolean): Promise<Report> {
  // Scripts that read stderr get no lines of progress in between.
  const target = json && !host.err.isTerminal ? { ...host.err, write: () => {} } : host.err;
  const progress = startProgress({ label: "bench", unit: "steps" }, target, host.nowMs);
  await using memory = await open(folder, { actor: "bench" });
  const steps = await runSteps({ memory, size, nowMs: host.nowMs, onProgress: progress.report });
  progress.end();
  const { sizeBytes } = await memory.stats();
  return {
    version: packageVersion(),
    machine: machineHere(),
    size,
    durable: true,
    folder: tmpdir(),
    inMemory: isInMemory(folder),
    storeBytes: sizeBytes,
    steps: steps.map(figuresOf),
  };
}

function machineHere(): Report["machine"] {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
  };
}

/** Numbers by which Linux calls file systems that live in memory. */
const MEMORY_FILE_SYSTEMS: readonly number[] = [0x01021994, 0x858458f6];

/** A folder in memory loses what a disk would keep, and waits for nothing. */
function isInMemory(folder: string): boolean {
  if (process.platform !== "linux") return false;
  return MEMORY_FILE_SYSTEMS.includes(statfsSync(folder).type);
}

function figuresOf({ name, about, count, totalMs, callMs }: StepTimes): Figures {
  const sorted = [...callMs].sort((one, other) => one - other);
  // The nearest rank: a time that was measured, not one in between.
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return {
    name,
    about,
    count,
    perSecond: rounded((count * 1000) / totalMs, 1),
    p50Ms: rounded(at(0.5), 3),
    p95Ms: rounded(at(0.95), 3),
    p99Ms: rounded(at(0.99), 3),
    maxMs: rounded(at(1), 3),
  };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

const COLUMNS = ["what", "count", "a second", "p50 ms", "p95 ms", "p99 ms", "max ms"] as const;

function table(report: Report, ink: Ink): string {
  const { machine, version, size, folder, inMemory, storeBytes, steps } = report;
  const rows = steps.map((step) => [
    step.name,
    step.count.toLocaleString("en-US"),
    Math.round(step.perSecond).toLocaleString("en-US"),
    ...[step.p50Ms, step.p95Ms, step.p99Ms, step.maxMs].map((ms) => ms.toFixed(2)),
  ]);
  const widths = COLUMNS.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ");
  const gigabytes = (machine.memoryBytes / 2 ** 30).toFixed(0);
  const where = inMemory
    ? `${clean(folder)} is in memory, so no write waited for a disk; set TMPDIR to a folder on one`
    : `writes wait for the disk of ${clean(folder)}`;
  const count = size.toLocaleString("en-US");
  const megabytes = (storeBytes / 2 ** 20).toFixed(1);
  return [
    ink.bold(`cortex ${version}, Node ${machine.node}, ${machine.platform}`),
    `${clean(machine.cpu)}, ${machine.cores} cores, ${gigabytes} GiB; ${where}`,
    `${count} memories of 8 to 23 words, ${megabytes} MiB; no embedder, one process`,
    "",
    ink.dim(line(COLUMNS)),
    ...rows.map(line),
    "",
    ...steps.map(({ name, about }) => ink.dim(`${name}: ${about}`)),
  ].join("\n");
}
