/**
 * `cortex bench`: how quick this machine is with a store, in a table. It works in a temporary folder that
 * it removes; every write waits for the disk, and what was measured where is said beside the figures.
 *
 * It is for looking at one machine. How releases are measured, and against what, is on the page of
 * benchmarks.
 */
import { statfsSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { open } from "@cortex-memory/core";
import { startProgress } from "../progress.js";
import { clean, type Ink, makeInk, wantsColour } from "../render/ink.js";
import { UsageError } from "../usage.js";
import { packageVersion } from "../version.js";
import { runSteps, SIZE_MIN, type StepTimes } from "./bench-steps.js";
import type { Host } from "./host.js";
import { BENCH_SIZE, type GlobalFlags } from "./program.js";
import { withTemporaryFolder } from "./temporary-folder.js";

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
